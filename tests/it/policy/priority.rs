//! Priorities: names, order, ageing.

use mainspring::policy::priority::{DEFAULT, Key, NAMES, aged, name, parse};
use proptest::prelude::*;

#[test]
fn names_and_numbers_are_read_and_nothing_else() {
    for (word, number) in [("URGENT", 0), ("HIGH", 2), ("NORMAL", 5), ("LOW", 7), ("IDLE", 9)] {
        assert_eq!(parse(word), Some(number));
        assert_eq!(parse(&word.to_lowercase()), Some(number));
        assert_eq!(name(number), Some(word));
    }
    for number in 0..=9 {
        assert_eq!(parse(&number.to_string()), Some(number));
        assert_eq!(name(number).is_some(), NAMES.iter().any(|(_, named)| *named == number));
    }
    for wrong in ["", "10", "-1", "05", " 5", "5.0", "MEDIUM", "URGENT ", "５"] {
        assert_eq!(parse(wrong), None, "{wrong:?}");
    }
    assert_eq!(name(DEFAULT), Some("NORMAL"));
}

#[test]
fn priority_goes_before_age_and_age_before_id() {
    let key = |priority, first_ready, id| Key { priority, first_ready, id };
    let mut keys = [key(5, 20, 1), key(9, 0, 2), key(5, 10, 4), key(0, 99, 5), key(5, 10, 3)];
    keys.sort_unstable();
    assert_eq!(keys.map(|key| key.id), [5, 3, 4, 1, 2]);
}

#[test]
fn ageing_lifts_one_class_a_step() {
    for (priority, waited, step, want) in [
        (9, 0, 60_000, 9),
        (9, 59_999, 60_000, 9),
        (9, 60_000, 60_000, 8),
        (9, 600_000, 60_000, 0),
        (3, i64::MAX, 1, 0),
        (7, 600_000, 0, 7),
        (7, 600_000, -1, 7),
        (7, -600_000, 60_000, 7),
    ] {
        assert_eq!(aged(priority, waited, step), want, "{priority} after {waited} by {step}");
    }
}

proptest! {
    #[test]
    fn whoever_waits_longer_is_never_worse(
        priority in 0u8..10, waited in any::<i64>(), more in 0i64..1_000_000_000, step in any::<i64>(),
    ) {
        let (now, later) = (aged(priority, waited, step), aged(priority, waited.saturating_add(more), step));
        prop_assert!(later <= now && now <= priority);
    }
}
