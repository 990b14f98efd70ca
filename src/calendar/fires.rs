//! From wall-clock times to instants: what happens when clocks change.
//!
//! The search walks the spans between clock changes. Within a span the wall clock and time run
//! side by side, so one question to the bit sets answers it; only the two ends need rules. Sparse
//! schedules jump over all spans in which nothing can match.

use super::cron::Cron;
use super::wall::{DAY, Wall};
use super::zone::{Span, Zone};
use crate::model::{Fold, Gap, Instant};

/// How a schedule behaves when clocks change.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct ClockChange {
    /// Wall times that are missing.
    #[serde(default)]
    pub gap: Gap,
    /// Wall times that come twice.
    #[serde(default)]
    pub fold: Fold,
}

impl ClockChange {
    /// Fire at exactly the instants whose clock matches.
    pub(crate) const LITERAL: ClockChange = ClockChange { gap: Gap::Skip, fold: Fold::Both };
}

/// One firing: the instant, and the wall time that was meant.
///
/// They differ for a run carried over a gap: in Pyongyang the run of 4 May 2018 23:45 happens at
/// 00:00 of 5 May and still belongs to 4 May.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Fire {
    /// When.
    pub at: Instant,
    /// The wall time in the schedule's zone that it stands for.
    pub nominal: Wall,
}

impl Fire {
    fn new(second: i64, nominal: Wall) -> Fire {
        Fire { at: Instant::from_secs(second), nominal }
    }
}

/// Longer than two offsets can differ, so walls that far apart are in the same order as instants.
const APART: i64 = 2 * DAY;

/// The first fire strictly after an instant.
pub(crate) fn next(cron: &Cron, zone: &Zone, rule: ClockChange, after: Instant) -> Option<Fire> {
    let rule = if cron.every_hour() { ClockChange::LITERAL } else { rule };
    let mut at = after.floor_secs().saturating_add(1);
    let mut i = zone.index(at);
    // Nothing matches from the first wall time up to the second.
    let mut known: Option<(i64, Wall)> = None;
    loop {
        let span = zone.span(i);
        let low = at + span.offset;
        // With `first` the part that the previous span has shown already does not count.
        let raised = match rule.fold {
            Fold::First if span.before > span.offset => low.max(span.start + span.before),
            _ => low,
        };
        let wall = match known {
            Some((from, wall)) if from <= raised && raised <= wall.0 => Some(wall),
            _ => cron.ceil(Wall(raised)),
        };
        known = wall.map(|wall| (raised, wall));
        let regular = wall
            .filter(|wall| wall.0 < regular_end(&span, rule.fold))
            .map(|wall| Fire::new(wall.0 - span.offset, wall));
        // A regular fire comes first in `min_by_key`, so it wins at the same instant.
        let found = regular.into_iter().chain(moved_next(cron, &span, rule.gap, at));
        if let Some(fire) = found.min_by_key(|fire| fire.at) {
            return Some(fire);
        }
        if span.end == i64::MAX {
            return None;
        }
        // Unless the next span shows again what lies below `raised`, nothing matches up to `wall`.
        let ahead = raised <= span.end + span.after.min(span.offset);
        match wall {
            None if ahead => return None,
            Some(wall) if ahead && wall.0 - APART > span.end => {
                at = wall.0 - APART;
                i = zone.index(at);
            }
            _ => {
                at = span.end;
                i += 1;
            }
        }
    }
}

/// The last fire strictly before an instant.
pub(crate) fn prev(cron: &Cron, zone: &Zone, rule: ClockChange, before: Instant) -> Option<Fire> {
    let rule = if cron.every_hour() { ClockChange::LITERAL } else { rule };
    let mut at = before.ceil_secs().saturating_sub(1);
    let mut i = zone.index(at);
    loop {
        let span = zone.span(i);
        let high = (at + span.offset).min(regular_end(&span, rule.fold).saturating_sub(1));
        // With `first` the part that the previous span has shown already does not count.
        let low = match rule.fold {
            _ if i == 0 => i64::MIN,
            Fold::First => span.start + span.before.max(span.offset),
            _ => span.start + span.offset,
        };
        let wall = cron.floor(Wall(high));
        let regular =
            wall.filter(|wall| wall.0 >= low).map(|wall| Fire::new(wall.0 - span.offset, wall));
        let moved = moved_prev(cron, &span, rule.gap, at);
        // `max_by_key` keeps the last of equals: the regular one.
        if let Some(fire) = moved.into_iter().chain(regular).max_by_key(|fire| fire.at) {
            return Some(fire);
        }
        if i == 0 {
            return None;
        }
        let behind = high >= span.start + span.before.max(span.offset) - 1;
        match wall {
            None if behind => return None,
            Some(wall) if behind && wall.0 + APART < span.start => {
                at = wall.0 + APART;
                i = zone.index(at);
            }
            _ => {
                at = span.start - 1;
                i -= 1;
            }
        }
    }
}

/// First wall time of a span that is not its own any more. With `last` the part that the next
/// span shows again belongs to that one.
fn regular_end(span: &Span, fold: Fold) -> i64 {
    if span.end == i64::MAX {
        return i64::MAX;
    }
    let offset = if fold == Fold::Last { span.offset.min(span.after) } else { span.offset };
    span.end + offset
}

/// The first fire from second `at` on that comes out of the gap before this span.
fn moved_next(cron: &Cron, span: &Span, gap: Gap, at: i64) -> Option<Fire> {
    let (from, to) = gap_of(span)?;
    match gap {
        Gap::Skip => None,
        Gap::Carry if at > span.start => None,
        Gap::Carry => missing_ceil(cron, span, from).map(|wall| Fire::new(span.start, wall)),
        Gap::Shift if at >= span.start + (to - from) => None,
        Gap::Shift => missing_ceil(cron, span, at + span.before)
            .map(|wall| Fire::new(wall.0 - span.before, wall)),
    }
}

/// The last fire up to second `at` that comes out of the gap before this span.
fn moved_prev(cron: &Cron, span: &Span, gap: Gap, at: i64) -> Option<Fire> {
    let (from, to) = gap_of(span)?;
    match gap {
        Gap::Skip => None,
        Gap::Carry => missing_ceil(cron, span, from).map(|wall| Fire::new(span.start, wall)),
        Gap::Shift => missing_floor(cron, span, (at + span.before).min(to - 1))
            .map(|wall| Fire::new(wall.0 - span.before, wall)),
    }
}

/// Wall times that the clocks jumped over at the start of the span.
fn gap_of(span: &Span) -> Option<(i64, i64)> {
    let (from, to) = (span.before, span.offset);
    (from < to).then(|| (span.start + from, span.start + to))
}

/// First matching wall time in the gap whose date exists.
fn missing_ceil(cron: &Cron, span: &Span, from: i64) -> Option<Wall> {
    let (_, to) = gap_of(span)?;
    let mut wall = cron.ceil(Wall(from))?;
    while wall.0 < to && !span.shows_date(wall.date()) {
        wall = cron.ceil(Wall::new(wall.date().plus_days(1), 0))?;
    }
    (wall.0 < to).then_some(wall)
}

/// Last matching wall time in the gap whose date exists.
fn missing_floor(cron: &Cron, span: &Span, to: i64) -> Option<Wall> {
    let (from, _) = gap_of(span)?;
    let mut wall = cron.floor(Wall(to))?;
    while wall.0 >= from && !span.shows_date(wall.date()) {
        wall = cron.floor(Wall(Wall::new(wall.date(), 0).0 - 1))?;
    }
    (wall.0 >= from).then_some(wall)
}

/// The fires that one wall time stands for, earliest first; for rules that are not bit sets.
pub(crate) fn of_wall(zone: &Zone, rule: ClockChange, wall: Wall) -> [Option<Fire>; 2] {
    use super::zone::Meaning;

    let fire = |at: Instant| Some(Fire { at, nominal: wall });
    match (zone.meaning(wall), rule.fold, rule.gap) {
        (Meaning::Once(at), _, _) => [fire(at), None],
        (Meaning::Twice(first, _), Fold::First, _) => [fire(first), None],
        (Meaning::Twice(_, last), Fold::Last, _) => [fire(last), None],
        (Meaning::Twice(first, last), Fold::Both, _) => [fire(first), fire(last)],
        (Meaning::Never { date_exists: false, .. }, ..) => [None, None],
        (Meaning::Never { .. }, _, Gap::Skip) => [None, None],
        (Meaning::Never { end, .. }, _, Gap::Carry) => [fire(end), None],
        (Meaning::Never { end, size, .. }, _, Gap::Shift) => {
            // The clock would have shown `wall` this long after the gap began.
            let into = wall.0 - (zone.wall(end).0 - size);
            [fire(end.plus_micros(into * Instant::SECOND)), None]
        }
    }
}
