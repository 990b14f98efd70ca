//! Which instant a run is for, when somebody asks for a business date or says nothing.

use mainspring::engine::{Asked, When};
use mainspring::model::{BizOffset, Date, Instant, Problem, ScheduleDef, TimeRule};

fn schedule(expression: &str, zone: &str) -> ScheduleDef {
    ScheduleDef::new("default", TimeRule::new(expression, zone))
}

fn when(zone: &str, biz_offset: Option<i32>, schedules: &[&str]) -> When {
    let schedules: Vec<_> = schedules.iter().map(|text| schedule(text, zone)).collect();
    When::of(zone, biz_offset.map(BizOffset::Days), &schedules).unwrap()
}

fn asked(when: &When, date: &str) -> Result<String, Problem> {
    let biz_date = Some(Date::parse(date).unwrap());
    let asked = Asked { biz_date, ..Asked::default() };
    when.resolve(asked, Instant(0)).map(|moment| moment.nominal_at.to_string())
}

fn date_of_now(when: &When, now: i64) -> String {
    when.resolve(Asked::default(), Instant(now)).unwrap().biz_date.to_string()
}

#[test]
fn without_a_schedule_a_run_is_for_local_midnight() {
    for (offset, nominal) in [
        (None, "2013-01-16T05:00:00Z"),
        (Some(-1), "2013-01-16T05:00:00Z"),
        (Some(0), "2013-01-15T05:00:00Z"),
        (Some(-3), "2013-01-18T05:00:00Z"),
    ] {
        let when = when("America/New_York", offset, &[]);
        assert_eq!(asked(&when, "2013-01-15").unwrap(), nominal, "{offset:?}");
    }
    // Noon of the 15th in UTC.
    let noon = 1_358_251_200_000_000;
    assert_eq!(date_of_now(&when("UTC", None, &[]), noon), "2013-01-14");
    assert_eq!(date_of_now(&when("UTC", Some(0), &[]), noon), "2013-01-15");
}

#[test]
fn a_date_without_a_fire_is_refused_with_the_next_one() {
    // Fires from Monday to Friday are for Sunday to Thursday.
    let when = when("UTC", None, &["0 2 * * mon-fri"]);
    assert_eq!(asked(&when, "2013-01-17").unwrap(), "2013-01-18T02:00:00Z");
    let problem = asked(&when, "2013-01-18").unwrap_err();
    assert_eq!(problem.code, "no_fire");
    assert!(problem.hint.unwrap().starts_with("the next one is for 2013-01-20;"));
}

#[test]
fn a_date_with_several_fires_is_refused_with_all_that_there_are() {
    let problem = asked(&when("UTC", None, &["0 * * * *"]), "2013-01-15").unwrap_err();
    assert_eq!(problem.code, "several_fires");
    let hint = problem.hint.unwrap();
    assert!(
        hint.starts_with("give slot=1 and up, or nominal_at: 2013-01-15T01:00:00Z, "),
        "{hint}"
    );
    assert!(hint.ends_with(", 2013-01-15T05:00:00Z or 19 more"), "{hint}");
    let problem = asked(&when("UTC", None, &["0 0,12 * * *"]), "2013-01-15").unwrap_err();
    assert_eq!(
        problem.hint.unwrap(),
        "give slot=1 and up, or nominal_at: 2013-01-15T12:00:00Z, 2013-01-16T00:00:00Z"
    );
}
