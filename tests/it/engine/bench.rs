//! Rules in text: a world, what happens, and what is to be seen then.
//!
//! A world is one task a line: `name <- upstreams : policy`. An upstream with `?` is a COMPLETED
//! edge, with `?5000` one that is waited for up to that, with `~` a WEAK one. `probe=1000` as a policy makes a probe of it, `gate` a gate. `map=a`
//! maps over the result of `a`, `map=[1,2]` over a list, `shards=3` makes shards; an item is
//! `name[0]`. Events are those of [`Bench::happen`]; after each of them what is
//! ready is started. What is expected is one word a task: `a=RETRY_WAIT#2(EXIT_1)`.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainspring::engine::{
    Decision, EdgeRule, Effect, End, Event, Gathering, Kept, NewRun, Plan, PlannedTask, Report,
    RerunWhat, TaskRunRef, Word, World, apply, decide, explain, items_of,
};
use mainspring::graph::Graph;
use mainspring::model::{
    AttemptRecord, Backoff, DagId, Date, Deadline, EdgeKind, Instant, Mapping, NodeId, OnDeadline,
    Outcome, Over, RunDays, RunId, RunOn, TaskDef, TaskId, TaskPolicy, TaskVersionId, Token,
    Trigger,
};

use crate::sim::rows::MemoryRows;

/// Time zero of the benches: a whole number of seconds, so that text is short.
pub const START: Instant = Instant::from_secs(1_000_000);

pub struct Bench {
    pub world: World,
    pub rows: MemoryRows,
    pub now: Instant,
    pub last: Decision,
    /// Ends of attempts so far.
    pub ends: Vec<End>,
    /// Seconds since START at which attempts of each task started.
    pub started: BTreeMap<String, Vec<i64>>,
    /// Seconds since START at which something was called for each task: polls too.
    pub called: BTreeMap<String, Vec<i64>>,
    tokens: BTreeMap<(u32, u32), Token>,
    refused: Vec<String>,
    slots: u32,
    node: i64,
}

/// Carries out the events in a run of this plan and compares.
pub fn check(world: &str, events: &[&str], expect: &str) {
    let mut bench = Bench::new(world);
    bench.all(events);
    assert_eq!(
        bench.states(),
        expect.split_whitespace().collect::<Vec<_>>().join(" "),
        "{events:?}"
    );
}

pub fn task(name: &str, policy: TaskPolicy) -> PlannedTask {
    let text = serde_json::json!({"name": name, "type": "noop", "policy": policy});
    let def: TaskDef = serde_json::from_value(text).unwrap();
    let (task_id, version_id) = (TaskId(1), TaskVersionId(1));
    PlannedTask { task_id, version_id, def: Arc::new(def), enabled: true }
}

/// The same task as one of another type.
pub fn of_kind(task: PlannedTask, kind: &str, poll_ms: Option<i64>) -> PlannedTask {
    let def = TaskDef { kind: kind.into(), poll_ms, ..(*task.def).clone() };
    PlannedTask { def: Arc::new(def), ..task }
}

pub fn plan(tasks: Vec<PlannedTask>, edges: &[(u32, u32)], kinds: Vec<EdgeKind>) -> Arc<Plan> {
    let tasks: Vec<PlannedTask> = (1..)
        .zip(tasks)
        .map(|(id, task)| PlannedTask {
            task_id: TaskId(id),
            version_id: TaskVersionId(id),
            ..task
        })
        .collect();
    let graph = Graph::new(tasks.len(), edges).unwrap();
    let rules = kinds.into_iter().map(EdgeRule::of_kind).collect();
    let names = tasks.iter().map(|task| vec![format!("d.{}", task.def.name).into()]).collect();
    let across = vec![Vec::new(); tasks.len()];
    Arc::new(Plan { dag_id: DagId(1), dag: "d".into(), tasks, graph, rules, names, across })
}

pub fn new_run(plan: &Arc<Plan>) -> NewRun {
    NewRun {
        plan: plan.clone(),
        nominal_at: START,
        biz_date: Date(10),
        interval: (START, START),
        timezone: "UTC".into(),
        trigger: Trigger::Manual,
        timed: false,
        interactive: false,
        requested_by: None,
        params: Default::default(),
        task: None,
        variant: String::new(),
        schedules: vec![],
        only: None,
        force: false,
    }
}

fn parse(text: &str) -> Arc<Plan> {
    let lines: Vec<&str> =
        text.split(['\n', ';']).map(str::trim).filter(|l| !l.is_empty()).collect();
    let name = |line: &str| line.split(['<', ':']).next().unwrap().trim().to_owned();
    let names: Vec<String> = lines.iter().map(|line| name(line)).collect();
    let (mut tasks, mut edges, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
    let mut waits: Vec<Option<i64>> = Vec::new();
    for (index, line) in (0u32..).zip(&lines) {
        let (head, policy) = line.split_once(':').unwrap_or((line, ""));
        let (map, policy) = parse_map(policy);
        for up in head.split_once("<-").map_or("", |(_, up)| up).split_whitespace() {
            // `a?5000`: waited for up to so many milliseconds.
            let (up, wait) = match up.split_once('?') {
                Some((up, "")) => (format!("{up}?"), None),
                Some((up, wait)) => (format!("{up}?"), Some(wait.parse().unwrap())),
                None => (up.to_owned(), None),
            };
            let kind = match up.chars().last() {
                Some('?') => EdgeKind::Completed,
                Some('~') => EdgeKind::Weak,
                _ => EdgeKind::Success,
            };
            waits.push(wait);
            let up = up.trim_end_matches(['?', '~']);
            edges.push((names.iter().position(|name| name == up).unwrap() as u32, index));
            kinds.push(kind);
        }
        let mut made = task(&names[index as usize], parse_policy(&policy));
        if map.is_some() {
            made.def = Arc::new(TaskDef { map, ..(*made.def).clone() });
        }
        let probe = policy.split_whitespace().find_map(|word| word.strip_prefix("probe="));
        tasks.push(match probe {
            Some(ms) => of_kind(made, "probe", Some(ms.parse().unwrap())),
            None if policy.split_whitespace().any(|word| word == "gate") => {
                of_kind(made, "gate", None)
            }
            None => made,
        });
    }
    let mut plan = Arc::unwrap_or_clone(plan(tasks, &edges, kinds));
    for (rule, wait) in plan.rules.iter_mut().zip(waits) {
        rule.wait_up_to_ms = wait;
    }
    Arc::new(plan)
}

/// What is said of items, and the rest.
fn parse_map(text: &str) -> (Option<Mapping>, String) {
    let (mut over, mut max_active, mut rest) = (None, None, Vec::new());
    for word in text.split_whitespace() {
        match word.split_once('=') {
            Some(("map", list)) if list.starts_with('[') => {
                over = Some(Over::Items(serde_json::from_str(list).unwrap()));
            }
            Some(("map", name)) => over = Some(Over::Result(name.into())),
            Some(("mapparam", name)) => over = Some(Over::Param(name.into())),
            Some(("shards", count)) => over = Some(Over::Shards(count.parse().unwrap())),
            Some(("atonce", count)) => max_active = Some(count.parse().unwrap()),
            _ => rest.push(word),
        }
    }
    let map = over.map(|over| Mapping { argument: Some("x".into()), over, max_active });
    (map, rest.join(" "))
}

fn parse_policy(text: &str) -> TaskPolicy {
    let mut policy = TaskPolicy { max_attempts: Some(1), grace_ms: 1_000, ..TaskPolicy::default() };
    for word in text.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || value.parse::<i64>().unwrap();
        match key {
            "max" => policy.max_attempts = Some(number() as u32),
            "default" => policy.max_attempts = None,
            "losses" => policy.max_losses = number() as u32,
            "fixed" => {
                (policy.retry_backoff, policy.retry_interval_ms) = (Backoff::Fixed, number())
            }
            "exp" => policy.retry_interval_ms = number(),
            "on" => policy.retry_on = Some(value.split(',').map(str::to_owned).collect()),
            "timeout" => policy.timeout_ms = Some(number()),
            "grace" => policy.grace_ms = number(),
            "once" => policy.idempotent = false,
            "dedup" => policy.dedup_key = Some("k".into()),
            "prio" => policy.priority = number() as u8,
            "slots" => policy.slots = number() as u32,
            "pool" => policy.pool = Some(value.into()),
            "after" => policy.not_before = Some(value.replace('_', " ").parse().unwrap()),
            "days" | "bizdays" => {
                let days = RunDays::Rule(value.replace('_', " "));
                policy.run_on = Some(RunOn { days, biz_date: key == "bizdays" });
            }
            "probe" | "gate" => {}
            "active" => policy.max_active = Some(number() as u32),
            "limit" => {
                let (name, slots) = value.split_once(',').unwrap_or((value, "1"));
                policy.limits.insert(name.into(), slots.parse().unwrap());
            }
            "gives" => policy.preemptible = true,
            "deadline" => policy.deadline = Some(Deadline::parse(value).unwrap()),
            "cancels" => policy.on_deadline = OnDeadline::Cancel,
            "block" => policy.block_timeout_ms = Some(number()),
            other => panic!("no policy {other}"),
        }
    }
    policy
}

impl Bench {
    /// A world with one run of this plan, nothing started yet; `slots=n` as first line.
    pub fn new(text: &str) -> Bench {
        Bench::with(text, |_| {})
    }

    /// The same with changes to what is asked for.
    pub fn with(text: &str, change: impl FnOnce(&mut NewRun)) -> Bench {
        let (first, rest) = text.split_once([';', '\n']).unwrap_or((text, ""));
        let (slots, text) = match first.trim().strip_prefix("slots=") {
            Some(slots) => (slots.parse().unwrap(), rest),
            None => (100, text),
        };
        let plan = parse(text);
        let mut bench = Bench {
            world: MemoryRows::new().world(slots, NodeId(1)),
            rows: MemoryRows::new(),
            now: START,
            last: Decision::default(),
            ends: Vec::new(),
            started: BTreeMap::new(),
            called: BTreeMap::new(),
            tokens: BTreeMap::new(),
            refused: Vec::new(),
            slots,
            node: 1,
        };
        let mut new = new_run(&plan);
        change(&mut new);
        bench.event(&Event::CreateRun(new));
        bench
    }

    pub fn all(&mut self, events: &[&str]) {
        self.event(&Event::Dispatch);
        for event in events {
            self.happen(event);
        }
    }

    /// Decides, commits and applies; a refusal is kept to be looked at. What mapped tasks wait for
    /// is read at once.
    pub fn event(&mut self, event: &Event) {
        self.one(event);
        while let Some(event) = gathered(&self.world) {
            self.one(&event);
            if self.world.next_wake().is_some_and(|wake| wake <= self.now) {
                self.one(&Event::Tick);
            }
        }
    }

    fn one(&mut self, event: &Event) {
        match decide(&self.world, event, self.now) {
            Ok(decision) => {
                self.rows.commit(&decision).unwrap();
                apply(&mut self.world, &decision).unwrap();
                for start in &decision.starts {
                    let at = (start.at.index, start.attempt.attempt_no);
                    self.tokens.insert(at, start.attempt.token);
                    let name = self.world.run(start.at.run).unwrap().name(start.at.index);
                    self.started.entry(name).or_default().push((self.now - START) / 1_000_000);
                }
                for effect in &decision.effects {
                    if let Effect::Start(at, _) | Effect::Poll(at, _) = effect {
                        let name = self.world.run(at.run).unwrap().name(at.index);
                        self.called.entry(name).or_default().push((self.now - START) / 1_000_000);
                    }
                }
                self.ends.extend(decision.ends.iter().cloned());
                self.last = decision;
            }
            Err(refusal) => self.refused.push(refusal.to_string()),
        }
    }

    fn at(&self, name: &str) -> TaskRunRef {
        let run = self.world.run(RunId(1)).unwrap();
        let mut all = 0..run.task_runs().len() as u32;
        let index = all.find(|index| run.name(*index) == name);
        TaskRunRef { run: RunId(1), index: index.unwrap_or_else(|| panic!("no task {name}")) }
    }

    /// `+5` seconds pass with a tick at each timer; `a ok`, `a fail CODE`, `a lost`, `a timeout`,
    /// `a hung` (failed, thread still runs), `a released`, `a ok#1` (as attempt 1), `a no` (a probe
    /// is not ready), `a preempted` (as it was asked); `approve a`, `reject a`; `limit x 3`,
    /// `pool p 3`, `ages 60000`; `cancel [a]`, `rerun failed`, `rerun a`, `rerun a+`, `interrupt`,
    /// `nodelost`, `crash`.
    pub fn happen(&mut self, text: &str) {
        let words: Vec<&str> = text.split_whitespace().collect();
        if let Some(seconds) = text.strip_prefix('+') {
            return self.pass(seconds.parse().unwrap());
        }
        let run = RunId(1);
        match words[..] {
            ["cancel"] => self.event(&Event::Cancel { run, only: None, grace_ms: None }),
            ["kill"] => self.event(&Event::Cancel { run, only: None, grace_ms: Some(0) }),
            ["cancel", name] => {
                let only = Some(vec![self.at(name).index]);
                self.event(&Event::Cancel { run, only, grace_ms: None });
            }
            ["rerun", "failed"] => self.event(&Event::Rerun { run, what: RerunWhat::Failed }),
            ["rerun", name] => {
                let index = vec![self.at(name.trim_end_matches('+')).index];
                let what = match name.ends_with('+') {
                    true => RerunWhat::WithDownstream(index),
                    false => RerunWhat::Only(index),
                };
                self.event(&Event::Rerun { run, what });
            }
            [word @ ("approve" | "reject"), name] => {
                self.event(&Event::Approve(Word {
                    at: self.at(name),
                    reject: word == "reject",
                    note: Some("fine".into()),
                    by: Some("ann".into()),
                }));
            }
            ["drain"] => self.event(&Event::Drain),
            ["limit", name, slots] => {
                let slots = Some(slots.parse().unwrap());
                self.event(&Event::LimitSized { limit: name.into(), slots });
            }
            ["pool", name, slots] => {
                let (pool, slots) = (Some(name.into()), slots.parse().unwrap());
                self.event(&Event::PoolSized { pool, slots });
            }
            ["ages", step] => {
                let step_ms = Some(step.parse().unwrap());
                self.event(&Event::PoolAges { pool: None, step_ms });
            }
            ["interrupt"] => self.event(&Event::Interrupt { grace_ms: 1_000 }),
            ["nodelost"] => self.event(&Event::NodeLost { node: NodeId(self.node) }),
            ["crash"] => {
                let old = NodeId(self.node);
                self.node += 1;
                self.world = self.rows.world(self.slots, NodeId(self.node));
                self.event(&Event::NodeLost { node: old });
            }
            [name, what, ref rest @ ..] => self.report(name, what, rest.first().copied()),
            _ => panic!("no event {text}"),
        }
        self.event(&Event::Dispatch);
    }

    fn pass(&mut self, seconds: i64) {
        let until = self.now + seconds * 1_000_000;
        while let Some(wake) = self.world.next_wake().filter(|wake| *wake <= until) {
            self.now = self.now.max(wake);
            self.event(&Event::Tick);
            self.event(&Event::Dispatch);
        }
        self.now = until;
    }

    fn report(&mut self, name: &str, what: &str, code: Option<&str>) {
        let at = self.at(name);
        let (what, no) = what.split_once('#').map_or((what, None), |(w, no)| (w, no.parse().ok()));
        let current = self.world.task_run(at).unwrap().progress.attempt_no;
        let attempt_no: u32 = no.unwrap_or(current);
        let token = self.tokens[&(at.index, attempt_no)];
        if what == "released" {
            return self.event(&Event::AttemptReleased { at, attempt_no, token });
        }
        if what == "no" {
            return self.event(&Event::NotReady { at, attempt_no, token });
        }
        let outcome = match what {
            "ok" => Outcome::Success,
            "fail" | "hung" => Outcome::Failed,
            "timeout" => Outcome::Timeout,
            "lost" => Outcome::Lost,
            "preempted" => Outcome::Preempted,
            other => panic!("no outcome {other}"),
        };
        let given = code.and_then(|code| code.strip_prefix('='));
        let record =
            AttemptRecord { error_code: code.map(str::to_owned), ..AttemptRecord::default() };
        let released = what != "hung";
        let result = (outcome == Outcome::Success).then(|| Arc::from(given.unwrap_or("1")));
        let report = Report {
            at,
            attempt_no,
            token,
            outcome,
            result,
            result_uri: None,
            record,
            released,
            texts: None,
        };
        self.event(&Event::AttemptEnded(report));
    }

    /// One word a task, and the run's state at the end; `*` marks what is stale.
    pub fn states(&self) -> String {
        let run = self.world.run(RunId(1)).unwrap();
        let word = |index: u32| {
            let name = run.name(index);
            let p = &run.task_run(index).progress;
            let mut word = format!("{name}={}#{}", p.state, p.attempt_no);
            match p.blocked_by.and_then(|root| run.index_of(root)) {
                Some(root) => word.push_str(&format!("(by {})", run.name(root))),
                None => p.code.iter().for_each(|code| word.push_str(&format!("({code})"))),
            }
            word + if p.stale { "*" } else { "" }
        };
        let words: Vec<String> = (0..run.task_runs().len() as u32).map(word).collect();
        format!("{} run={}", words.join(" "), run.row.state).trim_start().to_owned()
    }

    /// The result of a task or an item.
    pub fn result(&self, name: &str) -> Option<String> {
        let progress = &self.world.task_run(self.at(name)).unwrap().progress;
        progress.result.as_deref().map(str::to_owned)
    }

    pub fn why(&self, name: &str) -> String {
        explain(&self.world, self.at(name), self.now).unwrap().to_string()
    }

    pub fn refused(&self) -> &str {
        self.refused.last().map_or("", String::as_str)
    }
}

/// Reads what a mapped task waits for, as whoever drives a world does; nothing of it lies in files.
pub fn gathered(world: &World) -> Option<Event> {
    let at = world.next_gathering()?;
    let text = |kept: Kept| match kept {
        Kept::Text(text) => text.to_string(),
        Kept::Nothing => "null".to_owned(),
        Kept::File(path) => panic!("{path}"),
    };
    Some(match world.gathering(at).unwrap() {
        Gathering::List(kept) => Event::Expand { at, list: items_of(&text(kept)) },
        // Benches have whole dags in their runs.
        Gathering::ListOf(_) => return None,
        Gathering::Results(results) => {
            let results: Vec<String> = results.into_iter().map(text).collect();
            let result = Some(Arc::from(format!("[{}]", results.join(","))));
            let (fingerprint, unchanged) = (None, false);
            Event::Collect { at, result, result_uri: None, fingerprint, unchanged, texts: None }
        }
    })
}
