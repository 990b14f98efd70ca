//! The history, read column by column for whoever builds tables of it.

use std::collections::BTreeSet;

use super::client::{
    self, Connection, IDS_AT_ONCE, NO_LIMIT, NOT_NEGATIVE, OptionalExtension, Rows, Value,
    one_of_ids, params_from_iter, some_ids,
};
use super::errors::Fault;
use super::{Here, rows, texts};
use crate::model::{NodeRow, ScopeId, State};
use crate::store::StoreError;
use crate::store::history::{HistoryAsk, Kind, Level, RUN_STATE, TakeCells};

/// Whether whoever takes the cells wants more.
type Goes = Result<bool, Fault>;

impl Here {
    /// Reads what is asked for, newest first, all of one snapshot.
    pub(super) fn read_history(
        &self,
        ask: &HistoryAsk,
        taker: &mut dyn TakeCells,
    ) -> Result<(), StoreError> {
        self.read(|conn| {
            for (at, column) in ask.columns.iter().enumerate() {
                if let Kind::Name(names) | Kind::Number(names) = column.kind {
                    let mut select = conn.prepare_cached(names.text())?;
                    let mut found = select.query([])?;
                    while let Some(row) = found.next()? {
                        taker.name(at, row.get(0)?, row.get_ref(1)?.as_str().unwrap_or_default());
                    }
                }
            }
            let found = conditions(conn, ask)?;
            let (one, narrow) = match ask.level {
                Level::Attempt => ("attempt.id", texts::HISTORY_NARROW_ATTEMPTS),
                _ => ("task_run.id", texts::HISTORY_NARROW_TASK_RUNS),
            };
            if !found.few {
                let mut select = conn.prepare(&text_of(ask, &found.text()))?;
                read_rows(&mut select.query(params_from_iter(found.values))?, ask, taker)?;
                return Ok(());
            }
            let mut select = conn.prepare(&narrow.replace("{{conditions}}", &found.text()))?;
            let ids =
                select.query_map(params_from_iter(found.values), |row| row.get::<_, i64>(0))?;
            let mut ids: Vec<i64> = ids.collect::<Result<_, _>>()?;
            ids.sort_unstable_by(|one, other| other.cmp(one));
            ids.truncate(ask.limit.map_or(usize::MAX, |limit| limit as usize));
            let mut select = conn.prepare(&text_of(ask, &one_of_ids(one)))?;
            for ids in ids.chunks(IDS_AT_ONCE) {
                if !read_rows(&mut select.query(some_ids(ids))?, ask, taker)? {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Scopes with open runs, with the process that holds each.
    pub(super) fn scopes_with_open_runs(
        &self,
    ) -> Result<Vec<(ScopeId, Option<NodeRow>)>, StoreError> {
        self.read(|conn| {
            let mut select = conn.prepare_cached(texts::SCOPE_OPEN)?;
            let scopes: Vec<i64> =
                select.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            let mut node = conn.prepare_cached(texts::NODE_OF_SCOPE)?;
            let held = scopes
                .into_iter()
                .map(|scope| Ok((ScopeId(scope), node.query_row([scope], rows::node).optional()?)));
            held.collect::<Result<_, Fault>>()
        })
    }
}

/// Runs are few where there are so many times as many in all.
const SMALL_PART: i64 = 4;

/// Conditions and their values.
#[derive(Default)]
struct Where {
    conditions: Vec<String>,
    values: Vec<Value>,
    /// Whether an index finds the runs, and they are so few that this is the shorter way.
    few: bool,
}

impl Where {
    fn add(&mut self, condition: &str, value: impl Into<Value>) {
        self.values.push(value.into());
        self.conditions.push(condition.replace('?', &format!("${}", self.values.len())));
    }

    /// One of some ids, which are whole numbers; none if there are none.
    fn ids(&mut self, what: &str, ids: &BTreeSet<i64>) {
        if ids.is_empty() {
            self.conditions.push("1 = 0".into());
            return;
        }
        let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
        self.conditions.push(format!("{what} IN ({})", ids.join(", ")));
    }

    fn text(&self) -> String {
        if self.conditions.is_empty() { "1 = 1".into() } else { self.conditions.join(" AND ") }
    }

    /// One of some words; each is from a list of ours, so there are few.
    fn one_of(&mut self, what: &str, words: &[&'static str]) {
        let mut places = Vec::new();
        for word in words {
            self.values.push((*word).to_owned().into());
            places.push(format!("${}", self.values.len()));
        }
        self.conditions.push(format!("{what} IN ({})", places.join(", ")));
    }
}

/// Hands over all cells of some rows.
fn read_rows(found: &mut Rows<'_>, ask: &HistoryAsk, taker: &mut dyn TakeCells) -> Goes {
    while let Some(row) = found.next()? {
        for at in 0..ask.columns.len() {
            if !client::history_cell(row, at, &mut |cell| taker.cell(at, cell))? {
                return Ok(false);
            }
        }
        if !taker.end_row() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The text for rows under these conditions.
fn text_of(ask: &HistoryAsk, conditions: &str) -> String {
    let text = match ask.level {
        Level::Attempt => texts::HISTORY_ATTEMPTS,
        Level::TaskRun => texts::HISTORY_TASK_RUNS,
        Level::Run => texts::HISTORY_RUNS,
    };
    let columns: Vec<&str> = ask.columns.iter().map(|column| column.sql).collect();
    let limit = ask.limit.map_or(NO_LIMIT.to_owned(), |limit| limit.to_string());
    let columns = columns.join(", ").replace("max(0, ", NOT_NEGATIVE);
    text.replace("{{columns}}", &columns)
        .replace(RUN_STATE, &ask.run_state())
        .replace("{{conditions}}", conditions)
        .replace("{{limit}}", &limit)
}

/// What must hold of a row.
fn conditions(conn: &Connection, ask: &HistoryAsk) -> Result<Where, Fault> {
    let mut found = Where::default();
    let made_at = match ask.level {
        Level::Attempt => "attempt.started_at",
        Level::TaskRun => "task_run.created_at",
        Level::Run => "run.created_at",
    };
    let mut of_tasks = None;
    if ask.dag.is_some() || !ask.tasks.is_empty() {
        let (dags, tasks) = named(conn, ask)?;
        found.ids("run.dag_id", &dags);
        of_tasks = (!ask.tasks.is_empty()).then_some(tasks);
    }
    if let Some(from) = ask.biz_date_from {
        found.add("run.biz_date >= ?", from.to_string());
    }
    if let Some(to) = ask.biz_date_to {
        found.add("run.biz_date <= ?", to.to_string());
    }
    if ask.level != Level::Run {
        found.few = !found.conditions.is_empty() && are_few(conn, &found)?;
        if let Some(tasks) = of_tasks {
            found.ids("task_run.task_id", &tasks);
        }
    }
    if let Some(from) = ask.from {
        found.add(&format!("{made_at} >= ?"), from.0);
        if ask.level == Level::Attempt && !found.few {
            let first: Option<i64> = conn
                .prepare_cached(texts::HISTORY_FIRST_ATTEMPT)?
                .query_row([from.0], |row| row.get(0))?;
            found.add("attempt.id >= ?", first.unwrap_or(i64::MAX));
        }
    }
    if let Some(to) = ask.to {
        found.add(&format!("{made_at} < ?"), to.0);
    }
    if !ask.triggers.is_empty() {
        found.one_of("run.\"trigger\"", &ask.triggers);
    }
    if !ask.words.is_empty() {
        match ask.level {
            // A live attempt has no outcome yet.
            Level::Attempt => {
                found.one_of(
                    &format!("coalesce(attempt.outcome, '{}')", State::Running),
                    &ask.words,
                );
            }
            Level::TaskRun => found.one_of("task_run.state", &ask.words),
            Level::Run => found.one_of(&ask.run_state(), &ask.words),
        }
    }
    Ok(found)
}

/// Whether these runs are a small part of all. Rows that are found by indexes are read from all over
/// the file, which takes a few times as long for each as to read them in their order.
fn are_few(conn: &Connection, runs: &Where) -> Result<bool, Fault> {
    let text = texts::HISTORY_COUNT_RUNS.replace("{{conditions}}", &runs.text());
    let values = params_from_iter(runs.values.clone());
    let (these, all): (i64, i64) =
        conn.prepare(&text)?.query_row(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(these.saturating_mul(SMALL_PART) <= all)
}

/// Ids of the dags and of the tasks that are asked for by name.
fn named(conn: &Connection, ask: &HistoryAsk) -> Result<(BTreeSet<i64>, BTreeSet<i64>), Fault> {
    let (mut dags, mut tasks) = (BTreeSet::new(), BTreeSet::new());
    let mut select = conn.prepare_cached(texts::TASKS_BY_NAME)?;
    let mut found = select.query([])?;
    while let Some(row) = found.next()? {
        let (dag, task): (String, String) = (row.get(2)?, row.get(3)?);
        let in_dag = ask.dag.as_ref().is_none_or(|wanted| *wanted == dag);
        if in_dag && (ask.tasks.is_empty() || ask.tasks.contains(&task)) {
            dags.insert(row.get(1)?);
            tasks.insert(row.get(0)?);
        }
    }
    Ok((dags, tasks))
}
