//! Handlers that are not called: what a simulated world says in their place.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::{Report, TaskRunRef};
use crate::model::{AttemptRecord, AttemptStart, Fingerprint, Instant, Outcome, fingerprint_of};

/// What is said in the place of one task's handler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stub {
    /// How long each attempt takes.
    pub takes_ms: i64,
    /// What it returns, as JSON text.
    pub result: Option<Arc<str>>,
    /// So many first attempts of each task run fail.
    pub fails: u32,
    /// With this code.
    pub code: Option<String>,
}

/// Which handlers are not called, by the key of the task.
#[derive(Clone, Debug, Default)]
pub struct StubPlan {
    /// For each task that has none of its own; without it, their handlers are called.
    pub others: Option<Stub>,
    /// For these.
    pub tasks: BTreeMap<String, Stub>,
}

impl StubPlan {
    /// What is said in the place of this task.
    pub fn of(&self, key: &str) -> Option<&Stub> {
        self.tasks.get(key).or(self.others.as_ref())
    }
}

/// Stubbed attempts that are live, by the instant at which they end.
#[derive(Debug, Default)]
pub struct Stubs {
    /// Which handlers are not called.
    pub plan: StubPlan,
    live: BTreeMap<(Instant, TaskRunRef), Report>,
}

impl Stubs {
    /// Whether handlers are called as ever.
    pub fn is_empty(&self) -> bool {
        self.plan.others.is_none() && self.plan.tasks.is_empty()
    }

    /// An attempt begins.
    pub fn start(
        &mut self,
        stub: &Stub,
        at: TaskRunRef,
        attempt: &AttemptStart,
        fingerprint: Option<Fingerprint>,
    ) {
        // Reruns count from anew for people, but not here: what failed first failed.
        let fails = attempt.attempt_no <= stub.fails;
        let code = stub.code.clone().unwrap_or_else(|| "STUB".to_owned());
        let of_result = fingerprint == Some(Fingerprint::Result) && !fails;
        let fingerprint =
            of_result.then(|| fingerprint_of(stub.result.as_deref().unwrap_or("null")));
        let report = Report {
            at,
            attempt_no: attempt.attempt_no,
            token: attempt.token,
            outcome: if fails { Outcome::Failed } else { Outcome::Success },
            result: stub.result.clone().filter(|_| !fails),
            result_uri: None,
            record: AttemptRecord {
                duration_ms: stub.takes_ms,
                error_code: fails.then_some(code),
                fingerprint,
                error: fails.then(|| "failed as its stub says".to_owned()),
                ..AttemptRecord::default()
            },
            released: true,
            texts: None,
        };
        self.live.insert((attempt.started_at.plus_millis(stub.takes_ms), at), report);
    }

    /// An attempt is asked to stop, which a stub does at once; none where it is not stubbed.
    pub fn stop(&mut self, at: TaskRunRef, attempt_no: u32) -> Option<Report> {
        let key = *self.live.keys().find(|(_, live)| *live == at)?;
        let report = self.live.remove(&key)?;
        (report.attempt_no == attempt_no).then_some(Report {
            outcome: Outcome::Failed,
            result: None,
            ..report
        })
    }

    /// Attempts that have ended by now.
    pub fn ended(&mut self, now: Instant) -> Vec<Report> {
        let mut ended = Vec::new();
        while let Some(first) = self.live.first_entry().filter(|first| first.key().0 <= now) {
            ended.push(first.remove());
        }
        ended
    }

    /// When the next one ends.
    pub fn next(&self) -> Option<Instant> {
        self.live.keys().next().map(|(at, _)| *at)
    }

    /// How many are live.
    pub fn live(&self) -> usize {
        self.live.len()
    }
}
