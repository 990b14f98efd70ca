//! Time zones: IANA names only, always from the database compiled into the program.
//!
//! A zone is turned into a table of its clock changes once, because a schedule asks for offsets a
//! million times and the answer changes twice a year. The host's own zone files are never read:
//! two machines with different files would disagree about when a run is due.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use jiff::tz::TimeZoneDatabase;

use super::wall::{DAY, Wall};
use super::zone_names;
use crate::model::{Date, Instant, Problem};

/// No change of clocks after this instant is looked up: the last year of a schedule is 2199.
const HORIZON: i64 = 7_289_740_800; // 2201-01-01T00:00:00Z
/// More than any zone's offset from UTC, and more than any change of it (Samoa, Manila: 24 h).
const MARGIN: i64 = 26 * 3600;

/// A time zone, cheap to clone.
#[derive(Clone)]
pub struct Zone(Arc<Table>);

struct Table {
    name: String,
    /// First second of each span, ascending; the first span has no beginning.
    starts: Vec<i64>,
    /// Seconds east of UTC during each span.
    offsets: Vec<i64>,
}

/// A stretch of time during which the offset stays the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// First second.
    pub start: i64,
    /// First second after it.
    pub end: i64,
    /// Seconds east of UTC.
    pub offset: i64,
    /// Offset before `start` (the same as `offset` where there is nothing before).
    pub before: i64,
    /// Offset from `end` on (the same as `offset` where there is nothing after).
    pub after: i64,
}

/// What a wall time means in a zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// The clocks show it once.
    Once(Instant),
    /// The clocks show it twice.
    Twice(Instant, Instant),
    /// The clocks jump over it.
    Never {
        /// First instant after the gap.
        end: Instant,
        /// What the wall clock would have reached at the gap and what it shows instead, in seconds.
        size: i64,
        /// False where the clocks jump over the whole date (Samoa, 30 December 2011).
        date_exists: bool,
    },
}

impl Zone {
    /// The zone with this IANA name; aliases such as `US/Eastern` are names too.
    ///
    /// # Errors
    /// `unknown_zone`, with the nearest names. There is no fall-back, and abbreviations are
    /// refused: `CST` is China, Chicago or Havana.
    pub fn named(name: &str) -> Result<Zone, Problem> {
        static SEEN: Mutex<BTreeMap<String, Zone>> = Mutex::new(BTreeMap::new());

        // A memo and not state: the table follows from the name alone.
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(zone) = seen.get(name) {
            return Ok(zone.clone());
        }
        let zone = Zone(Arc::new(Table::build(name)?));
        seen.insert(name.to_owned(), zone.clone());
        Ok(zone)
    }

    /// Coordinated universal time.
    pub fn utc() -> Zone {
        Zone(Arc::new(Table { name: "UTC".into(), starts: vec![i64::MIN], offsets: vec![0] }))
    }

    /// The IANA name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Seconds east of UTC at this instant.
    pub fn offset(&self, at: Instant) -> i64 {
        self.0.offsets[self.index(at.floor_secs())]
    }

    /// What the clocks of the zone show at this instant (whole seconds).
    pub fn wall(&self, at: Instant) -> Wall {
        Wall(at.floor_secs() + self.offset(at))
    }

    /// The local date at this instant.
    pub fn date(&self, at: Instant) -> Date {
        self.wall(at).date()
    }

    /// The instants at which the clocks show `wall`.
    pub fn meaning(&self, wall: Wall) -> Meaning {
        let mut first = None;
        let mut i = self.index(wall.0.saturating_sub(MARGIN));
        loop {
            let span = self.span(i);
            if span.start > wall.0.saturating_add(MARGIN) {
                break;
            }
            let at = wall.0 - span.offset;
            if span.start <= at && at < span.end {
                match first {
                    None => first = Some(at),
                    Some(early) => {
                        return Meaning::Twice(Instant::from_secs(early), Instant::from_secs(at));
                    }
                }
            } else if first.is_none() && span.start + span.before <= wall.0 && at < span.start {
                return Meaning::Never {
                    end: Instant::from_secs(span.start),
                    size: span.offset - span.before,
                    date_exists: span.shows_date(wall.date()),
                };
            }
            if span.end == i64::MAX {
                break;
            }
            i += 1;
        }
        // Every wall time is shown or lies in a gap, so `first` is there; the last offset serves
        // should a table ever be wrong.
        Meaning::Once(Instant::from_secs(first.unwrap_or(wall.0 - self.span(i).offset)))
    }

    /// The first instant at which the clocks show this wall time, or the end of the gap over it.
    pub fn first_instant(&self, wall: Wall) -> Instant {
        match self.meaning(wall) {
            Meaning::Once(at) | Meaning::Twice(at, _) | Meaning::Never { end: at, .. } => at,
        }
    }

    /// Start (included) and end (not included) of a local calendar day, 23 to 25 hours apart as a
    /// rule; `None` for a date the zone jumped over.
    pub fn day(&self, date: Date) -> Option<(Instant, Instant)> {
        let midnight = Wall::new(date, 0);
        if let Meaning::Never { date_exists: false, .. } = self.meaning(midnight) {
            return None;
        }
        Some((self.first_instant(midnight), self.first_instant(Wall(midnight.0 + DAY))))
    }

    /// The largest step back of the clocks since 1970, in seconds.
    pub(crate) fn largest_fold(&self) -> i64 {
        let table = &self.0;
        (1..table.starts.len())
            .filter(|&i| table.starts[i] >= 0)
            .map(|i| table.offsets[i - 1] - table.offsets[i])
            .max()
            .unwrap_or(0)
            .max(0)
    }

    /// Number of the span in which this second lies.
    pub(crate) fn index(&self, second: i64) -> usize {
        // The first start is the smallest number, so at least one is not above `second`.
        self.0.starts.partition_point(|&start| start <= second) - 1
    }

    /// The span with this number.
    pub(crate) fn span(&self, i: usize) -> Span {
        let table = &*self.0;
        let offset = table.offsets[i];
        Span {
            start: table.starts[i],
            end: table.starts.get(i + 1).copied().unwrap_or(i64::MAX),
            offset,
            before: if i == 0 { offset } else { table.offsets[i - 1] },
            after: table.offsets.get(i + 1).copied().unwrap_or(offset),
        }
    }
}

impl Span {
    /// Whether any moment of this date is shown just before or just after the start of the span.
    pub(crate) fn shows_date(&self, date: Date) -> bool {
        let midnight = Wall::new(date, 0).0;
        midnight < self.start + self.before || midnight + DAY > self.start + self.offset
    }
}

impl Table {
    fn build(name: &str) -> Result<Table, Problem> {
        // jiff reads names in any case and knows names for "no zone"; we want one spelling for
        // one zone, because the name is stored and compared.
        let refused = name.is_empty() || name == "Factory" || name == "Etc/Unknown";
        let zone = match TimeZoneDatabase::bundled().get(name) {
            Ok(zone) if !refused && zone.iana_name() == Some(name) => zone,
            _ => return Err(zone_names::unknown(name)),
        };
        let mut offset = i64::from(zone.to_offset(Timestamp::MIN).seconds());
        let mut table =
            Table { name: name.to_owned(), starts: vec![i64::MIN], offsets: vec![offset] };
        for change in zone.following(Timestamp::MIN) {
            let at = change.timestamp().as_second();
            if at > HORIZON {
                break;
            }
            let now = i64::from(change.offset().seconds());
            // Changes of the name or of the daylight flag alone do not matter to anybody's clock.
            if now != offset {
                table.starts.push(at);
                table.offsets.push(now);
                offset = now;
            }
        }
        Ok(table)
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Zone {}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.0.name)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name)
    }
}
