//! `not_before` waits and `run_on` skips: by the times of the run and by nothing else.
//!
//! Time zero of the benches is Monday, 1970-01-12 13:46:40 UTC; the business date is the Sunday.

use mainspring::calendar::{Wall, Zone};
use mainspring::engine::{Event, check_definition};
use mainspring::model::{Date, Instant, NotBefore, Progress, RunId, State, Trigger};
use serde_json::json;

use super::bench::{Bench, new_run};

/// A world whose run a schedule made.
fn scheduled(world: &str) -> Bench {
    Bench::with(world, |new| new.trigger = Trigger::Schedule)
}

#[test]
fn a_run_that_makes_itself_waits_for_the_time_of_day() {
    let world = "a : after=13:46:50; b <- a";
    for trigger in [Trigger::Schedule, Trigger::Catchup, Trigger::Dependency, Trigger::Event] {
        let mut bench = Bench::with(world, |new| new.trigger = trigger);
        bench.all(&["+9"]);
        assert_eq!(bench.states(), "a=PENDING#0 b=PENDING#0 run=RUNNING", "{trigger}");
        bench.happen("+1");
        assert_eq!(bench.states(), "a=RUNNING#1 b=PENDING#0 run=RUNNING", "{trigger}");
        assert_eq!(bench.started["a"], [10]);
    }
    for trigger in [Trigger::Manual, Trigger::Backfill, Trigger::Api, Trigger::Rerun] {
        let mut bench = Bench::with(world, |new| new.trigger = trigger);
        bench.all(&[]);
        assert_eq!(bench.states(), "a=RUNNING#1 b=PENDING#0 run=RUNNING", "{trigger}");
    }
}

#[test]
fn it_waits_for_both_the_time_and_its_upstreams() {
    let world = "u; a <- u : after=13:46:50";
    let mut bench = scheduled(world);
    bench.all(&["u ok", "+99"]);
    assert_eq!(bench.started["a"], [10]);
    let mut bench = scheduled(world);
    bench.all(&["+12", "u ok"]);
    assert_eq!(bench.started["a"], [12]);
    // Blocked and let go again meanwhile, it waits on.
    let mut bench = scheduled(world);
    bench.all(&["u fail X", "+5", "rerun u", "u ok", "+4"]);
    assert_eq!(bench.states(), "u=SUCCESS#2 a=PENDING#0 run=RUNNING");
    bench.happen("+1");
    assert_eq!(bench.states(), "u=SUCCESS#2 a=RUNNING#1 run=RUNNING");
    // A crash forgets nothing, and a time that has passed holds nobody up.
    let mut bench = scheduled("a : after=13:46:50");
    bench.all(&["+5", "crash", "+4"]);
    assert_eq!(bench.states(), "a=PENDING#0 run=RUNNING");
    bench.happen("+1");
    assert_eq!(bench.started["a"], [10]);
    let mut bench = scheduled("a : after=13:46:40");
    bench.all(&[]);
    assert_eq!(bench.started["a"], [0]);
}

#[test]
fn a_retry_or_a_rerun_does_not_wait_again() {
    let mut bench = scheduled("a : after=13:46:50 max=2 fixed=1000");
    bench.all(&["+10", "a fail X", "+1", "a fail X", "rerun a"]);
    assert_eq!(bench.started["a"], [10, 11, 11]);
    let mut bench = scheduled("a : after=13:46:50");
    bench.all(&["cancel"]);
    assert_eq!(bench.states(), "a=CANCELED#0(CANCELED) run=CANCELED");
    assert_eq!(bench.world.next_wake(), None);
    bench.happen("rerun a");
    assert_eq!(bench.started["a"], [0]);
}

#[test]
fn a_probe_and_a_gate_wait_too() {
    let mut bench = scheduled("p : probe=10000 after=13:46:50; g : gate after=13:46:50");
    bench.all(&["+9"]);
    assert_eq!(bench.states(), "p=PENDING#0 g=PENDING#0 run=RUNNING");
    bench.happen("+1");
    assert_eq!(bench.states(), "p=RUNNING#1 g=RUNNING#1 run=RUNNING");
}

/// The instant of a text such as `2026-01-14T18:00:00Z`.
fn instant(text: &str) -> Instant {
    Zone::utc().first_instant(Wall::parse(text.trim_end_matches('Z')).unwrap())
}

/// When a task with this `not_before` starts in a scheduled run.
fn starts(timezone: &str, nominal_at: &str, not_before: &str) -> Option<Instant> {
    let time: NotBefore = not_before.parse().unwrap();
    let world = format!("a : after={}", time.to_string().replace(' ', "_"));
    let bench = Bench::with(&world, |new| {
        new.trigger = Trigger::Schedule;
        new.timezone = timezone.into();
        new.nominal_at = instant(nominal_at);
    });
    let progress: &Progress = &bench.world.run(RunId(1)).unwrap().task_run(0).progress;
    assert_eq!(progress.state, State::Pending);
    progress.wake_at
}

#[test]
fn the_time_is_of_the_nominal_date_in_the_zone_of_the_run() {
    let at = |text: &str| Some(instant(text));
    // Two in the morning in Shanghai is the evening before in London.
    let shanghai = ("Asia/Shanghai", "2026-01-14T18:00:00Z");
    assert_eq!(starts(shanghai.0, shanghai.1, "06:30"), at("2026-01-14T22:30:00Z"));
    assert_eq!(starts(shanghai.0, shanghai.1, "+1d 06:30"), at("2026-01-15T22:30:00Z"));
    // On 29 March 2026 the clocks of Berlin go from 02:00 to 03:00, at 01:00 UTC.
    let berlin = ("Europe/Berlin", "2026-03-28T12:00:00Z");
    assert_eq!(starts(berlin.0, berlin.1, "+1d 02:30"), at("2026-03-29T01:00:00Z"));
    assert_eq!(starts(berlin.0, berlin.1, "+1d 03:30"), at("2026-03-29T01:30:00Z"));
    assert_eq!(starts(berlin.0, berlin.1, "+2d 02:30"), at("2026-03-30T00:30:00Z"));
    // On 25 October 2026 02:30 comes twice: the first one is meant.
    let autumn = ("Europe/Berlin", "2026-10-24T22:30:00Z");
    assert_eq!(starts(autumn.0, autumn.1, "02:30"), at("2026-10-25T00:30:00Z"));
}

#[test]
fn explain_names_the_time() {
    let mut bench = scheduled("u; a <- u : after=+1d_13:46");
    bench.all(&["u ok"]);
    assert_eq!(
        bench.why("a"),
        "a of run 1 is PENDING: not before +1d 13:46, which is 1970-01-13T13:46:00Z"
    );
    let mut bench = scheduled("u; a <- u : after=14:00");
    bench.all(&[]);
    assert_eq!(
        bench.why("a"),
        "a of run 1 is PENDING: waits for u (RUNNING); not before 14:00, which is \
         1970-01-12T14:00:00Z"
    );
}

/// Whether a task with these days runs.
fn runs(days: &str) -> bool {
    let mut bench = Bench::new(&format!("a : {}", days.replace(' ', "_")));
    bench.all(&[]);
    match bench.states().as_str() {
        "a=RUNNING#1 run=RUNNING" => true,
        "a=SKIPPED#0(RUN_ON) run=SUCCESS" => false,
        other => panic!("{days}: {other}"),
    }
}

#[test]
fn run_on_is_matched_when_the_run_is_made() {
    for days in [
        "days=weekdays",
        "days=MON,WED",
        "days=12",
        "days=1,12,15",
        "days=MON#2",
        "days=* 13 * * *",
        "days=46 13 12 1 *",
        "days=40 46 13 ? * MON",
        // Of the business date, whatever the time.
        "bizdays=SUN",
        "bizdays=11",
        "bizdays=weekends",
        "bizdays=0 3 11 * *",
    ] {
        assert!(runs(days), "{days}");
    }
    for days in [
        "days=weekends",
        "days=TUE",
        "days=11",
        "days=last day of month",
        "days=MON#1",
        "days=* 14 * * *",
        "days=0 46 13 ? * MON",
        "bizdays=MON",
        "bizdays=weekdays",
        "bizdays=12",
    ] {
        assert!(!runs(days), "{days}");
    }
}

#[test]
fn the_nominal_date_is_that_of_the_runs_zone() {
    // 13:46 UTC on Monday is 01:46 on Tuesday in Auckland.
    let auckland = |days: &str| {
        let mut bench = Bench::with(&format!("a : days={days}"), |new| {
            new.timezone = "Pacific/Auckland".into();
        });
        bench.all(&[]);
        bench.states().starts_with("a=RUNNING")
    };
    assert_eq!((auckland("TUE"), auckland("MON")), (true, false));
}

#[test]
fn a_skipped_task_holds_nobody_up_and_says_why() {
    let mut bench = Bench::new("a : days=weekends; b <- a; c <- b a?");
    bench.all(&["b ok"]);
    assert_eq!(bench.states(), "a=SKIPPED#0(RUN_ON) b=SUCCESS#1 c=RUNNING#1 run=RUNNING");
    assert_eq!(
        bench.why("a"),
        "a of run 1 is SKIPPED: ended at 1970-01-12T13:46:40Z with RUN_ON; 1970-01-12 (Mon) \
         13:46 is not in `weekends`"
    );
    let mut bench = Bench::new("a : bizdays=MON");
    bench.all(&[]);
    assert_eq!(
        bench.why("a"),
        "a of run 1 is SKIPPED: ended at 1970-01-12T13:46:40Z with RUN_ON; its business date \
         1970-01-11 (Sun) is not in `MON`"
    );
}

#[test]
fn every_run_obeys_unless_it_is_forced() {
    for trigger in Trigger::ALL {
        let mut bench = Bench::with("a : days=TUE", |new| new.trigger = *trigger);
        bench.all(&[]);
        assert_eq!(bench.states(), "a=SKIPPED#0(RUN_ON) run=SUCCESS", "{trigger}");
        let forced = |new: &mut mainspring::engine::NewRun| {
            (new.trigger, new.force) = (*trigger, true);
        };
        let mut bench = Bench::with("a : days=TUE", forced);
        bench.all(&[]);
        assert_eq!(bench.states(), "a=RUNNING#1 run=RUNNING", "{trigger}");
    }
    // What was not asked for says that, and a rerun is an explicit word.
    let mut bench = Bench::with("a : days=TUE; b", |new| new.only = Some(vec![1]));
    bench.all(&[]);
    assert_eq!(bench.states(), "a=SKIPPED#0(NOT_SELECTED) b=RUNNING#1 run=RUNNING");
    let mut bench = Bench::new("a : days=TUE; b");
    bench.all(&["rerun a"]);
    assert_eq!(bench.states(), "a=RUNNING#1 b=RUNNING#1 run=RUNNING");
}

#[test]
fn a_calendar_names_the_days_too() {
    let def = check_definition(&json!({
        "name": "d",
        "schedule": [{
            "name": "s", "expression": "0 2 * * *",
            "calendar": {"name": "trading", "weekdays": [0, 1, 2, 3, 4], "exclude": ["1970-01-12"]},
        }],
        "tasks": [
            {"name": "named", "type": "noop", "run_on": "trading"},
            {"name": "given", "type": "noop",
             "run_on": {"name": "mondays", "include": ["1970-01-12"]}},
            {"name": "biz", "type": "noop", "run_on": "weekends", "run_on_biz_date": true},
        ],
    }))
    .unwrap();
    let tasks = def.tasks.into_iter().map(|def| mainspring::engine::PlannedTask {
        task_id: mainspring::model::TaskId(1),
        version_id: mainspring::model::TaskVersionId(1),
        def: def.into(),
        enabled: true,
    });
    let plan = super::bench::plan(tasks.collect(), &[], vec![]);
    let mut bench = Bench::new("x");
    bench.event(&Event::CreateRun(new_run(&plan)));
    let run = bench.world.run(RunId(2)).unwrap();
    let states: Vec<State> = run.task_runs().iter().map(|t| t.progress.state).collect();
    assert_eq!(states, [State::Skipped, State::Ready, State::Ready]);
    let Some(task_run) = run.get(0) else { panic!("no task run") };
    assert_eq!(task_run.progress.code.as_deref(), Some("RUN_ON"));
    assert_eq!(run.row.biz_date, Date(10));
}
