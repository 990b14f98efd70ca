//! A fire is left out for a reason that holds: missed where nobody looked and the policy says so.

use mainspring::model::{Missed, Overlap, PeriodKind, SkipReason};

use super::{Checker, Step};

pub struct Reasons;

impl Checker for Reasons {
    fn name(&self) -> &'static str {
        "reasons"
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        for to in &step.decision.schedules {
            let life = &step.truth.lives[&to.schedule];
            for (skip, _) in &to.skips {
                // Somebody has looked since it fell due: at most it waited.
                let unseen = skip.from > step.truth.looked;
                let holds = match skip.reason {
                    SkipReason::Missed if life.missed == Missed::Last => {
                        // The newest is run, or left out for another reason.
                        let passed = |at| {
                            let mut skips = life.skips.iter();
                            skips.any(|each| {
                                let other = [SkipReason::Missed, SkipReason::Paused];
                                other.contains(&each.reason) && (each.from..=each.to).contains(&at)
                            })
                        };
                        let later = life.fires(skip.to, step.now);
                        unseen && later.iter().any(|(at, _)| !passed(*at))
                    }
                    SkipReason::Missed => unseen && life.missed == Missed::None,
                    SkipReason::Expired => {
                        unseen && step.now.millis_since(skip.to) > life.window_ms
                    }
                    SkipReason::Paused => {
                        let kind = |at| life.fire_at(at).map(|span| span.kind);
                        let paused = Some(PeriodKind::Paused);
                        kind(skip.from) == paused && kind(skip.to) == paused
                    }
                    SkipReason::Overlap => life.overlap == Overlap::Skip,
                    SkipReason::Removed => life.last().kind == PeriodKind::Removed,
                    SkipReason::Calendar | SkipReason::Params => false,
                };
                if !holds {
                    let looked = step.truth.looked;
                    return Err(format!("at {}, {looked} before, {skip:?} of {life:?}", step.now));
                }
            }
        }
        Ok(())
    }
}
