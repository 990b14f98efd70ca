//! A hash of what a plan was computed from: the same on each machine and in each version.

use crate::policy::splitmix64;

/// 128 bits, fed with numbers.
#[derive(Clone, Copy, Debug)]
pub struct Hash {
    one: u64,
    other: u64,
}

impl Hash {
    /// Of nothing yet.
    pub fn new() -> Hash {
        Hash { one: 0x6d73_7072, other: 0x706c_616e }
    }

    /// Adds a number.
    pub fn add(&mut self, number: i64) {
        let number = number.cast_unsigned();
        self.one = splitmix64(self.one ^ number);
        // The lanes differ in what they do, not only in where they began.
        self.other = splitmix64(self.other.rotate_left(23).wrapping_add(number ^ self.one));
    }

    /// Adds a text.
    pub fn text(&mut self, text: &str) {
        self.add(text.len() as i64);
        for chunk in text.as_bytes().chunks(8) {
            let mut word = [0u8; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(i64::from_le_bytes(word));
        }
    }

    /// 32 hexadecimal digits.
    pub fn hex(&self) -> String {
        format!("{:016x}{:016x}", self.one, self.other)
    }
}
