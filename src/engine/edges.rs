//! The truth table of edges: what each kind makes of each state of its upstream.

use crate::model::{EdgeKind, State};

/// What an edge says of its dependent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Holds,
    /// Not yet.
    Waits,
    /// Cannot hold before something upstream is repaired.
    Broken,
    /// Need not run. No state alone says so: it is the place of an OUTPUT_MATCH without a match.
    Skip,
}

impl Verdict {
    /// Whether the dependent may go on as far as this edge is concerned.
    pub const fn lets_go(self) -> bool {
        matches!(self, Verdict::Holds | Verdict::Skip)
    }
}

/// The verdict of an edge of this kind while its upstream is in this state.
///
/// OUTPUT_MATCH and DATA_READY are judged by the state alone so far. A COMPLETED edge whose
/// upstream is BLOCKED is broken: it would otherwise wait, and its run with it, for a repair that
/// may never come.
pub const fn edge_verdict(kind: EdgeKind, upstream: State) -> Verdict {
    match kind {
        EdgeKind::Weak => Verdict::Holds,
        EdgeKind::Completed => match upstream {
            State::Blocked => Verdict::Broken,
            state if state.is_final() => Verdict::Holds,
            _ => Verdict::Waits,
        },
        EdgeKind::Success | EdgeKind::OutputMatch | EdgeKind::DataReady => match upstream {
            State::Success | State::Skipped => Verdict::Holds,
            state if state.ended_badly() => Verdict::Broken,
            _ => Verdict::Waits,
        },
    }
}

/// How many edges of a task run do not let it go. Kept up to date edge by edge, so that the end
/// of a task costs as much as it has dependents and nothing is ever counted again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Edges that do not hold, the broken ones included.
    pub unmet: u32,
    /// Edges that are broken.
    pub broken: u32,
}

impl Counts {
    /// Adds an edge.
    pub fn add(&mut self, verdict: Verdict) {
        self.unmet += u32::from(!verdict.lets_go());
        self.broken += u32::from(verdict == Verdict::Broken);
    }

    /// Changes the verdict of an edge that was added.
    pub fn change(&mut self, from: Verdict, to: Verdict) {
        self.add(to);
        self.unmet -= u32::from(!from.lets_go());
        self.broken -= u32::from(from == Verdict::Broken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole table, as the documentation prints it.
    #[test]
    fn the_table() {
        let mut table = String::new();
        for state in State::ALL {
            let row: Vec<String> = EdgeKind::ALL
                .iter()
                .map(|kind| format!("{:?}", edge_verdict(*kind, *state)))
                .collect();
            table.push_str(&format!("{state:<10} {}\n", row.join(" ")));
        }
        let expected = "\
PENDING    Waits Waits Waits Waits Holds
RUNNING    Waits Waits Waits Waits Holds
SUCCESS    Holds Holds Holds Holds Holds
FAILED     Broken Holds Broken Broken Holds
TIMEOUT    Broken Holds Broken Broken Holds
CANCELED   Broken Holds Broken Broken Holds
SKIPPED    Holds Holds Holds Holds Holds
READY      Waits Waits Waits Waits Holds
BLOCKED    Broken Broken Broken Broken Holds
RETRY_WAIT Waits Waits Waits Waits Holds
";
        assert_eq!(table, expected);
    }
}
