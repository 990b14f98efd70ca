//! Values on their way to the server and back: few kinds, fitted to what a column is.

use std::error::Error as Problem;
use std::sync::Arc;

use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

/// What a statement is given.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
    /// A column of a bulk statement.
    Ints(Vec<Option<i64>>),
    /// The same of texts.
    Texts(Vec<Option<String>>),
    /// The same of bytes.
    Blobs(Vec<Vec<u8>>),
}

/// The server keeps no NUL in a text. Output of programs may have one, and must not end a commit:
/// it becomes the picture of it.
pub(super) fn clean(text: &str) -> String {
    if text.contains('\0') { text.replace('\0', "\u{2400}") } else { text.to_owned() }
}

impl Value {
    pub(super) fn ints(numbers: impl IntoIterator<Item = i64>) -> Value {
        Value::Ints(numbers.into_iter().map(Some).collect())
    }

    pub(super) fn texts<'a>(texts: impl IntoIterator<Item = Option<&'a str>>) -> Value {
        Value::Texts(texts.into_iter().map(|text| text.map(clean)).collect())
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Problem + Sync + Send>> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Int(number) => match *ty {
                Type::BOOL => (*number != 0).to_sql(ty, out),
                Type::INT2 => i16::try_from(*number)?.to_sql(ty, out),
                Type::INT4 => i32::try_from(*number)?.to_sql(ty, out),
                Type::FLOAT8 => (*number as f64).to_sql(ty, out),
                Type::TEXT | Type::VARCHAR => number.to_string().to_sql(ty, out),
                _ => number.to_sql_checked(ty, out),
            },
            Value::Real(number) => match *ty {
                Type::FLOAT4 => (*number as f32).to_sql(ty, out),
                _ => number.to_sql_checked(ty, out),
            },
            Value::Text(text) => text.to_sql_checked(ty, out),
            Value::Bytes(bytes) => bytes.to_sql_checked(ty, out),
            Value::Ints(numbers) => numbers.to_sql_checked(ty, out),
            Value::Texts(texts) => texts.to_sql_checked(ty, out),
            Value::Blobs(blobs) => blobs.to_sql_checked(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// What becomes a value.
pub(super) trait ToValue {
    fn to_value(&self) -> Value;
}

macro_rules! whole_numbers {
    ($($kind:ty)+) => {
        $(impl ToValue for $kind {
            fn to_value(&self) -> Value {
                Value::Int(i64::from(*self))
            }
        })+
    };
}

whole_numbers!(i64 i32 u32 u8 bool);

impl ToValue for str {
    fn to_value(&self) -> Value {
        Value::Text(clean(self))
    }
}

impl ToValue for String {
    fn to_value(&self) -> Value {
        self.as_str().to_value()
    }
}

impl ToValue for Arc<str> {
    fn to_value(&self) -> Value {
        (**self).to_value()
    }
}

impl ToValue for [u8; 16] {
    fn to_value(&self) -> Value {
        Value::Bytes(self.to_vec())
    }
}

impl ToValue for Value {
    fn to_value(&self) -> Value {
        self.clone()
    }
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> Value {
        (**self).to_value()
    }
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Null, ToValue::to_value)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Int(number)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        text.to_value()
    }
}

/// One column of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell<'r> {
    Null,
    Int(i64),
    Real(f64),
    Text(&'r str),
    Bytes(&'r [u8]),
    /// Of a type that none of our tables has.
    Other(Type),
}

impl<'r> FromSql<'r> for Cell<'r> {
    fn from_sql(ty: &Type, raw: &'r [u8]) -> Result<Self, Box<dyn Problem + Sync + Send>> {
        Ok(match *ty {
            Type::INT8 => Cell::Int(i64::from_sql(ty, raw)?),
            Type::INT4 => Cell::Int(i32::from_sql(ty, raw)?.into()),
            Type::INT2 => Cell::Int(i16::from_sql(ty, raw)?.into()),
            Type::OID => Cell::Int(u32::from_sql(ty, raw)?.into()),
            Type::BOOL => Cell::Int(bool::from_sql(ty, raw)?.into()),
            Type::FLOAT8 => Cell::Real(f64::from_sql(ty, raw)?),
            Type::FLOAT4 => Cell::Real(f32::from_sql(ty, raw)?.into()),
            Type::NUMERIC => numeric(raw).map_or_else(|| Cell::Other(ty.clone()), Cell::Real),
            Type::BYTEA => Cell::Bytes(raw),
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN | Type::JSON => {
                Cell::Text(<&str>::from_sql(&Type::TEXT, raw)?)
            }
            _ => Cell::Other(ty.clone()),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Problem + Sync + Send>> {
        Ok(Cell::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// A number as the server sends it when it has added up or divided others: digits of 10,000, as
/// near as a float comes to it.
fn numeric(raw: &[u8]) -> Option<f64> {
    let word = |at: usize| {
        let bytes: [u8; 2] = raw.get(2 * at..2 * at + 2)?.try_into().ok()?;
        Some(u16::from_be_bytes(bytes))
    };
    let (count, weight, sign) = (word(0)?, word(1)?.cast_signed(), word(2)?);
    let mut number = 0.0;
    for nth in 0..count {
        let digit = f64::from(word(4 + usize::from(nth))?);
        number += digit * 10_000_f64.powi(i32::from(weight) - i32::from(nth));
    }
    match sign {
        0x0000 => Some(number),
        0x4000 => Some(-number),
        _ => None,
    }
}

/// What a column holds is not what is asked for.
#[derive(Debug)]
pub(super) struct Misfit(pub String);

impl<'r> Cell<'r> {
    fn misfit<T>(&self, wanted: &str) -> Result<T, Misfit> {
        Err(Misfit(format!("{wanted} was expected, and there is {self:?}")))
    }

    pub(super) fn as_str(&self) -> Result<&'r str, Misfit> {
        match self {
            Cell::Text(text) => Ok(text),
            other => other.misfit("a text"),
        }
    }

    pub(super) fn as_str_or_null(&self) -> Result<Option<&'r str>, Misfit> {
        match self {
            Cell::Null => Ok(None),
            other => other.as_str().map(Some),
        }
    }
}

/// What is made of a column.
pub(super) trait Read: Sized {
    fn read(cell: Cell<'_>) -> Result<Self, Misfit>;
}

macro_rules! read_numbers {
    ($($kind:ty)+) => {
        $(impl Read for $kind {
            fn read(cell: Cell<'_>) -> Result<Self, Misfit> {
                match &cell {
                    Cell::Int(number) => {
                        <$kind>::try_from(*number).or_else(|_| cell.misfit(stringify!($kind)))
                    }
                    other => other.misfit("a number"),
                }
            }
        })+
    };
}

read_numbers!(i64 i32 u32 u8);

impl Read for bool {
    fn read(cell: Cell<'_>) -> Result<Self, Misfit> {
        i64::read(cell).map(|number| number != 0)
    }
}

impl Read for String {
    fn read(cell: Cell<'_>) -> Result<Self, Misfit> {
        cell.as_str().map(str::to_owned)
    }
}

impl Read for Vec<u8> {
    fn read(cell: Cell<'_>) -> Result<Self, Misfit> {
        match cell {
            Cell::Bytes(bytes) => Ok(bytes.to_vec()),
            other => other.misfit("bytes"),
        }
    }
}

impl Read for [u8; 16] {
    fn read(cell: Cell<'_>) -> Result<Self, Misfit> {
        match &cell {
            Cell::Bytes(bytes) => (*bytes).try_into().or_else(|_| cell.misfit("16 bytes")),
            other => other.misfit("bytes"),
        }
    }
}

impl<T: Read> Read for Option<T> {
    fn read(cell: Cell<'_>) -> Result<Self, Misfit> {
        match cell {
            Cell::Null => Ok(None),
            other => T::read(other).map(Some),
        }
    }
}
