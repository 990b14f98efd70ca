//! Names of pools and limits: of what a task takes slots while it runs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::reader::{Reader, printable};
use crate::model::CalendarDef;
use crate::model::json::{kind_of, nearest, shown};
use crate::model::key::{NameKind, check_name};

/// The pools and limits that exist, as far as the caller knows them.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// The pools.
    pub pools: Option<BTreeSet<String>>,
    /// The limits.
    pub limits: Option<BTreeSet<String>>,
    /// The calendars of the schedules of the dag, by their names.
    pub calendars: BTreeMap<String, CalendarDef>,
}

impl Known {
    /// Reads the fields `known_pools` and `known_limits`.
    pub(super) fn read(r: &mut Reader<'_, '_>) -> Known {
        Known {
            pools: names(r, "known_pools"),
            limits: names(r, "known_limits"),
            ..Known::default()
        }
    }
}

fn names(r: &mut Reader<'_, '_>, field: &str) -> Option<BTreeSet<String>> {
    r.get(field)?;
    Some(r.texts(field).into_iter().map(|(_, text)| text.to_owned()).collect())
}

/// The pool.
pub(super) fn pool(r: &mut Reader<'_, '_>, known: &Known) -> Option<String> {
    let text = r.raw_text("pool")?;
    let name = name(r, "pool", NameKind::Pool, text)?;
    let other = "make it first, or leave `pool` out for the default pool";
    exists(r, "pool", "pool", &name, known.pools.as_ref(), other).then_some(name)
}

/// The limits, as a list of names or as names with a number of slots each.
pub(super) fn limits(r: &mut Reader<'_, '_>, known: &Known) -> Option<BTreeMap<String, u32>> {
    let given: Vec<(String, String, Value)> = match r.get("limits") {
        None => return r.is_null("limits").then(BTreeMap::new),
        Some(Value::String(text)) => vec![("limits".into(), text.clone(), 1.into())],
        Some(Value::Array(_)) => {
            let texts = r.texts("limits").into_iter();
            texts.map(|(field, text)| (field, text.to_owned(), 1.into())).collect()
        }
        Some(Value::Object(map)) => map
            .iter()
            .map(|(name, slots)| {
                (format!("limits.{}", printable(name)), name.clone(), slots.clone())
            })
            .collect(),
        Some(other) => {
            let message = format!("expected names of limits, found {}", kind_of(other));
            let hint = "write limits=[\"vendor-api\"], or limits={\"vendor-api\": 2} for two slots";
            r.advise("limits", "wrong_type", message, hint);
            return None;
        }
    };
    let mut limits = BTreeMap::new();
    for (field, text, slots) in given {
        let Some(name) = name(r, &field, NameKind::Limit, &text) else { continue };
        let count = slots.as_u64().and_then(|n| u32::try_from(n).ok());
        let Some(count) = count.filter(|count| (1..=1_000_000).contains(count)) else {
            let message = format!("{} is no number of slots", shown(&slots));
            r.advise(&field, "out_of_range", message, "write a whole number from 1 on");
            continue;
        };
        let hint = "make it first: ms.limit(name, slots), or [limits] in the project file";
        if exists(r, &field, "limit", &name, known.limits.as_ref(), hint) {
            limits.insert(name, count);
        }
    }
    Some(limits)
}

fn name(r: &mut Reader<'_, '_>, field: &str, kind: NameKind, text: &str) -> Option<String> {
    let checked = check_name(kind, text, "");
    r.take(field, checked)
}

fn exists(
    r: &mut Reader<'_, '_>,
    field: &str,
    what: &str,
    name: &str,
    known: Option<&BTreeSet<String>>,
    other: &str,
) -> bool {
    let Some(known) = known.filter(|known| !known.contains(name)) else { return true };
    let hint = match nearest(name, known.iter().map(String::as_str)) {
        Some(like) => format!("did you mean `{like}`?"),
        None => other.to_owned(),
    };
    let code = if what == "pool" { "unknown_pool" } else { "unknown_limit" };
    r.advise(field, code, format!("there is no {what} `{name}`"), hint);
    false
}
