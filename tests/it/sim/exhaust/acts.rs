//! What may happen in a state of a small world.

use std::sync::Arc;

use mainspring::engine::{Event, NewRun, Report, RerunWhat, TaskRunRef};
use mainspring::model::{AttemptRecord, DagId, Date, Outcome, RunState, StopReason, Token};

use super::node::Node;

/// What happens only so many times in a world, so that its states have an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The process dies, and the next one reads the rows.
    Crash,
    /// A commit is refused: the process throws its world away and reads it anew.
    Reread,
    Cancel,
    Rerun,
    Interrupt,
    Resize,
    /// A report comes twice, or from an attempt that was lost or given up.
    Late,
    /// An attempt ends on paper while its thread still runs.
    Hung,
    /// Time passes and nobody looks at the clock.
    Later,
}

pub const BOUNDS: usize = Bound::Later as usize + 1;

/// How an attempt may end, and with what result.
pub type Ending = (Outcome, Option<&'static str>);

/// A small world, with how much of what may happen in it.
pub struct Small {
    pub name: &'static str,
    /// Runs that are made, in this order among those of one list.
    pub runs: Vec<Vec<NewRun>>,
    /// Pools, and the sizes that they may take besides.
    pub pools: Vec<(Option<String>, u32, Vec<u32>)>,
    /// The first one is how it goes when nothing goes wrong.
    pub endings: Vec<Ending>,
    /// How often each of these happens at most, and how many of them in all.
    pub bounds: Vec<(Bound, u8)>,
    pub troubles: u8,
    /// A dag whose attempts do nothing but succeed.
    pub steady: Option<DagId>,
    /// The day of the first fire, where dags look at each other.
    pub first: Option<Date>,
}

/// Something that may happen.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all of them are the large one")]
pub enum Act {
    Happens(Event),
    Crash,
    Reread,
    /// The process lets go of a run that has ended.
    Forget(mainspring::model::RunId),
    /// Time passes, to the next timer at least, and nobody looks.
    Later,
}

pub struct Choice {
    pub act: Act,
    /// Of what there is only so much.
    pub of: Option<Bound>,
    /// Whether it is what happens when nothing goes wrong any more.
    pub plain: bool,
    /// Which of the lists of runs goes on by it.
    pub makes: Option<usize>,
}

impl Choice {
    fn plain(event: Event) -> Choice {
        Choice { act: Act::Happens(event), of: None, plain: true, makes: None }
    }

    fn may(act: Act) -> Choice {
        Choice { act, of: None, plain: false, makes: None }
    }

    fn of(bound: Bound, event: Event) -> Choice {
        Choice { act: Act::Happens(event), of: Some(bound), plain: false, makes: None }
    }
}

/// Everything that may happen in a state; the plain ones come in the order in which they are done
/// when nothing goes wrong any more.
pub fn choices(small: &Small, node: &Node) -> Vec<Choice> {
    let mut all = Vec::new();
    attempts(small, node, &mut all);
    process(small, node, &mut all);
    people(node, &mut all);
    all.retain(|choice| choice.of.is_none_or(|bound| node.left(bound) > 0));
    all
}

/// What is heard of attempts.
fn attempts(small: &Small, node: &Node, all: &mut Vec<Choice>) {
    for run in node.world.runs() {
        for (index, task_run) in (0u32..).zip(run.task_runs()) {
            let at = TaskRunRef { run: run.row.id, index };
            let Some(live) = &task_run.live else { continue };
            let (attempt_no, token) = (live.attempt_no, live.token);
            let ended = |ending, released| {
                Event::AttemptEnded(report(at, attempt_no, token, ending, released))
            };
            if live.ended {
                all.push(Choice::plain(Event::AttemptReleased { at, attempt_no, token }));
                all.push(Choice::of(Bound::Late, ended(small.endings[0], true)));
                continue;
            }
            // Whatever is reported of what was cancelled or is out of its time makes no difference.
            let is_stopped = |reason| matches!(reason, StopReason::Cancel | StopReason::Timeout);
            let is_stopped = live.stop.is_some_and(|stop| is_stopped(stop.reason));
            let count = match is_stopped {
                _ if small.steady == Some(run.row.dag_id) => 1,
                true => 2,
                false => small.endings.len(),
            };
            for (nth, ending) in small.endings.iter().take(count).enumerate() {
                let plain = nth == 0;
                all.push(Choice { plain, ..Choice::plain(ended(*ending, true)) });
            }
            let hung = (Outcome::Failed, None);
            all.push(Choice::of(Bound::Hung, ended(hung, false)));
        }
    }
    for (at, (attempt_no, token)) in &node.gone {
        let (at, attempt_no, token) = (*at, *attempt_no, *token);
        if node.world.task_run(at).is_none() {
            continue;
        }
        for ending in [(Outcome::Success, Some("\"late\"")), (Outcome::Lost, None)] {
            let report = report(at, attempt_no, token, ending, true);
            all.push(Choice::of(Bound::Late, Event::AttemptEnded(report)));
        }
        all.push(Choice::of(Bound::Late, Event::AttemptReleased { at, attempt_no, token }));
    }
}

/// What the process does, and what becomes of it.
fn process(small: &Small, node: &Node, all: &mut Vec<Choice>) {
    let restart = |of, plain| Choice { act: Act::Crash, of, plain, makes: None };
    if node.world.interrupting() {
        all.push(restart(None, true));
    } else {
        for (list, runs) in small.runs.iter().enumerate() {
            if let Some(new) = runs.get(node.made[list]) {
                let makes = Some(list);
                all.push(Choice { makes, ..Choice::plain(Event::CreateRun(new.clone())) });
            }
            // Who asks for it again is refused.
            if let Some(last) = node.made[list].checked_sub(1).filter(|_| runs[0].timed) {
                all.push(Choice::may(Act::Happens(Event::CreateRun(runs[last].clone()))));
            }
        }
        for (pool, full, sizes) in &small.pools {
            let is = node.truth.pools[pool];
            let sized = |slots| Event::PoolSized { pool: pool.clone(), slots };
            if is == 0 {
                all.push(Choice::plain(sized(*full)));
            }
            let others = sizes.iter().filter(|size| **size != is);
            all.extend(others.map(|size| Choice::of(Bound::Resize, sized(*size))));
        }
        all.push(restart(Some(Bound::Crash), false));
        all.push(Choice::of(Bound::Interrupt, Event::Interrupt { grace_ms: 1_000 }));
        all.push(Choice::of(Bound::Interrupt, Event::Drain));
    }
    all.push(Choice { of: Some(Bound::Reread), ..Choice::may(Act::Reread) });
    if node.world.unread_cells().next().is_some() {
        all.push(Choice::plain(node.read(small)));
    }
    if node.world.has_ready(node.now) {
        all.push(Choice::plain(Event::Dispatch));
    }
    if node.world.next_timer().is_some() {
        all.push(Choice::plain(Event::Tick));
    }
    all.push(Choice { of: Some(Bound::Later), ..Choice::may(Act::Later) });
    // Runs are let go of where others look at them: elsewhere it would make no difference.
    if small.first.is_some() {
        let ended = node.world.runs().filter(|run| run.row.state != RunState::Running);
        all.extend(ended.map(|run| Choice::may(Act::Forget(run.row.id))));
    }
}

/// What people ask for.
fn people(node: &Node, all: &mut Vec<Choice>) {
    for stored in node.rows.runs.values() {
        let run = stored.row.id;
        if node.left(Bound::Cancel) > 0 && node.world.run(run).is_some() {
            let cancel = |only, grace_ms| Event::Cancel { run, only, grace_ms };
            all.push(Choice::of(Bound::Cancel, cancel(None, None)));
            all.push(Choice::of(Bound::Cancel, cancel(None, Some(0))));
            let indexes = 0..stored.row.task_count;
            all.extend(indexes.map(|at| Choice::of(Bound::Cancel, cancel(Some(vec![at]), None))));
        }
        if node.left(Bound::Rerun) == 0 {
            continue;
        }
        let rerun = |what| Choice::of(Bound::Rerun, Event::Rerun { run, what });
        all.push(rerun(RerunWhat::Failed));
        for (index, row) in (0u32..).zip(stored.task_runs.values()) {
            if row.progress.state.is_final() {
                all.push(rerun(RerunWhat::Only(vec![index])));
                all.push(rerun(RerunWhat::WithDownstream(vec![index])));
            }
        }
    }
}

fn report(
    at: TaskRunRef,
    attempt_no: u32,
    token: Token,
    (outcome, result): Ending,
    released: bool,
) -> Report {
    let record = AttemptRecord::default();
    let result = result.map(Arc::from);
    Report {
        at,
        attempt_no,
        token,
        outcome,
        result,
        result_uri: None,
        record,
        released,
        texts: None,
    }
}
