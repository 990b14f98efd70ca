//! Jitter without dice: the same task run and attempt always get the same spread.

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014): each bit of the input moves about
/// half of the bits of the output, so neighbouring ids come out far apart.
#[must_use]
pub const fn splitmix64(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A hash of a task run and an attempt of it.
#[must_use]
pub const fn hash(task_run: i64, attempt: u32) -> u64 {
    splitmix64(splitmix64(task_run.cast_unsigned()) ^ attempt as u64)
}

/// `delay_ms` moved by at most `permille` thousandths of itself either way, never above `most_ms`.
///
/// Where the upper half would pass the bound, the spread is taken from what is left of it and
/// not cut off: otherwise half of a thousand tasks that wait at their cap would come back in the
/// same millisecond. Values over 1000 count as 1000.
#[must_use]
pub fn spread(delay_ms: i64, permille: u32, most_ms: i64, hash: u64) -> i64 {
    let delay = i128::from(delay_ms.max(0));
    let swing = delay * i128::from(permille.min(1000)) / 1000;
    let most = (delay + swing).min(i128::from(most_ms.max(0)));
    let least = (delay - swing).min(most);
    // Multiply and shift maps the hash evenly to 0..=width; 63 bits of it keep the product small.
    let width = most - least + 1;
    let picked = least + ((i128::from(hash >> 1) * width) >> 63);
    i64::try_from(picked).unwrap_or(i64::MAX)
}
