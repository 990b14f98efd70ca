//! The rules: one file a kind of event, and `cascade` for what follows from each.

mod across;
mod backfill;
mod cancel;
mod cascade;
mod create;
mod dispatch;
mod draft;
mod ended;
mod expand;
mod fire;
mod follow;
mod lost;
mod overdue;
mod patience;
mod rerun;
mod rest;
mod timers;
mod unchanged;

use self::draft::Draft;
use super::{Decision, Event, TaskRunRef, World};
use crate::model::{BackfillId, BackfillState, Instant, RunId, State};

/// Why an event leads to no decision. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The run is not here.
    #[error("run {0} is not known here")]
    NoRun(RunId),
    /// The run has no such task run.
    #[error("run {} has no task with index {}", .0.run, .0.index)]
    NoTaskRun(TaskRunRef),
    /// A timed run of this dag and instant exists already.
    #[error("{dag} has a run for {nominal_at} already: run {run}")]
    RunExists {
        /// The dag.
        dag: String,
        /// The instant.
        nominal_at: Instant,
        /// The run there is.
        run: RunId,
    },
    /// The plan contradicts itself.
    #[error("the plan of {0} is not usable: its graph and its tasks differ in number")]
    BadPlan(String),
    /// Only what is final can be run again.
    #[error("run {run}: only what has ended can be run again, but {}", list(.open))]
    NotFinal {
        /// The run.
        run: RunId,
        /// Names of the tasks that have not ended, with their states.
        open: Vec<(String, State)>,
    },
    /// A word is given to what waits for none.
    #[error("run {run}: {task} is no gate{}", hint(.gates))]
    NoGate {
        /// The run.
        run: RunId,
        /// The task.
        task: String,
        /// The gates that the run has.
        gates: Vec<String>,
    },
    /// A gate waits for no word: not yet, or not any more. It says how it stands.
    #[error("nobody's word is awaited: {0}")]
    NotAwaited(String),
    /// What is said at a gate is longer than what is kept.
    #[error("the note has {0} characters, at most {most} fit", most = rest::LONGEST_NOTE)]
    LongNote(usize),
    /// An item that the list of its mapping does not have any more.
    #[error("run {run}: {item} was removed, the list is shorter now")]
    Removed {
        /// The run.
        run: RunId,
        /// The item.
        item: String,
    },
    /// An item whose mapped task waits to be expanded anew, with a list that may be another.
    #[error("run {run}: {item} is run again with all of {task}, which is {state}")]
    NotExpanded {
        /// The run.
        run: RunId,
        /// The item.
        item: String,
        /// The mapped task.
        task: String,
        /// Where that stands.
        state: State,
    },
    /// A backfill computes these very cells at the moment: never two at once.
    #[error(
        "run {run} of backfill {backfill} computes {dag} for this date at the moment\n  \
         hint: wait for it, or give it up with `mainspring backfills {backfill} cancel`"
    )]
    InBackfill {
        /// The dag.
        dag: String,
        /// The backfill's run.
        run: RunId,
        /// The backfill.
        backfill: BackfillId,
    },
    /// The backfill is not here.
    #[error("backfill {0} is not known here")]
    NoBackfill(BackfillId),
    /// A backfill that has ended is neither paused nor given up.
    #[error("backfill {id} has ended: it is {state}{}", retry_hint(*.state))]
    BackfillOver {
        /// Which.
        id: BackfillId,
        /// Its state.
        state: BackfillState,
    },
    /// There is nothing of a backfill to try again.
    #[error("backfill {0} has nothing that failed, and nothing that was not started")]
    NothingToRetry(BackfillId),
    /// There is nothing to run again.
    #[error("run {0} has nothing that failed, timed out or was canceled")]
    NothingFailed(RunId),
}

/// What else can be done about a backfill that stands so.
fn retry_hint(state: BackfillState) -> &'static str {
    match state {
        BackfillState::Success => "",
        BackfillState::Running | BackfillState::Paused => " and is being given up",
        _ => "\n  hint: retry runs what failed again, and makes what was not started",
    }
}

/// Which gates there are.
fn hint(gates: &[String]) -> String {
    match gates {
        [] => "\n  hint: the run has no gate".to_owned(),
        gates => format!("\n  hint: its gates are {}", gates.join(", ")),
    }
}

/// The first few in words.
fn list(open: &[(String, State)]) -> String {
    const SHOWN: usize = 5;
    let shown = open.iter().take(SHOWN).map(|(task, state)| format!("{task} is {state}"));
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if open.len() > SHOWN {
        text.push_str(&format!(" and {} more are open", open.len() - SHOWN));
    }
    text
}

/// What is to be done about an event. Reads the world and changes nothing.
///
/// # Errors
/// `Refusal` where what was asked for cannot be done.
pub fn decide(world: &World, event: &Event, now: Instant) -> Result<Decision, Refusal> {
    let mut draft = Draft::new(world, now);
    match event {
        Event::CreateRun(new) => draft.create(new)?,
        Event::AttemptEnded(report) => draft.attempt_ended(report)?,
        Event::AttemptReleased { at, attempt_no, token } => {
            draft.attempt_released(*at, *attempt_no, *token)?;
        }
        Event::NotReady { at, attempt_no, token } => draft.not_ready(*at, *attempt_no, *token)?,
        Event::Approve(word) => draft.approve(word)?,
        Event::Tick => draft.tick(),
        Event::ScheduleDue(schedule) => draft.schedule_due(*schedule),
        Event::Pause { schedule, paused, missed } => draft.pause(*schedule, *paused, *missed),
        Event::Read(cells) => draft.read_cells(cells),
        Event::Ended { dag, ends } => draft.follow_up(*dag, ends),
        Event::Enabled(task) => draft.enabled(*task),
        Event::Expand { at, list } => draft.expand(*at, list)?,
        Event::Collect { at, result, result_uri, fingerprint, unchanged, texts } => {
            let result = (result.as_ref(), result_uri.as_deref());
            let mark = (fingerprint.as_deref(), *unchanged);
            draft.collect(*at, result, mark, texts.as_deref())?;
        }
        Event::NewBackfill(new) => draft.new_backfill(new)?,
        Event::Fill(backfill) => draft.fill(*backfill),
        Event::Steer { backfill, steer, grace_ms } => draft.steer(*backfill, *steer, *grace_ms)?,
        Event::Dispatch => draft.dispatch(),
        Event::Cancel { run, only, grace_ms } => draft.cancel(*run, only.as_deref(), *grace_ms)?,
        Event::Drain => draft.out.interrupting = true,
        Event::Interrupt { grace_ms } => draft.interrupt(*grace_ms),
        Event::Rerun { run, what } => draft.rerun(*run, what)?,
        Event::NodeLost { node } => draft.node_lost(*node),
        Event::PoolSized { pool, slots } => draft.out.pools.push((pool.clone(), *slots)),
        Event::PoolAges { pool, step_ms } => draft.out.ageing.push((pool.clone(), *step_ms)),
        Event::LimitSized { limit, slots } => draft.out.limits.push((limit.clone(), *slots)),
    }
    Ok(draft.finish())
}

impl Draft<'_> {
    fn known_run(&self, run: RunId) -> Result<&super::Run, Refusal> {
        self.world.run(run).ok_or(Refusal::NoRun(run))
    }

    /// These indexes of a run, each once and in order; all of them where none are named.
    fn known_task_runs(&self, run: RunId, only: Option<&[u32]>) -> Result<Vec<u32>, Refusal> {
        let count = self.known_run(run)?.task_runs.len() as u32;
        let Some(only) = only else { return Ok((0..count).collect()) };
        let mut indexes = only.to_vec();
        indexes.sort_unstable();
        indexes.dedup();
        match indexes.last() {
            Some(last) if *last >= count => {
                Err(Refusal::NoTaskRun(TaskRunRef { run, index: *last }))
            }
            _ => Ok(indexes),
        }
    }
}
