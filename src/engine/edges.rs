//! The truth table of edges: what each kind makes of what became of its upstream.

use regex::Regex;

use super::cell::Votes;
use crate::model::{Dependency, EdgeKind, MatchOn, OnSkip, Progress, State};

/// Codes of task runs that are SKIPPED, with what that means to their dependents.
pub mod skip_codes {
    /// It was left out when its run was made.
    pub const NOT_SELECTED: &str = "NOT_SELECTED";
    /// Its task is disabled.
    pub const DISABLED: &str = "DISABLED";
    /// Its `run_on` does not name the day of its run.
    pub const RUN_ON: &str = "RUN_ON";
    /// The output of an upstream does not match.
    pub const NO_MATCH: &str = "NO_MATCH";
    /// A reprocess left it as it was: what it depends on came out unchanged. To its dependents it is
    /// the success before.
    pub const UNCHANGED: &str = "UNCHANGED";
    /// All its upstreams were skipped by a condition.
    pub const UPSTREAM_SKIPPED: &str = "UPSTREAM_SKIPPED";
}

/// What an edge says of its dependent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Holds,
    /// Not yet.
    Waits,
    /// Cannot hold before something upstream is repaired.
    Broken,
    /// Need not run, whatever the other edges say.
    Skip,
    /// The upstream did not have to run, and neither has whoever has no other reason to.
    Passed,
}

impl Verdict {
    /// Whether the dependent may go on as far as this edge is concerned.
    pub const fn lets_go(self) -> bool {
        matches!(self, Verdict::Holds | Verdict::Skip | Verdict::Passed)
    }

    /// What it is where the upstream is waited for no longer.
    pub(super) const fn without(self, over: bool) -> Verdict {
        if over && !self.lets_go() { Verdict::Holds } else { self }
    }
}

/// How an edge judges, as a plan keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeRule {
    /// When it holds.
    pub kind: EdgeKind,
    /// What an OUTPUT_MATCH edge looks for.
    pub pattern: Option<Pattern>,
    /// Where it looks for it.
    pub match_on: MatchOn,
    /// What the author wants of a skipped upstream.
    pub on_skip: Option<OnSkip>,
    /// How long it waits, in milliseconds; none is for ever.
    pub wait_up_to_ms: Option<i64>,
}

/// A compiled pattern; equal to one of the same text.
#[derive(Clone, Debug)]
pub struct Pattern(pub Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl EdgeRule {
    /// A rule that is its kind and the default in all else.
    pub const fn of_kind(kind: EdgeKind) -> EdgeRule {
        EdgeRule {
            kind,
            pattern: None,
            match_on: MatchOn::Result,
            on_skip: None,
            wait_up_to_ms: None,
        }
    }

    /// The rule of an edge as it was defined. A pattern that does not compile was refused before;
    /// if one comes out of the database all the same, it matches nothing.
    pub fn of(edge: &Dependency) -> EdgeRule {
        let compile = |text: &String| {
            let built = regex::RegexBuilder::new(text).size_limit(LARGEST_PATTERN).build();
            built.ok().map(Pattern)
        };
        EdgeRule {
            kind: edge.kind,
            pattern: edge.pattern.as_ref().and_then(compile),
            match_on: edge.match_on,
            on_skip: edge.on_skip,
            wait_up_to_ms: edge.wait_up_to_ms,
        }
    }

    /// Whether a text has what an OUTPUT_MATCH edge looks for. At most a mebibyte is looked at.
    fn matches(&self, text: Option<&str>) -> bool {
        let (Some(Pattern(pattern)), Some(text)) = (&self.pattern, text) else { return false };
        let mut end = text.len().min(LONGEST_TEXT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        pattern.is_match(&text[..end])
    }
}

/// Bytes of what a pattern compiles to.
const LARGEST_PATTERN: usize = 1 << 20;
/// Bytes of an output that are looked at.
pub const LONGEST_TEXT: usize = 1 << 20;

/// What became of an upstream, as far as edges are concerned.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// Where it stands.
    pub state: State,
    /// Its code, which says why it was skipped.
    pub code: Option<&'a str>,
    /// Its result as JSON text, or the beginning of it.
    pub result: Option<&'a str>,
    /// The beginning of what it printed.
    pub stdout: Option<&'a str>,
}

impl<'a> Standing<'a> {
    /// Of a state alone.
    pub const fn of_state(state: State) -> Standing<'a> {
        Standing { state, code: None, result: None, stdout: None }
    }

    /// Of a task run, with what lies in files of its output.
    pub fn of(progress: &'a Progress, texts: Option<&'a Texts>) -> Standing<'a> {
        let large = texts.and_then(|texts| texts.result.as_deref());
        Standing {
            state: progress.state,
            code: progress.code.as_deref(),
            result: progress.result.as_deref().or(large),
            stdout: texts.and_then(|texts| texts.stdout.as_deref()),
        }
    }

    /// What was left as it was stands as it did before.
    fn looked_through(self) -> Standing<'a> {
        match self.code {
            Some(skip_codes::UNCHANGED) if self.state == State::Skipped => {
                Standing { state: State::Success, ..self }
            }
            _ => self,
        }
    }

    /// Why it is SKIPPED.
    fn skipped(&self) -> Skipped {
        match self.code {
            Some(skip_codes::NO_MATCH | skip_codes::UPSTREAM_SKIPPED) => Skipped::ByCondition,
            Some(skip_codes::DISABLED) => Skipped::Disabled,
            Some(skip_codes::NOT_SELECTED) => Skipped::LeftOut,
            _ => Skipped::ByCalendar,
        }
    }
}

/// What of an output is not in the row: the beginning of a large result and of what was printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// The beginning of a result that is in a file.
    pub result: Option<std::sync::Arc<str>>,
    /// The beginning of what was printed.
    pub stdout: Option<std::sync::Arc<str>>,
}

/// Why a task run is SKIPPED, as far as its dependents are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Skipped {
    /// Whoever asked for the run left it out, and takes it as done.
    LeftOut,
    /// The calendar or `run_on` say so.
    ByCalendar,
    /// A condition, here or farther up.
    ByCondition,
    /// Its task is disabled.
    Disabled,
}

/// The verdict of an edge while its upstream stands so: the whole truth table.
///
/// BLOCKED is not final: a COMPLETED edge waits for it. A holiday does not stop the chain, but does
/// not make data ready either, and has no output that could match.
pub fn edge_verdict(rule: &EdgeRule, up: Standing<'_>) -> Verdict {
    if rule.kind == EdgeKind::Weak {
        return Verdict::Holds;
    }
    let up = up.looked_through();
    if up.state == State::Skipped {
        return skip_verdict(rule, up.skipped());
    }
    match (rule.kind, up.state) {
        (EdgeKind::Completed, state) if state.is_final() => Verdict::Holds,
        (EdgeKind::Completed, _) => Verdict::Waits,
        (EdgeKind::OutputMatch, State::Success) => {
            let text = match rule.match_on {
                MatchOn::Result => up.result,
                MatchOn::Stdout => up.stdout,
            };
            if rule.matches(text) { Verdict::Holds } else { Verdict::Skip }
        }
        (_, State::Success) => Verdict::Holds,
        (_, state) if state.ended_badly() => Verdict::Broken,
        _ => Verdict::Waits,
    }
}

fn skip_verdict(rule: &EdgeRule, skipped: Skipped) -> Verdict {
    match rule.on_skip.filter(|_| skipped != Skipped::LeftOut) {
        Some(OnSkip::Satisfied) => return Verdict::Holds,
        Some(OnSkip::Skip) => return Verdict::Skip,
        Some(OnSkip::Block) => return Verdict::Broken,
        None => {}
    }
    match (rule.kind, skipped) {
        (_, Skipped::LeftOut) => Verdict::Holds,
        (_, Skipped::Disabled) => Verdict::Broken,
        (EdgeKind::Completed | EdgeKind::Weak, _) => Verdict::Holds,
        (_, Skipped::ByCondition) => Verdict::Passed,
        (EdgeKind::Success, Skipped::ByCalendar) => Verdict::Holds,
        (EdgeKind::OutputMatch, Skipped::ByCalendar) => Verdict::Skip,
        (EdgeKind::DataReady, Skipped::ByCalendar) => Verdict::Waits,
    }
}

/// How many edges of a task run say what. Kept up to date edge by edge, so that the end of a task
/// costs as much as it has dependents and nothing is ever counted again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Edges that do not hold, the broken ones included.
    pub unmet: u32,
    /// Edges that are broken.
    pub broken: u32,
    /// Edges that hold; WEAK ones always do and are left out.
    pub holds: u32,
    /// Edges by which it need not run, whatever the others say.
    pub skips: u32,
    /// Edges whose upstreams were skipped by a condition.
    pub passed: u32,
    /// Edges to other runs that wait: what can move it is not in its own run.
    pub outside: u32,
    /// Edges to other runs that were not read yet: nothing is decided before that.
    pub unread: u32,
}

impl Counts {
    /// Adds an edge.
    pub fn add(&mut self, kind: EdgeKind, verdict: Verdict) {
        self.unmet += u32::from(!verdict.lets_go());
        self.broken += u32::from(verdict == Verdict::Broken);
        self.holds += u32::from(verdict == Verdict::Holds && kind != EdgeKind::Weak);
        self.skips += u32::from(verdict == Verdict::Skip);
        self.passed += u32::from(verdict == Verdict::Passed);
    }

    /// Changes the verdict of an edge that was added.
    pub fn change(&mut self, kind: EdgeKind, from: Verdict, to: Verdict) {
        self.add(kind, to);
        self.unmet -= u32::from(!from.lets_go());
        self.broken -= u32::from(from == Verdict::Broken);
        self.holds -= u32::from(from == Verdict::Holds && kind != EdgeKind::Weak);
        self.skips -= u32::from(from == Verdict::Skip);
        self.passed -= u32::from(from == Verdict::Passed);
    }

    /// Adds an edge to another run.
    pub fn add_outside(&mut self, kind: EdgeKind, votes: Votes) {
        self.add(kind, votes.verdict());
        self.outside += u32::from(votes.verdict() == Verdict::Waits);
        self.unread += u32::from(votes.unread > 0);
    }

    /// The same as `change` for an edge to another run.
    pub fn change_outside(&mut self, kind: EdgeKind, from: Votes, to: Votes) {
        self.change(kind, from.verdict(), to.verdict());
        self.outside += u32::from(to.verdict() == Verdict::Waits);
        self.outside -= u32::from(from.verdict() == Verdict::Waits);
        self.unread += u32::from(to.unread > 0);
        self.unread -= u32::from(from.unread > 0);
    }

    /// Whether every edge lets go, and some skip was passed on while none holds.
    pub fn is_passed_over(&self) -> bool {
        self.unmet == 0 && self.passed > 0 && self.holds == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole table, as the documentation prints it.
    #[test]
    fn the_table() {
        let skips = [
            ("SKIPPED by calendar", Some("RUN_ON")),
            ("SKIPPED by condition", Some(skip_codes::NO_MATCH)),
            ("SKIPPED, disabled", Some(skip_codes::DISABLED)),
            ("SKIPPED, left out", Some(skip_codes::NOT_SELECTED)),
            ("SKIPPED, unchanged", Some(skip_codes::UNCHANGED)),
        ];
        let states = State::ALL.iter().filter(|state| **state != State::Skipped);
        let rows = states
            .map(|state| (state.as_str(), *state, None))
            .chain(skips.into_iter().map(|(name, code)| (name, State::Skipped, code)));
        let yes = Regex::new("yes").ok().map(Pattern);
        let mut table = String::new();
        for (name, state, code) in rows {
            let verdicts: Vec<String> = EdgeKind::ALL
                .iter()
                .map(|kind| {
                    let mut rule = EdgeRule::of_kind(*kind);
                    rule.pattern.clone_from(&yes);
                    let up = Standing { code, result: Some("yes"), ..Standing::of_state(state) };
                    format!("{:?}", edge_verdict(&rule, up))
                })
                .collect();
            table.push_str(&format!("{name:<20} {}\n", verdicts.join(" ")));
        }
        let expected = "\
PENDING              Waits Waits Waits Waits Holds
RUNNING              Waits Waits Waits Waits Holds
SUCCESS              Holds Holds Holds Holds Holds
FAILED               Broken Holds Broken Broken Holds
TIMEOUT              Broken Holds Broken Broken Holds
CANCELED             Broken Holds Broken Broken Holds
READY                Waits Waits Waits Waits Holds
BLOCKED              Broken Waits Broken Broken Holds
RETRY_WAIT           Waits Waits Waits Waits Holds
SKIPPED by calendar  Holds Holds Skip Waits Holds
SKIPPED by condition Passed Holds Passed Passed Holds
SKIPPED, disabled    Broken Broken Broken Broken Holds
SKIPPED, left out    Holds Holds Holds Holds Holds
SKIPPED, unchanged   Holds Holds Holds Holds Holds
";
        assert_eq!(table, expected);
    }

    #[test]
    fn no_match_skips_and_on_skip_has_the_last_word() {
        let mut rule = EdgeRule::of_kind(EdgeKind::OutputMatch);
        rule.pattern = Regex::new("^\"b\"$").ok().map(Pattern);
        let ended = |text| Standing { result: Some(text), ..Standing::of_state(State::Success) };
        assert_eq!(edge_verdict(&rule, ended("\"b\"")), Verdict::Holds);
        assert_eq!(edge_verdict(&rule, ended("\"a\"")), Verdict::Skip);
        assert_eq!(edge_verdict(&rule, Standing::of_state(State::Success)), Verdict::Skip);
        let disabled =
            Standing { code: Some(skip_codes::DISABLED), ..Standing::of_state(State::Skipped) };
        for (word, verdict) in [
            (OnSkip::Satisfied, Verdict::Holds),
            (OnSkip::Skip, Verdict::Skip),
            (OnSkip::Block, Verdict::Broken),
        ] {
            let rule = EdgeRule { on_skip: Some(word), ..EdgeRule::of_kind(EdgeKind::Success) };
            assert_eq!(edge_verdict(&rule, disabled), verdict);
        }
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        let mut rule = EdgeRule::of_kind(EdgeKind::OutputMatch);
        rule.pattern = Regex::new("x$").ok().map(Pattern);
        let long = "ü".repeat(LONGEST_TEXT);
        let up = Standing { result: Some(&long), ..Standing::of_state(State::Success) };
        assert_eq!(edge_verdict(&rule, up), Verdict::Skip);
    }
}
