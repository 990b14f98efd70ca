//! A set of small numbers that gives back the least one.
//!
//! A tree of bitmaps with 64 children a word: for a million nodes it is four words deep and
//! fits into the cache, where a binary heap would cost twenty comparisons all over its memory.

/// A set of numbers below a bound that is known when it is made.
pub(super) struct Least {
    /// `levels[0]` has a bit per number; each further level a bit per word of the one before.
    levels: Vec<Vec<u64>>,
}

impl Least {
    pub(super) fn new(bound: usize) -> Least {
        let mut levels = Vec::new();
        let mut words = bound;
        loop {
            words = words.div_ceil(64).max(1);
            levels.push(vec![0; words]);
            if words == 1 {
                return Least { levels };
            }
        }
    }

    pub(super) fn insert(&mut self, number: u32) {
        let mut at = number as usize;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            let occupied = *word != 0;
            *word |= 1 << (at % 64);
            if occupied {
                return; // its bits above are set already
            }
            at /= 64;
        }
    }

    /// Takes the least number out.
    pub(super) fn pop(&mut self) -> Option<u32> {
        let mut at = 0;
        for level in self.levels.iter().rev() {
            let word = level[at];
            if word == 0 {
                return None; // only at the top: a set bit above means a bit below
            }
            at = at * 64 + word.trailing_zeros() as usize;
        }
        let found = at as u32;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                break;
            }
            at /= 64;
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::Least;

    #[test]
    fn gives_back_in_order_whatever_the_size() {
        for bound in [0, 1, 63, 64, 65, 4096, 4097, 300_000] {
            let mut set = Least::new(bound);
            assert_eq!(set.pop(), None);
            for number in (0..bound as u32).rev().step_by(7) {
                set.insert(number);
                set.insert(number);
            }
            let mut want: Vec<u32> = (0..bound as u32).rev().step_by(7).collect();
            want.reverse();
            assert_eq!(std::iter::from_fn(|| set.pop()).collect::<Vec<_>>(), want);
        }
    }
}
