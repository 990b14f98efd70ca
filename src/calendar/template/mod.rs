//! Placeholders in text: `${yesterday:yyyyMMdd}`, `$[add_months(yyyyMMdd,-1)]`, `${params.x}`.
//!
//! A text is read once, when its task is registered, and everything unknown is refused then. It is
//! rendered from the run's nominal time, business date and zone and never from a clock, so retries
//! and backfills give the same text. There is one pass: what
//! comes out of a value is never read again.
//!
//! `$${` and `$$[` stand for `${` and `$[`; every other dollar is left alone.

mod braces;
mod brackets;
mod expr;
mod pattern;

pub use expr::{Moment, Outside};

use crate::model::{Problem, SpecError};
use expr::Expr;

/// Longest text in bytes that is searched for placeholders.
pub const MAX_TEXT: usize = 1 << 20;

/// A text that was read, its placeholders understood.
#[derive(Clone, PartialEq, Debug)]
pub struct Template {
    parts: Vec<Part>,
}

/// A stretch of a text.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    /// Stands for itself.
    Text(String),
    /// Is replaced.
    Value(Value),
}

/// One placeholder.
#[derive(Clone, PartialEq, Debug)]
pub struct Value {
    source: String,
    identifier: bool,
    expr: Expr,
}

impl Template {
    /// Reads a text. `names` are the words beside those of this floor that the caller will answer.
    ///
    /// # Errors
    /// All problems found: `unknown_name`, `syntax`, `out_of_range`, `too_long`.
    pub fn parse(text: &str, names: &[&str]) -> Result<Template, SpecError> {
        if text.len() > MAX_TEXT {
            let message = format!("the text has {} bytes; {MAX_TEXT} is the limit", text.len());
            return Err(Problem::new("too_long", "", message).into());
        }
        let (mut parts, mut problems) = (vec![], vec![]);
        let mut plain = String::new();
        let mut rest = text;
        while let Some(dollar) = rest.find('$') {
            plain.push_str(&rest[..dollar]);
            rest = &rest[dollar..];
            if rest.starts_with("$${") || rest.starts_with("$$[") {
                plain.push_str(&rest[1..3]);
                rest = &rest[3..];
                continue;
            }
            let close = match rest.as_bytes().get(1) {
                Some(b'{') => '}',
                Some(b'[') => ']',
                _ => {
                    plain.push('$');
                    rest = &rest[1..];
                    continue;
                }
            };
            let Some(end) = rest.find(close) else {
                problems.push(at(text.len() - rest.len(), text, not_closed(rest, close)));
                break;
            };
            let (source, after) = rest.split_at(end + 1);
            rest = after;
            match Value::parse(source, names) {
                Ok(value) => {
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain)));
                    }
                    parts.push(Part::Value(value));
                }
                Err(problem) => {
                    let begin = text.len() - after.len() - source.len();
                    problems.push(at(begin, text, problem));
                }
            }
        }
        if !problems.is_empty() {
            return Err(SpecError(problems));
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Template { parts })
    }

    /// The parts in order, for renderers that must not paste a value into code (SQL, shell, URLs).
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// What the text asks of the caller: parameters, results, secrets.
    pub fn outside(&self) -> impl Iterator<Item = &Outside> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Value(value) => value.outside(),
        })
    }

    /// The text for one run, values pasted as they are.
    ///
    /// # Errors
    /// What `lookup` refuses, and dates outside the years 1 to 9999.
    pub fn render(
        &self,
        moment: &Moment,
        lookup: &dyn Fn(&Outside) -> Result<String, Problem>,
    ) -> Result<String, SpecError> {
        let (mut text, mut problems) = (String::new(), vec![]);
        for part in &self.parts {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::Value(value) => match value.text(moment, lookup) {
                    Ok(value) => text.push_str(&value),
                    Err(problem) => problems.push(problem),
                },
            }
        }
        if problems.is_empty() { Ok(text) } else { Err(SpecError(problems)) }
    }
}

impl Value {
    fn parse(source: &str, names: &[&str]) -> Result<Value, Problem> {
        // The brackets are one byte each, behind a dollar.
        let body = &source[2..source.len() - 1];
        let place =
            |problem: Problem| Problem { place: source.chars().take(80).collect(), ..problem };
        if source.starts_with("$[") {
            let expr = brackets::parse(body).map_err(place)?;
            return Ok(Value { source: source.to_owned(), identifier: false, expr });
        }
        let (identifier, body) = match body.trim().strip_prefix("ident:") {
            Some(inner) => (true, inner),
            None => (false, body),
        };
        let expr = braces::parse(body, names).map_err(place)?;
        if identifier && matches!(expr, Expr::Outside(Outside::Secret(_))) {
            return Err(place(Problem::new("syntax", "", "a secret cannot be an identifier")));
        }
        Ok(Value { source: source.to_owned(), identifier, expr })
    }

    /// The placeholder as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether it was written `${ident:...}`: only then may SQL take it as a name.
    pub fn is_identifier(&self) -> bool {
        self.identifier
    }

    /// What it asks of the caller, if it is not computed from time.
    pub fn outside(&self) -> Option<&Outside> {
        match &self.expr {
            Expr::Outside(outside) => Some(outside),
            Expr::Time(_) => None,
        }
    }

    /// The text that stands in its place for one run.
    ///
    /// # Errors
    /// See [`Template::render`]; and `bad_identifier` where `${ident:...}` is no plain name.
    pub fn text(
        &self,
        moment: &Moment,
        lookup: &dyn Fn(&Outside) -> Result<String, Problem>,
    ) -> Result<String, Problem> {
        let text = match &self.expr {
            Expr::Outside(outside) => lookup(outside)?,
            Expr::Time(time) => {
                time.text(moment).map_err(|p| Problem { place: self.source.clone(), ..p })?
            }
        };
        if self.identifier && !is_plain_name(&text) {
            return Err(Problem::new("bad_identifier", &self.source, "the value is no plain name")
                .hint("letters, digits and `_`, up to three parts joined by dots"));
        }
        Ok(text)
    }
}

/// `table`, `schema.table`, `catalog.schema.table`.
fn is_plain_name(text: &str) -> bool {
    text.len() <= 200
        && text.split('.').count() <= 3
        && text.split('.').all(|part| {
            !part.is_empty()
                && !part.starts_with(|c: char| c.is_ascii_digit())
                && part.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
        })
}

/// The same problem with where its placeholder begins, counted in characters from 1.
fn at(byte: usize, text: &str, problem: Problem) -> Problem {
    let position = text[..byte].chars().count() + 1;
    Problem { message: format!("{} (at character {position})", problem.message), ..problem }
}

fn not_closed(rest: &str, close: char) -> Problem {
    let shown: String = rest.chars().take(30).collect();
    Problem::new("syntax", shown, format!("the placeholder has no closing `{close}`"))
        .hint(format!("close it, or write `${}` for the plain characters", &rest[..2]))
}
