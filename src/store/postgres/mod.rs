//! The store in a schema of a PostgreSQL database.
//!
//! Driven by tokio-postgres on a runtime of one thread, which is the thread that asks: the trait is
//! synchronous, and whoever calls it has nothing else to do meanwhile. Statements go out together
//! where none needs the answer of another.
//!
//! One writes at a time: a transaction that writes first locks the table `mainspring`, so it waits
//! there, for as long as it may, and nowhere else. So no two of them deadlock, none fails in its
//! middle for what another did, and whoever holds the lock knows that everything before is decided.
//! Readers take no lock and wait for nobody.

mod address;
mod ask;
mod client;
mod commit;
mod errors;
mod migrate;
mod months;
mod open;
mod places;
mod rows_out;
mod tls;
mod value;

// What both dialects of SQL do by the same statements, stamped for this one: `super::client` in
// these files is ours.
#[path = "../sql/body/backfills.rs"]
mod backfills;
#[path = "../sql/body/door.rs"]
mod door;
#[path = "../sql/body/history.rs"]
mod history;
#[path = "../sql/body/past.rs"]
mod past;
#[path = "../sql/body/read.rs"]
mod read;
#[path = "../sql/body/register.rs"]
mod register;
#[path = "../sql/body/register_rows.rs"]
mod register_rows;
#[path = "../sql/body/releases.rs"]
mod releases;
#[path = "../sql/body/requests.rs"]
mod requests;
#[path = "../sql/body/rows.rs"]
mod rows;
#[path = "../sql/body/schedule_rows.rs"]
mod schedule_rows;
#[path = "../sql/body/schedules.rs"]
mod schedules;
#[path = "../sql/body/scopes.rs"]
mod scopes;
#[path = "../sql/body/upstreams.rs"]
mod upstreams;
#[path = "../sql/body/verify.rs"]
mod verify;

use std::cell::{Cell, RefCell};

pub use open::PostgresOptions;

use self::address::Address;
use self::client::Connection;
use self::errors::{Fault, Place};
use self::migrate::Identity;
use self::months::Months;
use self::open::{Beginnings, Kind, connect};
use super::texts::postgres as texts;
use super::{Batch, CommitError, StoreError};

/// The store of this dialect.
type Here = PostgresStore;

/// A store in a PostgreSQL database. Used by one thread; another thread opens its own.
pub struct PostgresStore {
    at: Address,
    options: PostgresOptions,
    place: Place,
    beginnings: Beginnings,
    conn: RefCell<Option<Connection>>,
    /// Whether a transaction may still be under way over a connection that was lost.
    doubtful: Cell<bool>,
    /// What the server's transactions were, when that was looked at last.
    seen: RefCell<Option<String>>,
    months: RefCell<Months>,
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore").field("at", &self.at.shown).finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Whether a database is named by a URL of PostgreSQL, and not by a path.
    pub fn is_address(text: &str) -> bool {
        address::is_address(text)
    }

    /// A URL as it may be shown: without its password.
    pub fn shown(url: &str) -> String {
        address::masked(url)
    }

    /// Connects to the database, makes our tables in its schema if there are none, and brings them
    /// up to date.
    ///
    /// # Errors
    /// `StoreError` that says what is wrong with the URL, the server, our rights or the schema;
    /// nothing was changed then.
    pub fn open(url: &str, options: PostgresOptions) -> Result<Self, StoreError> {
        Self::open_from(url, options).map(|(store, _)| store)
    }

    /// Brings a database to the newest schema: the schema before (0 where there was none) and the
    /// schema now. Opening does the same; this says so.
    ///
    /// # Errors
    /// Those of [`PostgresStore::open`].
    pub fn migrate(url: &str) -> Result<(i64, i64), StoreError> {
        let (_, before) = Self::open_from(url, PostgresOptions::default())?;
        Ok((before, migrate::NEWEST))
    }

    fn open_from(url: &str, options: PostgresOptions) -> Result<(Self, i64), StoreError> {
        let at = Address::parse(url, options.read_only)?;
        let place = Place { path: at.shown.clone(), wait_seconds: options.busy_wait.as_secs() };
        let conn = connect(&at, &place)?;
        let store = PostgresStore {
            beginnings: Beginnings::of(&at, options),
            at,
            options,
            place,
            conn: RefCell::new(Some(conn)),
            doubtful: Cell::new(false),
            seen: RefCell::default(),
            months: RefCell::default(),
        };
        let before = store.set_up().map_err(|fault| store.place.store(fault))?;
        Ok((store, before))
    }

    /// Looks at what is there before anything of it changes; gives the number of its schema.
    fn set_up(&self) -> Result<i64, Fault> {
        let at = &self.at;
        let found = self.transaction(Kind::Read, |conn| {
            let found = Identity::read(conn, at)?;
            if !self.options.make && found.is_nothing() {
                return Err(StoreError::Absent { path: self.place.path.clone() }.into());
            }
            found.check(at)?;
            Ok(found)
        })?;
        let before = found.version;
        let reads = self.options.read_only || !self.options.make;
        if before < migrate::NEWEST || !reads && !found.is_current(at) {
            if self.options.read_only {
                return Err(Fault::Store(StoreError::Open {
                    path: self.place.path.clone(),
                    reason: format!("it has schema {before}, we read schema {}", migrate::NEWEST),
                    hint: "open it once for writing, so that it is brought up to date".into(),
                }));
            }
            self.transaction(Kind::Alone, |conn| migrate::migrate(conn, at, &self.place))?;
        }
        self.transaction(Kind::Read, |conn| found.check_rights(conn, at, reads))?;
        Ok(before)
    }

    /// One write transaction, all or nothing. What became of it is found out where the answer to
    /// COMMIT was lost.
    fn write<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, Fault> {
        let number = Cell::new(None);
        let mut done = None;
        let written = self.transaction(Kind::Write, |conn| {
            done = Some(work(conn)?);
            let mut read = conn.prepare_cached(texts::WRITTEN_AS)?;
            number.set(read.query_row([], |row| row.get::<_, Option<i64>>(0))?);
            Ok(())
        });
        match (written, number.get()) {
            (Err(fault), Some(number)) if fault.is_away() => {
                if !self.became(number).unwrap_or(false) {
                    return Err(fault);
                }
            }
            (written, _) => written?,
        }
        done.ok_or_else(|| Fault::Store(StoreError::Other("nothing was written".into())))
    }

    fn change<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, CommitError> {
        self.write(work).map_err(|fault| self.place.commit(fault))
    }

    /// Whether the transaction of this number was committed; asked over another connection, once
    /// it is over.
    fn became(&self, number: i64) -> Result<bool, Fault> {
        self.transaction(Kind::Write, |conn| {
            let mut read = conn.prepare_cached(texts::WHAT_BECAME)?;
            let word: Option<String> = read.query_row([number], |row| row.get(0))?;
            Ok(word.as_deref() == Some("committed"))
        })
    }

    /// Several questions of one snapshot.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, StoreError> {
        self.transaction(Kind::Read, work).map_err(|fault| self.place.store(fault))
    }

    fn write_batch(&self, batch: &Batch) -> Result<(), Fault> {
        self.make_months(batch);
        // Whoever commits a batch looks for its journal where the answer was lost.
        let written = self.transaction(Kind::Write, |conn| {
            commit::commit(conn, batch, &mut self.months.borrow_mut())
        });
        let mut months = self.months.borrow_mut();
        match written {
            Ok(()) => months.committed(batch),
            Err(_) => months.forget(),
        }
        written
    }

    /// Whether a transaction that wrote has ended anywhere on the server. One statement without a
    /// transaction around it: this is asked several times a second.
    fn has_changed(&self) -> Result<bool, Fault> {
        let kept = self.conn.borrow_mut().take().filter(|conn| !conn.is_broken());
        let now = match kept.map(|conn| (Self::snapshot(&conn), conn)) {
            Some((Ok(now), conn)) => {
                *self.conn.borrow_mut() = Some(conn);
                now
            }
            Some((Err(fault), _)) if !fault.is_away() => return Err(fault),
            // There is none, or it was lost meanwhile.
            _ => {
                let conn = self.connected()?;
                let now = Self::snapshot(&conn)?;
                *self.conn.borrow_mut() = Some(conn);
                now
            }
        };
        let mut seen = self.seen.borrow_mut();
        let changed = seen.as_ref() != Some(&now);
        *seen = Some(now);
        Ok(changed)
    }

    fn snapshot(conn: &Connection) -> Result<String, Fault> {
        Ok(conn.prepare_cached(texts::CHANGED)?.query_row([], |row| row.get(0))?)
    }

    fn transaction<T>(
        &self,
        kind: Kind,
        work: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let conn = self.begun(kind)?;
        let done = work(&conn).and_then(|value| {
            // From here on the server may have it although we hear nothing.
            self.doubtful.set(kind == Kind::Write);
            conn.execute_batch("COMMIT")?;
            self.doubtful.set(false);
            Ok(value)
        });
        if let Err(fault) = &done
            && !conn.is_broken()
        {
            // The server has answered, so there is no doubt.
            self.doubtful.set(false);
            let undone = conn.execute_batch("ROLLBACK");
            // Another connection may lead to a server that takes writes.
            if undone.is_err() || fault.is_away() {
                return done;
            }
        }
        if !conn.is_broken() {
            *self.conn.borrow_mut() = Some(conn);
        }
        done
    }

    /// A connection on which a transaction has begun. One that was lost is replaced, once: nothing
    /// was asked over it yet.
    fn begun(&self, kind: Kind) -> Result<Connection, Fault> {
        let (text, patience) = self.beginnings.text(kind);
        let kept = self.conn.borrow_mut().take();
        if let Some(conn) = kept.filter(|conn| !conn.is_broken()) {
            conn.wait_for(patience);
            match conn.execute_batch(text).map_err(Fault::from) {
                Ok(()) => return Ok(conn),
                Err(fault) if fault.is_away() => {}
                Err(fault) => {
                    if conn.execute_batch("ROLLBACK").is_ok() {
                        *self.conn.borrow_mut() = Some(conn);
                    }
                    return Err(fault);
                }
            }
        }
        let conn = self.connected()?;
        conn.wait_for(patience);
        conn.execute_batch(text)?;
        Ok(conn)
    }

    /// A new connection, over which it is certain what became of everything before.
    fn connected(&self) -> Result<Connection, Fault> {
        let conn = connect(&self.at, &self.place).map_err(|error| self.still_away(error))?;
        if self.doubtful.get() {
            self.settle(&conn)?;
        }
        Ok(conn)
    }

    /// Waits until no transaction is under way any more that was begun over a connection which was
    /// lost: it holds the lock of those who write until it has ended, one way or the other.
    fn settle(&self, conn: &Connection) -> Result<(), Fault> {
        let (text, patience) = self.beginnings.text(Kind::Write);
        conn.wait_for(patience);
        conn.execute_batch(text)?;
        conn.execute_batch("ROLLBACK")?;
        self.doubtful.set(false);
        Ok(())
    }

    /// It was open before, so whatever is wrong now may be right again: whoever writes goes on
    /// trying.
    fn still_away(&self, error: StoreError) -> Fault {
        Fault::Store(match error {
            StoreError::Open { reason, hint, .. } => self.place.away(reason, &hint),
            other => other,
        })
    }
}
