//! Which instant, which business date, which interval: for a run that somebody asks for.
//!
//! Everything follows from the request, its
//! instant and the schedule; nothing here reads a clock.

use std::sync::Arc;

use crate::calendar::{
    BizRule, BusinessCalendar, ClockChange, Entry, Every, Fire, Open, Rule, Step, Timetable, Wall,
    Zone,
};
use crate::model::{BizOffset, Date, Instant, Problem, ScheduleDef, SpecError, TimeRule};

/// Fires that are looked at for the hint of a refusal.
const FIRES_LOOKED_AT: usize = 10_000;

/// The times of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The instant it is meant for.
    pub nominal_at: Instant,
    /// The day its data belongs to.
    pub biz_date: Date,
    /// Its data interval.
    pub interval: (Instant, Instant),
}

/// What a request says of the times of its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The instant it is meant for.
    pub nominal_at: Option<Instant>,
    /// The day its data belongs to.
    pub biz_date: Option<Date>,
    /// Its data interval.
    pub interval: Option<(Instant, Instant)>,
}

/// When a target fires, and in which zone its dates are reckoned.
#[derive(Clone, Debug)]
pub struct When {
    zone: Zone,
    /// From the nominal local date to the business date where there is no schedule.
    offset: BizRule,
    timetable: Option<Timetable>,
}

impl When {
    /// Reads the schedules of a target.
    ///
    /// # Errors
    /// Every problem of every schedule.
    pub fn of<'s>(
        timezone: &str,
        biz_offset: Option<BizOffset>,
        schedules: impl IntoIterator<Item = &'s ScheduleDef>,
    ) -> Result<When, SpecError> {
        let mut problems = Vec::new();
        let zone = Zone::named(timezone).map_err(SpecError::from)?;
        let mut entries = Vec::new();
        // One rule for the union of a target's schedules: that of the first one that names one.
        let mut biz = None;
        for schedule in schedules {
            match entry(&schedule.rule) {
                Ok(entry) => {
                    let open = entry.open.as_ref().map(|open| Arc::clone(&open.calendar));
                    biz = biz.or(schedule.biz_offset.map(|offset| biz_rule(offset, open)));
                    entries.push(entry);
                }
                Err(SpecError(found)) => problems.extend(found),
            }
        }
        if !problems.is_empty() {
            return Err(SpecError(problems));
        }
        let timetable =
            (!entries.is_empty()).then(|| Timetable::of(entries, biz.unwrap_or(BizRule::Default)));
        let offset = match biz_offset {
            // Without a schedule there are no intervals to begin.
            None | Some(BizOffset::IntervalStart) => BizRule::Days(-1),
            Some(offset) => biz_rule(offset, None),
        };
        Ok(When { zone, offset, timetable })
    }

    /// The same target with other rules.
    pub(super) fn with_entries(&self, entries: Vec<Entry>) -> When {
        let biz = self.timetable.as_ref().map(|timetable| timetable.biz().clone());
        let timetable = Timetable::of(entries, biz.unwrap_or_default());
        When { timetable: Some(timetable), ..self.clone() }
    }

    /// The schedules together, if there are any.
    pub fn timetable(&self) -> Option<&Timetable> {
        self.timetable.as_ref()
    }

    /// The times of the run of a fire.
    pub fn of_fire(&self, fire: Fire) -> Moment {
        let biz_date = match &self.timetable {
            Some(timetable) => timetable.biz_date(fire),
            None => self.shifted(fire.nominal.date()),
        };
        Moment { nominal_at: fire.at, biz_date, interval: self.interval(fire.at, biz_date) }
    }

    /// The business date that a nominal date has where there is no schedule.
    pub(super) fn date_without_schedule(&self, date: Date) -> Date {
        self.shifted(date)
    }

    fn shifted(&self, date: Date) -> Date {
        self.offset.of_date(date).unwrap_or(date)
    }

    /// The times of a run that is asked for at `now`.
    ///
    /// # Errors
    /// `no_fire` where the schedule has none for the business date, `several_fires` where it has
    /// more than one.
    pub fn resolve(&self, asked: Asked, now: Instant) -> Result<Moment, Problem> {
        let (nominal_at, biz_date) = match (asked.nominal_at, asked.biz_date) {
            (Some(at), Some(date)) => (at, date),
            (Some(at), None) => (at, self.biz_date_at(at)),
            (None, Some(date)) => (self.nominal_of(date)?, date),
            (None, None) => (now, self.biz_date_at(now)),
        };
        let interval = asked.interval.unwrap_or_else(|| self.interval(nominal_at, biz_date));
        Ok(Moment { nominal_at, biz_date, interval })
    }

    /// Business date of an instant: that of the fire at it, else that of the last complete
    /// interval's kind of date.
    fn biz_date_at(&self, at: Instant) -> Date {
        let yesterday = || self.zone.date(at).plus_days(-1);
        let Some(timetable) = &self.timetable else {
            return self.shifted(self.zone.date(at));
        };
        if let Some(fire) = timetable.fire_at(at) {
            return timetable.biz_date(fire);
        }
        match timetable.effective_biz() {
            BizRule::Default | BizRule::IntervalStart => {
                timetable.prev(at).map_or_else(yesterday, |fire| timetable.biz_date(fire))
            }
            rule => rule.of_date(self.zone.date(at)).unwrap_or_else(yesterday),
        }
    }

    /// The instant of the run for a business date.
    fn nominal_of(&self, date: Date) -> Result<Instant, Problem> {
        let Some(timetable) = &self.timetable else {
            // Without a schedule: local midnight of the nominal date.
            return Ok(self.midnight(self.offset.nominal_of(date)));
        };
        let mut fires = timetable.fires_for_biz_date(date);
        let Some(first) = fires.next() else {
            let message = format!("the schedule has no run for business date {date}");
            let after = timetable.after(self.midnight(date)).take(FIRES_LOOKED_AT);
            let hint = match after.map(|fire| timetable.biz_date(fire)).find(|next| *next > date) {
                Some(next) => {
                    format!("the next one is for {next}; give nominal_at to run it all the same")
                }
                None => "give nominal_at to run it all the same".to_owned(),
            };
            return Err(Problem::new("no_fire", "biz_date", message).hint(hint));
        };
        let named: Vec<String> =
            fires.by_ref().take(4).map(|row| row.fire.at.to_string()).collect();
        if named.is_empty() {
            return Ok(first.fire.at);
        }
        let further = match fires.take(FIRES_LOOKED_AT).count() {
            0 => String::new(),
            FIRES_LOOKED_AT => " or many more".to_owned(),
            number => format!(" or {number} more"),
        };
        let message = format!("the schedule has several runs for business date {date}");
        let first = first.fire.at;
        let hint =
            format!("give slot=1 and up, or nominal_at: {first}, {}{further}", named.join(", "));
        Err(Problem::new("several_fires", "biz_date", message).hint(hint))
    }

    fn interval(&self, at: Instant, biz_date: Date) -> (Instant, Instant) {
        let day = || self.day(biz_date);
        let Some(timetable) = &self.timetable else { return day() };
        let found = match timetable.fire_at(at) {
            Some(fire) => Some(timetable.interval(fire.at)),
            None => timetable.last_complete(at),
        };
        match found {
            Some((Some(start), end)) => (start, end),
            _ => day(),
        }
    }

    /// The instant of the run of a business date where there is no schedule; none where no day has
    /// that business date.
    pub(super) fn midnight_for(&self, date: Date) -> Option<Instant> {
        let nominal = self.offset.nominal_of(date);
        (self.shifted(nominal) == date).then(|| self.midnight(nominal))
    }

    /// A business date as a data interval.
    pub(super) fn day(&self, date: Date) -> (Instant, Instant) {
        (self.midnight(date), self.midnight(date.plus_days(1)))
    }

    fn midnight(&self, date: Date) -> Instant {
        self.zone.first_instant(Wall::new(date, 0))
    }
}

/// A rule with its calendar and its first and last dates.
///
/// # Errors
/// As [`rule`].
pub fn entry(written: &TimeRule) -> Result<Entry, SpecError> {
    let open = written.calendar.as_ref().map(|calendar| Open {
        calendar: Arc::new(BusinessCalendar::of(calendar)),
        on: written.on,
    });
    Ok(Entry { rule: rule(written)?, start: written.start_date, end: written.end_date, open })
}

pub(super) fn biz_rule(offset: BizOffset, open: Option<Arc<BusinessCalendar>>) -> BizRule {
    match (offset, open) {
        (BizOffset::Days(days), _) => BizRule::Days(days),
        (BizOffset::Workdays(days), Some(calendar)) => BizRule::Workdays(days, calendar),
        (BizOffset::Workdays(days), None) => BizRule::Weekdays(days),
        (BizOffset::IntervalStart, _) => BizRule::IntervalStart,
    }
}

/// The rule that a schedule's text names: a cron line, a macro, `every 6h`, or `at` with local
/// times, several of them with commas between.
///
/// # Errors
/// `SpecError` with what is wrong with text or zone.
pub fn rule(written: &TimeRule) -> Result<Rule, SpecError> {
    let zone = Zone::named(&written.timezone).map_err(SpecError::from)?;
    let clock = ClockChange { gap: written.gap, fold: written.fold };
    let text = written.expression.trim();
    if let Some(step) = text.strip_prefix("every ") {
        // Steps count from the schedule's own first day, so that editing it does not shift them.
        let first = written.start_date.unwrap_or(Date(0));
        let anchor = written.anchor.unwrap_or_else(|| zone.first_instant(Wall::new(first, 0)));
        return Ok(Rule::Every(Every::new(Step::parse(step.trim())?, anchor, zone, clock)));
    }
    if let Some(walls) = text.strip_prefix("at ") {
        let instant = |wall: &str| Wall::parse(wall.trim()).map(|wall| zone.first_instant(wall));
        let instants = walls.split(',').map(instant).collect::<Result<_, _>>()?;
        return Ok(Rule::at(instants, &zone));
    }
    Rule::cron_with(text, &zone, clock)
}
