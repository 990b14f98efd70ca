//! What next: the world, something that happened and the time make a decision.
//!
//! `decide` reads and `apply` writes; neither knows a clock, a store, a thread or chance. `event`
//! and `action` are the two closed lists: all that may happen, and all that may be done about it.
//! `explain` says why a task run is where it is, from the same functions.

mod across_words;
mod action;
mod admission;
mod apply;
pub mod backfill;
mod cell;
mod check;
mod circle;
mod conditions;
mod deadline;
mod decide;
mod edges;
mod event;
mod explain;
mod fill;
mod filling;
mod items;
mod keys;
mod moment;
mod pairs;
mod patience;
mod plan;
mod preview;
mod queue;
mod run;
mod schedule;
mod see;
mod served;
mod texts;
mod upstream;
mod versions;
mod watched;
mod world;

pub use action::{
    CreateRun, Decision, Effect, End, FillMove, FillPlace, Late, LeaseStop, Move, NewFilling,
    NewItems, Overdue, PlanRef, Rests, RunMove, ScheduleMove, Start, TaskRunRef,
};
pub use apply::{Broken, apply};
pub use cell::{Absence, CellAt, CellKey, Found, Known, Why};
pub use check::{check_definition, check_schedule};
pub use decide::{Refusal, decide};
pub use edges::{
    EdgeRule, LONGEST_TEXT, Pattern, Standing, Texts, Verdict, edge_verdict, skip_codes,
};
pub use event::{Event, NewBackfill, NewRun, Report, RerunWhat, Rest, Stop, Word};
pub use explain::{Explanation, Reason, explain};
pub use fill::{Filled, Filling, MASK, Times, fill};
pub use filling::{BackfillPlace, Backfilling};
pub use items::{Gathering, Items, Kept, NoList, Place, items_of};
pub use moment::{Asked, Moment, When, entry, rule};
pub use pairs::check_pairs;
pub use patience::EdgeAt;
pub use plan::{Across, DATA, Plan, PlannedTask, READY};
pub use preview::{Preview, PreviewText, preview};
pub use run::{Live, Run, TaskRun};
pub use schedule::{Bound, Scheduled};
pub use served::Served;
pub use texts::{has_texts, results_asked};
pub use upstream::{Origin, Upstream};
pub use versions::{Candidate, Plans, takes};
pub use world::World;
