//! What a task is run for each item of: a list that is known when a run has come that far, or so
//! many shards.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most items of one mapping: each is a task run, with a row and a place in memory.
pub const MOST_ITEMS: usize = 100_000;

/// Names under which a shard sees its number, 0 to `total - 1`.
pub const SHARD_INDEX: [&str; 2] = ["shardIndex", "shard_index"];
/// Names under which a shard sees how many there are.
pub const SHARD_TOTAL: [&str; 2] = ["shardTotal", "shard_total"];

/// That a task is run once for each item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mapping {
    /// The argument of the handler that gets the item; none of shards, which have numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// Where the items come from.
    pub over: Over,
    /// How many items of one run may be live at once; none is as many as there are slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_active: Option<u32>,
}

/// Where the items of a mapping come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// From the definition.
    Items(Vec<Value>),
    /// From this parameter of the run.
    Param(String),
    /// They are the result of this task of the same dag.
    Result(String),
    /// They are the numbers of so many shards.
    Shards(u32),
}

impl Mapping {
    /// What an item is called in the handler's arguments and in placeholders, and its value, from
    /// the item as it is stored.
    pub fn values(&self, item: &Value) -> Vec<(&str, Value)> {
        match &self.over {
            Over::Shards(total) => {
                let index = SHARD_INDEX.iter().map(|name| (*name, item.clone()));
                let total = SHARD_TOTAL.iter().map(|name| (*name, Value::from(*total)));
                index.chain(total).collect()
            }
            _ => self.argument.iter().map(|name| (name.as_str(), item.clone())).collect(),
        }
    }

    /// Names that an item fills.
    pub fn names(&self) -> Vec<&str> {
        match self.over {
            Over::Shards(_) => SHARD_INDEX.into_iter().chain(SHARD_TOTAL).collect(),
            _ => self.argument.iter().map(String::as_str).collect(),
        }
    }

    /// The parameter of the run that is the list, if one is: the handler does not get it.
    pub fn param(&self) -> Option<&str> {
        match &self.over {
            Over::Param(name) => Some(name),
            _ => None,
        }
    }
}
