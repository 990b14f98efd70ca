//! The only floor that waits, spawns threads, and reads clocks.
//!
//! A `Session` is one process's way to decide: a driver thread that turns events into commits and
//! commits into effects, and a pool of threads that run handlers for it.

mod asking;
mod clock;
#[doc(hidden)]
pub mod crash;
mod driver;
mod executor;
mod executors;
mod files;
mod filling;
mod inline;
mod logs;
mod node;
mod output;
mod planning;
pub mod process;
mod readable;
mod refusal;
mod render;
mod reporter;
mod request;
mod serving;
mod session;
mod sizes;
mod stubs;
mod told;
mod turn;
mod unreadable;
mod upstreams;
mod verify;
mod versions;
mod watch;

pub use asking::{Asker, Leader, MAIN};
pub use clock::Clock;
pub use executor::{
    Executor, Finished, HandlerHost, Input, Interpreter, Job, ProcessHost, RunInfo, StopHandle,
};
pub use files::{Files, INLINE_RESULT_LIMIT, RESULT_LIMIT};
pub use filling::HostsOf;
pub use inline::{Hiring, Next, Worker};
pub use logs::{LogSink, Stream};
pub use node::{host_name, is_alive};
pub use planning::plan;
pub use refusal::SessionError;
pub use request::{NewRunRequest, Rerun};
pub use serving::Hosts;
pub use session::{Session, SessionOptions};
pub use stubs::{Stub, StubPlan};
pub use told::News;
pub use unreadable::{Unreadable, unreadable};
pub use verify::{Proof, prove_fires, verify};
pub use versions::TaskVersions;
pub use watch::{BackfillStatus, BackfillWatch, RunWatch, Status};
