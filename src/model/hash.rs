//! Hashes of contents, the same on each machine and in each version.

/// FNV-1a of 128 bits. Nobody gains anything by a collision: who can register definitions, or put
/// something out, can run code.
pub fn content_hash(bytes: &[u8]) -> [u8; 16] {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes
        .iter()
        .fold(OFFSET, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
        .to_be_bytes()
}

/// The fingerprint of a text: the hash of it in 32 hexadecimal digits.
pub fn fingerprint_of(text: &str) -> String {
    format!("{:032x}", u128::from_be_bytes(content_hash(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::fingerprint_of;

    /// Known values of FNV-1a: what is stored has to mean the same in a year.
    #[test]
    fn a_fingerprint_is_the_same_everywhere() {
        assert_eq!(fingerprint_of(""), "6c62272e07bb014262b821756295c58d");
        assert_eq!(fingerprint_of("a"), "d228cb696f1a8caf78912b704e4a8964");
    }
}
