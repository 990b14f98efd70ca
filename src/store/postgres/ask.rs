//! Questions that people ask in SQL, of the tables and of the views in the words of the warehouse.

use tokio_postgres::error::SqlState;

use super::PostgresStore;
use super::client::{self, Value};
use super::errors::Fault;
use super::open::Kind;
use super::value::{Cell, ToValue as _};
use crate::model::{NodeRow, ScopeId};
use crate::store::{HistoryAsk, SqlStore, SqlValue, StoreError, Table, TakeCells};

impl SqlStore for PostgresStore {
    fn ask(&mut self, text: &str, parameters: &[SqlValue]) -> Result<Table, StoreError> {
        let values: Vec<Value> = parameters.iter().map(bound).collect();
        // The transaction only reads, so the server itself refuses what would write.
        let answered = self.transaction(Kind::Read, |conn| {
            let mut statement = conn.prepare(text)?;
            let columns = statement.column_names();
            let mut rows = statement.query(values)?;
            let mut table = Table { columns, rows: Vec::new() };
            while let Some(row) = rows.next()? {
                let cells = (0..table.columns.len()).map(|at| cell(row.get_ref(at)?));
                table.rows.push(cells.collect::<Result<_, Fault>>()?);
            }
            Ok(table)
        });
        answered.map_err(|fault| match fault {
            Fault::Sql(client::Error::Server(error))
                if error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION) =>
            {
                StoreError::Writes
            }
            other => self.place.store(other),
        })
    }

    fn tell_history(
        &mut self,
        ask: &HistoryAsk,
        taker: &mut dyn TakeCells,
    ) -> Result<(), StoreError> {
        self.read_history(ask, taker)
    }

    fn open_scopes(&mut self) -> Result<Vec<(ScopeId, Option<NodeRow>)>, StoreError> {
        self.scopes_with_open_runs()
    }
}

fn bound(value: &SqlValue) -> Value {
    match value {
        SqlValue::Null => Value::Null,
        SqlValue::Integer(number) => Value::Int(*number),
        SqlValue::Real(number) => Value::Real(*number),
        SqlValue::Text(text) => text.to_value(),
    }
}

fn cell(cell: Cell<'_>) -> Result<SqlValue, Fault> {
    Ok(match cell {
        Cell::Null => SqlValue::Null,
        Cell::Int(number) => SqlValue::Integer(number),
        Cell::Real(number) => SqlValue::Real(number),
        Cell::Text(text) => SqlValue::Text(text.to_owned()),
        Cell::Bytes(bytes) => {
            SqlValue::Text(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
        }
        Cell::Other(ty) => {
            let hint = "write CAST(... AS TEXT) around it";
            let message = format!("a column of type {ty} cannot be shown\n  hint: {hint}");
            return Err(Fault::Store(StoreError::Other(message)));
        }
    })
}
