//! The table of states and arrows.

use std::collections::BTreeSet;

use mainspring::model::{ARROWS, Outcome, RunState, State, Trigger};

#[test]
fn every_word_and_code_goes_both_ways() {
    for state in State::ALL {
        assert_eq!(state.as_str().parse::<State>().unwrap(), *state);
        assert_eq!(State::from_code(state.code()), Some(*state));
    }
    for outcome in Outcome::ALL {
        assert_eq!(outcome.as_str().parse::<Outcome>().unwrap(), *outcome);
        assert_eq!(Outcome::from_code(outcome.code()), Some(*outcome));
    }
    assert_eq!("RUNNING".parse::<RunState>().unwrap(), RunState::Running);
    assert_eq!("backfill".parse::<Trigger>().unwrap(), Trigger::Backfill);
    assert_eq!("DONE".parse::<State>().unwrap_err().word, "DONE");
}

/// The codes 0 to 4 are those of the tables users bring; they may never change.
#[test]
fn the_codes_of_the_warehouse_tables_are_kept() {
    let codes: Vec<_> = (0..=9).map(|code| State::from_code(code).unwrap().as_str()).collect();
    assert_eq!(
        codes,
        [
            "PENDING",
            "RUNNING",
            "SUCCESS",
            "FAILED",
            "TIMEOUT",
            "CANCELED",
            "SKIPPED",
            "READY",
            "BLOCKED",
            "RETRY_WAIT"
        ]
    );
}

#[test]
fn every_open_state_can_end_and_every_final_state_only_be_rerun() {
    for state in State::ALL {
        let next: BTreeSet<State> =
            ARROWS.iter().filter(|(from, ..)| from == state).map(|(_, to, _)| *to).collect();
        if state.is_final() {
            assert_eq!(next, BTreeSet::from([State::Pending]), "{state}");
        } else {
            assert!(next.contains(&State::Canceled), "{state} can be canceled");
        }
    }
}

#[test]
fn no_arrow_is_listed_twice() {
    let unique: BTreeSet<_> = ARROWS.iter().map(|(from, to, _)| (from, to)).collect();
    assert_eq!(unique.len(), ARROWS.len());
}
