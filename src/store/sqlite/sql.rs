//! Questions that people ask in SQL, of the tables and of the views in the words of the warehouse.
//!
//! They must come through this library: a second SQLite in the same process (Python's `sqlite3`)
//! would drop the first one's locks on the file when it closes it, which is how files are damaged.

use rusqlite::types::{Value, ValueRef};

use super::SqliteStore;
use super::errors::Fault;
use crate::model::{NodeRow, ScopeId};
use crate::store::{HistoryAsk, SqlStore, SqlValue, StoreError, Table, TakeCells};

impl SqlStore for SqliteStore {
    fn ask(&mut self, text: &str, parameters: &[SqlValue]) -> Result<Table, StoreError> {
        let conn = self.connection();
        let answer = || -> Result<Option<Table>, Fault> {
            conn.pragma_update(None, "query_only", true)?;
            let mut statement = conn.prepare(text)?;
            if !statement.readonly() {
                return Ok(None);
            }
            let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
            let parameters = parameters.iter().map(bound);
            let mut rows = statement.query(rusqlite::params_from_iter(parameters))?;
            let mut table = Table { columns, rows: Vec::new() };
            while let Some(row) = rows.next()? {
                let cells = (0..table.columns.len()).map(|at| row.get_ref(at).map(cell));
                table.rows.push(cells.collect::<Result<_, _>>()?);
            }
            Ok(Some(table))
        };
        let answered = answer();
        // The connection serves other questions too, some of which open the file for writing.
        let reset = conn.pragma_update(None, "query_only", false).map_err(Fault::from);
        let answered = answered.and_then(|table| reset.map(|()| table));
        answered.map_err(|fault| self.place.store(fault))?.ok_or(StoreError::Writes)
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

fn bound(cell: &SqlValue) -> Value {
    match cell {
        SqlValue::Null => Value::Null,
        SqlValue::Integer(number) => Value::Integer(*number),
        SqlValue::Real(number) => Value::Real(*number),
        SqlValue::Text(text) => Value::Text(text.clone()),
    }
}

fn cell(value: ValueRef<'_>) -> SqlValue {
    match value {
        ValueRef::Null => SqlValue::Null,
        ValueRef::Integer(number) => SqlValue::Integer(number),
        ValueRef::Real(number) => SqlValue::Real(number),
        ValueRef::Text(bytes) => SqlValue::Text(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => {
            SqlValue::Text(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
        }
    }
}
