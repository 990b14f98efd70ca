//! Which dates something is known of: disjoint ranges.

use std::collections::BTreeMap;

use crate::model::Date;

/// A set of dates.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    /// First date of each range, with its last one.
    ranges: BTreeMap<Date, Date>,
}

impl Spans {
    /// Whether a date is in the set.
    pub fn has(&self, date: Date) -> bool {
        self.ranges.range(..=date).next_back().is_some_and(|(_, to)| date <= *to)
    }

    /// Adds a range; gives those parts of it that were not there. One that ends before it begins
    /// is empty.
    pub fn add(&mut self, from: Date, to: Date) -> Vec<(Date, Date)> {
        let around = self.ranges.range(..=from).next_back();
        if to < from || around.is_some_and(|(_, end)| to <= *end) {
            return Vec::new();
        }
        let (mut missing, mut next) = (Vec::new(), from);
        let (mut first, mut last) = (from, to);
        // Those that overlap, or touch.
        let near = self.ranges.range(..=to.plus_days(1)).rev();
        let near: Vec<(Date, Date)> = near
            .take_while(|(_, end)| end.plus_days(1) >= from)
            .map(|(start, end)| (*start, *end))
            .collect();
        for (start, end) in near.into_iter().rev() {
            if next < start && next <= to {
                missing.push((next, start.plus_days(-1).min(to)));
            }
            next = next.max(end.plus_days(1));
            (first, last) = (first.min(start), last.max(end));
            self.ranges.remove(&start);
        }
        if next <= to {
            missing.push((next, to));
        }
        self.ranges.insert(first, last);
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_twice_is_missing_once() {
        let mut spans = Spans::default();
        let mut naive = std::collections::BTreeSet::new();
        let mut seed = 7u64;
        for _ in 0..2_000 {
            seed = crate::policy::splitmix64(seed);
            let from = (seed % 100) as i32;
            let to = from + (seed >> 8) as i32 % 9;
            let missing: Vec<i32> =
                spans.add(Date(from), Date(to)).iter().flat_map(|(a, b)| a.0..=b.0).collect();
            let expected: Vec<i32> = (from..=to).filter(|day| !naive.contains(day)).collect();
            assert_eq!(missing, expected, "{from}..{to}");
            naive.extend(from..=to);
            for day in -2..112 {
                assert_eq!(spans.has(Date(day)), naive.contains(&day));
            }
            if naive.len() > 80 {
                (spans, naive) = Default::default();
            }
        }
    }
}
