//! The texts of a task with their placeholders filled in, for one run.
//!
//! A function of the definition, the times and parameters of the run, and the results of its
//! upstreams: no clock, no attempt number, no trigger. So a retry and a rerun a year later get the
//! same, byte for byte. One pass: what comes out of a value is never read again.

use std::cell::Cell;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::texts::{Part, replaced, split, upstreams_of};
use crate::calendar::{self, Outside, Part as Piece, Template, Zone};
use crate::model::{Date, Instant, ParamType, Problem, SpecError, TaskDef};

/// Most bytes that placeholders may bring into one task: larger things pass by path or by edge.
const LARGEST: usize = 1 << 20;

/// What a secret looks like wherever it is kept or shown.
pub const MASK: &str = "***";

/// The times of a run, from which every date in a text is computed.
#[derive(Clone, Copy, Debug)]
pub struct Times<'a> {
    /// The instant it is meant for.
    pub nominal_at: Instant,
    /// The day its data belongs to.
    pub biz_date: Date,
    /// Its data interval.
    pub interval: (Instant, Instant),
    /// IANA name of the zone in which its dates are reckoned.
    pub timezone: &'a str,
}

/// The result of each upstream.
pub type Results<'a> = dyn Fn(&str) -> Value + 'a;

/// What the texts of a task may ask for.
pub struct Filling<'a> {
    /// Key of the dag.
    pub dag: &'a str,
    /// The times of the run.
    pub times: Times<'a>,
    /// Values of the run's parameters, defaults left out.
    pub params: &'a Map<String, Value>,
    /// The item, where the task is mapped; without one its names stand as written.
    pub item: Option<&'a Value>,
    /// The result of an upstream, null where it has none. Without a run there is no such
    /// function: then results, and required parameters that were not given, stand as written.
    pub result: Option<&'a Results<'a>>,
    /// A secret; none where there is no such one.
    pub secret: &'a dyn Fn(&str) -> Option<String>,
}

/// The texts of a task, filled in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filled {
    /// Static values for the handler.
    pub params: BTreeMap<String, Value>,
    /// How the type runs.
    pub config: BTreeMap<String, Value>,
    /// The key by which the target knows a repeat.
    pub dedup_key: Option<String>,
}

impl Filled {
    /// What differs from the definition, as JSON text; none where nothing does.
    pub fn kept(&self, def: &TaskDef) -> Option<String> {
        let differing = |now: &BTreeMap<String, Value>, then: &BTreeMap<String, Value>| {
            (now.iter())
                .filter(|(name, value)| then.get(*name) != Some(value))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect::<Map<_, _>>()
        };
        let mut kept = Map::new();
        for (name, map) in [
            ("params", differing(&self.params, &def.params)),
            ("config", differing(&self.config, &def.config)),
        ] {
            if !map.is_empty() {
                kept.insert(name.to_owned(), map.into());
            }
        }
        if self.dedup_key != def.policy.dedup_key {
            kept.insert("dedup_key".to_owned(), self.dedup_key.clone().into());
        }
        (!kept.is_empty()).then(|| Value::Object(kept).to_string())
    }
}

/// Fills in the texts of a task. A text that is one placeholder `${params.x}` or `${result.x}` and
/// nothing else becomes the value itself, with its type; every other text stays a text.
///
/// # Errors
/// All problems at once, the place of each inside the task: `no_secret`, `no_value`, `no_field`,
/// `bad_identifier`, `too_large`, `out_of_range`, and those of a text that cannot be read.
pub fn fill(def: &TaskDef, filling: &Filling<'_>) -> Result<Filled, SpecError> {
    fill_seen(def, filling, &mut |_, _, _| {})
}

/// The same; `seen` is told each text: its place in the task, as it was, as it is.
pub(super) fn fill_seen(
    def: &TaskDef,
    filling: &Filling<'_>,
    seen: &mut dyn FnMut(&str, &str, &Value),
) -> Result<Filled, SpecError> {
    let zone = Zone::named(filling.times.timezone).map_err(SpecError::from)?;
    let moment = calendar::Moment {
        at: filling.times.nominal_at,
        nominal: zone.wall(filling.times.nominal_at),
        biz_date: filling.times.biz_date,
        interval_start: Some(filling.times.interval.0),
        interval_end: Some(filling.times.interval.1),
        zone,
    };
    let item = def.map.as_ref().zip(filling.item).map(|(map, item)| map.values(item));
    let item = item.unwrap_or_default();
    let (left, open) = (Cell::new(LARGEST), Cell::new(false));
    let pass = Pass { def, filling, item, moment, left, open };
    let mut problems = Vec::new();
    let mut put = |fixed: Option<&BTreeMap<String, Value>>, path: &str, text: &str| {
        let value = pass.text(text, fixed).unwrap_or_else(|SpecError(found)| {
            problems.extend(found.into_iter().map(|problem| {
                let message = match problem.place.as_str() {
                    "" => problem.message,
                    source => format!("`{source}`: {}", problem.message),
                };
                Problem { place: path.to_owned(), message, ..problem }
            }));
            Value::Null
        });
        seen(path, text, &value);
        value
    };
    let params = replaced(Part::Params, &def.params, &mut |path, text| put(None, path, text));
    let known = Some(&params);
    let config = replaced(Part::Config, &def.config, &mut |path, text| put(known, path, text));
    let dedup_key = def.policy.dedup_key.as_ref().map(|text| match text.contains('$') {
        true => match put(known, "dedup_key", text) {
            Value::String(text) => text,
            other => other.to_string(),
        },
        false => text.clone(),
    });
    if problems.is_empty() {
        Ok(Filled { params, config, dedup_key })
    } else {
        Err(SpecError(problems))
    }
}

struct Pass<'a> {
    def: &'a TaskDef,
    filling: &'a Filling<'a>,
    /// What an item fills.
    item: Vec<(&'a str, Value)>,
    moment: calendar::Moment,
    /// Bytes that placeholders may still bring.
    left: Cell<usize>,
    /// The present text has a placeholder that stands as written.
    open: Cell<bool>,
}

impl Pass<'_> {
    fn text(
        &self,
        text: &str,
        fixed: Option<&BTreeMap<String, Value>>,
    ) -> Result<Value, SpecError> {
        let template = Template::parse(text, &[])?;
        if let [Piece::Value(value)] = template.parts()
            && !value.is_identifier()
            && let Some(asked @ (Outside::Param(_) | Outside::Result(_))) = value.outside()
        {
            return Ok(self.value(asked, fixed)?);
        }
        let lookup = |asked: &Outside| match self.value(asked, fixed)? {
            Value::String(text) => Ok(text),
            Value::Null => {
                Err(Problem::new("no_value", source(asked), "it is null, which no text can say")
                    .hint("a text that is nothing but this placeholder becomes null itself"))
            }
            other => Ok(other.to_string()),
        };
        self.open.set(false);
        match template.render(&self.moment, &lookup) {
            // What is not known yet is no plain name yet.
            Err(SpecError(found))
                if self.open.get() && found.iter().all(|p| p.code == "bad_identifier") =>
            {
                Ok(text.into())
            }
            rendered => rendered.map(Value::String),
        }
    }

    fn value(
        &self,
        asked: &Outside,
        fixed: Option<&BTreeMap<String, Value>>,
    ) -> Result<Value, Problem> {
        let found = match asked {
            Outside::Param(key) => self.param(asked, key, fixed),
            Outside::Result(key) => {
                let known = upstreams_of(self.filling.dag, self.def);
                split(key, |name| known.contains(name)).ok_or_else(absent).and_then(
                    |(name, path)| match self.filling.result {
                        Some(result) => field(result(name), name, path),
                        None => Ok(self.as_written(asked)),
                    },
                )
            }
            Outside::Secret(name) => {
                (self.filling.secret)(name).map(Value::String).ok_or_else(|| {
                    Problem::new("no_secret", "", "there is no such secret here").hint(format!(
                        "set MAINSPRING_SECRET_{name} where the process that runs the task starts"
                    ))
                })
            }
            Outside::Name(_) => Err(absent()),
        };
        let value = found.map_err(|problem| Problem { place: source(asked), ..problem })?;
        let bytes = match &value {
            Value::String(text) => text.len(),
            other => other.to_string().len(),
        };
        match self.left.get().checked_sub(bytes) {
            Some(left) => self.left.set(left),
            None => {
                let message =
                    format!("the placeholders of the task bring more than {LARGEST} bytes");
                return Err(Problem::new("too_large", source(asked), message)
                    .hint("pass a path, or take the result as an argument"));
            }
        }
        Ok(value)
    }

    fn as_written(&self, asked: &Outside) -> Value {
        self.open.set(true);
        source(asked).into()
    }

    fn param(
        &self,
        asked: &Outside,
        key: &str,
        fixed: Option<&BTreeMap<String, Value>>,
    ) -> Result<Value, Problem> {
        let of_schema = |name: &str| self.def.param_schema.iter().find(|param| param.name == name);
        let of_fixed = |name: &str| fixed.and_then(|fixed| fixed.get(name));
        let of_item = |name: &str| self.def.map.as_ref().is_some_and(|m| m.names().contains(&name));
        let known =
            |name: &str| of_item(name) || of_schema(name).is_some() || of_fixed(name).is_some();
        let (name, path) = split(key, known).ok_or_else(absent)?;
        if of_item(name) {
            let found = self.item.iter().find(|(known, _)| *known == name);
            return match found {
                Some((_, value)) => field(value.clone(), name, path),
                None => Ok(self.as_written(asked)),
            };
        }
        let given = self.filling.params.get(name);
        let value = match (of_schema(name), given, of_fixed(name)) {
            (Some(_), Some(value), _) => value.clone(),
            (Some(param), None, _) => match &param.default {
                Some(value) => value.clone(),
                None if param.required && self.filling.result.is_none() => {
                    return Ok(self.as_written(asked));
                }
                // As the handler's own argument: dates that nobody gave are the run's.
                None if param.kind == ParamType::Date && !param.nullable => {
                    self.filling.times.biz_date.to_string().into()
                }
                None => Value::Null,
            },
            (None, _, Some(value)) => value.clone(),
            (None, ..) => return Err(absent()),
        };
        field(value, name, path)
    }
}

/// What stands at `a.b` in a value: names of objects, numbers of lists.
fn field(whole: Value, name: &str, path: Option<&str>) -> Result<Value, Problem> {
    let mut value = whole;
    let mut seen = name.to_owned();
    for step in path.into_iter().flat_map(|path| path.split('.')) {
        let found = match &mut value {
            Value::Object(map) => map.remove(step),
            Value::Array(items) => {
                let at = step.parse::<usize>().ok().filter(|at| *at < items.len());
                at.map(|at| items.swap_remove(at))
            }
            _ => None,
        };
        value = found.ok_or_else(|| {
            let there = match &value {
                Value::Object(map) if !map.is_empty() => {
                    let names: Vec<&str> = map.keys().take(8).map(String::as_str).collect();
                    let more = if map.len() > 8 { ", ..." } else { "" };
                    format!("it has {}{more}", names.join(", "))
                }
                Value::Object(_) => "it is an empty object".to_owned(),
                Value::Array(items) => format!("it is a list of {}", items.len()),
                Value::Null => "it is null".to_owned(),
                Value::String(_) => "it is text".to_owned(),
                Value::Bool(_) | Value::Number(_) => "it is a plain value".to_owned(),
            };
            let message = format!("`{seen}` has no field `{step}`");
            Problem::new("no_field", "", message).hint(there)
        })?;
        seen = format!("{seen}.{step}");
    }
    Ok(value)
}

fn source(asked: &Outside) -> String {
    match asked {
        Outside::Param(key) => format!("${{params.{key}}}"),
        Outside::Result(key) => format!("${{result.{key}}}"),
        Outside::Secret(key) => format!("${{secret:{key}}}"),
        Outside::Name(key) => format!("${{{key}}}"),
    }
}

/// Registration lets no such name in; a definition of an older version may have one.
fn absent() -> Problem {
    Problem::new("unknown_name", "", "the task knows no such name")
        .hint("register the dag again, which says what is wrong")
}
