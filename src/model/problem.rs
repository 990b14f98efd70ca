//! What is wrong with something a user wrote: code, place, message and hint.

use std::fmt;

/// One thing wrong with a definition or a request.
///
/// A problem never stops the search for further ones: whoever checks collects them all.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// Stable word for programs, such as `unknown_upstream`; listed in the documentation.
    pub code: &'static str,
    /// Where it is, as the author would say it: `flights.clean.retries`, or a file and line.
    pub place: String,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// What to do next, if we know.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem without a hint.
    pub fn new(code: &'static str, place: impl Into<String>, message: impl Into<String>) -> Self {
        Problem { code, place: place.into(), message: message.into(), hint: None }
    }

    /// The same problem with what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        write!(f, "{} [{}]", self.message, self.code)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// Everything that is wrong with one definition or request; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", list(.0))]
pub struct SpecError(pub Vec<Problem>);

impl From<Problem> for SpecError {
    fn from(problem: Problem) -> Self {
        SpecError(vec![problem])
    }
}

fn list(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
