//! When something fires: by cron, by interval, or at given instants, behind one interface.

use super::cron::Cron;
use super::every::{Every, Step};
use super::fires::{self, ClockChange, Fire};
use super::zone::Zone;
use crate::model::{Instant, Problem, SpecError};

/// A rule of time.
#[derive(Clone, Debug)]
pub enum Rule {
    /// A cron expression in a zone.
    Cron(Box<CronRule>),
    /// A step from an anchor.
    Every(Every),
    /// Given instants.
    At(At),
}

/// A cron expression in a zone, with what happens when clocks change.
#[derive(Clone, Debug)]
pub struct CronRule {
    /// The expression.
    pub cron: Cron,
    /// The zone whose wall clock it reads.
    pub zone: Zone,
    /// Gaps and folds; schedules of every hour ignore it.
    pub clock: ClockChange,
}

/// Given instants, each fired once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct At {
    instants: Vec<Instant>,
    zone: Zone,
}

impl Rule {
    /// A cron expression in a zone, with the default behaviour when clocks change.
    ///
    /// # Errors
    /// See [`Cron::parse`].
    pub fn cron(text: &str, zone: &Zone) -> Result<Rule, SpecError> {
        Rule::cron_with(text, zone, ClockChange::default())
    }

    /// A cron expression in a zone.
    ///
    /// # Errors
    /// See [`Cron::parse`].
    pub fn cron_with(text: &str, zone: &Zone, clock: ClockChange) -> Result<Rule, SpecError> {
        let cron = Cron::parse(text)?;
        Ok(Rule::Cron(Box::new(CronRule { cron, zone: zone.clone(), clock })))
    }

    /// An interval such as `6h` (elapsed) or `1M` (calendar) from an anchor, which fires too.
    ///
    /// # Errors
    /// See [`Step::parse`].
    pub fn every(step: &str, anchor: Instant, zone: &Zone) -> Result<Rule, Problem> {
        let step = Step::parse(step)?;
        Ok(Rule::Every(Every::new(step, anchor, zone.clone(), ClockChange::default())))
    }

    /// Given instants, in any order; the same one twice fires once.
    pub fn at(mut instants: Vec<Instant>, zone: &Zone) -> Rule {
        instants.sort_unstable();
        instants.dedup();
        Rule::At(At { instants, zone: zone.clone() })
    }

    /// The zone that dates are read in.
    pub fn zone(&self) -> &Zone {
        match self {
            Rule::Cron(rule) => &rule.zone,
            Rule::Every(rule) => rule.zone(),
            Rule::At(rule) => &rule.zone,
        }
    }

    /// The first fire strictly after an instant.
    pub fn next(&self, after: Instant) -> Option<Fire> {
        match self {
            Rule::Cron(rule) => fires::next(&rule.cron, &rule.zone, rule.clock, after),
            Rule::Every(every) => every.next(after),
            Rule::At(at) => at.fire(at.instants.partition_point(|i| *i <= after)),
        }
    }

    /// The last fire strictly before an instant.
    pub fn prev(&self, before: Instant) -> Option<Fire> {
        match self {
            Rule::Cron(rule) => fires::prev(&rule.cron, &rule.zone, rule.clock, before),
            Rule::Every(every) => every.prev(before),
            Rule::At(at) => at.fire(at.instants.partition_point(|i| *i < before).checked_sub(1)?),
        }
    }

    /// The fire at exactly this instant, if there is one.
    pub fn fire_at(&self, at: Instant) -> Option<Fire> {
        self.next(at.plus_micros(-1)).filter(|fire| fire.at == at)
    }

    /// All fires strictly after an instant, in order.
    pub fn after(&self, after: Instant) -> impl Iterator<Item = Fire> + '_ {
        std::iter::successors(self.next(after), |fire| self.next(fire.at))
    }

    /// All fires strictly before an instant, latest first.
    pub fn before(&self, before: Instant) -> impl Iterator<Item = Fire> + '_ {
        std::iter::successors(self.prev(before), |fire| self.prev(fire.at))
    }

    /// The fires from one instant (included) to another (not included).
    pub fn between(&self, from: Instant, to: Instant) -> impl Iterator<Item = Fire> + '_ {
        self.after(from.plus_micros(-1)).take_while(move |fire| fire.at < to)
    }

    /// How many fires there are from one instant (included) to another (not included).
    pub fn count(&self, from: Instant, to: Instant) -> u64 {
        self.between(from, to).count() as u64
    }

    /// Where the data interval of a fire begins: the previous fire.
    pub(crate) fn interval_start(&self, fire: Instant) -> Option<Fire> {
        match self {
            Rule::Every(every) => every.interval_start(fire),
            _ => self.prev(fire),
        }
    }

    /// Whether it fires at most once on each local date.
    pub(crate) fn once_a_day(&self) -> bool {
        match self {
            Rule::Cron(rule) => rule.cron.once_a_day(),
            Rule::Every(every) => every.once_a_day(),
            Rule::At(at) => {
                let dates = at.instants.iter().map(|i| at.zone.date(*i));
                dates.clone().zip(dates.skip(1)).all(|(a, b)| a != b)
            }
        }
    }
}

impl At {
    /// The instants, ascending.
    pub fn instants(&self) -> &[Instant] {
        &self.instants
    }

    fn fire(&self, i: usize) -> Option<Fire> {
        let at = *self.instants.get(i)?;
        Some(Fire { at, nominal: self.zone.wall(at) })
    }
}
