//! Cases with checked answers, from public reports, manuals and other schedulers' tests.

use mainspring::calendar::{
    BizFire, BizRule, ClockChange, Cron, Entry, Meaning, Moment, Outside, Rule, Template,
    Timetable, Wall, Zone, dates,
};
use mainspring::model::{Date, Instant, Problem};
use serde_json::{Value, json};

use super::support::{Case, cases, local};

fn rule(case: &Case) -> Rule {
    let clock: ClockChange = match case.input.get("options") {
        Some(options) => serde_json::from_value(options.clone()).unwrap(),
        None => ClockChange::default(),
    };
    Rule::cron_with(case.text("expr"), &case.zone(), clock)
        .unwrap_or_else(|e| panic!("{}: {e}", case.id))
}

fn check_next(case: &Case) {
    let (rule, zone) = (rule(case), case.zone());
    let n = case.input["n"].as_u64().unwrap() as usize;
    let got: Vec<String> =
        rule.after(case.instant("after")).take(n).map(|fire| local(fire.at, &zone)).collect();
    case.check(&json!(got));
}

#[test]
fn next_fires() {
    cases("cron_next").iter().for_each(check_next);
}

#[test]
fn clock_changes() {
    cases("dst").iter().for_each(check_next);
}

#[test]
fn previous_fires() {
    for case in cases("cron_prev") {
        let (rule, zone) = (rule(&case), case.zone());
        let n = case.input["n"].as_u64().unwrap() as usize;
        let got: Vec<String> =
            rule.before(case.instant("before")).take(n).map(|f| local(f.at, &zone)).collect();
        case.check(&json!(got));
    }
}

#[test]
fn refused_expressions() {
    for case in cases("cron_error") {
        let error = Cron::parse(case.text("expr")).expect_err(&case.id);
        let codes: Vec<&str> = error.0.iter().map(|problem| problem.code).collect();
        assert_eq!(codes, [case.error().unwrap()], "{}: {}", case.id, case.input);
    }
}

#[test]
fn zones() {
    for case in cases("tz") {
        match case.text("op") {
            "zone" => match Zone::named(case.text("tz")) {
                Ok(_) => case.check(&json!("ok")),
                Err(problem) => case.check(&json!({ "error": problem.code })),
            },
            "to_instants" => {
                let zone = case.zone();
                let got: Vec<Instant> = match zone.meaning(Wall::parse(case.text("local")).unwrap())
                {
                    Meaning::Once(at) => vec![at],
                    Meaning::Twice(first, second) => vec![first, second],
                    Meaning::Never { .. } => vec![],
                };
                let got: Vec<String> = got.into_iter().map(|at| local(at, &zone)).collect();
                case.check(&json!(got));
            }
            "to_local" => case.check(&json!(local(case.instant("instant"), &case.zone()))),
            op => panic!("{op}"),
        }
    }
}

#[test]
fn intervals() {
    for case in cases("interval") {
        let zone = case.zone();
        let show = |(start, end): (Option<Instant>, Instant)| json!({ "start": start.map(|at| local(at, &zone)), "end": local(end, &zone) });
        match case.text("op") {
            "cron" => case.check(&show(timetable(rule(&case)).interval(case.instant("fire")))),
            "last_complete" => {
                let timetable = timetable(rule(&case));
                case.check(&show(timetable.last_complete(case.instant("now")).unwrap()));
            }
            "every" => {
                let n = case.input["n"].as_u64().unwrap() as usize;
                let rule = Rule::every(case.text("every"), case.instant("anchor"), &zone).unwrap();
                let fires = rule.after(case.instant("after")).take(n);
                let got: Vec<String> = fires.map(|fire| local(fire.at, &zone)).collect();
                case.check(&json!(got));
            }
            op => panic!("{op}"),
        }
    }
}

fn timetable(rule: Rule) -> Timetable {
    Timetable::new(rule)
}

#[test]
fn backfill_ranges() {
    for case in cases("backfill_range") {
        let zone = case.zone();
        let bound = |key: &str| case.input[key].as_str().map(|text| Date::parse(text).unwrap());
        let entry = Entry {
            rule: rule(&case),
            start: bound("start_date"),
            end: bound("end_date"),
            open: None,
        };
        let days = case.input["biz_offset_days"].as_i64().unwrap() as i32;
        let timetable = Timetable::of(vec![entry], BizRule::Days(days));
        let rows = match timetable.backfill(case.date("from"), case.date("to")) {
            Ok(rows) => rows.collect::<Vec<_>>(),
            Err(problem) => {
                case.check(&json!({ "error": problem.code }));
                continue;
            }
        };
        let show = |row: &BizFire| local(row.fire.at, &zone);
        if case.input["summary"] == json!(true) {
            case.check(&json!({
                "count": rows.len(),
                "first": show(&rows[0]),
                "last": show(&rows[rows.len() - 1]),
            }));
            continue;
        }
        let rows: Vec<Value> =
            rows.iter().map(|row| json!({ "biz_date": row.biz_date, "fire": show(row) })).collect();
        case.check(&json!(rows));
    }
}

#[test]
fn dates_and_days() {
    for case in cases("calendar") {
        let args = case.input["args"].as_array().unwrap();
        let text = |i: usize| args[i].as_str().unwrap();
        let number = |i: usize| args[i].as_i64().unwrap() as i32;
        let weekday = || {
            ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]
                .iter()
                .position(|name| *name == text(1))
                .unwrap() as u32
        };
        let date = Date::parse(text(0)).unwrap();
        let got = match case.text("op") {
            "add_months" => json!(dates::add_months(date, number(1))),
            "add_days" => json!(dates::add_days(date, i64::from(number(1)))),
            "days_between" => json!(dates::days_between(date, Date::parse(text(1)).unwrap())),
            "month_last_day" => json!(dates::month_end(date)),
            "last_workday_of_month" => json!(dates::last_workday_of_month(date)),
            "first_workday_of_month" => json!(dates::first_workday_of_month(date)),
            "nearest_workday" => json!(dates::nearest_workday(date)),
            "nth_weekday" => json!(dates::nth_weekday(date, weekday(), number(2) as u32)),
            "last_weekday" => json!(dates::last_weekday(date, weekday())),
            "quarter_start" => json!(dates::quarter_start(date)),
            "quarter_end" => json!(dates::quarter_end(date)),
            "prev_quarter" => json!(dates::prev_quarter(date)),
            "week_start" => json!(dates::week_start(date)),
            "iso_week" => {
                let (year, week) = dates::iso_week(date);
                json!(format!("{year:04}-W{week:02}"))
            }
            "add_workdays" => json!(dates::add_workdays(date, number(1))),
            "local_day" => {
                let zone = Zone::named(text(1)).unwrap();
                json!(zone.day(date).map(|(a, b)| {
                    let minutes = (b - a) / (60 * Instant::SECOND);
                    json!([local(a, &zone), local(b, &zone), minutes])
                }))
            }
            op => panic!("{op}"),
        };
        case.check(&got);
    }
}

#[test]
fn placeholders() {
    let nothing = |_: &Outside| Err(Problem::new("none", "", "nothing is known here"));
    for case in cases("param") {
        let (at, zone) = (case.instant("fire"), case.zone());
        let nominal = match case.input["nominal"].as_str() {
            Some(text) => Wall::parse(text).unwrap(),
            None => zone.wall(at),
        };
        let biz_date = nominal.date().plus_days(-1);
        let moment =
            Moment { at, nominal, biz_date, interval_start: None, interval_end: None, zone };
        match Template::parse(case.text("expr"), &[]) {
            Ok(template) => case.check(&json!(template.render(&moment, &nothing).unwrap())),
            Err(error) => case.check(&json!({ "error": error.0[0].code })),
        }
    }
}
