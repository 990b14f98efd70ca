//! `explain` in words.

use super::bench::Bench;

fn why(world: &str, events: &[&str], task: &str) -> String {
    let mut bench = Bench::new(world);
    bench.all(events);
    bench.why(task)
}

#[test]
fn says_what_it_waits_for() {
    assert_eq!(
        why("a; b; c <- a b", &["a ok"], "c"),
        "c of run 1 is PENDING: waits for b (RUNNING)"
    );
    assert_eq!(
        why("a; b <- a; c <- b", &["a fail X"], "c"),
        "c of run 1 is BLOCKED: blocked by a (task run 1); waits for b (BLOCKED)"
    );
    assert_eq!(
        why("slots=1; a; b; c", &[], "c"),
        "c of run 1 is READY: in the queue of the default pool behind 1, wants 1, 1 of 1 slots are held"
    );
    assert_eq!(
        why("a : max=2", &["a fail X"], "a"),
        "a of run 1 is RETRY_WAIT: tried again at 1970-01-12T13:46:50Z after X"
    );
    assert_eq!(
        why("a : max=2", &["a hung X", "+10"], "a"),
        "a of run 1 is RETRY_WAIT: attempt 1 is over, but could not be ended (kill failed): what is \
         left of it still runs and holds its slots"
    );
    assert_eq!(
        why("a : timeout=1000", &["+1"], "a"),
        "a of run 1 is RUNNING: attempt 1 runs since 1970-01-12T13:46:40Z, its time is over at \
         1970-01-12T13:46:41Z, asked to stop (timeout), given up at 1970-01-12T13:46:42Z"
    );
    assert_eq!(why("a", &["a ok"], "a"), "a of run 1 is SUCCESS: ended at 1970-01-12T13:46:40Z");
}
