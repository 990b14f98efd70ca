//! How deep and how large a JSON value is, without recursion: the value is not trusted yet.

use serde_json::Value;

use super::key::turns_text;

/// The deepest nesting that is accepted anywhere.
pub(crate) const DEEPEST: usize = 64;
/// The largest value that is accepted, in bytes of JSON text.
pub(crate) const LARGEST: usize = 1 << 20;

/// What [`measure`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Levels of nesting; a number alone has one.
    pub depth: usize,
    /// Bytes of compact JSON text, escapes not counted.
    pub bytes: usize,
}

/// Walks the value with a stack of its own.
pub(crate) fn measure(value: &Value) -> Size {
    let mut size = Size { depth: 0, bytes: 0 };
    let mut open = vec![(value, 1)];
    while let Some((value, depth)) = open.pop() {
        size.depth = size.depth.max(depth);
        size.bytes += match value {
            Value::Null | Value::Bool(_) => 4,
            Value::Number(number) => number.as_str_len(),
            Value::String(text) => text.len() + 2,
            Value::Array(items) => {
                open.extend(items.iter().map(|item| (item, depth + 1)));
                items.len() + 2
            }
            Value::Object(map) => {
                open.extend(map.values().map(|item| (item, depth + 1)));
                map.keys().map(|key| key.len() + 4).sum::<usize>() + 2
            }
        };
    }
    size
}

trait Length {
    fn as_str_len(&self) -> usize;
}

impl Length for serde_json::Number {
    /// Without writing it out: the longest number of 64 bits has about twenty digits.
    fn as_str_len(&self) -> usize {
        match self.as_u64() {
            Some(number) => number.checked_ilog10().unwrap_or(0) as usize + 1,
            None => 20,
        }
    }
}

/// What kind of JSON it is, in the author's words.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.is_f64() => "a number with a fraction",
        Value::Number(_) => "a whole number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The value, short enough for a message.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let mut short: String = text.chars().take(40).flat_map(char::escape_debug).collect();
            if text.chars().nth(40).is_some() {
                short.push_str("...");
            }
            format!("\"{short}\"")
        }
        Value::Array(_) | Value::Object(_) => kind_of(value).to_owned(),
        Value::Number(_) | Value::Bool(_) | Value::Null => value.to_string(),
    }
}

/// Text from outside without anything that a terminal would act upon, at most 128 characters.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars().take(128) {
        match c.is_control() || turns_text(c) {
            true => shown.extend(c.escape_unicode()),
            false => shown.push(c),
        }
    }
    shown
}

/// "Did you mean": the name within one slip for every three letters, letter case aside.
pub(crate) fn nearest<'a>(
    wanted: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let wanted: String = wanted.chars().take(64).flat_map(char::to_lowercase).collect();
    let letters = wanted.chars().count();
    names
        .into_iter()
        .take(1_000)
        .filter_map(|name| {
            let folded = name.to_lowercase();
            let others = folded.chars().count();
            let allowed = (letters.min(others) / 3).max(1);
            if letters.abs_diff(others) > allowed {
                return None;
            }
            let distance = strsim::osa_distance(&wanted, &folded);
            (distance <= allowed && distance < letters.max(others)).then_some((distance, name))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
