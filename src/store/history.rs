//! History as columns: which there are, what is in them, and who takes their cells.
//!
//! The store reads cell after cell and keeps none; what becomes of them is up to whoever asks.

use super::{SqlStore, StoreError, texts};
use crate::graph::Nearest;
use crate::model::{Date, Instant, Outcome, Problem, RunState, ScopeId, SpecError, State, Trigger};

/// What one row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A try of a task in a run.
    Attempt,
    /// What one task did in a run.
    TaskRun,
    /// A run of a dag.
    Run,
}

/// What is in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number of 64 bits.
    Integer,
    /// A whole number of 32 bits.
    Small,
    /// Yes or no, as 1 or 0.
    Flag,
    /// Microseconds UTC.
    Instant,
    /// Microseconds.
    Span,
    /// A date, as ISO text.
    Date,
    /// Text that is seldom the same.
    Text,
    /// Text that is often the same.
    Word,
    /// An id that stands for a name.
    Name(Names),
    /// An id that stands for a whole number of 32 bits.
    Number(Names),
}

/// What ids stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// Of a dag: its name.
    Dag,
    /// Of a task: the name of its dag.
    DagOfTask,
    /// Of a task: its name inside the dag.
    Task,
    /// Of a process: its host.
    Host,
    /// Of a schedule: its name inside the dag.
    Schedule,
    /// Of a version of a task: its number.
    Version,
}

impl Names {
    /// The question for ids and names.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Names::Dag => texts::NAMES_OF_DAGS,
            Names::DagOfTask => texts::NAMES_OF_DAGS_BY_TASK,
            Names::Task => texts::NAMES_OF_TASKS,
            Names::Host => texts::NAMES_OF_HOSTS,
            Names::Schedule => texts::NAMES_OF_SCHEDULES,
            Names::Version => texts::NAMES_OF_VERSIONS,
        }
    }
}

/// A column of the history.
#[derive(Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What is in it.
    pub kind: Kind,
    /// Whether a row may have nothing there.
    pub nullable: bool,
    /// How it is read.
    pub(super) sql: &'static str,
}

const fn always(name: &'static str, kind: Kind, sql: &'static str) -> Column {
    Column { name, kind, nullable: false, sql }
}

const fn maybe(name: &'static str, kind: Kind, sql: &'static str) -> Column {
    Column { name, kind, nullable: true, sql }
}

// An item of a mapped task has its place in the list; the number means something else elsewhere.
const MAP_INDEX: &str = "CASE WHEN task_run.item IS NOT NULL THEN task_run.map_index END";

const ATTEMPT: &[Column] = &[
    always("run_id", Kind::Integer, "task_run.run_id"),
    always("task_run_id", Kind::Integer, "attempt.task_run_id"),
    always("dag", Kind::Name(Names::DagOfTask), "task_run.task_id"),
    always("task", Kind::Name(Names::Task), "task_run.task_id"),
    maybe("map_index", Kind::Small, MAP_INDEX),
    always("attempt_no", Kind::Small, "attempt.attempt_no"),
    always("version", Kind::Number(Names::Version), "attempt.task_version_id"),
    always("trigger", Kind::Word, "run.\"trigger\""),
    always("biz_date", Kind::Date, "task_run.biz_date"),
    always("nominal_at", Kind::Instant, "attempt.nominal_at"),
    always("timezone", Kind::Word, "run.timezone"),
    maybe("outcome", Kind::Word, "attempt.outcome"),
    maybe("error_code", Kind::Word, "attempt.error_code"),
    maybe("error_type", Kind::Word, "attempt.error_type"),
    maybe("error", Kind::Text, "attempt.error"),
    // When a further attempt became ready is in the journal alone.
    maybe(
        "ready_at",
        Kind::Instant,
        "CASE attempt.attempt_no WHEN 1 THEN task_run.first_ready_at END",
    ),
    always("started_at", Kind::Instant, "attempt.started_at"),
    maybe("finished_at", Kind::Instant, "attempt.finished_at"),
    maybe(
        "queue_time",
        Kind::Span,
        "CASE attempt.attempt_no WHEN 1 THEN max(0, attempt.started_at - task_run.first_ready_at) END",
    ),
    maybe("duration", Kind::Span, "max(0, attempt.finished_at - attempt.started_at)"),
    maybe("cpu_time", Kind::Span, "attempt.cpu_ms * 1000"),
    maybe("max_rss", Kind::Integer, "attempt.max_rss_kb * 1024"),
    maybe("polls", Kind::Small, "attempt.polls"),
    maybe("exit_code", Kind::Small, "attempt.exit_code"),
    maybe("signal", Kind::Small, "attempt.signal"),
    maybe("host", Kind::Name(Names::Host), "attempt.node_id"),
    maybe("pid", Kind::Integer, "attempt.pid"),
    maybe("log_uri", Kind::Text, "attempt.log_uri"),
];

const TASK_RUN: &[Column] = &[
    always("run_id", Kind::Integer, "task_run.run_id"),
    always("task_run_id", Kind::Integer, "task_run.id"),
    always("dag", Kind::Name(Names::DagOfTask), "task_run.task_id"),
    always("task", Kind::Name(Names::Task), "task_run.task_id"),
    maybe("map_index", Kind::Small, MAP_INDEX),
    always("mapped", Kind::Flag, "task_run.map_index < 0"),
    always("version", Kind::Number(Names::Version), "task_run.task_version_id"),
    always("trigger", Kind::Word, "run.\"trigger\""),
    always("biz_date", Kind::Date, "task_run.biz_date"),
    always("nominal_at", Kind::Instant, "task_run.nominal_at"),
    always("timezone", Kind::Word, "run.timezone"),
    always("state", Kind::Word, "task_run.state"),
    maybe("code", Kind::Word, "task_run.code"),
    always("attempts", Kind::Small, "task_run.attempt_no"),
    always("created_at", Kind::Instant, "task_run.created_at"),
    maybe("ready_at", Kind::Instant, "task_run.first_ready_at"),
    maybe("started_at", Kind::Instant, "task_run.started_at"),
    maybe("finished_at", Kind::Instant, "task_run.finished_at"),
    maybe(
        "queue_time",
        Kind::Span,
        "max(0, (SELECT attempt.started_at FROM attempt WHERE attempt.task_run_id = task_run.id \
         AND attempt.attempt_no = 1) - task_run.first_ready_at)",
    ),
    maybe("duration", Kind::Span, "max(0, task_run.finished_at - task_run.started_at)"),
    maybe("deadline_at", Kind::Instant, "task_run.deadline_at"),
    always("overdue", Kind::Flag, "task_run.overdue_at IS NOT NULL"),
    always("stale", Kind::Flag, "task_run.stale"),
];

/// Stands for the expression of [`HistoryAsk::run_state`].
pub(super) const RUN_STATE: &str = "{{run_state}}";

const RUN: &[Column] = &[
    always("run_id", Kind::Integer, "run.id"),
    always("dag", Kind::Name(Names::Dag), "run.dag_id"),
    maybe("task", Kind::Name(Names::Task), "run.task_id"),
    always("trigger", Kind::Word, "run.\"trigger\""),
    maybe("schedule", Kind::Name(Names::Schedule), "run.schedule_id"),
    always("biz_date", Kind::Date, "run.biz_date"),
    always("nominal_at", Kind::Instant, "run.nominal_at"),
    always("interval_start", Kind::Instant, "run.interval_start"),
    always("interval_end", Kind::Instant, "run.interval_end"),
    always("timezone", Kind::Word, "run.timezone"),
    always("state", Kind::Word, RUN_STATE),
    always("tasks", Kind::Small, "run.task_count"),
    always("created_at", Kind::Instant, "run.created_at"),
    maybe("finished_at", Kind::Instant, "run.finished_at"),
    maybe("duration", Kind::Span, "max(0, run.finished_at - run.created_at)"),
    maybe("requested_by", Kind::Word, "run.requested_by"),
    always("params", Kind::Text, "run.params"),
];

impl Level {
    /// Every level, with the word for it.
    pub const ALL: &'static [(Level, &'static str)] =
        &[(Level::Attempt, "attempt"), (Level::TaskRun, "task_run"), (Level::Run, "run")];

    /// The level with this word.
    ///
    /// # Errors
    /// There is none.
    pub fn parse(word: &str) -> Result<Level, Problem> {
        let found = Level::ALL.iter().find(|(_, known)| *known == word);
        found.map(|(level, _)| *level).ok_or_else(|| {
            let known: Vec<&str> = Level::ALL.iter().map(|(_, word)| *word).collect();
            unknown("unknown_choice", "level", format!("a level is never `{word}`"), word, &known)
        })
    }

    /// Its columns, in their order.
    pub const fn columns(self) -> &'static [Column] {
        match self {
            Level::Attempt => ATTEMPT,
            Level::TaskRun => TASK_RUN,
            Level::Run => RUN,
        }
    }

    /// Some of its columns, in the order that is asked for.
    ///
    /// # Errors
    /// Every name that is no column of it, or stands there twice.
    pub fn choose(self, names: &[String]) -> Result<Vec<&'static Column>, SpecError> {
        let known: Vec<&str> = self.columns().iter().map(|column| column.name).collect();
        let mut problems = Vec::new();
        let mut chosen: Vec<&'static Column> = Vec::new();
        for name in names {
            match self.columns().iter().find(|column| column.name == name) {
                Some(column) if chosen.contains(&column) => {
                    let message = format!("column `{name}` is asked for twice");
                    problems.push(Problem::new("duplicate_column", "columns", message));
                }
                Some(column) => chosen.push(column),
                None => {
                    let message = format!("there is no column `{name}`");
                    problems.push(unknown("unknown_column", "columns", message, name, &known));
                }
            }
        }
        if names.is_empty() {
            let message = "a table has at least one column";
            problems.push(Problem::new("no_columns", "columns", message).hint(listed(&known)));
        }
        if problems.is_empty() { Ok(chosen) } else { Err(SpecError(problems)) }
    }

    /// What its rows may be in: outcomes of attempts, states of the others. An attempt that has no
    /// outcome yet is live, and a run whose process is gone is interrupted.
    pub fn words(self) -> Vec<&'static str> {
        match self {
            Level::Attempt => (Outcome::ALL.iter().map(|word| word.as_str()))
                .chain([State::Running.as_str()])
                .collect(),
            Level::TaskRun => State::ALL.iter().map(|word| word.as_str()).collect(),
            Level::Run => (RunState::ALL.iter().map(|word| word.as_str()))
                .chain([Outcome::Interrupted.as_str()])
                .collect(),
        }
    }
}

/// Those of `words` that are in a list; a problem for each that is not.
///
/// # Errors
/// Every word that is not in the list.
pub fn known_words(
    place: &str,
    words: &[String],
    known: &[&'static str],
) -> Result<Vec<&'static str>, SpecError> {
    let mut problems = Vec::new();
    let mut found = Vec::new();
    for word in words {
        match known.iter().find(|each| **each == word) {
            Some(word) => found.push(*word),
            None => {
                let message = format!("{place} is never `{word}`");
                problems.push(unknown("unknown_choice", place, message, word, known));
            }
        }
    }
    if problems.is_empty() { Ok(found) } else { Err(SpecError(problems)) }
}

fn unknown(
    code: &'static str,
    place: &str,
    message: String,
    word: &str,
    known: &[&str],
) -> Problem {
    let problem = Problem::new(code, place, message);
    match Nearest::new(known).find(word) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => problem.hint(listed(known)),
    }
}

fn listed(known: &[&str]) -> String {
    format!("there are: {}", known.join(", "))
}

/// Which rows and columns of the history.
#[derive(Clone, Debug)]
pub struct HistoryAsk {
    /// What a row is.
    pub level: Level,
    /// What is read of each.
    pub columns: Vec<&'static Column>,
    /// Only of this dag.
    pub dag: Option<String>,
    /// Only of tasks with one of these names; empty is any. Not of runs.
    pub tasks: Vec<String>,
    /// Only with one of these words of [`Level::words`]; empty is any.
    pub words: Vec<&'static str>,
    /// Only of runs made by one of these; empty is any.
    pub triggers: Vec<&'static str>,
    /// Only of this business date or later.
    pub biz_date_from: Option<Date>,
    /// Only of this business date or earlier.
    pub biz_date_to: Option<Date>,
    /// Only what began (an attempt) or was made (the others) then or later.
    pub from: Option<Instant>,
    /// Only what began or was made before.
    pub to: Option<Instant>,
    /// At most so many, the newest; none is all.
    pub limit: Option<u32>,
    /// Scopes of open runs whose process is gone.
    pub gone: Vec<ScopeId>,
}

impl HistoryAsk {
    /// The words of triggers.
    pub fn triggers() -> Vec<&'static str> {
        Trigger::ALL.iter().map(|word| word.as_str()).collect()
    }

    /// The state of a run as it is shown: one that is open while its process is gone is
    /// interrupted, which no row says.
    pub(super) fn run_state(&self) -> String {
        if self.gone.is_empty() {
            return "run.state".into();
        }
        let scopes: Vec<String> = self.gone.iter().map(|scope| scope.0.to_string()).collect();
        format!(
            "CASE WHEN run.finished_at IS NULL AND run.scope_id IN ({}) THEN '{}' \
             ELSE run.state END",
            scopes.join(", "),
            Outcome::Interrupted.as_str()
        )
    }
}

/// A value of a row, as the store has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HistoryCell<'a> {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// Text.
    Text(&'a str),
}

/// Who takes the history, cell after cell.
pub trait TakeHistory {
    /// Why it takes no more.
    type Error;

    /// Before the first row: what an id in this column stands for.
    fn name(&mut self, column: usize, id: i64, name: &str);

    /// The next cell of a row; columns come in their order.
    ///
    /// # Errors
    /// It is not what the column holds.
    fn cell(&mut self, column: usize, cell: HistoryCell<'_>) -> Result<(), Self::Error>;

    /// After the last cell of a row.
    ///
    /// # Errors
    /// Nobody wants more.
    fn end_row(&mut self) -> Result<(), Self::Error>;
}

/// The same for a store, which does not know who it is: each says whether more is wanted.
pub trait TakeCells {
    /// As [`TakeHistory::name`].
    fn name(&mut self, column: usize, id: i64, name: &str);
    /// As [`TakeHistory::cell`].
    fn cell(&mut self, column: usize, cell: HistoryCell<'_>) -> bool;
    /// As [`TakeHistory::end_row`].
    fn end_row(&mut self) -> bool;
}

/// Keeps why somebody takes no more.
struct Taking<'t, T: TakeHistory> {
    taker: &'t mut T,
    stopped: Result<(), T::Error>,
}

impl<T: TakeHistory> TakeCells for Taking<'_, T> {
    fn name(&mut self, column: usize, id: i64, name: &str) {
        self.taker.name(column, id, name);
    }

    fn cell(&mut self, column: usize, cell: HistoryCell<'_>) -> bool {
        self.stopped = self.taker.cell(column, cell);
        self.stopped.is_ok()
    }

    fn end_row(&mut self) -> bool {
        self.stopped = self.taker.end_row();
        self.stopped.is_ok()
    }
}

/// Reads what is asked for, newest first, all of one snapshot.
///
/// # Errors
/// The store's own; inside of it, that of whoever takes the cells.
pub fn read_history<T: TakeHistory>(
    store: &mut dyn SqlStore,
    ask: &HistoryAsk,
    taker: &mut T,
) -> Result<Result<(), T::Error>, StoreError> {
    let mut taking = Taking { taker, stopped: Ok(()) };
    store.tell_history(ask, &mut taking)?;
    Ok(taking.stopped)
}
