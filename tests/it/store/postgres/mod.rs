//! What only a server can do, and do wrong.

#[cfg(feature = "sqlite")]
mod history;
mod losses;
mod months;
mod opening;
mod pairs;
mod proxy;
mod texts;
mod tls;
mod trouble;
