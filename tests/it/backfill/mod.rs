//! The plan of a backfill, beside a planner that is slow and plainly right.

mod checks;
mod naive;
mod worlds;

use mainspring::engine::backfill::{Refused, plan_backfill};
use mainspring::model::{Planned, Why};

use self::worlds::World;

fn planned(world: &World) -> Option<Planned> {
    let mut past = world.past.clone();
    match plan_backfill(&world.facts, &world.ask, &mut past, world.now) {
        Ok(planned) => Some(planned),
        // A range of which nothing is due, or that lies before the first date.
        Err(Refused::Spec(problems)) => {
            let code = problems.0[0].code;
            assert!(["in_future", "before_start"].contains(&code), "{problems}");
            None
        }
        Err(Refused::Past(never)) => match never {},
    }
}

/// Seeds of worlds in which something was found once.
const FOUND: &[u64] = &[237];

#[test]
#[allow(clippy::disallowed_methods, reason = "how many worlds are told")]
fn a_plan_is_what_a_naive_planner_says() {
    let worlds = std::env::var("BACKFILL_WORLDS").ok().and_then(|text| text.parse().ok());
    let worlds: u64 = worlds.unwrap_or(300);
    let mut seen = std::collections::BTreeMap::<Why, u64>::new();
    for seed in FOUND.iter().copied().chain(0..worlds) {
        let world = World::new(seed);
        let Some(planned) = planned(&world) else { continue };
        let said = naive::said(&world);
        if let Err(wrong) = checks::all(&world, &planned, &said) {
            panic!("world {seed}: {wrong}\n{}", world.told());
        }
        planned.counts().iter().for_each(|(why, count)| *seen.entry(*why).or_default() += count);
        let again = self::planned(&world).unwrap();
        assert_eq!(again, planned, "world {seed} gives two plans");
    }
    if worlds >= 300 {
        for why in Why::ALL {
            assert!(seen.contains_key(why), "no world has a cell that is {why}: {seen:?}");
        }
    }
}

#[test]
fn what_is_planted_is_found() {
    let (mut cells, mut order, mut sets) = (0, 0, 0);
    for seed in 0..60 {
        let world = World::new(seed);
        let Some(planned) = planned(&world) else { continue };
        let said = naive::said(&world);
        for (fault, found) in [
            (checks::another_reason(&planned), &mut cells),
            (checks::two_runs_swapped(&world, &planned, &said), &mut order),
            (checks::a_run_lost(&planned), &mut sets),
        ] {
            let Some(fault) = fault else { continue };
            assert!(checks::all(&world, &fault, &said).is_err(), "world {seed}");
            *found += 1;
        }
    }
    assert!(cells > 20 && order > 10 && sets > 20, "{cells} {order} {sets}");
}

#[test]
fn the_hash_is_that_of_what_was_looked_at() {
    for seed in 0..60 {
        let mut world = World::new(seed);
        let Some(before) = planned(&world) else { continue };
        // What is shown counts, whatever is said of it.
        let shown = naive::shown(&world, &before);
        let Some(at) = world.past.rows.iter().position(|row| shown.contains(row)) else { continue };
        world.past.rows[at].1.revision += 1;
        let open = !world.past.rows[at].1.state.is_final();
        let after = planned(&world).unwrap();
        if !open {
            let newest = naive::is_newest(&world, at);
            assert_eq!(after.plan.hash != before.plan.hash, newest, "world {seed}");
        }
        assert_eq!(after.counts(), before.counts());
        assert!(before.diff(&before).same);
    }
}
