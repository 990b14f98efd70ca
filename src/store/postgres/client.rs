//! What the statements that both dialects share are run by: one connection to the server, driven on
//! the thread that asks, with the names that the other dialect's client has.
//!
//! Every wait has an end: the server's own limits (`open.rs` sets them for each transaction), and
//! beyond them ours, for a server that does not answer at all.

use std::cell::{Cell as Flag, RefCell};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::future::Future;
use std::marker::PhantomData;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::runtime::Runtime;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use super::errors::Fault;
pub(super) use super::value::Value;
use super::value::{Cell, Misfit, Read, ToValue};
use crate::store::HistoryCell;
use crate::store::verify::Findings;

/// What stands behind LIMIT where all are wanted.
pub(super) const NO_LIMIT: &str = "ALL";

/// What makes a number at least 0, and nothing of nothing.
pub(super) const NOT_NEGATIVE: &str = "not_negative(";

/// Rows that are asked for by their ids in one statement: each is a journey.
pub(super) const IDS_AT_ONCE: usize = 1000;

/// That an id is one of those.
pub(super) fn one_of_ids(what: &str) -> String {
    format!("{what} = ANY(CAST($1 AS BIGINT[]))")
}

/// What such a statement is given.
pub(super) fn some_ids(ids: &[i64]) -> Vec<Value> {
    vec![Value::ints(ids.iter().copied())]
}

/// Why a statement gave no answer.
#[derive(Debug)]
pub(super) enum Error {
    /// One row was expected, and there is none.
    NoRows,
    /// A column holds what cannot be understood.
    Unreadable(String),
    /// The server refuses.
    Server(tokio_postgres::Error),
    /// There is no connection, or no answer in time.
    Gone(String),
}

pub(super) type Result<T, E = Error> = std::result::Result<T, E>;

impl From<Misfit> for Error {
    fn from(misfit: Misfit) -> Self {
        Error::Unreadable(misfit.0)
    }
}

/// A column holds what cannot be understood.
pub(super) fn unreadable(at: usize, why: &dyn Display) -> Error {
    Error::Unreadable(format!("column {}: {why}", at + 1))
}

/// What the database itself knows to be wrong: of a server, only its administrator can ask that.
pub(super) fn whole(_: &Connection, _: &mut Findings) -> Result<(), Fault> {
    Ok(())
}

/// Hands a cell of the history to whoever takes it; gives what he says to it.
pub(super) fn history_cell(
    row: &Row<'_>,
    at: usize,
    take: &mut dyn FnMut(HistoryCell<'_>) -> bool,
) -> Result<bool> {
    Ok(match row.get_ref(at)? {
        Cell::Null => take(HistoryCell::Null),
        Cell::Int(number) => take(HistoryCell::Integer(number)),
        Cell::Real(number) => take(HistoryCell::Integer(number as i64)),
        Cell::Text(text) => take(HistoryCell::Text(text)),
        other => return Err(unreadable(at, &format!("{other:?}"))),
    })
}

/// A connection.
pub(super) struct Connection {
    runtime: Runtime,
    client: Client,
    statements: RefCell<BTreeMap<String, tokio_postgres::Statement>>,
    /// Whether no more can be asked over it.
    broken: Flag<bool>,
    /// How long an answer may take: longer than the server itself allows for it.
    patience: Flag<Duration>,
}

impl Connection {
    pub(super) fn new(runtime: Runtime, client: Client) -> Connection {
        Connection {
            runtime,
            client,
            statements: RefCell::default(),
            broken: Flag::new(false),
            patience: Flag::new(Duration::from_secs(30)),
        }
    }

    /// Whether no more can be asked over it.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.get() || self.client.is_closed()
    }

    /// How long an answer may take from now on.
    pub(super) fn wait_for(&self, patience: Duration) {
        self.patience.set(patience);
    }

    /// Waits for an answer, and not for ever.
    fn answer<T>(
        &self,
        asked: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    ) -> Result<T> {
        if self.is_broken() {
            self.broken.set(true);
            return Err(Error::Gone("the connection is closed".into()));
        }
        let patience = self.patience.get();
        let answered = self.runtime.block_on(async { tokio::time::timeout(patience, asked).await });
        match answered {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) if is_of_the_way(&error) => {
                self.broken.set(true);
                Err(Error::Gone(super::errors::chain(&error)))
            }
            Ok(Err(error)) => Err(Error::Server(error)),
            Err(_) => {
                self.broken.set(true);
                let seconds = patience.as_secs();
                Err(Error::Gone(format!("the server has not answered for {seconds} s")))
            }
        }
    }

    /// Statements without parameters, in one message.
    pub(super) fn execute_batch(&self, text: &str) -> Result<()> {
        self.answer(self.client.batch_execute(text))
    }

    pub(super) fn prepare_cached(&self, text: &str) -> Result<Statement<'_>> {
        if let Some(known) = self.statements.borrow().get(text) {
            return Ok(Statement { conn: self, prepared: known.clone() });
        }
        let prepared = self.answer(self.client.prepare(text))?;
        self.statements.borrow_mut().insert(text.to_owned(), prepared.clone());
        Ok(Statement { conn: self, prepared })
    }

    pub(super) fn prepare(&self, text: &str) -> Result<Statement<'_>> {
        let prepared = self.answer(self.client.prepare(text))?;
        Ok(Statement { conn: self, prepared })
    }

    /// Several statements in one journey, carried out in this order. Of several errors the first is
    /// the cause of the others.
    pub(super) fn all(&self, asked: &[(&str, Vec<Value>)]) -> Result<Vec<Vec<Row<'static>>>> {
        let statements = asked
            .iter()
            .map(|(text, _)| self.prepare_cached(text).map(|statement| statement.prepared))
            .collect::<Result<Vec<_>>>()?;
        let mut answers = Vec::with_capacity(asked.len());
        // Above this number the client no longer promises to send in order.
        for (asked, statements) in asked.chunks(MOST_AT_ONCE).zip(statements.chunks(MOST_AT_ONCE)) {
            let given: Vec<_> = asked.iter().map(|(_, values)| given(values)).collect();
            let questions = statements.iter().zip(&given);
            let all = join_all(questions.map(|(text, values)| self.client.query(text, values)));
            let found = self.answer(async { all.await.into_iter().collect() });
            let found: Vec<Vec<tokio_postgres::Row>> = found?;
            answers.extend(found.into_iter().map(|rows| rows.into_iter().map(Row::of).collect()));
        }
        Ok(answers)
    }
}

/// Whether what is wrong lies between us and the server.
fn is_of_the_way(error: &tokio_postgres::Error) -> bool {
    use std::error::Error as _;
    error.is_closed() || error.source().is_some_and(|cause| cause.is::<std::io::Error>())
}

/// Statements that are under way together.
const MOST_AT_ONCE: usize = 24;

fn given(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// A statement that the server knows.
pub(super) struct Statement<'c> {
    conn: &'c Connection,
    prepared: tokio_postgres::Statement,
}

impl Statement<'_> {
    /// How many rows it changed.
    pub(super) fn execute(&mut self, values: impl Params) -> Result<usize> {
        let values = values.values();
        let given = given(&values);
        let changed = self.conn.answer(self.conn.client.execute(&self.prepared, &given))?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    fn rows(&self, values: impl Params) -> Result<Vec<tokio_postgres::Row>> {
        let values = values.values();
        let given = given(&values);
        self.conn.answer(self.conn.client.query(&self.prepared, &given))
    }

    pub(super) fn query(&mut self, values: impl Params) -> Result<Rows<'_>> {
        Ok(Rows { left: self.rows(values)?.into_iter(), current: None })
    }

    pub(super) fn query_map<T>(
        &mut self,
        values: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<std::vec::IntoIter<Result<T>>> {
        let rows = self.rows(values)?.into_iter().map(|row| read(&Row::of(row)));
        Ok(rows.collect::<Vec<_>>().into_iter())
    }

    /// The first row of the answer.
    pub(super) fn query_row<T>(
        &mut self,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        let row = self.rows(values)?.into_iter().next().ok_or(Error::NoRows)?;
        read(&Row::of(row))
    }

    pub(super) fn exists(&mut self, values: impl Params) -> Result<bool> {
        Ok(!self.rows(values)?.is_empty())
    }

    /// Names of the columns of its answer.
    pub(super) fn column_names(&self) -> Vec<String> {
        self.prepared.columns().iter().map(|column| column.name().to_owned()).collect()
    }
}

/// An answer, row by row.
pub(super) struct Rows<'s> {
    left: std::vec::IntoIter<tokio_postgres::Row>,
    current: Option<Row<'s>>,
}

impl<'s> Rows<'s> {
    /// A row is lent, as the other dialect's client does it.
    pub(super) fn next(&mut self) -> Result<Option<&Row<'s>>> {
        self.current = self.left.next().map(Row::of);
        Ok(self.current.as_ref())
    }
}

/// A row.
pub(super) struct Row<'r> {
    row: tokio_postgres::Row,
    lent: PhantomData<&'r ()>,
}

/// A place in a row.
pub(super) trait Place {
    fn place(self) -> usize;
}

impl Place for usize {
    fn place(self) -> usize {
        self
    }
}

impl Row<'_> {
    fn of(row: tokio_postgres::Row) -> Self {
        Row { row, lent: PhantomData }
    }

    pub(super) fn get<P: Place, T: Read>(&self, at: P) -> Result<T> {
        let at = at.place();
        T::read(self.get_ref(at)?).map_err(|misfit| unreadable(at, &misfit.0))
    }

    pub(super) fn get_ref(&self, at: usize) -> Result<Cell<'_>> {
        self.row.try_get(at).map_err(|error| unreadable(at, &error))
    }
}

/// No row is an answer too.
pub(super) trait OptionalExtension<T> {
    fn optional(self) -> Result<Option<T>>;
}

impl<T> OptionalExtension<T> for Result<T> {
    fn optional(self) -> Result<Option<T>> {
        match self {
            Ok(found) => Ok(Some(found)),
            Err(Error::NoRows) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// What a statement is given.
pub(super) trait Params {
    fn values(self) -> Vec<Value>;
}

impl Params for Vec<Value> {
    fn values(self) -> Vec<Value> {
        self
    }
}

impl Params for &[&dyn ToValue] {
    fn values(self) -> Vec<Value> {
        self.iter().map(|value| value.to_value()).collect()
    }
}

impl Params for [&dyn ToValue; 0] {
    fn values(self) -> Vec<Value> {
        Vec::new()
    }
}

macro_rules! arrays {
    ($($length:literal)+) => {
        $(impl<T: ToValue> Params for [T; $length] {
            fn values(self) -> Vec<Value> {
                self.iter().map(ToValue::to_value).collect()
            }
        })+
    };
}

arrays!(1 2 3 4 5 6);

/// Values that were gathered.
pub(super) fn params_from_iter(values: Vec<Value>) -> Vec<Value> {
    values
}

/// Values of several kinds.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$(&$value as &dyn $crate::store::postgres::value::ToValue),*]
            as &[&dyn $crate::store::postgres::value::ToValue]
    };
}
pub(super) use params;
