//! Cells of the history become Arrow columns; no Python object is made for any of them.
//!
//! The structs by which other libraries take the columns, and the unsafe code behind them, are
//! those of `arrow-array`; the batches are shared with whoever takes them, not copied.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Date32Builder, DurationMicrosecondBuilder, Int32Builder, Int64Builder,
    StringBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{
    Date32Type, DurationMicrosecondType, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::{errors, values};
use crate::model::Date;
use crate::store::{Column, HistoryCell, Kind, SqlValue, StoreError, TakeHistory};

/// Rows of a batch.
const ROWS: usize = 65_536;
/// Bytes of text in a column after which a batch ends, whatever its rows.
const TEXT: usize = 64 << 20;

/// Text that is often the same: each once, and where it stands.
#[derive(Default)]
struct Words {
    places: BTreeMap<Box<str>, i32>,
    words: Vec<Box<str>>,
    last: i32,
}

impl Words {
    fn place(&mut self, word: &str) -> i32 {
        // Rows beside each other are mostly of one run.
        if self.words.get(self.last as usize).is_some_and(|last| **last == *word) {
            return self.last;
        }
        let next = self.words.len() as i32;
        self.last = match self.places.get(word) {
            Some(place) => *place,
            None => {
                self.places.insert(word.into(), next);
                self.words.push(word.into());
                next
            }
        };
        self.last
    }
}

/// What ids stand for: ascending, each with what is made of it at its first use.
struct Ids<T> {
    names: Vec<(i64, Box<str>, Option<T>)>,
    last: usize,
}

impl<T: Copy> Ids<T> {
    fn new() -> Self {
        Ids { names: Vec::new(), last: 0 }
    }

    fn find(&mut self, id: i64, make: impl FnOnce(&str) -> T) -> Option<T> {
        if self.names.get(self.last).is_none_or(|(last, ..)| *last != id) {
            self.last = self.names.binary_search_by_key(&id, |(id, ..)| *id).ok()?;
        }
        let (_, name, made) = self.names.get_mut(self.last)?;
        Some(*made.get_or_insert_with(|| make(name)))
    }
}

/// A column in the making.
enum Builder {
    Integer(Int64Builder),
    Small(Int32Builder),
    Flag(BooleanBuilder),
    Instant(TimestampMicrosecondBuilder),
    Span(DurationMicrosecondBuilder),
    Date(Date32Builder, (Box<str>, Date)),
    Text(StringBuilder),
    Word(Int32Builder, Words),
    Name(Int32Builder, Words, Ids<i32>),
    Number(Int32Builder, Ids<i32>),
}

impl Builder {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Integer => Builder::Integer(Int64Builder::new()),
            Kind::Small => Builder::Small(Int32Builder::new()),
            Kind::Flag => Builder::Flag(BooleanBuilder::new()),
            Kind::Instant => {
                Builder::Instant(TimestampMicrosecondBuilder::new().with_timezone("UTC"))
            }
            Kind::Span => Builder::Span(DurationMicrosecondBuilder::new()),
            Kind::Date => Builder::Date(Date32Builder::new(), ("".into(), Date::MIN)),
            Kind::Text => Builder::Text(StringBuilder::new()),
            Kind::Word => Builder::Word(Int32Builder::new(), Words::default()),
            Kind::Name(_) => Builder::Name(Int32Builder::new(), Words::default(), Ids::new()),
            Kind::Number(_) => Builder::Number(Int32Builder::new(), Ids::new()),
        }
    }

    fn name(&mut self, id: i64, name: &str) {
        if let Builder::Name(_, _, ids) | Builder::Number(_, ids) = self {
            ids.names.push((id, name.into(), None));
        }
    }

    /// Whether the cell was of the kind of the column.
    fn push(&mut self, cell: HistoryCell<'_>) -> bool {
        use HistoryCell::{Integer, Null, Text};
        match (self, cell) {
            (Builder::Integer(cells), Integer(number)) => cells.append_value(number),
            (Builder::Integer(cells), Null) => cells.append_null(),
            (Builder::Small(cells), Integer(number)) => match i32::try_from(number) {
                Ok(number) => cells.append_value(number),
                Err(_) => return false,
            },
            (
                Builder::Small(cells)
                | Builder::Word(cells, _)
                | Builder::Name(cells, ..)
                | Builder::Number(cells, _),
                Null,
            ) => cells.append_null(),
            (Builder::Flag(cells), Integer(number)) => cells.append_value(number != 0),
            (Builder::Flag(cells), Null) => cells.append_null(),
            (Builder::Instant(cells), Integer(number)) => cells.append_value(number),
            (Builder::Instant(cells), Null) => cells.append_null(),
            (Builder::Span(cells), Integer(number)) => cells.append_value(number),
            (Builder::Span(cells), Null) => cells.append_null(),
            (Builder::Date(cells, last), Text(text)) => {
                if *last.0 != *text {
                    let Ok(date) = Date::parse(text) else { return false };
                    *last = (text.into(), date);
                }
                cells.append_value(last.1.0);
            }
            (Builder::Date(cells, _), Null) => cells.append_null(),
            (Builder::Text(cells), Text(text)) => cells.append_value(text),
            (Builder::Text(cells), Null) => cells.append_null(),
            (Builder::Word(cells, words), Text(text)) => cells.append_value(words.place(text)),
            (Builder::Name(cells, words, ids), Integer(id)) => {
                cells.append_option(ids.find(id, |name| words.place(name)));
            }
            (Builder::Number(cells, ids), Integer(id)) => {
                cells.append_option(ids.find(id, |name| name.parse().unwrap_or_default()));
            }
            _ => return false,
        }
        true
    }

    /// Bytes of text that it holds.
    fn text(&self) -> usize {
        if let Builder::Text(cells) = self { cells.values_slice().len() } else { 0 }
    }

    /// The rows since the last batch; of a word, its places.
    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Integer(cells) => Arc::new(cells.finish()),
            Builder::Small(cells)
            | Builder::Word(cells, _)
            | Builder::Name(cells, ..)
            | Builder::Number(cells, _) => Arc::new(cells.finish()),
            Builder::Flag(cells) => Arc::new(cells.finish()),
            Builder::Instant(cells) => Arc::new(cells.finish()),
            Builder::Span(cells) => Arc::new(cells.finish()),
            Builder::Date(cells, _) => Arc::new(cells.finish()),
            Builder::Text(cells) => Arc::new(cells.finish()),
        }
    }

    /// The words of the whole column, where it has some.
    fn words(&self) -> Option<StringArray> {
        match self {
            Builder::Word(_, words) | Builder::Name(_, words, _) => {
                Some(StringArray::from_iter_values(words.words.iter()))
            }
            _ => None,
        }
    }
}

fn field(column: &Column) -> Field {
    let word = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let kind = match column.kind {
        Kind::Integer => DataType::Int64,
        Kind::Small | Kind::Number(_) => DataType::Int32,
        Kind::Flag => DataType::Boolean,
        Kind::Instant => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        Kind::Span => DataType::Duration(TimeUnit::Microsecond),
        Kind::Date => DataType::Date32,
        Kind::Text => DataType::Utf8,
        Kind::Word | Kind::Name(_) => word(),
    };
    Field::new(column.name, kind, column.nullable)
}

/// Takes the history, cell after cell, and makes batches of columns of it.
pub struct Making {
    columns: Vec<&'static Column>,
    builders: Vec<Builder>,
    batches: Vec<Vec<ArrayRef>>,
    rows: usize,
}

impl Making {
    /// Nothing yet.
    pub fn new(columns: &[&'static Column]) -> Self {
        Making {
            columns: columns.to_vec(),
            builders: columns.iter().map(|column| Builder::new(column.kind)).collect(),
            batches: Vec::new(),
            rows: 0,
        }
    }

    fn end_batch(&mut self) {
        if self.rows > 0 {
            self.batches.push(self.builders.iter_mut().map(Builder::finish).collect());
            self.rows = 0;
        }
    }

    /// All that was taken.
    ///
    /// # Errors
    /// A row has nothing where each must have something.
    pub fn finish(mut self) -> Result<Columns, StoreError> {
        self.end_batch();
        let schema =
            Arc::new(Schema::new(self.columns.iter().map(|c| field(c)).collect::<Vec<_>>()));
        let words: Vec<Option<Arc<StringArray>>> =
            self.builders.iter().map(|builder| builder.words().map(Arc::new)).collect();
        drop(self.builders);
        let whole = |batch: Vec<ArrayRef>| {
            let mut columns = Vec::with_capacity(batch.len());
            for (array, words) in batch.into_iter().zip(&words) {
                columns.push(match words {
                    None => array,
                    Some(words) => {
                        let places: Int32Array = array.as_primitive::<Int32Type>().clone();
                        Arc::new(DictionaryArray::try_new(places, Arc::clone(words) as ArrayRef)?)
                    }
                });
            }
            RecordBatch::try_new(Arc::clone(&schema), columns)
        };
        let batches: Result<Vec<RecordBatch>, ArrowError> =
            self.batches.into_iter().map(whole).collect();
        let batches = batches.map_err(|error| {
            StoreError::Other(format!("the history has a row that says too little: {error}"))
        })?;
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        Ok(Columns { schema, columns: self.columns, batches, rows })
    }
}

impl TakeHistory for Making {
    type Error = PyErr;

    fn name(&mut self, column: usize, id: i64, name: &str) {
        if let Some(builder) = self.builders.get_mut(column) {
            builder.name(id, name);
        }
    }

    fn cell(&mut self, column: usize, cell: HistoryCell<'_>) -> PyResult<()> {
        if self.builders.get_mut(column).is_some_and(|builder| builder.push(cell)) {
            return Ok(());
        }
        let name = self.columns.get(column).map_or("", |column| column.name);
        let why = format!("the column `{name}` of the history holds {cell:?}, which it may not");
        Err(errors::store(StoreError::Other(why)))
    }

    fn end_row(&mut self) -> PyResult<()> {
        self.rows += 1;
        if self.rows.is_multiple_of(1024)
            && (self.rows >= ROWS || self.builders.iter().any(|builder| builder.text() > TEXT))
        {
            self.end_batch();
            // Ctrl-C in the middle of a long question.
            Python::attach(|py| py.check_signals())?;
        }
        Ok(())
    }
}

/// Columns of the history, which other libraries take by the Arrow C interfaces.
#[pyclass(frozen, module = "mainspring._mainspring")]
pub struct Columns {
    schema: SchemaRef,
    columns: Vec<&'static Column>,
    batches: Vec<RecordBatch>,
    rows: usize,
}

#[pymethods]
impl Columns {
    fn __len__(&self) -> usize {
        self.rows
    }

    /// Names of the columns, each with the word for what is in it.
    fn kinds(&self) -> Vec<(&'static str, &'static str)> {
        let word = |kind| match kind {
            Kind::Integer | Kind::Small | Kind::Number(_) => "integer",
            Kind::Flag => "flag",
            Kind::Instant => "instant",
            Kind::Span => "span",
            Kind::Date => "date",
            Kind::Text | Kind::Word | Kind::Name(_) => "text",
        };
        self.columns.iter().map(|column| (column.name, word(column.kind))).collect()
    }

    /// Some rows as plain values: instants and spans are microseconds, dates ISO text.
    fn cells<'py>(
        &self,
        py: Python<'py>,
        start: usize,
        count: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut rows: Vec<Vec<SqlValue>> = Vec::new();
        let (mut start, mut count) = (start, count);
        for batch in &self.batches {
            let here = batch.num_rows().saturating_sub(start).min(count);
            for at in start..start + here {
                rows.push(batch.columns().iter().map(|column| plain(column, at)).collect());
            }
            start = start.saturating_sub(batch.num_rows());
            count -= here;
            if count == 0 {
                break;
            }
        }
        values::face(py, &rows)
    }

    /// The schema by the Arrow C data interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(arrow)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The batches by the Arrow C stream interface; they are shared, not copied.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol leaves it to us whether we can do what is requested.
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn arrow(error: ArrowError) -> PyErr {
    errors::store(StoreError::Other(error.to_string()))
}

/// One value of a column.
fn plain(column: &ArrayRef, at: usize) -> SqlValue {
    if column.is_null(at) {
        return SqlValue::Null;
    }
    match column.data_type() {
        DataType::Int64 => SqlValue::Integer(column.as_primitive::<Int64Type>().value(at)),
        DataType::Int32 => SqlValue::Integer(column.as_primitive::<Int32Type>().value(at).into()),
        DataType::Boolean => SqlValue::Integer(column.as_boolean().value(at).into()),
        DataType::Timestamp(..) => {
            SqlValue::Integer(column.as_primitive::<TimestampMicrosecondType>().value(at))
        }
        DataType::Duration(_) => {
            SqlValue::Integer(column.as_primitive::<DurationMicrosecondType>().value(at))
        }
        DataType::Date32 => {
            SqlValue::Text(Date(column.as_primitive::<Date32Type>().value(at)).to_string())
        }
        DataType::Utf8 => SqlValue::Text(column.as_string::<i32>().value(at).to_owned()),
        DataType::Dictionary(..) => {
            let words = column.as_dictionary::<Int32Type>();
            words.key(at).map_or(SqlValue::Null, |place| {
                SqlValue::Text(words.values().as_string::<i32>().value(place).to_owned())
            })
        }
        _ => SqlValue::Null,
    }
}
