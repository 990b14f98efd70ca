//! From an empty schema, or an older one, to ours.

use tokio_postgres::error::SqlState;

use super::address::Address;
use super::client::{self, Connection, Value, params};
use super::errors::{Fault, Place};
use super::texts;
use crate::store::StoreError;
use crate::store::stamp::stamp;

/// Marks our schemas.
const APPLICATION: &str = "mainspring";

/// The oldest server that is spoken to, as it numbers itself.
const OLDEST_SERVER: i64 = 130_000;

/// In order; the schema's number is how many were applied. What was released never changes.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/postgres/0001_init.sql"),
    include_str!("../migrations/postgres/0002_views.sql"),
    include_str!("../migrations/postgres/0003_schedules.sql"),
    include_str!("../migrations/postgres/0004_releases.sql"),
    include_str!("../migrations/postgres/0005_upstreams.sql"),
    include_str!("../migrations/postgres/0006_limits.sql"),
    include_str!("../migrations/postgres/0007_items.sql"),
    include_str!("../migrations/postgres/0008_polls.sql"),
    include_str!("../migrations/postgres/0009_backfills.sql"),
    include_str!("../migrations/postgres/0010_fingerprints.sql"),
];

/// The newest schema this version knows.
pub(super) const NEWEST: i64 = MIGRATIONS.len() as i64;

/// What is there, and what we may do with it.
#[derive(Debug)]
pub(super) struct Identity {
    exists: bool,
    tables: i64,
    /// There is a marker, and whether it may be read.
    marker: Option<bool>,
    may_make_schemas: bool,
    may_use: bool,
    may_make_tables: bool,
    user: String,
    database: String,
    /// How far it was brought; 0 before the first time.
    pub version: i64,
    deployment: Option<String>,
}

impl Identity {
    /// Looks, and changes nothing. The caller holds a transaction that sees our schema first.
    pub(super) fn read(conn: &Connection, at: &Address) -> Result<Identity, Fault> {
        let mut look = conn.prepare_cached(texts::IDENTITY)?;
        let mut identity = look.query_row([&at.schema], |row| {
            let server: i64 = row.get(0)?;
            Ok((
                server,
                Identity {
                    exists: row.get(1)?,
                    tables: row.get(2)?,
                    marker: row.get(3)?,
                    may_make_schemas: row.get(4)?,
                    may_use: row.get::<_, Option<bool>>(5)?.unwrap_or(false),
                    may_make_tables: row.get::<_, Option<bool>>(6)?.unwrap_or(false),
                    user: row.get(7)?,
                    database: row.get(8)?,
                    version: 0,
                    deployment: None,
                },
            ))
        })?;
        if identity.0 < OLDEST_SERVER {
            let (major, oldest) = (identity.0 / 10_000, OLDEST_SERVER / 10_000);
            return Err(open(
                at,
                format!("the server is PostgreSQL {major}, and {oldest} is the oldest that serves"),
                "upgrade the server, or name another one",
            ));
        }
        let identity = &mut identity.1;
        if identity.exists && identity.may_use && identity.marker == Some(true) {
            identity.read_marker(conn, at)?;
        }
        Ok(std::mem::replace(identity, Identity::nothing()))
    }

    fn nothing() -> Identity {
        Identity {
            exists: false,
            tables: 0,
            marker: None,
            may_make_schemas: false,
            may_use: false,
            may_make_tables: false,
            user: String::new(),
            database: String::new(),
            version: 0,
            deployment: None,
        }
    }

    fn read_marker(&mut self, conn: &Connection, at: &Address) -> Result<(), Fault> {
        let foreign = |what: &str| {
            let reason = format!("the table {}.mainspring in it {what}", at.schema);
            Fault::Store(StoreError::Foreign { path: at.shown.clone(), reason })
        };
        let mut select = match conn.prepare(texts::MARKER_READ) {
            Ok(select) => select,
            // Another program has a table of this name.
            Err(client::Error::Server(error))
                if error.code() == Some(&SqlState::UNDEFINED_COLUMN) =>
            {
                return Err(foreign("has other columns than ours"));
            }
            Err(error) => return Err(error.into()),
        };
        let found = select.query_row([], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get(2)?))
        });
        match found {
            Ok((application, version, deployment)) if application == APPLICATION => {
                (self.version, self.deployment) = (version, deployment);
                Ok(())
            }
            Ok((application, ..)) => Err(foreign(&format!("is of {application}"))),
            Err(client::Error::NoRows) => Err(foreign("is empty")),
            Err(error) => Err(error.into()),
        }
    }

    /// Refuses what is not ours, what is ours but newer than we are, what belongs to another
    /// deployment, and what we have no right to.
    pub(super) fn check(&self, at: &Address) -> Result<(), Fault> {
        let (path, schema, user) = (|| at.shown.clone(), &at.schema, &self.user);
        if !self.exists {
            if self.may_make_schemas {
                return Ok(());
            }
            return Err(open(
                at,
                format!(
                    "there is no schema {schema}, and user {user} may not make one: the right \
                     CREATE on database {} is missing",
                    self.database
                ),
                &format!("as its owner: CREATE SCHEMA {schema} AUTHORIZATION {user}"),
            ));
        }
        if !self.may_use {
            return Err(open(
                at,
                format!("user {user} may not use schema {schema}: the right USAGE is missing"),
                &format!("as its owner: GRANT USAGE, CREATE ON SCHEMA {schema} TO {user}"),
            ));
        }
        match self.marker {
            None if self.tables > 0 => {
                let reason = format!(
                    "schema {schema} has tables of another program, {} in all",
                    self.tables
                );
                return Err(StoreError::Foreign { path: path(), reason }.into());
            }
            None if !self.may_make_tables => {
                return Err(open(
                    at,
                    format!(
                        "user {user} may make no tables in schema {schema}: the right CREATE is \
                         missing"
                    ),
                    &format!("as its owner: GRANT CREATE ON SCHEMA {schema} TO {user}"),
                ));
            }
            Some(false) => {
                return Err(open(
                    at,
                    format!("user {user} lacks the right SELECT on {schema}.mainspring"),
                    &format!(
                        "as its owner: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {user}"
                    ),
                ));
            }
            None | Some(true) => {}
        }
        if self.version > NEWEST {
            let (found, known) = (self.version, NEWEST);
            return Err(StoreError::Newer { path: path(), found, known }.into());
        }
        match (&self.deployment, &at.deployment) {
            (Some(found), Some(meant)) if found != meant => Err(open(
                at,
                format!("schema {schema} belongs to deployment `{found}`, and `{meant}` is meant"),
                "give each deployment a schema of its own: ?schema=NAME",
            )),
            _ => Ok(()),
        }
    }

    /// Whether nobody has made anything there.
    pub(super) fn is_nothing(&self) -> bool {
        self.marker.is_none() && self.tables == 0
    }

    pub(super) fn is_current(&self, at: &Address) -> bool {
        self.version == NEWEST && (self.deployment.is_some() || at.deployment.is_none())
    }

    /// Rights on tables, which are looked at once there are some.
    pub(super) fn check_rights(
        &self,
        conn: &Connection,
        at: &Address,
        read_only: bool,
    ) -> Result<(), Fault> {
        let wanted: &[&str] =
            if read_only { &["SELECT"] } else { &["DELETE", "INSERT", "SELECT", "UPDATE"] };
        let wanted = Value::texts(wanted.iter().map(|word| Some(*word)));
        let mut look = conn.prepare_cached(texts::RIGHTS_MISSING)?;
        let missing = look.query_map(vec![at.schema.clone().into(), wanted], |row| row.get(0))?;
        let missing: Vec<String> = missing.collect::<Result<_, _>>()?;
        let (Some(first), count) = (missing.first(), missing.len()) else { return Ok(()) };
        let (schema, user) = (&at.schema, &self.user);
        let more =
            if count > 1 { format!(" (and on {} more tables)", count - 1) } else { String::new() };
        Err(open(
            at,
            format!("user {user} lacks rights on tables of schema {schema}: {first}{more}"),
            &format!(
                "as its owner: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {user}"
            ),
        ))
    }
}

fn open(at: &Address, reason: String, hint: &str) -> Fault {
    Fault::Store(StoreError::Open { path: at.shown.clone(), reason, hint: hint.to_owned() })
}

/// A name as SQL has it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Applies what is missing; the caller holds the transaction, and commits.
pub(super) fn migrate(conn: &Connection, at: &Address, place: &Place) -> Result<(), Fault> {
    // One at a time for each schema, also before there is a table that could be locked.
    conn.prepare(texts::MIGRATION_LOCK)?.query_row([&at.schema], |_| Ok(()))?;
    // Read again under the lock: another process may have done it meanwhile.
    let identity = Identity::read(conn, at)?;
    identity.check(at)?;
    if identity.is_current(at) {
        return Ok(());
    }
    if !identity.exists {
        conn.execute_batch(&format!("CREATE SCHEMA {}", quoted(&at.schema)))?;
    }
    let done = usize::try_from(identity.version).unwrap_or(0);
    for text in MIGRATIONS.iter().skip(done) {
        conn.execute_batch(&stamp(text)).map_err(|error| refused(error, place))?;
    }
    if identity.version == 0 {
        let values = params![APPLICATION, NEWEST, at.deployment];
        conn.prepare(texts::MARKER_INSERT)?.execute(values)?;
    } else {
        conn.prepare(texts::MARKER_MOVE)?.execute(params![NEWEST, at.deployment])?;
    }
    Ok(())
}

/// Only the owner of a table changes it.
fn refused(error: client::Error, place: &Place) -> Fault {
    match &error {
        client::Error::Server(said) if said.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            Fault::Store(StoreError::Open {
                path: place.path.clone(),
                reason: format!(
                    "its schema cannot be brought up to date: {}",
                    super::errors::chain(said)
                ),
                hint: "run `mainspring db upgrade` as the user who owns the tables".into(),
            })
        }
        _ => Fault::Sql(error),
    }
}
