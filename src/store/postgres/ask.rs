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
            let mut statement = conn.prepare(&numbered(text))?;
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

/// Places for values as this dialect has them: `?` and `?2` are what the other one has. What stands in
/// quotes or behind `--` is left alone.
fn numbered(text: &str) -> String {
    let (mut made, mut last) = (String::with_capacity(text.len()), 0);
    let mut rest = text.chars().peekable();
    let mut quote = None;
    while let Some(c) = rest.next() {
        match quote {
            Some(end) => quote = quote.filter(|_| c != end),
            None if c == '\'' || c == '"' => quote = Some(c),
            None if c == '-' && rest.peek() == Some(&'-') => quote = Some('\n'),
            None if c == '?' => {
                let mut number = String::new();
                while let Some(digit) = rest.next_if(char::is_ascii_digit) {
                    number.push(digit);
                }
                last = number.parse().unwrap_or(last + 1);
                made.push_str(&format!("${last}"));
                continue;
            }
            None => {}
        }
        made.push(c);
    }
    made
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

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn places_for_values_are_numbered() {
        for (text, wanted) in [
            ("SELECT ? + ?", "SELECT $1 + $2"),
            ("a = ?2 AND b = ? AND c = ?1", "a = $2 AND b = $3 AND c = $1"),
            ("a = '?' AND \"b?\" = ? -- why?", "a = '?' AND \"b?\" = $1 -- why?"),
            ("a = 'it''s ?' AND b = $1 - ?2", "a = 'it''s ?' AND b = $1 - $2"),
        ] {
            assert_eq!(numbered(text), wanted);
        }
    }
}
