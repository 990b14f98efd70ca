//! Typed parameters of a task: what a run may and must be given.

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// Its value when it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The values of an enum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Value>,
}
