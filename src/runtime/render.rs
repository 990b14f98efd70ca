//! The texts of an attempt, filled in by whoever is about to call its handler.
//!
//! Not by the driver: a result may be a file of megabytes, and secrets are those of the process
//! that runs the handler.

use std::sync::OnceLock;

use serde_json::Value;

use super::executor::{Finished, Input, Job, JobItem};
use crate::engine::{Filled, Filling, MASK, Times, fill, has_texts};
use crate::model::{Problem, SpecError, TaskDef};

/// The code of an attempt whose texts could not be filled in.
const RENDER: &str = "RENDER";
/// The code of an attempt that asked for a secret which is not there.
const SECRET: &str = "SECRET";

/// What the texts of an attempt ask for, and what became of them.
#[derive(Default)]
pub struct Texts {
    /// Whether there is anything to be filled in.
    any: bool,
    /// Results of upstreams, by task.
    pub(super) results: Vec<(String, Input)>,
    filled: OnceLock<Filled>,
    /// What is kept of it, secrets masked.
    kept: OnceLock<String>,
}

impl Texts {
    /// The texts of a task, and the results that they ask for.
    pub fn of(def: &TaskDef, results: Vec<(String, Input)>) -> Self {
        Texts { any: has_texts(def), results, ..Texts::default() }
    }
}

impl Job {
    /// Fills in the texts of the attempt, once; `secret` knows those of this process.
    ///
    /// # Errors
    /// How the attempt has failed, of code RENDER or SECRET; neither is tried again by itself.
    pub fn fill(&self, secret: &dyn Fn(&str) -> Option<String>) -> Result<(), Box<Finished>> {
        if !self.texts.any || self.texts.filled.get().is_some() {
            return Ok(());
        }
        let (filled, kept) =
            self.filled_now(secret).map_err(|error| Box::new(failed(self, error)))?;
        if let Some(kept) = kept {
            let _ = self.texts.kept.set(kept);
        }
        let _ = self.texts.filled.set(filled);
        Ok(())
    }

    fn filled_now(
        &self,
        secret: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(Filled, Option<String>), SpecError> {
        let mut results = Vec::with_capacity(self.texts.results.len());
        for (name, input) in &self.texts.results {
            results.push((name.as_str(), read(name, input)?));
        }
        let result = |name: &str| {
            let found = results.iter().find(|(known, _)| *known == name);
            found.map_or(Value::Null, |(_, value)| value.clone())
        };
        let run = &self.run;
        let item = self.item.as_ref().map(JobItem::value);
        let filling = Filling {
            item: item.as_ref(),
            dag: &run.dag,
            times: Times {
                nominal_at: run.nominal_at,
                biz_date: run.biz_date,
                interval: run.interval,
                timezone: &run.timezone,
            },
            params: &run.params,
            result: Some(&result),
            secret,
        };
        let filled = fill(&self.def, &filling)?;
        let masked = fill(&self.def, &Filling { secret: &|_| Some(MASK.to_owned()), ..filling })?;
        Ok((filled, masked.kept(&self.def)))
    }

    /// Static values for the handler, as this attempt has them.
    pub fn params(&self) -> &std::collections::BTreeMap<String, Value> {
        self.texts.filled.get().map_or(&self.def.params, |filled| &filled.params)
    }

    /// How the type runs, as this attempt has it.
    pub fn config(&self) -> &std::collections::BTreeMap<String, Value> {
        self.texts.filled.get().map_or(&self.def.config, |filled| &filled.config)
    }

    /// The key by which the target knows a repeat.
    pub fn dedup_key(&self) -> Option<&str> {
        match self.texts.filled.get() {
            Some(filled) => filled.dedup_key.as_deref(),
            None => self.def.policy.dedup_key.as_deref(),
        }
    }

    /// What was filled in, as JSON text with secrets masked; none where nothing was.
    pub fn kept(&self) -> Option<&str> {
        self.texts.kept.get().map(String::as_str)
    }
}

fn read(name: &str, input: &Input) -> Result<Value, Problem> {
    let unreadable = |why: String| {
        Problem::new("no_value", "", format!("the result of {name} cannot be read: {why}"))
    };
    let text = match input {
        Input::Nothing => return Ok(Value::Null),
        Input::Text(text) => return parsed(text).map_err(unreadable),
        Input::File(path) => std::fs::read_to_string(path),
    };
    text.map_err(|error| error.to_string()).and_then(|text| parsed(&text)).map_err(unreadable)
}

fn parsed(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Everything that is wrong, in the words that the author's own failures have.
fn failed(job: &Job, SpecError(problems): SpecError) -> Finished {
    let secret = problems.iter().all(|problem| problem.code == "no_secret");
    let key = job.key();
    let placed = problems.into_iter().map(|problem| {
        let place = match problem.place.as_str() {
            "" => key.clone(),
            place => format!("{key}.{place}"),
        };
        Problem { place, ..problem }
    });
    let message = SpecError(placed.collect()).to_string();
    let (code, kind) = if secret { (SECRET, "SecretError") } else { (RENDER, "RenderError") };
    Finished::failed(code, kind, message)
}
