//! Worlds in which a dag follows the runs of another that other processes make, beside a naive
//! reading of all rows. Told over a real store: whoever serves the dag comes and goes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainspring::engine::{
    Event, Found, Plan, PlannedTask, Report, RerunWhat, Served, TaskRunRef, World, apply,
    check_definition, decide,
};
use mainspring::model::{
    AttemptRecord, DagDef, DagId, Instant, NodeId, NodeRow, Outcome, RunId, ScopeLease, State,
    TaskId, Trigger,
};
use mainspring::store::{CommitError, EndsAsked, MemoryStore, RegisteredTask, RunFilter, Store};
use serde_json::json;

use super::batch::batch_of;
use super::rng::Rng;
use crate::engine::bench::new_run;

/// A rule that is taken away, to see that the naive reading notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// Whoever comes to serve asks for nothing that ended before.
    LooksAhead,
    /// It asks for all that ever ended.
    LooksBehind,
    /// It looks only when it comes, and not again.
    LooksOnce,
    /// How an upstream ended does not matter.
    AnyEnd,
}

const START: Instant = Instant::from_secs(1_717_718_400);
const FIRES: u64 = 12;

/// How the newest run of an instant stands.
struct Newest {
    state: State,
    ended_at: Option<Instant>,
}

/// A process: its world, with its scope.
struct Process {
    world: World,
    lease: ScopeLease,
}

struct Tale {
    rng: Rng,
    fault: Fault,
    store: MemoryStore,
    now: Instant,
    /// Makes runs of the upstream, and ends them.
    maker: Process,
    /// Serves the dag that follows, when it is there.
    server: Option<Process>,
    up: Arc<Plan>,
    down: (DagId, DagDef, Vec<PlannedTask>),
    upstream: TaskId,
    /// When the dag that follows was registered.
    since: Instant,
    looked: bool,
    /// Instants at which the newest run had, at some time, ended as the edge wants it.
    held: BTreeSet<Instant>,
    refused: u64,
}

fn node() -> NodeRow {
    NodeRow {
        id: NodeId(0),
        host: "there".into(),
        pid: 7,
        role: "test".into(),
        version: "0".into(),
        started_at: START,
        heartbeat_at: START,
        lease_until: START,
        stopped_at: None,
    }
}

fn planned(task: &RegisteredTask) -> PlannedTask {
    PlannedTask {
        task_id: task.task_id,
        version_id: task.version_id,
        def: Arc::clone(&task.def),
        enabled: true,
    }
}

impl Tale {
    fn tell(seed: u64, fault: Fault) -> Result<(u64, u64), String> {
        let mut rng = Rng(seed ^ 0xf0_110);
        let mut store = MemoryStore::new();
        let kind = *rng.pick(&["SUCCESS", "SUCCESS", "COMPLETED"]);
        let up = json!({"name": "up", "tasks": [{"name": "a", "type": "noop"}]});
        let down = json!({"name": "down", "tasks": [{"name": "b", "type": "noop",
            "depends_on": [{"upstream": "up.a", "kind": kind}]}]});
        let [up, down] = [up, down].map(|spec| check_definition(&spec).unwrap());
        let registered = store.register(&[up], START).unwrap().remove(0);
        let tasks: Vec<PlannedTask> = registered.tasks.iter().map(planned).collect();
        let upstream = tasks[0].task_id;
        let up = Arc::new(Plan::build(registered.id, "up", tasks).unwrap());
        let lease = store.join(&node()).unwrap();
        let maker = Process { world: World::new((1, 1), 64, lease.node_id, lease.scope_id), lease };
        let mut tale = Tale {
            rng,
            fault,
            store,
            now: START,
            maker,
            server: None,
            up,
            down: (DagId(0), down.clone(), Vec::new()),
            upstream,
            since: START,
            looked: false,
            held: BTreeSet::new(),
            refused: 0,
        };
        // What ends before the dag is registered makes no run of it.
        for _ in 0..6 {
            tale.upstream_moves()?;
        }
        tale.held.clear();
        tale.since = tale.now;
        let registered =
            tale.store.register(std::slice::from_ref(&down), tale.now).unwrap().remove(0);
        let tasks = registered.tasks.iter().map(planned).collect();
        tale.down = (registered.id, down, tasks);
        for _ in 0..40 {
            tale.now = tale.now.plus_millis(1_000);
            match tale.rng.below(10) {
                0 => tale.come()?,
                1 => tale.server = None,
                2..=3 => tale.look()?,
                4 => tale.somebody_makes()?,
                _ => tale.upstream_moves()?,
            }
        }
        // In the end somebody serves, and looks.
        if tale.server.is_none() {
            tale.come()?;
        }
        tale.look()?;
        tale.judge()?;
        let made = tale.made().len() as u64;
        Ok((made, tale.refused))
    }

    /// A run of the upstream is made, ends, or is run again.
    fn upstream_moves(&mut self) -> Result<(), String> {
        self.now = self.now.plus_millis(1_000);
        let next = self.store.next_ids().unwrap();
        self.maker.world.set_next_ids(next.run, next.task_run);
        let live = self.maker.world.runs().find(|run| run.count(State::Running) > 0);
        match live.map(|run| run.row.id) {
            Some(run) => {
                let at = TaskRunRef { run, index: 0 };
                let progress = &self.maker.world.task_run(at).unwrap().progress;
                let good = self.rng.chance(600);
                let event = Event::AttemptEnded(Report {
                    at,
                    attempt_no: progress.attempt_no,
                    token: progress.token,
                    outcome: if good { Outcome::Success } else { Outcome::Failed },
                    result: None,
                    result_uri: None,
                    record: AttemptRecord::default(),
                    released: true,
                    texts: None,
                });
                self.make(&event)?;
            }
            None if self.rng.chance(250) => {
                let failed = self.maker.world.runs().filter(|run| run.count(State::Failed) > 0);
                let failed: Vec<RunId> = failed.map(|run| run.row.id).collect();
                if !failed.is_empty() {
                    let run = *self.rng.pick(&failed);
                    self.make(&Event::Rerun { run, what: RerunWhat::Failed })?;
                }
            }
            None => {
                let nominal_at = self.fire();
                let known = self.runs("up").contains_key(&nominal_at);
                let mut new = new_run(&self.up);
                (new.nominal_at, new.timed) = (nominal_at, !known);
                new.trigger = if known { Trigger::Manual } else { Trigger::Schedule };
                // One attempt, as whoever watches has it.
                new.interactive = true;
                self.make(&Event::CreateRun(new))?;
            }
        }
        if self.maker.world.has_ready(self.now) {
            self.make(&Event::Dispatch)?;
        }
        for (nominal_at, run) in self.runs("up") {
            if run.ended_at.is_some_and(|at| at > self.since) && self.lets_go(run.state) {
                self.held.insert(nominal_at);
            }
        }
        Ok(())
    }

    fn fire(&mut self) -> Instant {
        START.plus_millis(60_000 * self.rng.below(FIRES) as i64)
    }

    fn lets_go(&self, state: State) -> bool {
        let edge = &self.down.1.tasks[0].dependencies[0];
        match edge.kind {
            mainspring::model::EdgeKind::Completed => state.is_final(),
            _ => state == State::Success,
        }
    }

    fn make(&mut self, event: &Event) -> Result<(), String> {
        let decision = decide(&self.maker.world, event, self.now).map_err(|e| e.to_string())?;
        apply(&mut self.maker.world, &decision).map_err(|e| e.to_string())?;
        let batch = batch_of(&self.maker.world, &decision, self.maker.lease, self.now);
        self.store.commit(&batch).map_err(|e| format!("maker: {e:?}"))
    }

    /// A process begins to serve the dag: what it knows it has from the store.
    fn come(&mut self) -> Result<(), String> {
        let lease = self.store.join(&node()).map_err(|e| e.to_string())?;
        let next = self.store.next_ids().unwrap();
        let mut world = World::new((next.run, next.task_run), 64, lease.node_id, lease.scope_id);
        let (dag, def, tasks) = &self.down;
        world.serve(Served::new(*dag, def, tasks, &[], &[]).unwrap(), Vec::new());
        self.server = Some(Process { world, lease });
        self.looked = false;
        self.look()
    }

    /// What the driver does when somebody else has written.
    fn look(&mut self) -> Result<(), String> {
        if self.server.is_none() || self.looked && self.fault == Fault::LooksOnce {
            return Ok(());
        }
        let since = match self.fault {
            Fault::LooksAhead if !self.looked => self.now,
            Fault::LooksBehind => Instant(i64::MIN),
            _ => self.since,
        };
        self.looked = true;
        let asked = EndsAsked { task: self.upstream, follower: self.down.0, since, after: None };
        let ends = self.store.upstream_ends(&asked).map_err(|e| e.to_string())?;
        if !ends.windows(2).all(|two| two[0].0.nominal_at < two[1].0.nominal_at) {
            return Err("order: ends come in the order of their instants, each once".into());
        }
        let ends = ends.into_iter().map(|(row, run)| {
            let state = if self.fault == Fault::AnyEnd { State::Success } else { run.state };
            let (run, task_run, code, unchanged) = (run.run, run.task_run, run.code, run.unchanged);
            let (blocked_by, result, texts) = (None, None, None);
            (row, Found { run, task_run, state, code, unchanged, blocked_by, result, texts })
        });
        let ends = ends.collect();
        // Sometimes another makes a run of the dag between the look and the commit.
        let late = self.rng.chance(200);
        let Some(mut server) = self.server.take() else { return Ok(()) };
        let next = self.store.next_ids().unwrap();
        server.world.set_next_ids(next.run, next.task_run);
        let event = Event::Ended { dag: self.down.0, ends };
        let decision = decide(&server.world, &event, self.now).map_err(|e| e.to_string())?;
        apply(&mut server.world, &decision).map_err(|e| e.to_string())?;
        let batch = batch_of(&server.world, &decision, server.lease, self.now);
        if late && !batch.is_empty() {
            self.somebody_makes()?;
        }
        if batch.is_empty() {
            self.server = Some(server);
            return Ok(());
        }
        match self.store.commit(&batch) {
            Ok(()) => {
                self.server = Some(server);
                Ok(())
            }
            Err(CommitError::IdsMoved(_) | CommitError::RunExists { .. }) => {
                // The world is read anew, and what still stands is decided again.
                self.refused += 1;
                self.come()
            }
            Err(other) => Err(format!("server: {other:?}")),
        }
    }

    /// Another process that serves the dag sees one of the ends first.
    fn somebody_makes(&mut self) -> Result<(), String> {
        let ups = self.runs("up");
        let made = self.made();
        let open = |(at, run): &(&Instant, &Newest)| {
            self.lets_go(run.state) && self.held.contains(at) && !made.contains(*at)
        };
        let Some((nominal_at, _)) = ups.iter().find(open) else { return Ok(()) };
        let lease = self.store.join(&node()).map_err(|e| e.to_string())?;
        let next = self.store.next_ids().unwrap();
        let mut world = World::new((next.run, next.task_run), 64, lease.node_id, lease.scope_id);
        let plan = Plan::build(self.down.0, "down", self.down.2.clone()).unwrap();
        let mut new = new_run(&Arc::new(plan));
        (new.nominal_at, new.timed, new.trigger) = (*nominal_at, true, Trigger::Dependency);
        let decision =
            decide(&world, &Event::CreateRun(new), self.now).map_err(|e| e.to_string())?;
        apply(&mut world, &decision).map_err(|e| e.to_string())?;
        let batch = batch_of(&world, &decision, lease, self.now);
        self.store.commit(&batch).map_err(|e| format!("somebody: {e:?}"))
    }

    /// The newest run of a dag for each instant.
    fn runs(&mut self, dag: &str) -> BTreeMap<Instant, Newest> {
        let mut all = self.store.runs(&RunFilter::default()).unwrap();
        all.retain(|run| run.row.dag == dag);
        all.sort_by_key(|run| run.row.id);
        let all = all.into_iter().map(|run| {
            let progress = self.store.task_runs(run.row.id).unwrap().remove(0).row.progress;
            let (state, ended_at) = (progress.state, progress.finished_at);
            (run.row.nominal_at, Newest { state, ended_at })
        });
        all.collect()
    }

    fn made(&mut self) -> Vec<Instant> {
        let mut all = self.store.runs(&RunFilter::default()).unwrap();
        all.retain(|run| run.row.dag == "down");
        all.iter().map(|run| run.row.nominal_at).collect()
    }

    /// One run for each instant whose newest run has ended, since the dag is registered, as the edge
    /// wants it; none for others, unless it was so for a while.
    fn judge(&mut self) -> Result<(), String> {
        let made = self.made();
        let once: BTreeSet<Instant> = made.iter().copied().collect();
        if once.len() != made.len() {
            return Err(format!("twice: {made:?}"));
        }
        for (nominal_at, run) in self.runs("up") {
            let is_new = run.ended_at.is_some_and(|at| at > self.since);
            if is_new && self.lets_go(run.state) && !once.contains(&nominal_at) {
                return Err(format!("missing: no run for {nominal_at}"));
            }
        }
        if let Some(early) = once.iter().find(|at| !self.held.contains(at)) {
            return Err(format!("early: a run for {early}, which never let it go"));
        }
        Ok(())
    }
}

#[test]
fn each_end_since_it_was_registered_makes_one_run() {
    let seeds = match super::number("MAINSPRING_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..super::number("MAINSPRING_WORLDS").unwrap_or(1000),
    };
    let (mut made, mut refused) = (0, 0);
    for seed in seeds.clone() {
        match Tale::tell(seed, Fault::None) {
            Ok((runs, times)) => (made, refused) = (made + runs, refused + times),
            Err(wrong) => panic!("MAINSPRING_SEED={seed}: {wrong}"),
        }
    }
    println!("{seeds:?}: {made} runs, {refused} commits refused");
    assert!(refused > 0 || seeds.end - seeds.start < 100, "nobody comes in between");
}

#[test]
fn each_rule_that_is_taken_away_is_missed() {
    let caught = |fault: Fault, checker: &str| {
        super::caught_by(fault, checker, 0..200, |seed| Tale::tell(seed, fault));
    };
    caught(Fault::LooksAhead, "missing");
    caught(Fault::LooksBehind, "early");
    caught(Fault::LooksOnce, "missing");
    caught(Fault::AnyEnd, "early");
}
