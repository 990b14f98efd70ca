//! Days by a rule in text: `weekdays`, `last day of month`, `1,15`, `MON,WED`, or a cron line.
//!
//! Each is a cron expression in the end, so a day rule means what a schedule of the same text does.

use super::cron::{Cron, Dialect};
use super::wall::Wall;
use crate::model::{Date, Problem};

/// Words that stand for day fields: of the month and of the week.
const NAMED: &[(&str, &str, &str)] = &[
    ("every day", "*", "?"),
    ("weekdays", "?", "MON-FRI"),
    ("weekends", "?", "SAT,SUN"),
    ("first day of month", "1", "?"),
    ("last day of month", "L", "?"),
    ("first workday of month", "1W", "?"),
    ("last workday of month", "LW", "?"),
];

/// A rule that says of each day whether it is meant.
#[derive(Clone, Debug)]
pub struct DayRule {
    cron: Cron,
    /// Whether the time of day is part of it.
    timed: bool,
}

impl DayRule {
    /// Reads a rule: a name of the list, days of the month, names of weekdays, or a cron line of
    /// five to seven fields.
    ///
    /// # Errors
    /// `bad_run_on`, with what would have been understood.
    pub fn parse(text: &str) -> Result<DayRule, Problem> {
        let text = text.trim();
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        if let Some((_, month, week)) = NAMED.iter().find(|(name, _, _)| *name == words) {
            return DayRule::of_days(month, week, text);
        }
        if (5..=7).contains(&text.split_whitespace().count()) {
            let cron = Cron::parse(text).map_err(|error| refuse(text, error.0))?;
            return Ok(DayRule { cron, timed: true });
        }
        let fields: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        match fields.chars().next() {
            Some(first) if first.is_ascii_digit() || fields.starts_with('L') => {
                DayRule::of_days(&fields, "?", text)
            }
            Some(first) if first.is_ascii_alphabetic() => DayRule::of_days("?", &fields, text),
            _ => Err(refuse(text, Vec::new())),
        }
    }

    fn of_days(month: &str, week: &str, text: &str) -> Result<DayRule, Problem> {
        // The time is never looked at.
        let cron = Cron::parse(&format!("0 0 0 {month} * {week}"));
        let cron = cron.map_err(|error| refuse(text, error.0))?;
        Ok(DayRule { cron, timed: false })
    }

    /// Whether a wall time is meant: its date and, where the rule is a cron line, its time. A line
    /// without seconds does not look at those.
    pub fn matches(&self, wall: Wall) -> bool {
        let second = match self.cron.dialect() {
            Dialect::Unix => wall.0 - wall.0.rem_euclid(60),
            Dialect::Quartz => wall.0,
        };
        match self.timed {
            true => self.cron.ceil(Wall(second)) == Some(Wall(second)),
            false => self.matches_date(wall.date()),
        }
    }

    /// Whether a date is meant, at whatever time.
    pub fn matches_date(&self, date: Date) -> bool {
        self.cron.matches_date(date)
    }
}

fn refuse(text: &str, found: Vec<Problem>) -> Problem {
    let shown: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    let why = found.first().map(|problem| format!(": {}", problem.message)).unwrap_or_default();
    let names: Vec<String> = NAMED.iter().map(|(name, _, _)| format!("\"{name}\"")).collect();
    let hint = format!(
        "{}, days such as \"1,15\" or \"MON,WED\", a cron line, the name of a calendar of the \
         dag's schedules, or a calendar",
        names.join(", ")
    );
    Problem::new("bad_run_on", "", format!("`{shown}` names no days{why}")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> Date {
        Date::parse(text).unwrap()
    }

    /// Days of a month on which a rule holds.
    fn days(rule: &str, month: &str) -> Vec<u32> {
        let rule = DayRule::parse(rule).unwrap();
        let first = date(&format!("{month}-01"));
        let all = (0..31).map(|n| first.plus_days(n)).filter(|day| day.ymd().1 == first.ymd().1);
        all.filter(|day| rule.matches_date(*day)).map(|day| day.ymd().2).collect()
    }

    /// February 2026 begins on a Sunday; its last day is a Saturday.
    #[test]
    fn each_form_means_the_days_it_says() {
        let rows: &[(&str, &[u32])] = &[
            ("weekends", &[1, 7, 8, 14, 15, 21, 22, 28]),
            ("first day of month", &[1]),
            ("Last  day of month", &[28]),
            ("first workday of month", &[2]),
            ("last workday of month", &[27]),
            ("1,15", &[1, 15]),
            ("1-3, 28", &[1, 2, 3, 28]),
            ("MON,WED", &[2, 4, 9, 11, 16, 18, 23, 25]),
            ("fri", &[6, 13, 20, 27]),
            ("FRIL", &[27]),
            ("MON#2", &[9]),
            ("L", &[28]),
            ("0 2 1 * *", &[1]),
            ("0 0 2 ? * SUN#2", &[8]),
            ("31", &[]),
        ];
        for (rule, expected) in rows {
            assert_eq!(days(rule, "2026-02"), *expected, "{rule}");
        }
        assert_eq!(days("weekdays", "2026-02").len(), 20);
        assert_eq!(days("every day", "2026-02").len(), 28);
        assert_eq!(days("last day of month", "2024-02"), [29]);
    }

    #[test]
    fn a_cron_line_looks_at_the_time_and_without_seconds_not_at_those() {
        let at = |rule: &str, wall: &str| {
            DayRule::parse(rule).unwrap().matches(Wall::parse(wall).unwrap())
        };
        assert!(at("* 9-17 * * MON-FRI", "2026-02-02T09:00:59"));
        assert!(!at("* 9-17 * * MON-FRI", "2026-02-02T18:00:00"));
        assert!(!at("* 9-17 * * MON-FRI", "2026-02-01T09:00:00"));
        assert!(at("0 30 2 * * ?", "2026-02-02T02:30:00"));
        assert!(!at("0 30 2 * * ?", "2026-02-02T02:30:01"));
        // Of days only the date is looked at.
        assert!(at("weekdays", "2026-02-02T23:59:59"));
    }

    #[test]
    fn what_names_no_days_is_refused_with_what_would() {
        for text in
            ["", "sometimes", "0", "32", "MON,XYZ", "* *", "* * * *", "0 0 30 2 *", "工作日"]
        {
            let problem = DayRule::parse(text).unwrap_err();
            assert_eq!(problem.code, "bad_run_on", "{text}");
            assert!(problem.hint.unwrap().contains("\"weekdays\""), "{text}");
        }
    }
}
