//! The words of the enums on their way into migrations, so that no SQL text lists them.

use crate::model::{
    Backoff, EdgeKind, MISSED_WINDOW_MS, Missed, OffsetUnit, Outcome, PeriodKind, ReleaseKind,
    RunState, State, StopReason, Trigger, Which,
};

/// Puts the words of the enums into a migration, so that no SQL text lists them.
pub(super) fn stamp(text: &str) -> String {
    fn list<'a>(words: impl Iterator<Item = &'a str>) -> String {
        words.map(|word| format!("'{word}'")).collect::<Vec<_>>().join(", ")
    }
    /// Arms of a CASE: `WHEN 'SUCCESS' THEN 2 ...`.
    fn arms<'a>(codes: impl Iterator<Item = (&'a str, u8)>) -> String {
        codes.map(|(word, code)| format!("WHEN '{word}' THEN {code}")).collect::<Vec<_>>().join(" ")
    }
    fn known<'a>(words: impl Iterator<Item = &'a str>) -> String {
        arms(words.map(|word| (word, 1)))
    }
    let run_is_open = |state: &RunState| u8::from(*state == RunState::Running);
    let open = || State::ALL.iter().filter(|state| !state.is_final());
    // PENDING and what the texts that users bring have no word for.
    let waiting = || open().filter(|state| **state != State::Running);
    let shown = |state: &State| {
        let waits = !state.is_final() && *state != State::Running;
        if waits { State::Pending } else { *state }
    };
    let lists = [
        ("waiting_states", list(waiting().map(|word| word.as_str()))),
        ("state_is_open", arms(State::ALL.iter().map(|w| (w.as_str(), u8::from(!w.is_final()))))),
        ("run_state_is_open", arms(RunState::ALL.iter().map(|w| (w.as_str(), run_is_open(w))))),
        ("outcomes_known", known(Outcome::ALL.iter().map(|word| word.as_str()))),
        ("stop_reasons_known", known(StopReason::ALL.iter().map(|word| word.as_str()))),
        ("triggers_known", known(Trigger::ALL.iter().map(|word| word.as_str()))),
        ("state_codes", arms(State::ALL.iter().map(|word| (word.as_str(), shown(word).code())))),
        ("trigger_codes", arms(Trigger::ALL.iter().map(|word| (word.as_str(), word.code())))),
        ("backoffs", list(Backoff::ALL.iter().map(|word| word.as_str()))),
        ("edge_kinds", list(EdgeKind::ALL.iter().map(|word| word.as_str()))),
        ("edge_codes", arms(EdgeKind::ALL.iter().map(|word| (word.as_str(), word.code())))),
        ("weak", list([EdgeKind::Weak.as_str()].into_iter())),
        ("running", list([State::Running.as_str()].into_iter())),
        ("pending", list([State::Pending.as_str()].into_iter())),
        ("offset_units", list(OffsetUnit::ALL.iter().map(|word| word.as_str()))),
        ("period_kinds_known", known(PeriodKind::ALL.iter().map(|word| word.as_str()))),
        ("period_active", list([PeriodKind::Active.as_str()].into_iter())),
        ("period_paused", list([PeriodKind::Paused.as_str()].into_iter())),
        ("period_removed", list([PeriodKind::Removed.as_str()].into_iter())),
        ("release_kinds_known", known(ReleaseKind::ALL.iter().map(|word| word.as_str()))),
        ("release_pin", list([ReleaseKind::Pin.as_str()].into_iter())),
        ("release_percent", list([ReleaseKind::Percent.as_str()].into_iter())),
        ("release_from_biz_date", list([ReleaseKind::FromBizDate.as_str()].into_iter())),
        ("missed_default", list([Missed::default().as_str()].into_iter())),
        ("missed_window_ms", MISSED_WINDOW_MS.to_string()),
        ("whiches", list(Which::ALL.iter().map(|word| word.as_str()))),
    ];
    let mut text = text.to_owned();
    for (name, words) in lists {
        text = text.replace(&format!("{{{{{name}}}}}"), &words);
    }
    text
}
