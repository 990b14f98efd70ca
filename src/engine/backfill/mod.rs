//! The plan of a backfill: which cells are computed, and why; in which runs, and in which order.
//!
//! A cell is a task and a fire of its timetable. What is registered is given whole ([`Facts`]); what
//! is remembered is asked for as far as somebody looks ([`Past`]). Nothing here reads a clock.

mod board;
mod closure;
mod estimate;
mod facts;
mod hash;
mod order;
mod planner;
mod runs;
mod sheet;
mod spans;
mod timeline;
mod trouble;

pub use facts::{DagFacts, Facts, Life, Past};

use crate::model::{BackfillAsk, Instant, Planned, Problem, SpecError, Why};

/// So many cells a plan has at most, those included that it does not compute.
pub const LIMIT: usize = 1_000_000;

/// So many of its runs may be open at once.
const MOST_ACTIVE: u32 = 10_000;

/// Why there is no plan.
#[derive(Debug)]
pub enum Refused<E> {
    /// What is wrong with the question.
    Spec(SpecError),
    /// What is remembered cannot be read.
    Past(E),
}

impl<E> From<SpecError> for Refused<E> {
    fn from(error: SpecError) -> Refused<E> {
        Refused::Spec(error)
    }
}

/// Answers what somebody asks for with a plan.
///
/// # Errors
/// `Spec` with everything that is wrong with the question; `Past`.
pub fn plan_backfill<P: Past>(
    facts: &Facts,
    ask: &BackfillAsk,
    past: &mut P,
    now: Instant,
) -> Result<Planned, Refused<P::Error>> {
    let mut planner = planner::Planner::new(facts, ask, past, now)?;
    planner.judge()?;
    if ask.upstream {
        planner.take_upstream()?;
    }
    if ask.downstream {
        planner.take_downstream()?;
    }
    let planned = planner.finish()?;
    refuse_empty_range(&planned)?;
    Ok(planned)
}

/// A range in which nothing could ever be computed is a mistake.
fn refuse_empty_range(planned: &Planned) -> Result<(), SpecError> {
    let ask = &planned.plan.ask;
    let place = || format!("{}.range", ask.dag);
    let range = format!("from {} to {}", ask.from, ask.to);
    match planned.counts().as_slice() {
        [(Why::Future, _)] => {
            let message = format!("{range} no run of it is due yet");
            Err(Problem::new("in_future", place(), message)
                .hint("a backfill computes what is past; the schedule makes the others")
                .into())
        }
        [(Why::BeforeStart, _)] => {
            let message = format!("{range} lies before the first date of its schedule");
            Err(Problem::new("before_start", place(), message)
                .hint("an earlier start= of the schedule makes these dates its own")
                .into())
        }
        _ => Ok(()),
    }
}
