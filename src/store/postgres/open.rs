//! Connecting, and what a transaction begins with.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::Client;
use tokio_postgres::NoTls;
use tokio_postgres::config::SslMode;

use super::address::Address;
use super::client::Connection;
use super::errors::{Place, chain};
use super::migrate::quoted;
use super::tls::{Encrypting, Trust};
use crate::store::StoreError;

/// How a database is opened.
#[derive(Clone, Copy, Debug)]
pub struct PostgresOptions {
    /// How long to wait for another process that writes before giving up.
    pub busy_wait: Duration,
    /// Only questions.
    pub read_only: bool,
    /// Whether our tables are made where there are none. Who does not make them is asked for the
    /// right to read, and for no other.
    pub make: bool,
    /// Whether a commit survives the server's machine going down, and not only this process.
    pub durable: bool,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        let busy_wait = Duration::from_secs(60);
        PostgresOptions { busy_wait, read_only: false, make: true, durable: true }
    }
}

/// How long a statement may take on the server, beyond its wait for other writers.
const STATEMENT: Duration = Duration::from_secs(60);

/// How long a question may take.
const QUESTION: Duration = Duration::from_secs(600);

/// How much longer than the server allows we wait for its answer.
const MARGIN: Duration = Duration::from_secs(10);

/// After how long the server ends a transaction of somebody who has gone without a word: until
/// then nobody else writes.
const SILENCE: Duration = Duration::from_secs(30);

/// How transactions of this store begin.
#[derive(Debug)]
pub(super) struct Beginnings {
    write: String,
    read: String,
    /// Without waiting for others who write.
    alone: String,
    writing: Duration,
    asking: Duration,
}

impl Beginnings {
    pub(super) fn of(at: &Address, options: PostgresOptions) -> Beginnings {
        let schema = quoted(&at.schema);
        // Said in each transaction: a pooler hands each to another of its connections.
        let settings = |statement: Duration| {
            let set =
                |name: &str, time: Duration| format!("SET LOCAL {name} = {};", time.as_millis());
            [
                format!("SET LOCAL search_path = {schema};"),
                set("statement_timeout", statement),
                set("lock_timeout", options.busy_wait.max(Duration::from_millis(1))),
                set("idle_in_transaction_session_timeout", SILENCE),
            ]
            .concat()
        };
        let writing = options.busy_wait.saturating_add(STATEMENT);
        let lazy = if options.durable { "" } else { "SET LOCAL synchronous_commit = off;" };
        let alone = format!("BEGIN ISOLATION LEVEL READ COMMITTED;{}{lazy}", settings(writing));
        Beginnings {
            write: format!("{alone}LOCK TABLE mainspring IN EXCLUSIVE MODE"),
            read: format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;{}", settings(QUESTION)),
            alone,
            writing: writing + MARGIN,
            asking: QUESTION + MARGIN,
        }
    }

    /// Statements that begin a transaction, and how long any of its answers may take.
    pub(super) fn text(&self, kind: Kind) -> (&str, Duration) {
        match kind {
            Kind::Write => (&self.write, self.writing),
            Kind::Read => (&self.read, self.asking),
            Kind::Alone => (&self.alone, self.writing),
        }
    }
}

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Writes; one at a time, so that it never fails in its middle for what others do.
    Write,
    /// Several questions of one snapshot.
    Read,
    /// Makes tables.
    Alone,
}

/// A connection that can be spoken over.
pub(super) fn connect(at: &Address, place: &Place) -> Result<Connection, StoreError> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| StoreError::Other(format!("cannot wait for the network: {error}")))?;
    let patience = at.config.get_connect_timeout().copied().unwrap_or(STATEMENT) + MARGIN;
    let encrypted = at.config.get_ssl_mode() != SslMode::Disable && !at.is_local();
    let connected = if encrypted {
        let tls = Encrypting::new(&at.trust, at.authorities.as_ref()).map_err(|reason| {
            let hint = "name a file of certificates: sslrootcert=FILE".to_owned();
            StoreError::Open { path: place.path.clone(), reason, hint }
        })?;
        wait(&runtime, patience, async {
            let (client, connection) = at.config.connect(tls).await?;
            tokio::spawn(connection);
            Ok(client)
        })
    } else {
        wait(&runtime, patience, async {
            let (client, connection) = at.config.connect(NoTls).await?;
            tokio::spawn(connection);
            Ok(client)
        })
    };
    match connected {
        Ok(Ok(client)) => Ok(Connection::new(runtime, client)),
        Ok(Err(error)) => Err(refused(at, place, &error)),
        Err(_) => Err(place.away(
            format!("the server has not answered for {} s", patience.as_secs()),
            HINT_OF_AWAY,
        )),
    }
}

fn wait(
    runtime: &Runtime,
    patience: Duration,
    connecting: impl Future<Output = Result<Client, tokio_postgres::Error>>,
) -> Result<Result<Client, tokio_postgres::Error>, tokio::time::error::Elapsed> {
    runtime.block_on(async { tokio::time::timeout(patience, connecting).await })
}

const HINT_OF_AWAY: &str =
    "see whether the server runs, and whether host and port in the URL are right";

/// Why there is no connection.
fn refused(at: &Address, place: &Place, error: &tokio_postgres::Error) -> StoreError {
    let open = |reason: String, hint: &str| StoreError::Open {
        path: place.path.clone(),
        reason,
        hint: hint.into(),
    };
    let reason = chain(error);
    let Some(code) = error.code() else {
        return match reason.contains("certificate") || reason.contains("TLS") {
            true => open(
                reason,
                match at.trust {
                    Trust::Anybody => "the server speaks no TLS; sslmode=prefer goes without",
                    _ => {
                        "sslrootcert=FILE names the authority that signed the server's certificate"
                    }
                },
            ),
            false if reason.contains("password missing") => open(
                reason,
                "put the password into the URL: postgresql://user:password@host/database",
            ),
            false => place.away(reason, HINT_OF_AWAY),
        };
    };
    match code.code() {
        "28P01" | "28000" => open(reason, "see that user and password in the URL are right"),
        "3D000" => open(reason, "make it with CREATE DATABASE, or name another in the URL"),
        "42501" => open(reason, "grant this user the right CONNECT on the database"),
        _ => place.server(error),
    }
}
