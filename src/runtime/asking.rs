//! Asking a scheduler that is another process, by the request table.

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use super::clock::Clock;
use super::files::Files;
use super::node::is_alive;
use super::refusal::SessionError;
use super::session::lock;
use crate::model::{Ask, Decided, NodeRow, ScopeId};
use crate::store::{self, OpenOptions, SqlStore};

/// The name of the scope that `mainspring up` holds.
pub const MAIN: &str = "main";

/// Who asks: neither decides nor runs anything.
pub struct Asker {
    pub(super) store: Mutex<Box<dyn SqlStore>>,
    files: Files,
    host: String,
    pub(super) clock: Clock,
}

/// A process that decides, and whether it lives.
#[derive(Clone, Debug, PartialEq)]
pub struct Leader {
    /// The process.
    pub node: NodeRow,
    /// Whether it lives.
    pub alive: bool,
    /// How often the scope has changed hands.
    pub epoch: i64,
}

impl Asker {
    /// Opens the database, whose files are in this folder, or else beside it.
    ///
    /// # Errors
    /// `Store` with what is wrong with the database.
    pub fn open(
        database: &Path,
        folder: Option<&Path>,
        host: String,
        busy_wait: Duration,
    ) -> Result<Asker, SessionError> {
        let options = OpenOptions { busy_wait, make: false, ..OpenOptions::default() };
        let store = store::open(database, options)?;
        let files = Files::of(database, folder);
        Ok(Asker { store: Mutex::new(store), files, host, clock: Clock::machine() })
    }

    /// Who schedules for this database, or did so last.
    ///
    /// # Errors
    /// `Store`.
    pub fn leader(&self) -> Result<Option<Leader>, SessionError> {
        let scope = lock(&self.store).scope_named(MAIN)?.map(|lease| lease.scope_id);
        scope.map_or(Ok(None), |scope| self.holder(scope))
    }

    fn holder(&self, scope: ScopeId) -> Result<Option<Leader>, SessionError> {
        let mut store = lock(&self.store);
        let Some(lease) = store.holder(scope)? else { return Ok(None) };
        let Some(node) = store.node(lease.node_id)? else { return Ok(None) };
        let alive = is_alive(&self.files, &node, &self.host, self.clock.now());
        Ok(Some(Leader { node, alive, epoch: lease.epoch }))
    }

    /// Asks whoever decides for it; gives the number of the request.
    ///
    /// # Errors
    /// `NotFound` for a run that there is not; `Refused` where no process lives that would decide,
    /// unless it is to be decided `later`, by the next one.
    pub fn ask(&self, ask: &Ask, by: Option<&str>, later: bool) -> Result<i64, SessionError> {
        let scope = match ask.run() {
            _ if let Some(id) = ask.backfill() => {
                let missing = || SessionError::NotFound(format!("there is no backfill {id}"));
                let stored = lock(&self.store).backfill(id)?.ok_or_else(missing)?;
                Some(stored.row.scope_id)
            }
            Some(run) => {
                let missing = || SessionError::NotFound(format!("there is no run {run}"));
                let stored = lock(&self.store).stored_run(run)?.ok_or_else(missing)?;
                Some(stored.row.scope_id)
            }
            None => lock(&self.store).scope_named(MAIN)?.map(|lease| lease.scope_id),
        };
        let leader = scope.map_or(Ok(None), |scope| self.holder(scope))?;
        match (scope, leader) {
            (Some(scope), Some(leader)) if leader.alive || later => {
                Ok(lock(&self.store).put_request(scope, ask, by, self.clock.now())?)
            }
            (_, Some(leader)) => Err(SessionError::Refused(format!(
                "nobody decides at the moment: process {} on {} is gone\n  hint: `mainspring up` \
                 starts a scheduler",
                leader.node.pid, leader.node.host
            ))),
            _ => Err(SessionError::Refused(
                "no scheduler has run for this database yet\n  hint: `mainspring up` starts one"
                    .to_owned(),
            )),
        }
    }

    /// The answer to a request, if it is decided.
    ///
    /// # Errors
    /// `NotFound`; `Store`.
    pub fn answer(&self, id: i64) -> Result<Option<Decided>, SessionError> {
        let missing = || SessionError::NotFound(format!("there is no request {id}"));
        let row = lock(&self.store).request(id)?.ok_or_else(missing)?;
        let read = |text: String| {
            serde_json::from_str(&text).map_err(|error| SessionError::Internal(error.to_string()))
        };
        row.answer.map(read).transpose()
    }
}
