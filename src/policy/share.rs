//! Which of a hundred buckets something falls into, by a hash: the same for ever.

use super::splitmix64;

/// The bucket of a text, from 0 to 99. Who takes the buckets below a percentage takes about that
/// share of all texts, and with a larger percentage everything that it took before.
///
/// FNV-1a of 64 bits over the UTF-8 text, mixed by [`splitmix64`], modulo 100.
#[must_use]
pub fn bucket(text: &str) -> u32 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let hash = text.bytes().fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    (splitmix64(hash) % 100) as u32
}
