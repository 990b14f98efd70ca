//! Slots: strict order, no starvation of the wide, no pool held up by another.

use mainspring::policy::slots::{Admission, Claim, Gate, admit, admit_pool};
use proptest::prelude::*;

const fn gate(capacity: u32, used: u32) -> Gate {
    Gate { capacity, used }
}

const fn claim(gate: usize, weight: u32) -> Claim {
    Claim { gate, weight }
}

/// A pool, the weights that queue for it, who starts, who never can.
type Row<'a> = (Gate, &'a [u32], &'a [usize], &'a [usize]);

#[test]
fn one_pool() {
    let rows: &[Row<'_>] = &[
        (gate(3, 0), &[1, 1, 1, 1], &[0, 1, 2], &[]),
        (gate(3, 3), &[1], &[], &[]),
        (gate(0, 0), &[1], &[], &[0]),
        (gate(3, 0), &[], &[], &[]),
        // A wide one keeps its place: those behind it would fit and still wait.
        (gate(6, 4), &[3, 1, 1], &[], &[]),
        (gate(6, 3), &[3, 1, 1], &[0], &[]),
        (gate(6, 0), &[3, 3, 3, 1], &[0, 1], &[]),
        // One that can never fit waits alone.
        (gate(6, 0), &[7, 3, 3], &[1, 2], &[0]),
        // Made smaller while its slots were held: nothing below zero, nothing unlimited.
        (gate(2, 6), &[1, 3], &[], &[1]),
        (gate(u32::MAX, 0), &[u32::MAX, 1], &[0], &[]),
        // No slot needed, none taken; but order is order.
        (gate(1, 1), &[0, 1, 0], &[0], &[]),
    ];
    for (pool, weights, start, impossible) in rows {
        let want = Admission { start: start.to_vec(), impossible: impossible.to_vec() };
        assert_eq!(admit_pool(*pool, weights), want, "{pool:?} {weights:?}");
    }
}

#[test]
fn a_thousand_for_a_full_pool_hold_up_no_other() {
    let gates = [gate(20, 19), gate(20, 0)];
    let mut candidates = vec![vec![claim(0, 1)]; 1_000];
    candidates.extend(vec![vec![claim(1, 1)]; 100]);
    let start = admit(&gates, &candidates).start;
    assert_eq!(start, [0].into_iter().chain(1_000..1_020).collect::<Vec<_>>());
}

#[test]
fn a_task_at_its_own_limit_keeps_no_slot_of_its_pool_empty() {
    // Gate 0 is the pool, 1 the task's max_active, 2 a named limit.
    let gates = [gate(4, 0), gate(1, 0), gate(2, 2)];
    let candidates: [&[Claim]; 6] = [
        &[claim(1, 1), claim(0, 2)],
        &[claim(1, 1), claim(0, 2)], // waits for the first
        &[claim(2, 1), claim(0, 1)], // waits for the limit
        &[claim(0, 1)],
        &[claim(1, 1), claim(0, 1)], // behind the second at the same gate
        &[claim(0, 1)],
    ];
    assert_eq!(admit(&gates, &candidates).start, [0, 3, 5]);
}

#[test]
fn what_a_refused_candidate_took_is_given_back() {
    let gates = [gate(2, 0), gate(1, 1)];
    let candidates: [&[Claim]; 2] = [&[claim(0, 2), claim(1, 1)], &[claim(0, 2)]];
    assert_eq!(admit(&gates, &candidates).start, [1]);
    let unknown: [&[Claim]; 2] = [&[claim(9, 1)], &[]];
    assert_eq!(
        admit(&gates, &unknown),
        Admission { start: vec![1], impossible: vec![0] },
        "an unknown gate lets nobody in, and no gate stops nobody"
    );
}

fn worlds() -> impl Strategy<Value = (Vec<Gate>, Vec<Vec<Claim>>)> {
    let gates = proptest::collection::vec((0u32..8, 0u32..10).prop_map(|(c, u)| gate(c, u)), 1..4);
    let claims = proptest::collection::vec((0usize..4, 0u32..5), 0..3).prop_map(|mut all| {
        all.sort_unstable();
        all.dedup_by_key(|(gate, _)| *gate);
        all.into_iter().map(|(gate, weight)| claim(gate, weight)).collect()
    });
    (gates, proptest::collection::vec(claims, 0..20))
}

proptest! {
    #[test]
    fn no_gate_is_overfilled_and_whoever_waits_is_held_by_one((gates, candidates) in worlds()) {
        let Admission { start, impossible } = admit(&gates, &candidates);
        let taken = |gate: usize| -> u32 {
            let claims = start.iter().flat_map(|&at| &candidates[at]);
            claims.filter(|claim| claim.gate == gate).map(|claim| claim.weight).sum()
        };
        for (at, gate) in gates.iter().enumerate() {
            prop_assert!(taken(at) <= gate.free());
        }
        for (at, claims) in candidates.iter().enumerate() {
            let fits_empty = claims.iter()
                .all(|c| gates.get(c.gate).is_some_and(|gate| c.weight <= gate.capacity));
            prop_assert_eq!(impossible.contains(&at), !fits_empty);
            if start.contains(&at) || !fits_empty {
                continue;
            }
            // Held by a gate that is full, or kept for somebody who came before.
            let held = claims.iter().any(|c| {
                gates[c.gate].free() - taken(c.gate) < c.weight
                    || candidates[..at].iter().enumerate().any(|(before, other)| {
                        !start.contains(&before)
                            && !impossible.contains(&before)
                            && other.iter().any(|o| o.gate == c.gate)
                    })
            });
            prop_assert!(held, "{} of {:?} waits for nothing", at, candidates);
        }
    }

    #[test]
    fn one_pool_starts_a_prefix_of_the_possible(
        capacity in 0u32..20, used in 0u32..25, weights in proptest::collection::vec(0u32..8, 0..30),
    ) {
        let got = admit_pool(gate(capacity, used), &weights);
        let possible: Vec<usize> =
            (0..weights.len()).filter(|&at| weights[at] <= capacity).collect();
        prop_assert_eq!(&got.start[..], &possible[..got.start.len()]);
        let sum: u32 = got.start.iter().map(|&at| weights[at]).sum();
        prop_assert!(sum <= capacity.saturating_sub(used));
        if let Some(&next) = possible.get(got.start.len()) {
            prop_assert!(sum + weights[next] > capacity.saturating_sub(used));
        }
    }
}
