//! Which instant, which business date, which interval: for a run that somebody asks for.
//!
//! Everything follows from the request, its
//! instant and the schedule; nothing here reads a clock.

use crate::calendar::{BizRule, Entry, Rule, Timetable, Wall, Zone};
use crate::model::{Date, Instant, Problem, ScheduleDef, SpecError};

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

/// When a dag fires, and in which zone its dates are reckoned.
#[derive(Clone, Debug)]
pub struct When {
    zone: Zone,
    /// Days from the nominal local date to the business date where there is no schedule.
    biz_offset: i32,
    timetable: Option<Timetable>,
}

impl When {
    /// Reads the schedules of a dag.
    ///
    /// # Errors
    /// Every problem of every schedule.
    pub fn of(
        timezone: &str,
        biz_offset: Option<i32>,
        schedules: &[ScheduleDef],
    ) -> Result<When, SpecError> {
        let mut problems = Vec::new();
        let zone = Zone::named(timezone).map_err(SpecError::from)?;
        let mut entries = Vec::new();
        for schedule in schedules {
            match rule(schedule) {
                Ok(rule) => {
                    entries.push(Entry {
                        rule,
                        start: schedule.start_date,
                        end: schedule.end_date,
                    });
                }
                Err(SpecError(found)) => problems.extend(found),
            }
        }
        if !problems.is_empty() {
            return Err(SpecError(problems));
        }
        // One rule for the union of a dag's schedules: that of the first one that names one.
        let biz = schedules.iter().find_map(|schedule| schedule.biz_offset);
        let biz = biz.map_or(BizRule::Default, BizRule::Days);
        let timetable = (!entries.is_empty()).then(|| Timetable::of(entries, biz));
        Ok(When { zone, biz_offset: biz_offset.unwrap_or(-1), timetable })
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
            return self.zone.date(at).plus_days(self.biz_offset);
        };
        if let Some(fire) = timetable.fire_at(at) {
            return timetable.biz_date(fire);
        }
        match timetable.effective_biz() {
            BizRule::Days(n) => self.zone.date(at).plus_days(*n),
            _ => timetable.prev(at).map_or_else(yesterday, |fire| timetable.biz_date(fire)),
        }
    }

    /// The instant of the run for a business date.
    fn nominal_of(&self, date: Date) -> Result<Instant, Problem> {
        let Some(timetable) = &self.timetable else {
            // Without a schedule: local midnight of the nominal date.
            return Ok(self.midnight(date.plus_days(-self.biz_offset)));
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
        let hint = format!("give nominal_at, one of {first}, {}{further}", named.join(", "));
        Err(Problem::new("several_fires", "biz_date", message).hint(hint))
    }

    fn interval(&self, at: Instant, biz_date: Date) -> (Instant, Instant) {
        let day = || (self.midnight(biz_date), self.midnight(biz_date.plus_days(1)));
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

    fn midnight(&self, date: Date) -> Instant {
        self.zone.first_instant(Wall::new(date, 0))
    }
}

/// The rule that a schedule's text names: a cron line, a macro, `every 6h` or `at <instant>`.
///
/// # Errors
/// `SpecError` with what is wrong with text or zone.
pub fn rule(schedule: &ScheduleDef) -> Result<Rule, SpecError> {
    let zone = Zone::named(&schedule.timezone).map_err(SpecError::from)?;
    let text = schedule.expression.trim();
    if let Some(step) = text.strip_prefix("every ") {
        // Steps count from the schedule's own first day, so that editing it does not shift them.
        let first = schedule.start_date.unwrap_or(Date(0));
        let anchor = zone.first_instant(Wall::new(first, 0));
        return Ok(Rule::every(step.trim(), anchor, &zone)?);
    }
    if let Some(wall) = text.strip_prefix("at ") {
        let wall = Wall::parse(wall.trim())?;
        return Ok(Rule::at(vec![zone.first_instant(wall)], &zone));
    }
    Rule::cron(text, &zone)
}
