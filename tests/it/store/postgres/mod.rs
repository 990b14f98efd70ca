//! What only a server can do, and do wrong.

mod losses;
mod months;
mod opening;
mod pairs;
mod proxy;
mod texts;
mod tls;
