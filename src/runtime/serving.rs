//! A session that fires schedules: which dags, until when, and how a clock that stands is moved.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, bounded};

use super::driver::{Load, Message, Serve, Served, ready};
use super::executor::{HandlerHost, ProcessHost};
use super::refusal::SessionError;
use super::session::{Session, lock};
use super::stubs::StubPlan;
use super::told::News;
use crate::engine;
use crate::model::{Instant, Missed, ScheduleId, Skip};
use crate::store::{RegisteredDag, StoredSchedule};

/// How often whoever waits for a clock to be moved is asked whether to go on.
const STEP: Duration = Duration::from_millis(50);

/// Who can call the handlers of a dag, and who those of its runs that began before an instant.
pub struct Hosts {
    /// Of runs that are made from now on.
    pub now: HandlerHost,
    /// Of runs that were made before each instant, the oldest first.
    pub older: Vec<(Instant, HandlerHost)>,
}

impl From<HandlerHost> for Hosts {
    fn from(now: HandlerHost) -> Hosts {
        Hosts { now, older: Vec::new() }
    }
}

impl Session {
    /// Fires the schedules of registered dags from now on, and takes up what is open of them. What
    /// of it cannot be read is told ([`News::Unreadable`]), and stops nothing else.
    ///
    /// # Errors
    /// `NotFound` for a dag that is not registered; `Store`; `Closed`.
    pub fn serve<H: Into<Hosts>>(&self, dags: Vec<(String, H)>) -> Result<(), SessionError> {
        let dags: Vec<(String, Hosts)> =
            dags.into_iter().map(|(key, hosts)| (key, hosts.into())).collect();
        let code = |(key, hosts): &'_ (String, Hosts)| {
            Some((key.clone(), hosts.now.downcast_ref::<ProcessHost>()?.version.clone()))
        };
        let code: Vec<(String, String)> = dags.iter().filter_map(code).collect();
        if !code.is_empty() {
            let code: Vec<_> = code.iter().map(|(key, code)| (&**key, &**code)).collect();
            lock(&self.store).keep_code(&code)?;
        }
        let mut found = Vec::with_capacity(dags.len());
        for (key, hosts) in dags {
            let read = || -> Result<_, SessionError> {
                let registered = self.registered(&key)?;
                let removed = registered.removed;
                Ok((removed, ready(registered)?))
            };
            let (removed, (served, cached)) = match read() {
                Ok(found) => found,
                Err(error) if error.is_of_one() => {
                    let (at, why) = (self.now(), error.to_string());
                    self.told.tell(News::Unreadable { at, dag: Some(key), run: None, why });
                    continue;
                }
                Err(error) => return Err(error),
            };
            let Hosts { now: host, older } = hosts;
            found.push(Served { served, cached: Arc::new(cached), host, older, removed });
        }
        self.ask(|reply| Message::Serve(Serve { dags: found, reply }))
    }

    /// Marks dags as removed: their files are gone. What is open of them goes on.
    ///
    /// # Errors
    /// `Store`; `Closed`.
    pub fn remove(&self, dags: &[String]) -> Result<(), SessionError> {
        let mut ids = Vec::new();
        {
            let mut store = lock(&self.store);
            for key in dags {
                ids.extend(store.dag(key)?.map(|dag| dag.id));
            }
            store.remove_dags(dags, self.now())?;
        }
        // Fires before this instant that wait for something are covered by skips now.
        self.ask(|reply| Message::Refresh { dags: ids, reply })
    }

    /// Pauses the schedules of a dag that is served here, or one of them; or lets them go on.
    ///
    /// # Errors
    /// `NotFound`; `Store`; `Closed`.
    pub fn pause(
        &self,
        dag: &str,
        schedule: Option<&str>,
        paused: bool,
        missed: Option<Missed>,
    ) -> Result<(), SessionError> {
        let found = self.registered(dag)?;
        let named = |name: &str| schedule.is_none_or(|only| only == name);
        let schedules: Vec<ScheduleId> =
            found.schedules.iter().filter(|(_, def)| named(&def.name)).map(|(id, _)| *id).collect();
        if schedules.is_empty() {
            let names: Vec<&str> = found.schedules.iter().map(|(_, def)| &*def.name).collect();
            return Err(SessionError::NotFound(match schedule {
                Some(name) => format!(
                    "dag {dag} has no schedule {name}\n  hint: it has {}",
                    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
                ),
                None => format!("dag {dag} has no schedule"),
            }));
        }
        self.ask(|reply| Message::Pause { schedules, paused, missed, reply })
    }

    /// Has these handlers not called, but what is said in their place.
    ///
    /// # Errors
    /// `Closed`.
    pub fn stub(&self, plan: StubPlan) -> Result<(), SessionError> {
        self.send(Message::Stub(plan))
    }

    /// Moves a clock that stands to an instant, in steps: each time to when something happens, and
    /// on when it has. `go_on` is asked from time to time while handlers run.
    ///
    /// # Errors
    /// `Closed`.
    pub fn advance(
        &self,
        hand: &AtomicI64,
        to: Instant,
        go_on: &mut (dyn FnMut() -> bool + Send),
    ) -> Result<(), SessionError> {
        loop {
            let (reply, answer) = bounded(1);
            self.send(Message::Settle(reply))?;
            let next = loop {
                match answer.recv_timeout(STEP) {
                    Ok(next) => break next,
                    Err(RecvTimeoutError::Timeout) if !go_on() => return Ok(()),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Err(SessionError::Closed),
                }
            };
            let now = Instant(hand.load(Ordering::SeqCst));
            if now >= to {
                return Ok(());
            }
            let step = next.filter(|next| *next < to).unwrap_or(to);
            hand.store(step.max(now).0, Ordering::SeqCst);
            self.clock_moved()?;
        }
    }

    /// Starts nothing more; what is live goes on. `close` ends it.
    ///
    /// # Errors
    /// `Closed`.
    pub fn drain(&self) -> Result<(), SessionError> {
        self.send(Message::Drain)
    }

    /// What was done here since this was asked last, the oldest first. Only what is served is told.
    pub fn news(&self) -> Vec<News> {
        self.told.take()
    }

    /// How many attempts are live here, and how many runs are open.
    ///
    /// # Errors
    /// `Closed`.
    pub fn load(&self) -> Result<Load, SessionError> {
        let (reply, answer) = bounded(1);
        self.send(Message::Load(reply))?;
        answer.recv().map_err(|_| SessionError::Closed)
    }

    /// A dag's schedules, with how far they have come.
    ///
    /// # Errors
    /// `NotFound`; `Store`.
    pub fn schedules(&self, dag: &str) -> Result<Vec<StoredSchedule>, SessionError> {
        let id = self.registered(dag)?.id;
        Ok(lock(&self.store).schedules(id)?)
    }

    /// Fires of a dag that made no run, newest first, at most so many records.
    ///
    /// # Errors
    /// `NotFound`; `Store`.
    pub fn skips(&self, dag: &str, limit: u32) -> Result<Vec<Skip>, SessionError> {
        let id = self.registered(dag)?.id;
        Ok(lock(&self.store).skips(id, limit)?)
    }

    fn registered(&self, dag: &str) -> Result<RegisteredDag, SessionError> {
        lock(&self.store)
            .dag(dag)?
            .ok_or_else(|| SessionError::NotFound(format!("dag {dag} is not registered")))
    }

    /// Asks the driver for something, and waits for the answer.
    fn ask(
        &self,
        message: impl FnOnce(super::driver::Answer<()>) -> Message,
    ) -> Result<(), SessionError> {
        let (reply, answer) = bounded(1);
        self.send(message(reply))?;
        answer.recv().map_err(|_| SessionError::Closed)?
    }
}

impl crate::store::RegisteredTask {
    /// As a plan has it.
    pub(super) fn planned(&self) -> engine::PlannedTask {
        engine::PlannedTask {
            task_id: self.task_id,
            version_id: self.version_id,
            def: Arc::clone(&self.def),
            enabled: self.enabled,
        }
    }
}

impl RegisteredDag {
    /// Versions that a share of the business dates takes.
    pub(super) fn candidates(&self) -> Vec<engine::Candidate> {
        let shared = self.held.iter().filter_map(|held| held.other.as_ref());
        shared
            .map(|(share, task)| engine::Candidate { task: task.planned(), share: *share })
            .collect()
    }
}
