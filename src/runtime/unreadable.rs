//! What of a database cannot be read: dags and open runs that a scheduler goes on without.

use serde::Serialize;

use super::driver::{plan_of, ready};
use super::refusal::SessionError;
use crate::engine::Scheduled;
use crate::model::{RunId, RunState};
use crate::store::{RunFilter, Store, StoreError};

/// A dag or a run that is stored in a way that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// The dag.
    pub dag: String,
    /// The run; none where it is the dag itself.
    pub run: Option<RunId>,
    /// Why.
    pub why: String,
}

/// Reads every dag and every open run as a scheduler does that begins; says what it could not.
///
/// # Errors
/// Those of the store as a whole.
pub fn unreadable(store: &mut dyn Store) -> Result<Vec<Unreadable>, StoreError> {
    let mut found = Vec::new();
    let mut note = |dag: &str, run, read: Result<(), SessionError>| match read {
        Err(error) if error.is_of_one() => {
            let why = error.to_string();
            found.push(Unreadable { dag: dag.to_owned(), run, why });
            Ok(())
        }
        Err(error) => Err(StoreError::Other(error.to_string())),
        Ok(()) => Ok(()),
    };
    for key in store.dag_keys()? {
        note(&key, None, dag(store, &key))?;
    }
    let open = RunFilter { states: vec![RunState::Running], ..RunFilter::default() };
    for summary in store.runs(&open)? {
        let run = summary.row.id;
        note(&summary.row.dag, Some(run), open_run(store, run))?;
    }
    Ok(found)
}

fn dag(store: &mut dyn Store, key: &str) -> Result<(), SessionError> {
    let Some(dag) = store.dag(key)? else { return Ok(()) };
    for stored in store.schedules(dag.id)? {
        let key = format!("{key}.{}", stored.def.name);
        let (id, of) = (stored.id, stored.dag);
        let (def, bindings) = (stored.def, stored.bindings);
        Scheduled::new(id, of, &key, def, bindings, stored.watermark, &stored.periods)?;
    }
    ready(dag).map(drop)
}

fn open_run(store: &mut dyn Store, run: RunId) -> Result<(), SessionError> {
    match store.stored_run(run)? {
        Some(stored) => plan_of(store, &stored).map(drop),
        None => Ok(()),
    }
}
