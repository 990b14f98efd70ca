//! Proof that the checkers of fires see, and the test that tells the stories.

use mainspring::engine::Decision;

use super::fires::{FireFault, FireStory};
use super::number;

/// The decision as it is carried out.
pub fn plant(story: &mut FireStory, decision: &mut Decision) {
    for to in &mut decision.schedules {
        match story.fault {
            FireFault::WatermarkTooFar if to.watermark > to.from => {
                let life = &story.truth.lives[&to.schedule];
                let ahead = to.watermark.plus_millis(26 * super::lives::HOUR);
                let passed = life.fires(to.watermark, ahead.min(story.now));
                if let Some((next, _)) = passed.first() {
                    to.watermark = *next;
                }
            }
            FireFault::SkipTwice => {
                if let Some((skip, _)) = to.skips.first().cloned() {
                    to.skips.push((skip, false));
                }
            }
            FireFault::LostFire if story.rng.chance(100) => to.skips.clear(),
            _ => {}
        }
    }
}

fn caught_by(fault: FireFault, checker: &str) {
    super::caught_by(fault, checker, 0..200, |seed| FireStory::tell(seed, fault));
}

#[test]
fn each_planted_fault_of_fires_is_caught_by_its_checker() {
    caught_by(FireFault::WatermarkTooFar, "watermark");
    caught_by(FireFault::SkipTwice, "complete");
    caught_by(FireFault::LostFire, "watermark");
    caught_by(FireFault::EditBackwards, "edited");
    caught_by(FireFault::CapIgnored, "at_once");
    caught_by(FireFault::PauseIgnored, "pauses");
    caught_by(FireFault::LinkMakesRun, "timed");
    caught_by(FireFault::LooksAhead, "early");
    caught_by(FireFault::ForgetsWaiting, "reasons");
}

#[test]
fn worlds_with_schedules_keep_every_invariant() {
    let seeds = match number("MAINSPRING_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("MAINSPRING_WORLDS").unwrap_or(300),
    };
    let (mut decisions, mut runs, mut skips, mut links, mut refused) = (0, 0, 0, 0, 0);
    for seed in seeds.clone() {
        match FireStory::tell(seed, FireFault::None) {
            Ok(tale) => {
                decisions += tale.decisions;
                runs += tale.runs;
                skips += tale.skips;
                links += tale.links;
                refused += tale.refused;
            }
            // A life is long: its beginning says enough.
            Err(wrong) => panic!("MAINSPRING_SEED={seed}: {wrong:.2000}"),
        }
    }
    let worlds = seeds.end - seeds.start;
    println!(
        "{worlds} worlds with schedules, {decisions} decisions, {runs} runs, {skips} skips, \
         {links} links, {refused} refused commits"
    );
    // What no story does nobody tests.
    if worlds >= 100 {
        assert!(runs > 1_000 && skips > 100 && links > 10 && refused > 10);
    }
}
