//! Who starts is what the policy of slots says of the same queue, looked at one by one.

use std::collections::BTreeMap;

use mainspring::engine::{Event, World, apply, decide};
use mainspring::model::{NodeId, TaskPolicy};
use mainspring::policy::slots::{Claim, Gate, admit};
use proptest::prelude::*;

use super::bench::{START, new_run, plan, task};
use crate::sim::rows::MemoryRows;

/// Priority, whether it is in the named pool, slots, and what it takes of two limits.
type Row = (u8, bool, u32, u32, u32);

fn world(rows: &[Row], sizes: [u32; 4]) -> World {
    let policy = |(priority, named, slots, x, y): Row| {
        let limits = [("x", x), ("y", y)].into_iter().filter(|(_, slots)| *slots > 0);
        TaskPolicy {
            priority,
            pool: named.then(|| "p".into()),
            slots,
            limits: limits.map(|(name, slots)| (name.to_owned(), slots)).collect(),
            ..TaskPolicy::default()
        }
    };
    let tasks = rows.iter().enumerate().map(|(nth, row)| task(&format!("t{nth}"), policy(*row)));
    let mut world = MemoryRows::new().world(sizes[0], NodeId(1));
    let limit = |limit: &str, slots| Event::LimitSized { limit: limit.into(), slots: Some(slots) };
    for event in [
        Event::PoolSized { pool: Some("p".into()), slots: sizes[1] },
        limit("x", sizes[2]),
        limit("y", sizes[3]),
        Event::CreateRun(new_run(&plan(tasks.collect(), &[], Vec::new()))),
    ] {
        let decision = decide(&world, &event, START).unwrap();
        apply(&mut world, &decision).unwrap();
    }
    world
}

proptest! {
    /// Nothing here is wider than what it takes from: that runs alone, which the policy leaves to
    /// whoever asks it. And limits are taken one slot at a time: who waits for a pool that is full
    /// closes no limit here, which would keep its slots idle.
    #[test]
    fn a_dispatch_admits_as_the_policy_does(
        rows in prop::collection::vec((0..3u8, any::<bool>(), 1..4u32, 0..2u32, 0..2u32), 0..40),
        sizes in [3..12u32, 3..12u32, 2..9u32, 2..9u32],
    ) {
        let world = world(&rows, sizes);
        let decision = decide(&world, &Event::Dispatch, START).unwrap();
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|nth| (rows[*nth].0, *nth));
        let gates = sizes.map(|capacity| Gate { capacity, used: 0 });
        let claims = |nth: &usize| {
            let (_, named, slots, x, y) = rows[*nth];
            let limits = [(2, x), (3, y)].into_iter().filter(|(_, weight)| *weight > 0);
            let all = limits.chain([(usize::from(named), slots)]);
            all.map(|(gate, weight)| Claim { gate, weight }).collect::<Vec<_>>()
        };
        let candidates: Vec<_> = order.iter().map(claims).collect();
        let expected: Vec<u32> =
            admit(&gates, &candidates).start.iter().map(|at| order[*at] as u32).collect();
        let started: Vec<u32> = decision.starts.iter().map(|start| start.at.index).collect();
        prop_assert_eq!(&started, &expected);
        // What is asked first says the same.
        prop_assert_eq!(world.has_ready(START), !started.is_empty());
        let mut held: BTreeMap<&str, u32> = BTreeMap::new();
        for start in &decision.starts {
            for claim in &start.attempt.limits {
                *held.entry(&claim.limit).or_default() += claim.slots;
            }
        }
        prop_assert!(held.get("x").is_none_or(|held| *held <= sizes[2]));
        prop_assert!(held.get("y").is_none_or(|held| *held <= sizes[3]));
    }
}
