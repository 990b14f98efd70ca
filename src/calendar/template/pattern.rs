//! Date formats: `yyyyMMdd` as Java writes them, `%Y%m%d` as Python does.
//!
//! Letters that are wrong on a few days of the year only are refused: in Java `YYYY` is the year
//! of the week, `DD` the day of the year and `hh` a clock of twelve hours.

use std::fmt::Write as _;

use crate::calendar::dates;
use crate::calendar::wall::Wall;
use crate::model::Problem;

/// A format that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Pattern(Vec<Piece>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    Text(String),
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    DayOfYear,
    WeekYear,
    Week,
    /// `+08:00`, or `+0800` without the colon.
    Offset {
        colon: bool,
    },
}

/// Longest format in bytes.
const MAX_PATTERN: usize = 200;

impl Pattern {
    /// ISO date.
    pub(super) fn date() -> Pattern {
        let dash = || Piece::Text("-".into());
        Pattern(vec![Piece::Year, dash(), Piece::Month, dash(), Piece::Day])
    }

    /// ISO date, time and offset.
    pub(super) fn instant() -> Pattern {
        let text = |t: &str| Piece::Text(t.into());
        let mut pieces = Pattern::date().0;
        pieces.extend([text("T"), Piece::Hour, text(":"), Piece::Minute, text(":"), Piece::Second]);
        pieces.push(Piece::Offset { colon: true });
        Pattern(pieces)
    }

    /// Reads a format of either kind; a `%` makes it Python's.
    pub(super) fn parse(text: &str) -> Result<Pattern, Problem> {
        if text.is_empty() {
            return Err(Problem::new("syntax", "", "the date format is empty")
                .hint("write one such as yyyyMMdd"));
        }
        if text.len() > MAX_PATTERN {
            return Err(Problem::new("too_long", "", "the date format is too long"));
        }
        if text.contains('%') { percent(text) } else { letters(text) }
    }

    /// Whether it writes anything of the date or time.
    pub(super) fn has_letters(&self) -> bool {
        self.0.iter().any(|piece| !matches!(piece, Piece::Text(_)))
    }

    pub(super) fn format(&self, wall: Wall, offset: i64) -> String {
        let (year, month, day) = wall.date().ymd();
        let (hour, minute, second) = wall.hms();
        let mut out = String::new();
        for piece in &self.0 {
            // Writing to a string cannot fail.
            let _ = match piece {
                Piece::Text(text) => out.write_str(text),
                Piece::Year => write!(out, "{year:04}"),
                Piece::Month => write!(out, "{month:02}"),
                Piece::Day => write!(out, "{day:02}"),
                Piece::Hour => write!(out, "{hour:02}"),
                Piece::Minute => write!(out, "{minute:02}"),
                Piece::Second => write!(out, "{second:02}"),
                Piece::DayOfYear => write!(out, "{:03}", dates::day_of_year(wall.date())),
                Piece::WeekYear => write!(out, "{:04}", dates::iso_week(wall.date()).0),
                Piece::Week => write!(out, "{:02}", dates::iso_week(wall.date()).1),
                Piece::Offset { colon } => {
                    let sign = if offset < 0 { '-' } else { '+' };
                    let minutes = offset.abs() / 60;
                    let colon = if *colon { ":" } else { "" };
                    write!(out, "{sign}{:02}{colon}{:02}", minutes / 60, minutes % 60)
                }
            };
        }
        out
    }
}

/// Java's letters, quoted text, punctuation.
fn letters(text: &str) -> Result<Pattern, Problem> {
    let mut pieces = vec![];
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c == '\'' {
            let Some(end) = rest[1..].find('\'') else {
                return Err(Problem::new("syntax", "", "a quote in the date format is not closed"));
            };
            // Two quotes are one, as in Java.
            let quoted = if end == 0 { "'" } else { &rest[1..=end] };
            pieces.push(Piece::Text(quoted.to_owned()));
            rest = &rest[end + 2..];
            continue;
        }
        if !c.is_alphabetic() {
            pieces.push(Piece::Text(c.to_string()));
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let run = rest.find(|other| other != c).unwrap_or(rest.len());
        let (run, after) = rest.split_at(run);
        rest = after;
        pieces.push(match run {
            "yyyy" => Piece::Year,
            "MM" => Piece::Month,
            "dd" => Piece::Day,
            "HH" => Piece::Hour,
            "mm" => Piece::Minute,
            "ss" => Piece::Second,
            "XXX" => Piece::Offset { colon: true },
            "XX" => Piece::Offset { colon: false },
            _ => return Err(unknown_letters(run)),
        });
    }
    Ok(Pattern(pieces))
}

fn unknown_letters(run: &str) -> Problem {
    let shown: String = run.chars().take(10).collect();
    let problem =
        Problem::new("syntax", "", format!("`{shown}` does not belong into a date format"));
    match run.chars().next() {
        Some('Y') => problem.hint("YYYY is the year of the week; write yyyy"),
        Some('D') => problem.hint("DD is the day of the year; write dd"),
        Some('h') => problem.hint("hh is a clock of twelve hours; write HH"),
        _ => problem.hint("known: yyyy MM dd HH mm ss XXX, other text in single quotes"),
    }
}

/// Python's letters behind a `%`; everything else stands for itself.
fn percent(text: &str) -> Result<Pattern, Problem> {
    let mut pieces = vec![];
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            pieces.push(Piece::Text(c.to_string()));
            continue;
        }
        let letter = chars.next();
        match letter {
            Some('Y') => pieces.push(Piece::Year),
            Some('m') => pieces.push(Piece::Month),
            Some('d') => pieces.push(Piece::Day),
            Some('H') => pieces.push(Piece::Hour),
            Some('M') => pieces.push(Piece::Minute),
            Some('S') => pieces.push(Piece::Second),
            Some('j') => pieces.push(Piece::DayOfYear),
            Some('G') => pieces.push(Piece::WeekYear),
            Some('V') => pieces.push(Piece::Week),
            Some('z') => pieces.push(Piece::Offset { colon: false }),
            Some('F') => pieces.extend(Pattern::date().0),
            Some('%') => pieces.push(Piece::Text("%".into())),
            _ => {
                let shown = letter.map(String::from).unwrap_or_default();
                let message = format!("`%{shown}` does not belong into a date format");
                return Err(Problem::new("syntax", "", message)
                    .hint("known: %Y %m %d %H %M %S %j %F %G %V %z %%"));
            }
        }
    }
    Ok(Pattern(pieces))
}
