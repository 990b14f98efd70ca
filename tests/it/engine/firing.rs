//! Schedules that fire: which fires become runs, and which a record of why not.

use std::collections::BTreeMap;

use mainspring::engine::{Decision, Event, Scheduled, Served, World, apply, decide};
use mainspring::model::{
    Binding, CalendarDef, DagDef, DagId, Date, Instant, Missed, NodeId, OnClosed, Overlap, Period,
    PeriodKind, RunId, ScheduleDef, ScheduleId, ScopeId, SkipReason, Target, TaskId, TaskPolicy,
    TimeRule, Trigger,
};
use serde_json::json;

use super::bench::task;

const DAG: DagId = DagId(1);
const FIRST: ScheduleId = ScheduleId(1);

/// Wednesday 2024-06-05, 00:00 UTC.
const START: Instant = Instant::from_secs(1_717_545_600);
const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A dag of one task that never ends by itself, its schedules, and what was decided.
struct Bench {
    world: World,
    now: Instant,
    decided: Vec<Decision>,
    defs: Vec<ScheduleDef>,
    most: u32,
}

impl Bench {
    fn new(defs: Vec<ScheduleDef>) -> Bench {
        Bench::with_most(defs, 1_000)
    }

    fn with_most(defs: Vec<ScheduleDef>, most: u32) -> Bench {
        let world = World::new((1, 1), 8, NodeId(1), ScopeId(1));
        let mut bench = Bench { world, now: START, decided: Vec::new(), defs, most };
        let periods = |def: &ScheduleDef| vec![period(START, None, PeriodKind::Active, &def.rule)];
        let periods: Vec<_> = bench.defs.iter().map(periods).collect();
        bench.serve(&[START].repeat(periods.len()), &periods);
        bench
    }

    fn serve(&mut self, watermarks: &[Instant], periods: &[Vec<Period>]) {
        let mut def = dag();
        def.max_active_runs = self.most;
        let named: Vec<_> = (1..).map(ScheduleId).zip(self.defs.clone()).collect();
        let tasks = [task("load", TaskPolicy::default())];
        let served = Served::new(DAG, &def, &tasks, &[], &named).unwrap();
        let schedules = named.into_iter().zip(watermarks).zip(periods);
        let schedules = schedules.map(|(((id, def), watermark), periods)| {
            let bindings = def.bindings.iter().map(|binding| {
                let task = binding.task.as_ref().map(|_| TaskId(1));
                (Target { dag: DAG, task }, binding.params.clone())
            });
            let bindings = bindings.collect();
            let key = format!("d.{}", def.name);
            Scheduled::new(id, DAG, &key, def, bindings, *watermark, periods).unwrap()
        });
        self.world.serve(served, schedules.collect());
    }

    /// Time passes while somebody looks.
    fn advance(&mut self, millis: i64) {
        let end = self.now.plus_millis(millis);
        while let Some(wake) = self.world.next_wake().filter(|wake| *wake <= end) {
            self.now = self.now.max(wake);
            self.fire();
        }
        self.now = end;
        self.fire();
    }

    /// Time passes while nobody looks.
    fn outage(&mut self, millis: i64) {
        self.now = self.now.plus_millis(millis);
        self.fire();
    }

    fn fire(&mut self) {
        while let Some(schedule) = self.world.next_schedule_due(self.now) {
            self.happen(&Event::ScheduleDue(schedule));
        }
        self.happen(&Event::Tick);
    }

    fn happen(&mut self, event: &Event) {
        let decision = decide(&self.world, event, self.now).unwrap();
        apply(&mut self.world, &decision).unwrap();
        self.decided.push(decision);
    }

    /// Everything that was made: instant and trigger.
    fn runs(&self) -> Vec<(String, Trigger)> {
        let rows = self.decided.iter().flat_map(|d| &d.creates).map(|create| &create.row);
        rows.map(|row| (short(row.nominal_at), row.trigger)).collect()
    }

    fn times(&self) -> Vec<String> {
        self.runs().into_iter().map(|(at, _)| at).collect()
    }

    /// Everything that was left out.
    fn skips(&self) -> Vec<(String, String, i64, SkipReason)> {
        let moves = self.decided.iter().flat_map(|decision| &decision.schedules);
        let skips = moves.flat_map(|to| &to.skips);
        skips.map(|(s, _)| (short(s.from), short(s.to), s.count, s.reason)).collect()
    }

    fn end_run(&mut self, run: i64) {
        let cancel = Event::Cancel { run: RunId(run), only: None, grace_ms: Some(0) };
        self.happen(&cancel);
        self.fire();
    }

    fn pause(&mut self, paused: bool, missed: Option<Missed>) {
        self.happen(&Event::Pause { schedule: FIRST, paused, missed });
        self.fire();
    }

    fn watermark(&self) -> String {
        short(self.world.schedule(FIRST).unwrap().watermark)
    }
}

fn dag() -> DagDef {
    let spec = json!({"name": "d", "tasks": [{"name": "load", "type": "noop"}]});
    mainspring::engine::check_definition(&spec).unwrap()
}

fn period(from: Instant, until: Option<Instant>, kind: PeriodKind, rule: &TimeRule) -> Period {
    Period { from, until, kind, rule: rule.clone() }
}

fn every(expression: &str) -> ScheduleDef {
    ScheduleDef::new("default", TimeRule::new(expression, "UTC"))
}

/// `06-05T02:00`, which is short and unambiguous here.
fn short(at: Instant) -> String {
    at.to_string()[5..16].to_owned()
}

#[test]
fn a_fire_on_time_becomes_a_run_and_never_before() {
    let mut bench = Bench::new(vec![every("0 2 * * *")]);
    bench.advance(2 * HOUR - 1);
    assert!(bench.runs().is_empty());
    bench.advance(1);
    assert_eq!(bench.runs(), [("06-05T02:00".into(), Trigger::Schedule)]);
    assert_eq!(bench.watermark(), "06-05T02:00");
    bench.advance(3 * DAY);
    assert_eq!(bench.times().len(), 4);
    assert!(bench.skips().is_empty());
}

#[test]
fn a_fire_is_run_late_and_not_called_missed_while_somebody_is_busy() {
    let none = ScheduleDef { missed: Missed::None, ..every("0 2 * * *") };
    let mut bench = Bench::new(vec![none]);
    bench.outage(2 * HOUR + MINUTE);
    assert_eq!(bench.runs(), [("06-05T02:00".into(), Trigger::Schedule)]);
}

#[test]
fn after_an_outage_the_policy_decides() {
    // Three hours from midnight: fires at 01:00, 02:00 and, just now, 03:00.
    let hourly = |missed| vec![ScheduleDef { missed, ..every("0 * * * *") }];
    let mut all = Bench::new(hourly(Missed::All));
    all.outage(3 * HOUR);
    assert_eq!(all.times(), ["06-05T01:00", "06-05T02:00", "06-05T03:00"]);
    let triggers: Vec<Trigger> = all.runs().into_iter().map(|(_, trigger)| trigger).collect();
    assert_eq!(triggers, [Trigger::Catchup, Trigger::Catchup, Trigger::Schedule]);
    assert!(all.skips().is_empty());

    let mut last = Bench::new(hourly(Missed::Last));
    last.outage(3 * HOUR);
    assert_eq!(last.times(), ["06-05T03:00"]);
    let skipped = ("06-05T01:00".into(), "06-05T02:00".into(), 2, SkipReason::Missed);
    assert_eq!(last.skips(), [skipped]);

    let mut none = Bench::new(hourly(Missed::None));
    none.outage(3 * HOUR - 1);
    assert!(none.times().is_empty());
    let skipped = ("06-05T01:00".into(), "06-05T02:00".into(), 2, SkipReason::Missed);
    assert_eq!(none.skips(), [skipped]);
    assert_eq!(none.watermark(), "06-05T02:00");
    none.advance(1);
    assert_eq!(none.runs(), [("06-05T03:00".into(), Trigger::Schedule)]);
}

#[test]
fn what_is_older_than_the_window_is_recorded_and_not_run() {
    let daily = ScheduleDef { missed_window_ms: 2 * DAY, ..every("0 2 * * *") };
    let mut bench = Bench::new(vec![daily]);
    bench.outage(5 * DAY);
    // The 10th, 00:00: of 5 to 9 June those within two days are of the 8th and 9th.
    assert_eq!(bench.times(), ["06-08T02:00", "06-09T02:00"]);
    let skipped = ("06-05T02:00".into(), "06-07T02:00".into(), 3, SkipReason::Expired);
    assert_eq!(bench.skips(), [skipped]);
}

#[test]
fn a_month_of_minutes_is_caught_up_with_in_bounded_steps() {
    let minutely = ScheduleDef { missed: Missed::Last, ..every("* * * * *") };
    let mut bench = Bench::new(vec![minutely]);
    bench.outage(30 * DAY);
    assert_eq!(bench.times(), ["07-05T00:00"]);
    let skips = bench.skips();
    assert_eq!(skips.iter().map(|(_, _, count, _)| count).sum::<i64>(), 30 * 24 * 60 - 1);
    assert!(skips.iter().all(|(_, _, count, _)| *count <= 10_000));
    assert_eq!(skips.first().unwrap().0, "06-05T00:01");
    assert_eq!(skips.last().unwrap().1, "07-04T23:59");
}

#[test]
fn as_many_runs_as_may_be_are_live_and_the_others_wait_in_order() {
    let mut bench = Bench::with_most(vec![every("0 * * * *")], 2);
    bench.advance(5 * HOUR);
    assert_eq!(bench.times(), ["06-05T01:00", "06-05T02:00"]);
    assert_eq!(bench.watermark(), "06-05T02:00");
    bench.end_run(2);
    assert_eq!(bench.times(), ["06-05T01:00", "06-05T02:00", "06-05T03:00"]);
    bench.end_run(1);
    bench.end_run(3);
    assert_eq!(bench.times().len(), 5);
    // Waiting is not an outage.
    assert!(bench.runs().iter().all(|(_, trigger)| *trigger == Trigger::Schedule));
}

#[test]
fn with_overlap_skip_a_fire_that_finds_no_room_is_recorded() {
    let hourly = ScheduleDef { overlap: Overlap::Skip, ..every("0 * * * *") };
    let mut bench = Bench::with_most(vec![hourly], 1);
    bench.advance(3 * HOUR);
    assert_eq!(bench.times(), ["06-05T01:00"]);
    let joined: Vec<bool> = bench
        .decided
        .iter()
        .flat_map(|d| &d.schedules)
        .flat_map(|to| &to.skips)
        .map(|s| s.1)
        .collect();
    assert_eq!(joined, [false, true]);
    bench.end_run(1);
    bench.advance(HOUR);
    assert_eq!(bench.times(), ["06-05T01:00", "06-05T04:00"]);
}

#[test]
fn two_schedules_at_one_instant_make_one_run_unless_their_values_differ() {
    let hourly = every("0 * * * *");
    let daily = ScheduleDef { name: "daily".into(), ..every("0 0 * * *") };
    let mut bench = Bench::new(vec![hourly.clone(), daily]);
    bench.advance(DAY);
    assert_eq!(bench.times().len(), 24);
    let links: Vec<_> =
        bench.decided.iter().flat_map(|d| &d.schedules).filter(|to| !to.links.is_empty()).collect();
    assert_eq!(links.len(), 1);
    assert_eq!((links[0].schedule, links[0].links[0]), (ScheduleId(2), RunId(24)));

    let eu = Binding { task: None, params: BTreeMap::from([("region".into(), json!("eu"))]) };
    let other = ScheduleDef { name: "eu".into(), bindings: vec![eu], ..hourly.clone() };
    let mut bench = Bench::new(vec![hourly, other]);
    bench.advance(HOUR);
    // The task takes no such parameter: that is a skip, and the other run is made.
    assert_eq!(bench.times(), ["06-05T01:00"]);
    assert_eq!(bench.skips()[0].3, SkipReason::Params);
}

#[test]
fn a_pause_blocks_new_fires_only_and_what_fell_into_it_is_recorded() {
    let mut bench = Bench::new(vec![every("0 2 * * *")]);
    bench.advance(3 * HOUR);
    bench.pause(true, None);
    bench.advance(3 * DAY);
    assert_eq!(bench.times(), ["06-05T02:00"]);
    bench.pause(false, None);
    let skipped = ("06-06T02:00".into(), "06-08T02:00".into(), 3, SkipReason::Paused);
    assert_eq!(bench.skips(), [skipped]);
    bench.advance(DAY);
    assert_eq!(bench.times(), ["06-05T02:00", "06-09T02:00"]);
    // Off and on again at noon changes nothing.
    bench.pause(true, None);
    bench.pause(false, None);
    assert_eq!(bench.times().len(), 2);
    assert_eq!(bench.skips().len(), 1);
}

#[test]
fn a_pause_that_ends_may_ask_for_what_it_missed() {
    for (missed, expected) in [
        (Missed::Last, vec!["06-07T02:00"]),
        (Missed::All, vec!["06-05T02:00", "06-06T02:00", "06-07T02:00"]),
        (Missed::None, vec![]),
    ] {
        let mut bench = Bench::new(vec![every("0 2 * * *")]);
        bench.pause(true, None);
        bench.advance(3 * DAY);
        bench.pause(false, Some(missed));
        assert_eq!(bench.times(), expected, "{missed}");
        let skipped: i64 = bench.skips().iter().map(|(_, _, count, _)| count).sum();
        assert_eq!(skipped + expected.len() as i64, 3, "{missed}");
    }
}

#[test]
fn a_pause_over_waiting_fires_leaves_them_waiting() {
    let mut bench = Bench::with_most(vec![every("0 * * * *")], 1);
    bench.advance(3 * HOUR);
    bench.pause(true, None);
    bench.advance(2 * HOUR);
    bench.pause(false, None);
    let skipped = ("06-05T04:00".into(), "06-05T05:00".into(), 2, SkipReason::Paused);
    assert_eq!(bench.skips(), [skipped]);
    bench.advance(HOUR);
    for run in 1..=3 {
        bench.end_run(run);
    }
    assert_eq!(bench.times(), ["06-05T01:00", "06-05T02:00", "06-05T03:00", "06-05T06:00"]);
    assert_eq!(bench.watermark(), "06-05T06:00");
}

#[test]
fn an_edit_neither_fires_what_was_nor_loses_it() {
    // Down from midnight to 05:00; at 04:00 the rule becomes 03:30 in place of 02:00.
    let (old, new) = (TimeRule::new("0 2 * * *", "UTC"), TimeRule::new("30 3 * * *", "UTC"));
    let edit = START.plus_millis(4 * HOUR);
    let mut bench = Bench::new(vec![ScheduleDef::new("default", new.clone())]);
    bench.serve(
        &[START],
        &[vec![
            period(START, Some(edit), PeriodKind::Active, &old),
            period(edit, None, PeriodKind::Active, &new),
        ]],
    );
    bench.outage(5 * HOUR);
    assert_eq!(bench.times(), ["06-05T02:00"]);
    bench.advance(DAY);
    assert_eq!(bench.times(), ["06-05T02:00", "06-06T03:30"]);
}

#[test]
fn what_fell_due_before_a_removal_is_recorded() {
    let rule = TimeRule::new("0 2 * * *", "UTC");
    let gone = START.plus_millis(2 * DAY);
    let mut bench = Bench::new(vec![ScheduleDef::new("default", rule.clone())]);
    bench.serve(
        &[START],
        &[vec![
            period(START, Some(gone), PeriodKind::Active, &rule),
            period(gone, None, PeriodKind::Removed, &rule),
        ]],
    );
    bench.outage(3 * DAY);
    assert!(bench.times().is_empty());
    let (first, last) = ("06-05T02:00".to_owned(), "06-06T02:00".to_owned());
    let skips = bench.skips();
    assert_eq!(skips.iter().map(|skip| skip.2).sum::<i64>(), 2);
    assert_eq!((&skips[0].0, &skips[skips.len() - 1].1), (&first, &last));
    assert!(skips.iter().all(|skip| skip.3 == SkipReason::Removed));
    assert_eq!(bench.world.next_wake(), None);
}

#[test]
fn a_closed_day_is_a_record_with_the_reason_or_a_run_on_another_day() {
    let days = CalendarDef {
        name: "office".into(),
        weekdays: vec![0, 1, 2, 3, 4],
        include: vec![],
        exclude: vec![Date::parse("2024-06-06").unwrap()],
    };
    let on = |on| {
        let rule =
            TimeRule { calendar: Some(days.clone()), on, ..TimeRule::new("0 2 * * *", "UTC") };
        let mut bench = Bench::new(vec![ScheduleDef::new("default", rule)]);
        bench.advance(7 * DAY);
        bench
    };
    let skip = on(OnClosed::Skip);
    // The 5th is a Wednesday, the 8th and 9th are a weekend.
    assert_eq!(skip.times(), ["06-05T02:00", "06-07T02:00", "06-10T02:00", "06-11T02:00"]);
    let closed: Vec<_> = skip.skips().into_iter().map(|skip| (skip.0, skip.3)).collect();
    let calendar = |day: &str| (format!("06-{day}T02:00"), SkipReason::Calendar);
    assert_eq!(closed, [calendar("06"), calendar("08"), calendar("09")]);
    // Rolled, each of the days that would take one has its own already.
    assert_eq!(on(OnClosed::Next).times(), skip.times());
    assert!(on(OnClosed::Next).skips().is_empty());
}

#[test]
fn jitter_is_a_part_of_its_width_and_always_the_same() {
    let rule = TimeRule { jitter_ms: 10 * MINUTE, ..TimeRule::new("0 * * * *", "UTC") };
    let made = || {
        let mut bench = Bench::new(vec![ScheduleDef::new("default", rule.clone())]);
        bench.advance(2 * DAY);
        let rows = bench.decided.iter().flat_map(|d| &d.creates).map(|create| &create.row);
        rows.map(|row| (row.nominal_at, row.created_at)).collect::<Vec<_>>()
    };
    let first = made();
    assert_eq!(first, made());
    assert!(first.len() >= 47);
    let late: Vec<i64> = first.iter().map(|(at, made)| made.millis_since(*at)).collect();
    assert!(late.iter().all(|late| (0..=10 * MINUTE).contains(late)));
    let mut spread = late.clone();
    spread.sort_unstable();
    spread.dedup();
    assert!(spread.len() > 40, "they fall all over the width: {late:?}");
    assert!(first.iter().all(|(at, _)| at.0 % (HOUR * 1_000) == 0));
}

#[test]
fn a_clock_that_goes_back_fires_nothing_again() {
    let mut bench = Bench::new(vec![every("0 * * * *")]);
    bench.advance(3 * HOUR);
    bench.now = START;
    bench.advance(3 * HOUR);
    assert_eq!(bench.times().len(), 3);
    bench.advance(HOUR);
    assert_eq!(bench.times().len(), 4);
}

#[test]
fn a_hundred_thousand_schedules_of_one_second_are_all_fired_and_none_twice() {
    let count = 100_000;
    let rule = TimeRule::new("0 2 * * *", "UTC");
    let def = ScheduleDef::new("default", rule.clone());
    let mut bench = Bench::new(vec![]);
    for number in 1..=count {
        let dag_id = DagId(number);
        let mut header = dag();
        header.key = format!("d{number}");
        let id = ScheduleId(number);
        let served = Served::new(dag_id, &header, &[], &[], &[(id, def.clone())]).unwrap();
        let target = Target { dag: dag_id, task: None };
        let bindings = vec![(target, BTreeMap::new())];
        let periods = [period(START, None, PeriodKind::Active, &rule)];
        let schedule =
            Scheduled::new(id, dag_id, &header.key, def.clone(), bindings, START, &periods)
                .unwrap();
        bench.world.serve(served, vec![schedule]);
    }
    bench.advance(2 * HOUR);
    assert_eq!(bench.times().len(), count as usize);
    let next = bench.world.next_wake().unwrap();
    assert_eq!(next, START.plus_millis(26 * HOUR));
}

/// A period that another process began is read as a driver reads it.
fn again(bench: &mut Bench, watermark: Instant, periods: Vec<Period>) {
    bench.serve(&[watermark], &[periods]);
}

#[test]
fn a_queue_is_not_an_outage_after_a_pause_or_another_reading() {
    let hourly = || vec![ScheduleDef { missed: Missed::None, ..every("0 * * * *") }];
    let three = ["06-05T01:00", "06-05T02:00", "06-05T03:00"];
    for paused in [true, false] {
        let mut bench = Bench::with_most(hourly(), 1);
        bench.advance(3 * HOUR + MINUTE);
        if paused {
            bench.pause(true, None);
        } else {
            let rule = bench.defs[0].rule.clone();
            let at = START.plus_millis(HOUR);
            again(&mut bench, at, vec![period(START, None, PeriodKind::Active, &rule)]);
        }
        bench.fire();
        bench.end_run(1);
        bench.end_run(2);
        assert_eq!(bench.times(), three, "paused: {paused}");
        assert!(bench.skips().is_empty());
    }
}

#[test]
fn an_edit_or_a_removal_within_a_pause_does_not_end_it() {
    let (old, new) = (TimeRule::new("0 2 * * *", "UTC"), TimeRule::new("30 3 * * *", "UTC"));
    let day = |n| START.plus_millis(n * DAY);
    let edited = vec![
        period(START, Some(day(2)), PeriodKind::Paused, &old),
        period(day(2), None, PeriodKind::Paused, &new),
    ];
    let returned = vec![
        period(START, Some(day(1)), PeriodKind::Paused, &old),
        period(day(1), Some(day(2)), PeriodKind::Removed, &old),
        period(day(2), None, PeriodKind::Paused, &old),
    ];
    for (periods, first, last, count) in
        [(edited, "06-05T02:00", "06-07T03:30", 3), (returned, "06-05T02:00", "06-07T02:00", 2)]
    {
        let mut bench = Bench::new(vec![every("0 2 * * *")]);
        again(&mut bench, START, periods);
        bench.outage(3 * DAY);
        assert!(bench.runs().is_empty() && bench.skips().is_empty());
        bench.pause(false, None);
        assert!(bench.runs().is_empty());
        assert_eq!(bench.skips(), [(first.into(), last.into(), count, SkipReason::Paused)]);
    }
}

#[test]
fn a_clock_that_goes_back_before_a_pause_leaves_covered_what_is() {
    let mut bench = Bench::new(vec![every("0 * * * *")]);
    bench.advance(3 * HOUR);
    bench.now = START.plus_millis(HOUR + MINUTE);
    bench.pause(true, None);
    bench.advance(4 * HOUR);
    bench.pause(false, None);
    assert_eq!(bench.times().len(), 3);
    let skipped = ("06-05T04:00".into(), "06-05T05:00".into(), 2, SkipReason::Paused);
    assert_eq!(bench.skips(), [skipped]);
}

#[test]
fn the_newest_that_was_missed_is_one_that_would_run() {
    // Down from Wednesday to Sunday evening; Saturday and Sunday are closed.
    let days = CalendarDef {
        name: "office".into(),
        weekdays: vec![0, 1, 2, 3, 4],
        include: vec![],
        exclude: vec![],
    };
    let rule = TimeRule { calendar: Some(days), ..TimeRule::new("0 2 * * *", "UTC") };
    let def = ScheduleDef { missed: Missed::Last, ..ScheduleDef::new("default", rule) };
    let mut bench = Bench::new(vec![def]);
    bench.outage(5 * DAY);
    assert_eq!(bench.times(), ["06-07T02:00"]);
    let reasons: Vec<_> = bench.skips().into_iter().map(|skip| (skip.0, skip.3)).collect();
    assert_eq!(reasons[0], ("06-05T02:00".into(), SkipReason::Missed));
    assert_eq!(
        reasons[1..],
        [
            ("06-08T02:00".into(), SkipReason::Calendar),
            ("06-09T02:00".into(), SkipReason::Calendar),
        ]
    );
}
