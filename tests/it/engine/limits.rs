//! Limits that dags share, `max_active`, and who waits for whom because of them.

use mainspring::engine::{Event, NewRun, Report, TaskRunRef};
use mainspring::model::{AttemptRecord, Outcome, RunId, State};

use super::bench::{Bench, START, check, new_run};

#[test]
fn a_limit_is_shared_by_all_who_name_it() {
    let world = "a : limit=api; b : limit=api pool=p; c : limit=api; d";
    let two = "a=RUNNING#1 b=RUNNING#1 c=READY#0 d=RUNNING#1 run=RUNNING";
    check(world, &["pool p 9", "limit api 2"], two);
    let next = "a=SUCCESS#1 b=RUNNING#1 c=RUNNING#1 d=RUNNING#1 run=RUNNING";
    check(world, &["pool p 9", "limit api 2", "a ok"], next);
    // One that nobody has made has no slots.
    check("a : limit=api; b", &[], "a=READY#0 b=RUNNING#1 run=RUNNING");
    check("a : limit=api; b", &["limit api 0"], "a=READY#0 b=RUNNING#1 run=RUNNING");
}

#[test]
fn a_claim_may_weigh_more_than_one_slot() {
    let world = "a : limit=api,2; b : limit=api,2; c : limit=api prio=6";
    // The first that does not fit is not overtaken by a narrow one.
    check(world, &["limit api 3"], "a=RUNNING#1 b=READY#0 c=READY#0 run=RUNNING");
    check(world, &["limit api 3", "a ok"], "a=SUCCESS#1 b=RUNNING#1 c=RUNNING#1 run=RUNNING");
    // What is wider than the whole limit runs alone, as in a pool.
    let wide = "a : limit=api,5; b : limit=api prio=6";
    check(wide, &["limit api 3"], "a=RUNNING#1 b=READY#0 run=RUNNING");
    check(wide, &["limit api 3", "a ok"], "a=SUCCESS#1 b=RUNNING#1 run=RUNNING");
}

#[test]
fn several_limits_are_taken_together_or_not_at_all() {
    let world = "a : limit=x; b : limit=x limit=y prio=6; c : limit=y prio=7";
    let sizes = ["limit y 1", "limit x 1"];
    check(world, &sizes, "a=RUNNING#1 b=READY#0 c=RUNNING#1 run=RUNNING");
    check(
        world,
        &["limit y 1", "limit x 1", "a ok"],
        "a=SUCCESS#1 b=READY#0 c=RUNNING#1 run=RUNNING",
    );
    let all = ["limit y 1", "limit x 1", "a ok", "c ok"];
    check(world, &all, "a=SUCCESS#1 b=RUNNING#1 c=SUCCESS#1 run=RUNNING");
}

/// What a limit holds back holds up nobody else of its pool, and takes none of its slots.
#[test]
fn who_waits_for_a_limit_is_passed_over() {
    let mut bench = Bench::new("slots=3; a : limit=x prio=0; b : limit=x prio=1; c; d");
    bench.all(&["limit x 1"]);
    assert_eq!(bench.states(), "a=RUNNING#1 b=READY#0 c=RUNNING#1 d=RUNNING#1 run=RUNNING");
    assert_eq!(bench.world.pool(None), Some((3, 3)));
    assert_eq!(bench.world.limit("x"), Some((Some(1), 1)));
    bench.all(&["c ok"]);
    assert_eq!(
        bench.why("b"),
        "b of run 1 is READY: in the queue of the default pool behind 0, wants 1, 2 of 3 slots \
         are held; held back by the limit x: wants 1, 1 of 1 are held"
    );
}

/// A world of one plan, of which each run has one task.
struct Runs {
    bench: Bench,
    made: i64,
}

impl Runs {
    fn new(text: &str) -> Runs {
        let mut bench = Bench::with(text, |new| new.only = Some(Vec::new()));
        bench.event(&Event::Dispatch);
        Runs { bench, made: 1 }
    }

    /// Makes a run of the task with this index.
    fn make(&mut self, index: u32) -> TaskRunRef {
        let plan = self.bench.world.run(RunId(1)).map(|run| run.plan.clone());
        let new = NewRun { only: Some(vec![index]), ..new_run(&plan.unwrap()) };
        self.bench.event(&Event::CreateRun(new));
        self.made += 1;
        TaskRunRef { run: RunId(self.made), index }
    }

    fn dispatch(&mut self) -> Vec<TaskRunRef> {
        self.bench.event(&Event::Dispatch);
        self.bench.last.starts.iter().map(|start| start.at).collect()
    }

    fn state(&self, at: TaskRunRef) -> State {
        self.bench.world.task_run(at).unwrap().progress.state
    }

    fn end(&mut self, at: TaskRunRef) {
        let p = &self.bench.world.task_run(at).unwrap().progress;
        self.bench.event(&Event::AttemptEnded(Report {
            at,
            attempt_no: p.attempt_no,
            token: p.token,
            outcome: Outcome::Success,
            result: None,
            result_uri: None,
            record: AttemptRecord::default(),
            texts: None,
            released: true,
        }));
    }

    fn running(&self, index: u32) -> usize {
        let runs = (2..=self.made).map(|run| TaskRunRef { run: RunId(run), index });
        runs.filter(|at| self.state(*at) == State::Running).count()
    }
}

#[test]
fn max_active_counts_attempts_over_all_runs() {
    let mut runs = Runs::new("a : active=2; b");
    let [first, second, third] = [0; 3].map(|index| runs.make(index));
    let other = runs.make(1);
    assert_eq!(runs.dispatch(), [first, second, other]);
    assert_eq!(
        mainspring::engine::explain(&runs.bench.world, third, START).unwrap().to_string(),
        "a of run 4 is READY: in the queue of the default pool behind 0, wants 1, 3 of 100 slots \
         are held; held back by max_active of its task: wants 1, 2 of 2 are held"
    );
    runs.end(second);
    assert_eq!(runs.dispatch(), [third]);
    // Nothing is remembered of a task that does not run.
    runs.end(first);
    runs.end(third);
    assert_eq!(runs.bench.world.limit_names(), Vec::<String>::new());
}

/// Scenario F03: a nearly full pool with a long queue keeps nobody from another pool.
#[test]
fn pools_do_not_starve_each_other() {
    let mut runs = Runs::new("x : prio=2 pool=p1; y : prio=5 pool=p2");
    for pool in ["p1", "p2"] {
        runs.bench.event(&Event::PoolSized { pool: Some(pool.into()), slots: 20 });
    }
    for _ in 0..19 {
        runs.make(0);
    }
    assert_eq!(runs.dispatch().len(), 19);
    for _ in 0..1000 {
        runs.make(0);
    }
    for _ in 0..100 {
        runs.make(1);
    }
    let started = runs.dispatch();
    assert_eq!(started.iter().filter(|at| at.index == 0).count(), 1);
    assert_eq!(started.iter().filter(|at| at.index == 1).count(), 20);
    assert_eq!((runs.running(0), runs.running(1)), (20, 20));
}

/// One slot; an urgent task of one second comes every 0.9 seconds, a low one at the beginning.
/// Gives when the low one starts, in milliseconds, if it does within an hour.
fn stream(ageing_ms: Option<i64>) -> Option<i64> {
    let mut runs = Runs::new("slots=1; h : prio=0; l : prio=9");
    runs.bench.event(&Event::PoolAges { pool: None, step_ms: ageing_ms });
    let mut low = None;
    let (mut running, mut ends, mut last) = (None, 0, RunId(0));
    for tick in 0..36_000_i64 {
        let millis = tick * 100;
        runs.bench.now = START.plus_millis(millis);
        if millis % 900 == 0 {
            runs.make(0);
        }
        if tick == 1 {
            low = Some(runs.make(1));
        }
        if let Some(at) = running.filter(|_| ends <= millis) {
            runs.end(at);
            running = None;
        }
        if let Some(at) = runs.dispatch().first() {
            if Some(*at) == low {
                return Some(millis);
            }
            // First in first out inside a class, always.
            assert!(at.run > last);
            last = at.run;
            (running, ends) = (Some(*at), millis + 1_000);
        }
    }
    let why = mainspring::engine::explain(&runs.bench.world, low.unwrap(), runs.bench.now);
    assert!(why.unwrap().to_string().contains("in the queue of the default pool behind 4"));
    None
}

/// Scenario F05: strict order starves a low class, and says so; ageing bounds its wait to as many
/// steps as there are classes above it, and the attempt that runs then.
#[test]
fn an_endless_urgent_stream() {
    assert_eq!(stream(None), None);
    let started = stream(Some(60_000)).unwrap();
    assert!((9 * 60_000..=9 * 60_000 + 1_100).contains(&started), "{started}");
}

/// Scenario F09: only an attempt holds slots, from its claim until its thread or tree is gone.
#[test]
fn who_holds_a_slot() {
    let plain = "a : limit=x active=1 max=2 fixed=5000 timeout=60000";
    let below = "u : pool=p; a <- u : limit=x active=1";
    let rows: [(&str, &[&str], &str, u32); 10] = [
        (below, &[], "a=PENDING#0", 0),
        (below, &["u fail X"], "a=BLOCKED#0(by u)", 0),
        ("slots=0; a : limit=x active=1", &[], "a=READY#0", 0),
        (plain, &[], "a=RUNNING#1", 1),
        (plain, &["+59"], "a=RUNNING#1", 1),
        // Asked to stop; given up while its thread runs on; and that has ended.
        (plain, &["+60"], "a=RUNNING#1", 1),
        (plain, &["+61"], "a=RETRY_WAIT#1(TIMEOUT)", 1),
        (plain, &["a hung X", "a released"], "a=RETRY_WAIT#1(X)", 0),
        (plain, &["a ok"], "a=SUCCESS#1", 0),
        (plain, &["cancel", "a ok"], "a=CANCELED#1(CANCELED)", 0),
    ];
    for (world, events, state, slots) in rows {
        let mut bench = Bench::new(world);
        bench.all(&["pool p 1", "limit x 5"]);
        bench.all(events);
        assert!(bench.states().contains(state), "{}", bench.states());
        let task = format!("task:{}", bench.world.run(RunId(1)).unwrap().plan.tasks.len());
        let held = [None, Some("x"), Some(task.as_str())].map(|name| match name {
            None => bench.world.pool(None).unwrap().1,
            Some(limit) => bench.world.limit(limit).map_or(0, |(_, held)| held),
        });
        assert_eq!(held, [slots; 3], "{state} {events:?}");
    }
}
