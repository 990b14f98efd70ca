//! One value against one type.

use serde_json::{Number, Value};

use super::{Param, ParamType};
use crate::model::json::{self, DEEPEST, LARGEST, kind_of, nearest, shown};
use crate::model::{Date, Problem, duration};

/// Whole numbers below this are exact as floats; this one may have been rounded to.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The value as the handler gets it, or why it does not fit.
pub(super) fn fit(param: &Param, value: &Value, place: &str) -> Result<Value, Problem> {
    if value.is_null() {
        if param.nullable || param.kind == ParamType::Any {
            return Ok(Value::Null);
        }
        let message = format!("expected {}, found null", wanted(param.kind));
        return Err(
            Problem::new("wrong_type", place, message).hint("only a nullable parameter takes null")
        );
    }
    let size = json::measure(value);
    if size.bytes > LARGEST || size.depth > DEEPEST {
        let message = format!("{} bytes of JSON in {} levels are too much", size.bytes, size.depth);
        return Err(Problem::new("too_large", place, message)
            .hint("pass a path or a key and let the task read the rest"));
    }
    let fitted = typed(param, value, place)?;
    if param.choices.is_empty() || param.choices.contains(&fitted) {
        return Ok(fitted);
    }
    let choices: Vec<String> = param.choices.iter().take(20).map(shown).collect();
    let message = format!("{} is not one of {}", shown(value), choices.join(", "));
    let problem = Problem::new("not_a_choice", place, message);
    let texts = param.choices.iter().filter_map(Value::as_str);
    Err(match value.as_str().and_then(|text| nearest(text, texts)) {
        Some(like) => problem.hint(format!("did you mean \"{like}\"?")),
        None => problem,
    })
}

fn typed(param: &Param, value: &Value, place: &str) -> Result<Value, Problem> {
    let same = |fits: bool| fits.then(|| value.clone()).ok_or_else(|| wrong(param, value, place));
    match (param.kind, value) {
        (ParamType::Any | ParamType::Enum, _) => Ok(value.clone()),
        (ParamType::Str, _) => same(value.is_string()),
        (ParamType::Bool, _) => same(value.is_boolean()),
        (ParamType::List, _) => same(value.is_array()),
        (ParamType::Object, _) => same(value.is_object()),
        (ParamType::Int, Value::Number(number)) => int(number, place),
        (ParamType::Float, Value::Number(number)) => float(number, place),
        (ParamType::Date, Value::String(text)) => match Date::parse(text) {
            Ok(_) => Ok(value.clone()),
            Err(problem) => Err(Problem { place: place.to_owned(), ..problem }),
        },
        (ParamType::Datetime, Value::String(text)) => match is_datetime(text) {
            true => Ok(value.clone()),
            false => {
                let message = format!("{} is not a date and time", shown(value));
                Err(Problem::new("bad_datetime", place, message).hint(
                    "write 2024-02-29T08:30:00, with an offset such as +08:00 or Z if it has one",
                ))
            }
        },
        (ParamType::Duration, Value::String(text)) => match duration::parse(text) {
            Ok(_) => Ok(value.clone()),
            Err(problem) => Err(Problem { place: place.to_owned(), ..problem }),
        },
        (ParamType::Duration, Value::Number(number)) => {
            let message = format!("the duration {number} has no unit");
            Err(Problem::new("duration_needs_unit", place, message)
                .hint(format!("did you mean \"{number}s\"?")))
        }
        (ParamType::Int | ParamType::Float | ParamType::Date, _)
        | (ParamType::Datetime | ParamType::Duration, _) => Err(wrong(param, value, place)),
    }
}

fn wrong(param: &Param, value: &Value, place: &str) -> Problem {
    let found = match value {
        Value::Array(_) | Value::Object(_) => kind_of(value).to_owned(),
        Value::Null | Value::Bool(_) => shown(value),
        _ => format!("{} {}", kind_of(value), shown(value)),
    };
    let problem = Problem::new(
        "wrong_type",
        place,
        format!("expected {}, found {found}", wanted(param.kind)),
    );
    match (param.kind, value) {
        (ParamType::Int | ParamType::Float, Value::String(text))
            if text.trim().parse::<f64>().is_ok_and(f64::is_finite) =>
        {
            problem.hint(format!("did you mean {}, without quotes?", text.trim()))
        }
        (ParamType::Int | ParamType::Float, Value::Bool(_)) => {
            problem.hint("true and false are not numbers")
        }
        _ => problem,
    }
}

fn wanted(kind: ParamType) -> &'static str {
    match kind {
        ParamType::Str => "text",
        ParamType::Int => "a whole number",
        ParamType::Float => "a number",
        ParamType::Bool => "true or false",
        ParamType::Date => "a date (yyyy-mm-dd)",
        ParamType::Datetime => "a date and time (ISO 8601)",
        ParamType::Duration => "a duration such as \"30s\"",
        ParamType::List => "a list",
        ParamType::Object => "an object",
        ParamType::Enum => "one of the choices",
        ParamType::Any => "a value",
    }
}

/// 5 and 5.0 are 5. A float beyond 2^53 may already be another number than the one written.
fn int(number: &Number, place: &str) -> Result<Value, Problem> {
    if number.is_i64() {
        return Ok(Value::Number(number.clone()));
    }
    match number.as_f64() {
        Some(float) if float.fract() == 0.0 && float.abs() < EXACT && number.is_f64() => {
            Ok(Value::from(float as i64))
        }
        Some(float) if float.fract() != 0.0 => {
            let message = format!("expected a whole number, found {number}");
            Err(Problem::new("wrong_type", place, message))
        }
        _ => {
            let message = format!("{number} does not fit into 64 bits exactly");
            Err(Problem::new("out_of_range", place, message))
        }
    }
}

/// A whole number is a float where nothing of it is lost.
fn float(number: &Number, place: &str) -> Result<Value, Problem> {
    if number.is_f64() {
        return Ok(Value::Number(number.clone()));
    }
    match number.as_f64() {
        Some(float) if float.abs() < EXACT => Ok(Value::from(float)),
        _ => {
            let message = format!("{number} is not exact as a float");
            Err(Problem::new("out_of_range", place, message))
        }
    }
}

/// `2024-02-29T08:30`, with seconds, a fraction and an offset or `Z` if they are there.
fn is_datetime(text: &str) -> bool {
    let (Some(date), Some(rest)) = (text.get(..10), text.get(10..)) else { return false };
    let Some(rest) = rest.strip_prefix(['T', ' ']) else { return false };
    if Date::parse(date).is_err() {
        return false;
    }
    let (time, offset) = match rest.find(['Z', '+', '-']) {
        Some(at) => rest.split_at(at),
        None => (rest, "Z"),
    };
    let (clock, fraction) = match time.split_once('.') {
        Some((clock, fraction)) if clock.len() == 8 => (clock, fraction),
        Some(_) => return false,
        None => (time, "0"),
    };
    let digits =
        !fraction.is_empty() && fraction.len() <= 9 && fraction.bytes().all(|b| b.is_ascii_digit());
    let offset = match offset.strip_prefix(['+', '-']) {
        Some(offset) => is_clock(offset, &[23, 59]),
        None => offset == "Z",
    };
    digits && offset && (is_clock(clock, &[23, 59]) || is_clock(clock, &[23, 59, 59]))
}

/// Pairs of digits parted by colons, none above its most.
fn is_clock(text: &str, most: &[u32]) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    parts.len() == most.len()
        && parts.iter().zip(most).all(|(part, most)| {
            part.len() == 2
                && part.bytes().all(|b| b.is_ascii_digit())
                && part.parse::<u32>().is_ok_and(|number| number <= *most)
        })
}
