//! Typed parameters of a task: what a run may and must be given.
//!
//! The rules of conversion are few, since a value that changes silently is found late: a whole
//! number may be written `5.0`, a float may be given as `5`, and nothing else becomes something
//! else. `"5"` is text, true is not 1, and dates are `yyyy-mm-dd` of a day that exists.

mod bind;
mod schema;
mod value;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::bind::{bind, bind_dag, fill_biz_date};
pub(crate) use self::schema::check_given;
pub use self::schema::check_schema;
use super::words::words;

words! {
    /// The type of a parameter's value.
    pub enum ParamType {
        /// Text.
        Str = "str", 0;
        /// Whole number of 64 bits; true and false are not numbers.
        Int = "int", 1;
        /// Finite number.
        Float = "float", 2;
        /// true or false.
        Bool = "bool", 3;
        /// `yyyy-mm-dd`.
        Date = "date", 4;
        /// ISO 8601 date and time.
        Datetime = "datetime", 5;
        /// `30s`, `PT30S`.
        Duration = "duration", 6;
        /// JSON array.
        List = "list", 7;
        /// JSON object.
        Object = "object", 8;
        /// One of `choices`.
        Enum = "enum", 9;
        /// Any JSON value: the author gave no type.
        Any = "any", 10;
    }
}

/// One parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Param {
    /// Its name in the handler's signature.
    pub name: String,
    /// What values it takes.
    #[serde(rename = "type")]
    pub kind: ParamType,
    /// Whether null is a value of it.
    #[serde(default)]
    pub nullable: bool,
    /// Whether it must be given.
    pub required: bool,
    /// Its value when it is not given; none where that is null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The values of an enum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Value>,
}

impl Param {
    /// Whether the run fills it with its business date when nobody else does.
    pub fn is_biz_date(&self) -> bool {
        self.kind == ParamType::Date && matches!(self.name.as_str(), "biz_date" | "bizDate")
    }
}
