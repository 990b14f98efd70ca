//! Names and keys: which characters they may have, and how a version is read off a key.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::{Date, Problem};

/// The longest key, `dag.task`, in characters.
pub const LONGEST: usize = 128;

/// What a name names; chosen for the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// A dag.
    Dag,
    /// A task inside its dag.
    Task,
    /// A parameter or another argument of a handler.
    Param,
    /// A schedule inside its dag.
    Schedule,
    /// A pool.
    Pool,
    /// A limit.
    Limit,
    /// A category.
    Category,
    /// A type of task.
    Type,
    /// An asset, or a part of its name between dots and slashes.
    Asset,
}

impl NameKind {
    fn as_str(self) -> &'static str {
        match self {
            NameKind::Dag => "dag name",
            NameKind::Task => "task name",
            NameKind::Param => "parameter name",
            NameKind::Schedule => "schedule name",
            NameKind::Pool => "pool name",
            NameKind::Limit => "limit name",
            NameKind::Category => "category name",
            NameKind::Type => "type name",
            NameKind::Asset => "asset name",
        }
    }
}

/// The name in its normalised form (NFC), case kept.
///
/// Letters and digits of any script, `_` and `-`; not first a `-`, which a command line would
/// read as an option.
///
/// # Errors
/// `bad_name`, with the first character that is wrong, its position and a name that would do.
pub fn check_name(kind: NameKind, text: &str, place: &str) -> Result<String, Problem> {
    let what = kind.as_str();
    let refuse = |message: String| {
        let problem = Problem::new("bad_name", place, message);
        match cleaned(text) {
            Some(name) => problem.hint(format!("did you mean `{name}`?")),
            None => problem.hint("names are made of letters, digits, `_` and `-`"),
        }
    };
    if text.is_empty() {
        return Err(refuse(format!("the {what} is empty")));
    }
    if let Some(at) = text.find("${") {
        let position = text[..at].chars().count() + 1;
        return Err(refuse(format!(
            "the {what} has a placeholder at character {position}: a key stays the same from run \
             to run"
        )));
    }
    for (position, c) in (1..).zip(text.chars()) {
        let first = position == 1 && (c == '-' || is_combining_mark(c));
        if first || !allowed(c) {
            return Err(refuse(format!(
                "character {position} of the {what} is {}: {}",
                named(c),
                if first { "a name does not begin with it" } else { reason(c) }
            )));
        }
        // No need to look at the rest of a text that is far too long.
        if position > LONGEST * 4 {
            break;
        }
    }
    let name: String = text.chars().take(LONGEST * 4 + 1).nfc().collect();
    let length = name.chars().count();
    if length > LONGEST {
        return Err(refuse(format!("the {what} has {length} characters, at most {LONGEST} fit")));
    }
    Ok(name)
}

/// The name of an asset in its normalised form: names with dots or slashes between them, such as
/// `ods.orders` or `lake/ods/orders`.
///
/// # Errors
/// As [`check_name`], about the first part that is wrong.
pub fn check_asset(text: &str, place: &str) -> Result<String, Problem> {
    let parts = text.split_inclusive(['.', '/']).map(|part| {
        let name = part.trim_end_matches(['.', '/']);
        let separator = &part[name.len()..];
        check_name(NameKind::Asset, name, place).map(|name| name + separator)
    });
    let name = parts.collect::<Result<String, _>>()?;
    if name.is_empty() || name.ends_with(['.', '/']) {
        let message = "the asset name is empty, or ends with a dot or a slash";
        return Err(Problem::new("bad_name", place, message).hint("such as `ods.orders`"));
    }
    let length = name.chars().count();
    if length > LONGEST {
        let message = format!("the asset name has {length} characters, at most {LONGEST} fit");
        return Err(Problem::new("bad_name", place, message));
    }
    Ok(name)
}

/// A key such as `order.settle.v2` in its parts: `order.settle` and version 2. A key without a
/// version, `dag.v2` among them, comes back as it is.
pub fn split_versioned(key: &str) -> (&str, Option<u32>) {
    let Some((rest, last)) = key.rsplit_once('.') else { return (key, None) };
    let digits = last.strip_prefix('v').unwrap_or_default();
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    match digits.parse() {
        Ok(version) if plain && rest.contains('.') => (rest, Some(version)),
        _ => (key, None),
    }
}

/// Whether a part of the name reads as a date (`2024-01-15`, `20240115`): names stay, dates pass.
pub fn looks_like_a_date(name: &str) -> bool {
    let bytes = name.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    (0..bytes.len()).any(|start| {
        if start > 0 && digit(start - 1) {
            return false;
        }
        let separated = bytes.get(start + 4).is_some_and(|b| matches!(b, b'-' | b'_'));
        let (month, day, end) = if separated {
            (start + 5, start + 8, start + 10)
        } else {
            (start + 4, start + 6, start + 8)
        };
        if digit(end) || (separated && bytes.get(start + 7) != bytes.get(start + 4)) {
            return false;
        }
        let number = |from: usize, to: usize| {
            bytes.get(from..to).and_then(|part| {
                part.iter()
                    .try_fold(0u32, |n, c| c.is_ascii_digit().then(|| n * 10 + u32::from(c - b'0')))
            })
        };
        match (number(start, start + 4), number(month, month + 2), number(day, end)) {
            (Some(year @ 1900..=2100), Some(month), Some(day)) => {
                Date::from_ymd(year as i32, month, day).is_some()
            }
            _ => false,
        }
    })
}

/// A character as it may be shown: itself where it is harmless, its number always.
fn named(c: char) -> String {
    let number = c as u32;
    if c.is_ascii_graphic() || (c as u32 > 0xff && allowed(c)) {
        format!("`{c}` (U+{number:04X})")
    } else {
        format!("U+{number:04X}")
    }
}

fn allowed(c: char) -> bool {
    (c.is_alphanumeric() || c == '_' || c == '-' || is_combining_mark(c)) && !unseen(c)
}

/// Characters that count as letters or marks but that nobody sees, or sees as a picture.
fn unseen(c: char) -> bool {
    matches!(c,
        '\u{034f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{2139}' | '\u{20dd}'..='\u{20e4}' | '\u{24b6}'..='\u{24e9}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{1f100}'..='\u{1f1ff}'
        | '\u{e0100}'..='\u{e01ef}')
}

/// Whether it turns the direction of the text around it.
pub(crate) fn turns_text(c: char) -> bool {
    matches!(c,
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn reason(c: char) -> &'static str {
    match c {
        '.' => "a dot parts the dag from the task",
        c if c.is_whitespace() => "names have no spaces",
        c if c.is_control() => "names have no control characters",
        c if turns_text(c) => "names have no direction characters",
        '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}' => "names have no emoji",
        c if unseen(c) => "names have no invisible characters and no pictures",
        _ => "names are made of letters, digits, `_` and `-`",
    }
}

/// The nearest name that would be accepted.
fn cleaned(text: &str) -> Option<String> {
    let mut name = String::new();
    let mut gap = false;
    for c in text.chars().take(LONGEST * 4).filter(|c| !turns_text(*c) && !unseen(*c)) {
        if allowed(c) && !(name.is_empty() && (is_combining_mark(c) || c == '-')) {
            if gap && !name.is_empty() && !name.ends_with('_') && c != '_' {
                name.push('_');
            }
            name.push(c);
        }
        gap = !allowed(c);
    }
    let name: String = name.nfc().take(LONGEST).collect();
    (!name.is_empty() && name != text).then_some(name)
}
