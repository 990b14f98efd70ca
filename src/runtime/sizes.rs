//! What people say of pools and limits: how many slots there are, and how a queue ages.

use super::driver::Message;
use super::refusal::SessionError;
use super::session::{Session, lock};
use crate::model::SpecError;
use crate::model::key::{NameKind, check_name};

impl Session {
    /// Makes a named pool or changes its size.
    ///
    /// # Errors
    /// `Store`; `Closed`.
    pub fn set_pool(&self, name: &str, slots: u32) -> Result<(), SessionError> {
        let name = &*check_name(NameKind::Pool, name, "").map_err(SpecError::from)?;
        lock(&self.store).set_pool(name, slots, self.clock.now())?;
        self.send(Message::PoolSized(name.to_owned(), slots))
    }

    /// Makes a limit or changes its size.
    ///
    /// # Errors
    /// `Store`; `Closed`.
    pub fn set_limit(&self, name: &str, slots: u32) -> Result<(), SessionError> {
        let name = &*check_name(NameKind::Limit, name, "").map_err(SpecError::from)?;
        lock(&self.store).set_limit(name, slots, self.clock.now())?;
        self.send(Message::LimitSized(name.to_owned(), slots))
    }

    /// Lets the queue of a pool age: a wait of so many milliseconds makes up for one class. Without
    /// a pool it is said of all that do not say themselves, and in this process only.
    ///
    /// # Errors
    /// `Store`; `Closed`.
    pub fn set_ageing(&self, pool: Option<&str>, step_ms: Option<i64>) -> Result<(), SessionError> {
        if let Some(pool) = pool {
            lock(&self.store).set_ageing(pool, step_ms)?;
        }
        self.send(Message::PoolAges(pool.map(str::to_owned), step_ms))
    }
}
