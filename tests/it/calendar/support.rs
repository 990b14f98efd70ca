//! Reading the case files, and times with an offset such as `2024-03-10T03:00:00-04:00`.

use mainspring::calendar::{Wall, Zone};
use mainspring::model::{Date, Instant};
use serde_json::Value;

/// One line of a case file.
pub struct Case {
    pub id: String,
    pub input: Value,
    pub expect: Value,
}

impl Case {
    pub fn text(&self, key: &str) -> &str {
        self.input[key].as_str().unwrap_or_else(|| panic!("{}: no text `{key}`", self.id))
    }

    pub fn instant(&self, key: &str) -> Instant {
        instant(self.text(key))
    }

    pub fn date(&self, key: &str) -> Date {
        Date::parse(self.text(key)).unwrap()
    }

    pub fn zone(&self) -> Zone {
        Zone::named(self.text("tz")).unwrap()
    }

    /// The code of the refusal that is expected.
    pub fn error(&self) -> Option<&str> {
        self.expect["error"].as_str()
    }

    pub fn check(&self, got: &Value) {
        assert_eq!(got, &self.expect, "{}: {}", self.id, self.input);
    }
}

/// The cases of one kind, from `tests/data/time`.
pub fn cases(kind: &str) -> Vec<Case> {
    let text = file(&format!("{kind}.jsonl"));
    let cases: Vec<Case> = text
        .lines()
        .map(|line| {
            let mut row: Value = serde_json::from_str(line).unwrap();
            Case {
                id: row["id"].as_str().unwrap().to_owned(),
                input: row["input"].take(),
                expect: row["expect"].take(),
            }
        })
        .collect();
    assert!(!cases.is_empty(), "no cases of kind {kind}");
    cases
}

pub fn file(name: &str) -> String {
    let path = format!("{}/tests/data/time/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Reads an instant with its offset, with or without a fraction.
pub fn instant(text: &str) -> Instant {
    let (local, offset) = text.split_at(text.len() - 6);
    let (local, fraction) = local.split_once('.').unwrap_or((local, "0"));
    let wall = Wall::parse(local).unwrap();
    let number = |t: &str| t.parse::<i64>().unwrap();
    let seconds = number(&offset[1..3]) * 3600 + number(&offset[4..6]) * 60;
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let micros = number(&format!("{fraction:0<6}"));
    Instant::from_secs(wall.0 - sign * seconds).plus_micros(micros)
}

/// An instant as the clocks of the zone show it, with the offset.
pub fn local(at: Instant, zone: &Zone) -> String {
    let offset = zone.offset(at);
    let sign = if offset < 0 { '-' } else { '+' };
    let minutes = offset.abs() / 60;
    format!("{}{sign}{:02}:{:02}", zone.wall(at), minutes / 60, minutes % 60)
}
