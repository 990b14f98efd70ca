//! Reads one JSON object field by field and notes everything that is wrong with it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub(super) use crate::model::json::printable;
use crate::model::json::{self, DEEPEST, LARGEST, kind_of, nearest, shown};
use crate::model::key::turns_text;
use crate::model::{Date, Problem, duration};

/// Problems shown of one definition; of further ones only the number is. A definition with more
/// was made by a program, and one fix will do.
const MOST: usize = 1_000;

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Problems {
    list: Vec<Problem>,
    left_out: usize,
}

impl Problems {
    pub fn push(&mut self, problem: Problem) {
        if self.list.len() < MOST {
            self.list.push(problem);
        } else {
            self.left_out += 1;
        }
    }

    pub fn into_list(mut self) -> Vec<Problem> {
        if self.left_out > 0 {
            let message = format!("{} further problems are not shown", self.left_out);
            self.list.push(Problem::new("too_many_problems", "", message));
        }
        self.list
    }
}

/// An object being read. A field that is missing or null is absent.
pub(super) struct Reader<'v, 'p> {
    map: &'v Map<String, Value>,
    /// Where the object stands, in the author's words.
    pub place: String,
    /// The file and line it was written at, if known.
    source: Option<&'v str>,
    problems: &'p mut Problems,
}

impl<'v, 'p> Reader<'v, 'p> {
    /// Opens an object whose fields are `known`; others are noted as `unknown_field`.
    pub fn open(
        value: &'v Value,
        place: &str,
        known: &[&'static str],
        source: Option<&'v str>,
        problems: &'p mut Problems,
    ) -> Option<Reader<'v, 'p>> {
        let Value::Object(map) = value else {
            let message = format!("expected an object, found {}", kind_of(value));
            problems.push(Problem::new("wrong_type", place, message));
            return None;
        };
        let mut reader = Reader { map, place: place.to_owned(), source, problems };
        for field in map.keys().filter(|field| !known.contains(&field.as_str())) {
            let place = reader.place_of(&printable(field));
            let message = format!("there is no field `{}`", printable(field));
            let problem = Problem::new("unknown_field", place, message);
            reader.push(match nearest(field, known.iter().copied()) {
                Some(like) => problem.hint(format!("did you mean `{like}`?")),
                None => problem,
            });
        }
        Some(reader)
    }

    /// A reader for something inside, which shares source and problems.
    pub fn inside<'w, 's>(
        &'s mut self,
        value: &'w Value,
        place: &str,
        known: &[&'static str],
    ) -> Option<Reader<'w, 's>>
    where
        'v: 'w,
    {
        Reader::open(value, place, known, self.source, self.problems)
    }

    /// The same for something that was written at a place of its own.
    pub fn inside_at<'w, 's>(
        &'s mut self,
        value: &'w Value,
        place: &str,
        known: &[&'static str],
        source: Option<&'w str>,
    ) -> Option<Reader<'w, 's>> {
        Reader::open(value, place, known, source, self.problems)
    }

    /// `flights.clean.retries` for `retries`.
    pub fn place_of(&self, field: &str) -> String {
        match self.place.as_str() {
            "" => field.to_owned(),
            place => format!("{place}.{field}"),
        }
    }

    /// Notes a problem, with the file and line if they are known.
    pub fn push(&mut self, problem: Problem) {
        self.problems.push(with_source(problem, self.source));
    }

    /// Notes a problem of a field.
    pub fn report(&mut self, field: &str, code: &'static str, message: impl Into<String>) {
        let problem = Problem::new(code, self.place_of(field), message);
        self.push(problem);
    }

    /// The same with what to do next.
    pub fn advise(
        &mut self,
        field: &str,
        code: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let problem = Problem::new(code, self.place_of(field), message).hint(hint);
        self.push(problem);
    }

    /// Takes what a check elsewhere said about a field.
    pub fn take<T>(&mut self, field: &str, checked: Result<T, Problem>) -> Option<T> {
        match checked {
            Ok(value) => Some(value),
            Err(mut problem) => {
                problem.place = self.place_of(field);
                self.push(problem);
                None
            }
        }
    }

    /// The field, unless it is missing or null.
    pub fn get(&self, field: &str) -> Option<&'v Value> {
        self.map.get(field).filter(|value| !value.is_null())
    }

    /// Whether the field is there and says "none" in so many words.
    pub fn is_null(&self, field: &str) -> bool {
        self.map.get(field).is_some_and(Value::is_null)
    }

    fn wrong_type(&mut self, field: &str, want: &str, found: &Value) {
        self.report(field, "wrong_type", format!("expected {want}, found {}", kind_of(found)));
    }

    /// Text as it stands.
    pub fn raw_text(&mut self, field: &str) -> Option<&'v str> {
        match self.get(field)? {
            Value::String(text) => Some(text),
            other => {
                self.wrong_type(field, "text", other);
                None
            }
        }
    }

    /// Text of one line, without characters that a terminal or a log would act upon.
    pub fn line(&mut self, field: &str, longest: usize) -> Option<String> {
        let text = self.raw_text(field)?;
        self.check_text(field, text, longest, |c| c.is_control() || turns_text(c))
    }

    /// Text of many lines.
    pub fn prose(&mut self, field: &str, longest: usize) -> Option<String> {
        let text = self.raw_text(field)?;
        self.check_text(field, text, longest, |c| {
            c.is_control() && !matches!(c, '\n' | '\r' | '\t')
        })
    }

    fn check_text(
        &mut self,
        field: &str,
        text: &str,
        longest: usize,
        bad: impl Fn(char) -> bool,
    ) -> Option<String> {
        let length = text.chars().count();
        if length > longest {
            let message = format!("the text has {length} characters, at most {longest} fit");
            self.report(field, "too_long", message);
            return None;
        }
        if let Some((position, c)) = (1..).zip(text.chars()).find(|(_, c)| bad(*c)) {
            let message =
                format!("character {position} is `{}`, which does not print", c.escape_unicode());
            self.report(field, "bad_text", message);
            return None;
        }
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// A whole number within bounds; true and false are not numbers.
    pub fn int(&mut self, field: &str, least: i64, most: i64) -> Option<i64> {
        let value = self.get(field)?;
        let Some(number) = value.as_i64() else {
            if value.is_number() && value.as_f64().is_some_and(|n| n.abs() > i64::MAX as f64) {
                self.report(field, "out_of_range", format!("{value} is not in {least} to {most}"));
            } else {
                self.wrong_type(field, "a whole number", value);
            }
            return None;
        };
        if number < least || number > most {
            self.report(field, "out_of_range", format!("{number} is not in {least} to {most}"));
            return None;
        }
        Some(number)
    }

    /// The same as a count.
    pub fn count(&mut self, field: &str, least: u32, most: u32) -> Option<u32> {
        self.int(field, i64::from(least), i64::from(most)).and_then(|n| u32::try_from(n).ok())
    }

    /// true or false.
    pub fn flag(&mut self, field: &str) -> Option<bool> {
        match self.get(field)? {
            Value::Bool(flag) => Some(*flag),
            other => {
                self.wrong_type(field, "true or false", other);
                None
            }
        }
    }

    /// A list; empty where the field is absent.
    pub fn list(&mut self, field: &str) -> &'v [Value] {
        match self.get(field) {
            None => &[],
            Some(Value::Array(items)) => items,
            Some(other) => {
                self.wrong_type(field, "a list", other);
                &[]
            }
        }
    }

    /// A list of texts, each with its place.
    pub fn texts(&mut self, field: &str) -> Vec<(String, &'v str)> {
        let mut texts = Vec::new();
        for (at, item) in self.list(field).iter().enumerate() {
            let field = format!("{field}[{at}]");
            match item {
                Value::String(text) => texts.push((field, text.as_str())),
                other => self.wrong_type(&field, "text", other),
            }
        }
        texts
    }

    /// An object of free content, up to a mebibyte of it.
    pub fn object(&mut self, field: &str) -> BTreeMap<String, Value> {
        let Some(value) = self.get(field) else { return BTreeMap::new() };
        let Value::Object(map) = value else {
            self.wrong_type(field, "an object", value);
            return BTreeMap::new();
        };
        let size = json::measure(value);
        if size.bytes > LARGEST {
            let message = format!("{} bytes of JSON, at most {LARGEST} fit", size.bytes);
            let hint = "pass a path or a key and let the task read the rest";
            self.advise(field, "too_large", message, hint);
            return BTreeMap::new();
        }
        map.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// A date.
    pub fn date(&mut self, field: &str) -> Option<Date> {
        let text = self.raw_text(field)?;
        self.take(field, Date::parse(text))
    }

    /// A duration under its plain name or with the suffix `_ms` or `_sec`. The inner none is a
    /// written null: no limit.
    pub fn duration(&mut self, [plain, ms, sec]: [&'static str; 3]) -> Option<Option<i64>> {
        let given: Vec<&str> =
            [plain, ms, sec].into_iter().filter(|field| self.get(field).is_some()).collect();
        if let [first, second, ..] = given[..] {
            let message = format!("`{first}` and `{second}` say the same thing");
            self.advise(second, "duplicate_field", message, "keep one of the two");
        }
        let Some(&field) = given.first() else {
            return [plain, ms, sec].iter().any(|field| self.is_null(field)).then_some(None);
        };
        let value = self.get(field)?;
        let scale = if field == ms { 1.0 } else { 1_000.0 };
        match value {
            Value::String(text) if field == plain => {
                self.take(field, duration::parse(text)).map(Some)
            }
            Value::Number(number) if field == plain => {
                // Nothing is nothing in every unit.
                if number.as_f64() == Some(0.0) {
                    return Some(Some(0));
                }
                let checked = duration::parse(&number.to_string());
                self.take(field, checked).map(Some)
            }
            Value::Number(number) => {
                let millis = number.as_f64().unwrap_or(f64::MAX) * scale;
                if millis.fract() != 0.0 {
                    self.report(field, "bad_duration", format!("{number} is not whole"));
                    return None;
                }
                // The cast stops at the ends of the type, which the bounds refuse.
                self.take(field, duration::check(millis as i64, &number.to_string())).map(Some)
            }
            other => {
                let want = if field == plain { "a duration such as \"30s\"" } else { "a number" };
                self.wrong_type(field, want, other);
                None
            }
        }
    }

    /// A word of a closed list, in any case.
    pub fn word<T>(
        &mut self,
        field: &str,
        code: &'static str,
        words: &[(&'static str, T)],
    ) -> Option<T>
    where
        T: Copy,
    {
        let text = self.raw_text(field)?;
        if let Some((_, word)) = words.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
            return Some(*word);
        }
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let message = format!("{} is not one of {}", shown(&Value::from(text)), names.join(", "));
        match nearest(text, names) {
            Some(like) => self.advise(field, code, message, format!("did you mean `{like}`?")),
            None => self.report(field, code, message),
        }
        None
    }
}

/// The problem with the file and line at the end of its message.
pub(crate) fn with_source(mut problem: Problem, source: Option<&str>) -> Problem {
    if let Some(source) = source.filter(|source| !source.is_empty()) {
        problem.message = format!("{} ({})", problem.message, printable(source));
    }
    problem
}

/// Whether the value is nested too deeply to be read at all.
pub(super) fn too_deep(value: &Value) -> Option<Problem> {
    let depth = json::measure(value).depth;
    (depth > DEEPEST).then(|| {
        Problem::new("too_deep", "", format!("{depth} levels of nesting, at most {DEEPEST} fit"))
    })
}
