//! Business dates: defaults, unions, odd clock changes, limits, calendars.

use std::sync::Arc;

use mainspring::calendar::{
    BizFire, BizRule, BusinessCalendar, ClockChange, Cron, Entry, Fold, Gap, Rule, Timetable, Wall,
    Zone,
};
use mainspring::model::{Date, Instant};
use proptest::prelude::*;
use proptest::sample::select;

use super::support::{instant, local};

fn date(text: &str) -> Date {
    Date::parse(text).unwrap()
}

fn zone(name: &str) -> Zone {
    Zone::named(name).unwrap()
}

fn cron(text: &str, zone_name: &str) -> Rule {
    Rule::cron(text, &zone(zone_name)).unwrap()
}

fn entry(rule: Rule) -> Entry {
    Entry { rule, start: None, end: None, open: None }
}

fn biz_dates(timetable: &Timetable, after: &str, n: usize) -> Vec<String> {
    let fires = timetable.after(instant(after)).take(n);
    fires.map(|fire| timetable.biz_date(fire).to_string()).collect()
}

#[test]
fn a_daily_run_belongs_to_the_day_before() {
    let daily = Timetable::new(cron("0 0 2 * * ?", "Asia/Shanghai"));
    assert_eq!(daily.effective_biz(), &BizRule::Days(-1));
    assert_eq!(biz_dates(&daily, "2024-01-15T01:00:00+08:00", 1), ["2024-01-14"]);
}

#[test]
fn an_hourly_run_belongs_to_the_day_its_interval_began() {
    let hourly = Timetable::new(cron("0 * * * *", "Asia/Shanghai"));
    assert_eq!(hourly.effective_biz(), &BizRule::IntervalStart);
    let dates = biz_dates(&hourly, "2024-01-14T22:30:00+08:00", 3);
    assert_eq!(dates, ["2024-01-14", "2024-01-14", "2024-01-15"]);
    let rows: Vec<BizFire> = hourly.fires_for_biz_date(date("2024-01-14")).collect();
    assert_eq!(rows.len(), 24);
    let zone = zone("Asia/Shanghai");
    assert_eq!(local(rows[0].fire.at, &zone), "2024-01-14T01:00:00+08:00");
    assert_eq!(local(rows[23].fire.at, &zone), "2024-01-15T00:00:00+08:00");
}

#[test]
fn a_run_carried_over_midnight_keeps_its_date() {
    // The clocks went from 23:30 to midnight on 4 May 2018.
    let rule = cron("45 23 * * *", "Asia/Pyongyang");
    let after = instant("2018-05-04T12:00:00+08:30");
    let fire = rule.next(after).unwrap();
    assert_eq!(local(fire.at, rule.zone()), "2018-05-05T00:00:00+09:00");
    assert_eq!(fire.nominal, Wall::parse("2018-05-04T23:45:00").unwrap());
    let timetable = Timetable::new(rule);
    assert_eq!(timetable.biz_date(fire), date("2018-05-03"));
    let rows: Vec<BizFire> = timetable.fires_for_biz_date(date("2018-05-03")).collect();
    assert_eq!(rows, [BizFire { biz_date: date("2018-05-03"), fire }]);
}

#[test]
fn a_run_shifted_over_midnight_is_found_by_its_date() {
    let clock = ClockChange { gap: Gap::Shift, fold: Fold::First };
    let rule = Rule::cron_with("45 23 * * *", &zone("Asia/Pyongyang"), clock).unwrap();
    let timetable = Timetable::new(rule);
    let rows: Vec<BizFire> = timetable.fires_for_biz_date(date("2018-05-03")).collect();
    assert_eq!(rows.len(), 1);
    let shown = local(rows[0].fire.at, &zone("Asia/Pyongyang"));
    assert_eq!(shown, "2018-05-05T00:15:00+09:00");
}

#[test]
fn several_rules_are_judged_together() {
    let weekdays = || entry(cron("0 8 * * MON-FRI", "Asia/Shanghai"));
    let weekends = entry(cron("0 9 * * SAT,SUN", "Asia/Shanghai"));
    let apart = Timetable::of(vec![weekdays(), weekends], BizRule::Default);
    assert_eq!(apart.effective_biz(), &BizRule::Days(-1));
    let daily = entry(cron("0 20 * * *", "Asia/Shanghai"));
    let twice = Timetable::of(vec![weekdays(), daily], BizRule::Default);
    assert_eq!(twice.effective_biz(), &BizRule::IntervalStart);
    // Two rules at one instant are one fire.
    let same = Timetable::of(vec![weekdays(), weekdays()], BizRule::Default);
    let from = instant("2024-01-15T00:00:00+08:00");
    assert_eq!(same.between(from, instant("2024-01-16T00:00:00+08:00")).count(), 1);
}

#[test]
fn weekday_schedules_with_the_default_are_warned_about() {
    let plain = Timetable::new(cron("0 30 8 ? * MON-FRI *", "Asia/Shanghai"));
    assert_eq!(plain.warnings()[0].code, "biz_weekdays");
    for rule in [BizRule::Days(-1), BizRule::IntervalStart, BizRule::Weekdays(-1)] {
        let entry = entry(cron("0 30 8 ? * MON-FRI *", "Asia/Shanghai"));
        assert!(Timetable::of(vec![entry], rule).warnings().is_empty());
    }
    assert!(Timetable::new(cron("0 8 * * *", "UTC")).warnings().is_empty());
    assert!(Timetable::new(cron("0 8 * * MON", "UTC")).warnings().is_empty());
}

#[test]
fn mondays_run_handles_fridays_data_by_workdays() {
    let rule = || entry(cron("0 30 8 ? * MON-FRI *", "Asia/Shanghai"));
    for biz in [
        BizRule::parse("-1 workday", None).unwrap(),
        BizRule::parse("interval_start", None).unwrap(),
    ] {
        let timetable = Timetable::of(vec![rule()], biz);
        let rows: Vec<String> = timetable
            .backfill(date("2024-01-05"), date("2024-01-09"))
            .unwrap()
            .map(|row| format!("{} {}", row.biz_date, row.fire.nominal.date()))
            .collect();
        assert_eq!(
            rows,
            ["2024-01-05 2024-01-08", "2024-01-08 2024-01-09", "2024-01-09 2024-01-10"]
        );
    }
}

#[test]
fn workdays_of_a_calendar_leave_out_its_holidays() {
    let week = BusinessCalendar::weekdays("cn", &[0, 1, 2, 3, 4]);
    let calendar = week
        .exclude(&[
            date("2024-02-12"),
            date("2024-02-13"),
            date("2024-02-14"),
            date("2024-02-15"),
            date("2024-02-16"),
        ])
        .unwrap()
        .include(&[date("2024-02-18")])
        .unwrap();
    let biz = BizRule::parse("-1 workday", Some(Arc::new(calendar))).unwrap();
    let timetable = Timetable::of(vec![entry(cron("0 2 * * *", "Asia/Shanghai"))], biz);
    // 9 February is a Friday; Sunday the 18th is a make-up workday.
    let dates = biz_dates(&timetable, "2024-02-17T03:00:00+08:00", 3);
    assert_eq!(dates, ["2024-02-09", "2024-02-18", "2024-02-19"]);
    let rows = timetable.fires_for_biz_date(date("2024-02-09")).count();
    assert_eq!(rows, 9, "10 to 18 February");
}

#[test]
fn first_and_last_dates_are_both_included() {
    let limits = |rule| Entry {
        rule,
        start: Some(date("2024-03-10")),
        end: Some(date("2024-03-11")),
        open: None,
    };
    let hourly =
        Timetable::of(vec![limits(cron("0 * * * *", "America/New_York"))], BizRule::Default);
    let all: Vec<_> = hourly.after(Instant(0)).collect();
    assert_eq!(all.len(), 23 + 24);
    assert_eq!(hourly.next(all[46].at), None);
    assert_eq!(hourly.prev(all[0].at), None);
    assert_eq!(hourly.prev(Instant(i64::MAX)), Some(all[46]));
    // The first interval is as long as any other.
    let hour_before = all[0].at.plus_micros(-3_600_000_000);
    assert_eq!(hourly.interval(all[0].at), (Some(hour_before), all[0].at));
}

#[test]
fn the_first_step_of_an_interval_rule_has_a_whole_interval() {
    let anchor = instant("2024-01-31T09:00:00+08:00");
    let monthly = Timetable::new(Rule::every("1M", anchor, &zone("Asia/Shanghai")).unwrap());
    assert_eq!(monthly.prev(anchor), None);
    let before = instant("2023-12-31T09:00:00+08:00");
    assert_eq!(monthly.interval(anchor), (Some(before), anchor));
    let six = Timetable::new(Rule::every("6h", anchor, &zone("UTC")).unwrap());
    assert_eq!(six.effective_biz(), &BizRule::IntervalStart);
    let day = Timetable::new(Rule::every("24h", anchor, &zone("UTC")).unwrap());
    assert_eq!(day.effective_biz(), &BizRule::Days(-1));
    // In New York a day of 25 hours has room for two.
    let day = Timetable::new(Rule::every("24h", anchor, &zone("America/New_York")).unwrap());
    assert_eq!(day.effective_biz(), &BizRule::IntervalStart);
}

#[test]
fn given_instants_fire_once_each() {
    let (a, b) = (instant("2024-01-02T00:00:00+00:00"), instant("2024-01-05T12:30:00+00:00"));
    let rule = Rule::at(vec![b, a, b], &zone("UTC"));
    assert_eq!(rule.after(Instant(0)).map(|f| f.at).collect::<Vec<_>>(), [a, b]);
    assert_eq!(rule.before(b).map(|f| f.at).collect::<Vec<_>>(), [a]);
    assert_eq!(rule.count(a, b), 1);
    assert_eq!(Timetable::new(rule).effective_biz(), &BizRule::Days(-1));
}

#[test]
fn offsets_are_read_or_refused() {
    assert_eq!(BizRule::parse("-1", None).unwrap(), BizRule::Days(-1));
    assert_eq!(BizRule::parse("+2d", None).unwrap(), BizRule::Days(2));
    assert_eq!(BizRule::parse("-1 workday", None).unwrap(), BizRule::Weekdays(-1));
    for text in ["", "x", "1.5", "-1 month", "--1", "99999999999"] {
        assert_eq!(BizRule::parse(text, None).unwrap_err().code, "syntax", "{text}");
    }
}

#[test]
fn calendars_combine_and_count() {
    let week = BusinessCalendar::weekdays("week", &[0, 1, 2, 3, 4]);
    let ends = BusinessCalendar::from_cron("ends", &Cron::parse("0 0 L * *").unwrap());
    let both = week.clone().union(&ends).named("both");
    assert_eq!(both.name(), "both");
    assert!(both.is_open(date("2024-03-31")), "a Sunday and the last day");
    assert!(!both.clone().minus(&ends).is_open(date("2024-01-31")));
    assert_eq!(week.count(date("2024-02-01"), date("2024-02-29")), 21);
    assert_eq!(week.ceil(date("2024-03-30")), Some(date("2024-04-01")));
    assert_eq!(week.floor(date("2024-03-31")), Some(date("2024-03-29")));
    assert_eq!(BusinessCalendar::empty("none").ceil(date("2024-01-01")), None);
    assert_eq!(week.exclude(&[date("1969-12-31")]).unwrap_err().code, "out_of_range");
    assert!(ends.is_open(date("2199-12-31")), "to the last day there is");
}

#[test]
fn holidays_come_out_of_icalendar_text() {
    let text = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nSUMMARY:Spring \r\n Festival\r\n\
        DTSTART;VALUE=DATE:20240210\r\nDTEND;VALUE=DATE:20240218\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\n\
        DTSTART;VALUE=DATE:20240101\r\nRRULE:FREQ=YEARLY;COUNT=3\r\nEXDATE;VALUE=DATE:20250101\r\n\
        END:VEVENT\r\nEND:VCALENDAR\r\n";
    let calendar = BusinessCalendar::from_ics("cn", text).unwrap();
    assert_eq!(calendar.count(date("2024-01-01"), date("2030-12-31")), 8 + 2);
    assert!(calendar.is_open(date("2024-02-17")) && !calendar.is_open(date("2024-02-18")));
    assert!(calendar.is_open(date("2026-01-01")) && !calendar.is_open(date("2025-01-01")));
    let weekly = text.replace("FREQ=YEARLY", "FREQ=WEEKLY");
    let problem = BusinessCalendar::from_ics("cn", &weekly).unwrap_err();
    assert_eq!(problem.code, "unsupported", "{problem}");
    assert_eq!(BusinessCalendar::from_ics("cn", "hello").unwrap_err().code, "syntax");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// A range gives each fire to one business date: day by day or all at once is the same.
    #[test]
    fn ranges_are_the_sum_of_their_days(
        text in select(vec![
            "30 2 * * *", "0 0 * * *", "30 1 * * *", "45 23 * * *", "0 * * * *", "0 */6 * * *",
            "15 0,12 * * MON-FRI", "0 9 L * *", "0 0 22-2 * * ?",
        ]),
        name in select(vec![
            "UTC", "America/New_York", "America/St_Johns", "Asia/Pyongyang", "Pacific/Apia",
            "America/Nuuk", "Africa/Cairo", "Australia/Lord_Howe",
        ]),
        biz in select(vec![
            BizRule::Default, BizRule::Days(0), BizRule::Days(3), BizRule::IntervalStart,
            BizRule::Weekdays(-1), BizRule::Weekdays(2),
        ]),
        first in 10_957..20_089i32, days in 0..40i32,
    ) {
        let timetable = Timetable::of(vec![entry(cron(text, name))], biz);
        let (from, to) = (Date(first), Date(first + days));
        let mut whole: Vec<BizFire> = timetable.backfill(from, to).unwrap().collect();
        let mut daily: Vec<BizFire> =
            (from.0..=to.0).flat_map(|day| timetable.fires_for_biz_date(Date(day))).collect();
        // Around midnight clocks may go back into the date before, so order by day is another.
        whole.sort_by_key(|row| row.fire.at);
        daily.sort_by_key(|row| row.fire.at);
        prop_assert_eq!(&whole, &daily);
        // And nothing is missed: look at every fire far around.
        let around = |d: i32| Instant::from_secs((i64::from(from.0) + i64::from(d)) * 86_400);
        let expected: Vec<BizFire> = timetable
            .between(around(-50), around(days + 50))
            .map(|fire| BizFire { biz_date: timetable.biz_date(fire), fire })
            .filter(|row| (from..=to).contains(&row.biz_date))
            .collect();
        prop_assert_eq!(whole, expected);
    }
}
