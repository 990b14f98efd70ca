//! Rows as the plain dictionaries that the Python side knows.

use serde::Serialize;
use serde_json::Value;

use crate::engine::skip_codes::UNCHANGED;
use crate::engine::{Preview, PreviewText, Scheduled};
use crate::model::journal::Entry;
use crate::model::{AttemptRow, DagDef, Instant, Progress, RunRow, Skip, TaskRunRow};
use crate::store::{RunSummary, StoredSchedule, TaskRunView};

/// A run.
#[derive(Serialize)]
pub struct RunFace {
    id: i64,
    dag: String,
    state: &'static str,
    trigger: &'static str,
    biz_date: String,
    nominal_at: Instant,
    interval_start: Instant,
    interval_end: Instant,
    timezone: String,
    params: Value,
    requested_by: Option<String>,
    created_at: Instant,
    finished_at: Option<Instant>,
    task_count: u32,
    counts: std::collections::BTreeMap<&'static str, u32>,
    node: Option<NodeFace>,
}

#[derive(Serialize)]
struct NodeFace {
    id: i64,
    host: String,
    pid: i64,
    role: String,
    alive: bool,
}

impl RunFace {
    /// A run; `alive` says whether the process that decides for it lives.
    pub fn new(summary: RunSummary, alive: bool) -> Self {
        let RunRow {
            id,
            dag,
            state,
            trigger,
            biz_date,
            nominal_at,
            interval_start,
            interval_end,
            timezone,
            params,
            requested_by,
            created_at,
            finished_at,
            task_count,
            ..
        } = summary.row;
        let interrupted = state == crate::model::RunState::Running && !alive;
        RunFace {
            id: id.0,
            dag,
            state: if interrupted { "INTERRUPTED" } else { state.as_str() },
            trigger: trigger.as_str(),
            biz_date: biz_date.to_string(),
            nominal_at,
            interval_start,
            interval_end,
            timezone,
            params: serde_json::from_str(&params).unwrap_or(Value::Null),
            requested_by,
            created_at,
            finished_at,
            task_count,
            counts: summary.counts.iter().map(|(state, n)| (state.as_str(), *n)).collect(),
            node: summary.node.map(|node| NodeFace {
                id: node.id.0,
                host: node.host,
                pid: node.pid,
                role: node.role,
                alive,
            }),
        }
    }
}

impl RunFace {
    /// Its state as shown.
    pub fn state(&self) -> &'static str {
        self.state
    }
}

/// A task run.
#[derive(Serialize)]
pub struct TaskRunFace {
    id: i64,
    run_id: i64,
    task: String,
    r#type: String,
    version: u32,
    map_index: Option<i32>,
    mapped: bool,
    item: Option<String>,
    state: &'static str,
    attempt_no: u32,
    errors_used: u32,
    first_ready_at: Option<Instant>,
    started_at: Option<Instant>,
    finished_at: Option<Instant>,
    wake_at: Option<Instant>,
    blocked_by: Option<i64>,
    blocked_by_task: Option<String>,
    code: Option<String>,
    stale: bool,
    deadline_at: Option<Instant>,
    overdue_at: Option<Instant>,
    blocked_until: Option<Instant>,
    has_result: bool,
    fingerprint: Option<String>,
}

/// The name of a task, and of an item with its place: `load[3]`.
fn full_name(view: &TaskRunView) -> String {
    match &view.row.progress.item {
        Some(_) => format!("{}[{}]", view.task, view.row.map_index),
        None => view.task.clone(),
    }
}

/// The task runs of a run.
pub fn task_runs(views: Vec<TaskRunView>) -> Vec<TaskRunFace> {
    let names: std::collections::BTreeMap<i64, String> =
        views.iter().map(|view| (view.row.id.0, full_name(view))).collect();
    let face = |view: TaskRunView| {
        let name = full_name(&view);
        let TaskRunRow { id, run_id, map_index, progress, .. } = view.row;
        let Progress {
            state,
            attempt_no,
            errors_used,
            first_ready_at,
            started_at,
            finished_at,
            wake_at,
            blocked_by,
            code,
            result,
            result_uri,
            fingerprint,
            item,
            stale,
            deadline_at,
            overdue_at,
            blocked_until,
            ..
        } = progress;
        let left_as_it_was = code.as_deref() == Some(UNCHANGED);
        TaskRunFace {
            id: id.0,
            run_id: run_id.0,
            task: name,
            r#type: view.kind,
            version: view.version,
            map_index: item.is_some().then_some(map_index),
            mapped: map_index < 0,
            item: item.map(|text| text.to_string()),
            state: state.as_str(),
            attempt_no,
            errors_used,
            first_ready_at,
            started_at,
            finished_at,
            wake_at,
            blocked_by: blocked_by.map(|id| id.0),
            blocked_by_task: blocked_by.and_then(|id| names.get(&id.0).cloned()),
            code,
            stale,
            deadline_at,
            overdue_at,
            blocked_until,
            // What was left as it was has the result of the success before, if that has one.
            has_result: result.is_some() || result_uri.is_some() || left_as_it_was,
            fingerprint,
        }
    };
    views.into_iter().map(face).collect()
}

/// What a run would get.
#[derive(Serialize)]
pub struct PreviewFace {
    dag: String,
    biz_date: String,
    nominal_at: Instant,
    interval_start: Instant,
    interval_end: Instant,
    timezone: String,
    texts: Vec<PreviewTextFace>,
}

#[derive(Serialize)]
struct PreviewTextFace {
    task: String,
    field: String,
    before: String,
    after: Value,
}

impl PreviewFace {
    /// The preview of a dag.
    pub fn new(dag: &DagDef, preview: Preview) -> Self {
        let Preview { moment, texts } = preview;
        let text = |text: PreviewText| PreviewTextFace {
            task: text.task,
            field: text.place,
            before: text.before,
            after: text.after,
        };
        PreviewFace {
            dag: dag.key.clone(),
            biz_date: moment.biz_date.to_string(),
            nominal_at: moment.nominal_at,
            interval_start: moment.interval.0,
            interval_end: moment.interval.1,
            timezone: dag.timezone.clone(),
            texts: texts.into_iter().map(text).collect(),
        }
    }
}

/// An attempt.
#[derive(Serialize)]
pub struct AttemptFace {
    id: i64,
    task_run_id: i64,
    attempt_no: u32,
    token: i64,
    outcome: Option<&'static str>,
    node_id: i64,
    started_at: Instant,
    finished_at: Option<Instant>,
    #[serde(flatten)]
    record: crate::model::AttemptRecord,
}

impl From<AttemptRow> for AttemptFace {
    fn from(row: AttemptRow) -> Self {
        AttemptFace {
            id: row.id,
            task_run_id: row.start.task_run_id.0,
            attempt_no: row.start.attempt_no,
            token: row.start.token.0,
            outcome: row.outcome.map(|outcome| outcome.as_str()),
            node_id: row.start.node_id.0,
            started_at: row.start.started_at,
            finished_at: row.finished_at,
            record: row.record,
        }
    }
}

/// An entry of the journal.
#[derive(Serialize)]
pub struct EntryFace {
    task_run_id: i64,
    from: Option<&'static str>,
    to: Option<&'static str>,
    late: Option<&'static str>,
    attempt_no: u32,
    at: Instant,
    code: Option<String>,
}

impl From<Entry> for EntryFace {
    fn from(entry: Entry) -> Self {
        match entry {
            Entry::Moved { task_run, from, to, attempt_no, when, code } => EntryFace {
                task_run_id: task_run.0,
                from: Some(from.as_str()),
                to: Some(to.as_str()),
                late: None,
                attempt_no,
                at: when,
                code,
            },
            Entry::Late { task_run, outcome, attempt_no, when } => EntryFace {
                task_run_id: task_run.0,
                from: None,
                to: None,
                late: Some(outcome.as_str()),
                attempt_no,
                at: when,
                code: None,
            },
        }
    }
}

/// A schedule and how far it has come.
#[derive(Serialize)]
pub struct ScheduleFace {
    id: i64,
    name: String,
    expression: String,
    timezone: String,
    paused: bool,
    /// Each fire up to here is a run or a skip.
    watermark: Instant,
    /// The fire that comes next; none while it is paused, or when there is none.
    next_fire: Option<Instant>,
}

impl ScheduleFace {
    /// From what is stored.
    pub fn of(stored: &StoredSchedule) -> ScheduleFace {
        let schedule = Scheduled::new(
            stored.id,
            stored.dag,
            &stored.def.name,
            stored.def.clone(),
            Vec::new(),
            stored.watermark,
            &stored.periods,
        );
        let schedule = schedule.map(|s| s.with_skips(stored.ahead.clone(), stored.last_skip));
        ScheduleFace {
            id: stored.id.0,
            name: stored.def.name.clone(),
            expression: stored.def.rule.expression.clone(),
            timezone: stored.def.rule.timezone.clone(),
            paused: stored.def.paused,
            watermark: stored.watermark,
            next_fire: schedule.ok().and_then(|s| s.next_fire()).map(|fire| fire.at),
        }
    }
}

/// Fires in a row that made no run.
#[derive(Serialize)]
pub struct SkipFace {
    schedule_id: i64,
    from: Instant,
    to: Instant,
    count: i64,
    reason: &'static str,
}

impl SkipFace {
    /// From what is stored.
    pub fn of(skip: &Skip) -> SkipFace {
        SkipFace {
            schedule_id: skip.schedule.0,
            from: skip.from,
            to: skip.to,
            count: skip.count,
            reason: skip.reason.as_str(),
        }
    }
}
