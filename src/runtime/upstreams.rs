//! What people say of tasks and assets from any process: a task is disabled or enabled, an asset is
//! ready. Written at once; schedulers see it by the revision of the dag, or at their next look.

use super::asking::Asker;
use super::refusal::SessionError;
use super::session::{Session, lock};
use crate::model::Date;

impl Asker {
    /// Disables a task, by `dag.task`, or enables it again; whether that was otherwise before.
    ///
    /// # Errors
    /// `NotFound` for a task that there is not; `Store`.
    pub fn enable(
        &self,
        task: &str,
        enabled: bool,
        by: Option<&str>,
    ) -> Result<bool, SessionError> {
        // Says which task was meant, if there is no such one.
        self.versions(task)?;
        Ok(lock(&self.store).enable(task, enabled, by, self.clock.now())?)
    }

    /// Declares an asset ready for a business date; whether that was not known before.
    ///
    /// # Errors
    /// `Spec` for an asset that no task has to do with; `Store`.
    pub fn declare(&self, asset: &str, date: Date, by: Option<&str>) -> Result<bool, SessionError> {
        Ok(lock(&self.store).declare(asset, date, by, self.clock.now())?)
    }
}

impl Session {
    /// As [`Asker::enable`].
    ///
    /// # Errors
    /// `Spec` for a task that there is not; `Store`.
    pub fn enable(
        &self,
        task: &str,
        enabled: bool,
        by: Option<&str>,
    ) -> Result<bool, SessionError> {
        Ok(lock(&self.store).enable(task, enabled, by, self.now())?)
    }

    /// As [`Asker::declare`].
    ///
    /// # Errors
    /// `Spec` for an asset that no task has to do with; `Store`.
    pub fn declare(&self, asset: &str, date: Date, by: Option<&str>) -> Result<bool, SessionError> {
        Ok(lock(&self.store).declare(asset, date, by, self.now())?)
    }
}
