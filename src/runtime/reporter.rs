//! What every executor says at the end of an attempt, and to whom.

use crossbeam_channel::Sender;

use super::driver::Message;
use super::executor::{Finished, Job};
use super::files::{Files, INLINE_RESULT_LIMIT};
use crate::engine::Report;
use crate::model::{AttemptRecord, Outcome};

/// The way from an executor to the driver.
#[derive(Clone)]
pub struct Reporter {
    driver: Sender<Message>,
    files: Files,
}

impl Reporter {
    /// To this driver, with large results in these files.
    pub fn new(driver: Sender<Message>, files: Files) -> Self {
        Reporter { driver, files }
    }

    /// Tells the end of a job of which nothing is left.
    pub fn report(&self, job: &Job, finished: Finished) {
        self.tell(job, finished, true);
    }

    /// Tells the end of a job. Without its slot, where something of it still runs.
    pub fn tell(&self, job: &Job, mut finished: Finished, released: bool) {
        let attempt = &job.attempt;
        if finished.not_ready {
            if released {
                job.log.pause();
                let (attempt_no, token) = (attempt.attempt_no, attempt.token);
                let _ = self.driver.send(Message::NotReady { at: job.at, attempt_no, token });
                return;
            }
            // Something of it cannot be ended: that is no rest.
            let why = "the check left processes behind that cannot be killed";
            let record = finished.record;
            finished = Finished::failed("KILL", "KillFailed", why);
            finished.record = AttemptRecord { params: record.params, ..finished.record };
        }
        if finished.outcome == Outcome::Success && finished.record.fingerprint.is_none() {
            finished.record.fingerprint = job.fingerprint(finished.result.as_deref());
        }
        let mut result_uri = None;
        if let Some(text) = finished.result.take_if(|text| text.len() > INLINE_RESULT_LIMIT) {
            let no = attempt.attempt_no;
            match self.files.keep_result(job.run.id, attempt.task_run_id, no, &text) {
                Ok(uri) => result_uri = Some(uri),
                Err(error) => {
                    let why = format!("the result could not be kept in a file: {error}");
                    finished = Finished::failed("RESULT", "ResultError", why);
                }
            }
        }
        let (log_uri, log_tail) = job.log.finish();
        finished.record.log_uri = log_uri;
        finished.record.log_tail = log_tail;
        // Whoever ran it elsewhere has said so already.
        if finished.record.params.is_none() {
            finished.record.params = job.kept().map(str::to_owned);
        }
        let report = Report {
            at: job.at,
            attempt_no: attempt.attempt_no,
            token: attempt.token,
            outcome: finished.outcome,
            result: finished.result,
            result_uri,
            record: finished.record,
            released,
            texts: None,
        };
        // The driver is gone only when the session was closed: nobody is left to be told.
        let _ = self.driver.send(Message::Report(report));
    }
}
