//! The `process` executor: handlers run in warm worker processes, apart from the scheduler.
//!
//! Three kinds of processes. The **scheduler** has one thread a worker. A **supervisor** stands
//! between it and each worker: it adopts whatever the worker's handlers leave behind and ends all
//! of it when asked, when the worker dies, and when the scheduler is gone. The **worker** runs one
//! handler after the other. What the worker prints comes through two pipes, what it says through
//! a socket of its own, so nothing that a handler writes can be taken for an answer.

#[cfg(unix)]
mod control;
#[cfg(unix)]
mod ends;
#[cfg(unix)]
mod frames;
mod options;
#[cfg(unix)]
mod pool;
#[cfg(unix)]
mod proc;
#[cfg(unix)]
mod seat;
#[cfg(unix)]
mod supervisor;
#[cfg(unix)]
mod sweep;
#[cfg(unix)]
mod tree;
#[cfg(unix)]
mod wire;
#[cfg(unix)]
mod worker;

pub use options::ProcessOptions;
#[cfg(unix)]
pub use pool::ProcessPool;
#[cfg(unix)]
pub use supervisor::{Ended, report_end, supervise};
#[cfg(unix)]
pub use worker::{Order, WorkerLine, stop_reason};
