//! As much of Rust as is needed to see what a file uses: paths and texts, without comments.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A path in a file that leads to a floor.
#[derive(Debug)]
pub struct Used {
    pub line: usize,
    pub floor: String,
    pub item: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    /// `::`
    Colons,
    Other(char),
}

/// A file in tokens, each with its line.
pub struct Source {
    path: PathBuf,
    tokens: Vec<(usize, Token)>,
}

impl Source {
    pub fn read(path: &Path) -> Source {
        Source { path: path.to_owned(), tokens: tokens(&fs::read_to_string(path).unwrap()) }
    }

    fn word(&self, at: usize) -> Option<&str> {
        match self.tokens.get(at) {
            Some((_, Token::Word(word))) => Some(word),
            _ => None,
        }
    }

    fn is(&self, at: usize, token: &Token) -> bool {
        self.tokens.get(at).is_some_and(|(_, found)| found == token)
    }

    /// Floors that `crate::…` names, and `super::super::…` where it climbs out of its own.
    pub fn floors(&self, src: &Path) -> Vec<Used> {
        let depth = self.depth(src);
        let mut found = Vec::new();
        for at in 0..self.tokens.len() {
            let starts = at == 0 || !self.is(at - 1, &Token::Colons);
            if !starts {
                continue;
            }
            let mut next = at;
            if self.word(at) == Some("crate") {
                next += 1;
            } else {
                let mut climbed = 0;
                while self.word(next) == Some("super") && self.is(next + 1, &Token::Colons) {
                    climbed += 1;
                    next += 2;
                }
                if climbed < depth {
                    continue;
                }
                next -= 1;
            }
            if self.is(next, &Token::Colons) {
                self.named(next + 1, &mut found);
            }
        }
        found
    }

    /// How many `super` lead from this file to the root of the crate.
    fn depth(&self, src: &Path) -> usize {
        let inside = self.path.strip_prefix(src).unwrap();
        let parts = inside.components().count();
        if inside.file_name().is_some_and(|name| name == "mod.rs") { parts - 1 } else { parts }
    }

    /// What stands behind `crate::`: one path, or several in braces.
    fn named(&self, at: usize, found: &mut Vec<Used>) {
        if !self.is(at, &Token::Other('{')) {
            self.path_at(at, found);
            return;
        }
        let mut level = 0;
        for next in at..self.tokens.len() {
            match &self.tokens[next].1 {
                Token::Other('{') => level += 1,
                Token::Other('}') => level -= 1,
                Token::Word(_) if level == 1 && !self.is(next - 1, &Token::Colons) => {
                    self.path_at(next, found);
                }
                _ => {}
            }
            if level == 0 {
                return;
            }
        }
    }

    /// A floor and the items of it that are named.
    fn path_at(&self, at: usize, found: &mut Vec<Used>) {
        let (Some(floor), Some((line, _))) = (self.word(at), self.tokens.get(at)) else { return };
        let mut add = |item: Option<&str>, line: usize| {
            let item = item.map(str::to_owned);
            found.push(Used { line, floor: floor.to_owned(), item });
        };
        if !self.is(at + 1, &Token::Colons) {
            return add(None, *line);
        }
        if !self.is(at + 2, &Token::Other('{')) {
            return add(self.word(at + 2), *line);
        }
        let mut level = 0;
        for next in at + 2..self.tokens.len() {
            match &self.tokens[next] {
                (_, Token::Other('{')) => level += 1,
                (_, Token::Other('}')) => level -= 1,
                (line, Token::Word(word)) if level == 1 && !self.is(next - 1, &Token::Colons) => {
                    add(Some(word), *line);
                }
                _ => {}
            }
            if level == 0 {
                return;
            }
        }
    }

    /// Crates of this list that a path begins with.
    pub fn crates(&self, known: &BTreeSet<String>) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for (at, (line, token)) in self.tokens.iter().enumerate() {
            let Token::Word(word) = token else { continue };
            let starts = at == 0 || !self.is(at - 1, &Token::Colons);
            let leads = self.is(at + 1, &Token::Colons)
                || (at > 0 && self.word(at - 1) == Some("use"))
                || (at > 0 && self.word(at - 1) == Some("crate") && self.word(at) != Some("crate"));
            if starts && leads && known.contains(word) {
                found.push((*line, word.clone()));
            }
        }
        found
    }

    /// Texts in quotes outside of the file's own tests, which stand at its end.
    pub fn product_texts(&self) -> Vec<(usize, String)> {
        let tests = (0..self.tokens.len()).find(|at| {
            let words = ["cfg", "test", "mod"].map(|word| Token::Word(word.to_owned()));
            self.is(*at, &words[0]) && self.is(at + 2, &words[1]) && self.is(at + 5, &words[2])
        });
        let product = &self.tokens[..tests.unwrap_or(self.tokens.len())];
        let text = |(line, token): &(usize, Token)| match token {
            Token::Text(text) => Some((*line, text.clone())),
            _ => None,
        };
        product.iter().filter_map(text).collect()
    }
}

fn tokens(text: &str) -> Vec<(usize, Token)> {
    let chars: Vec<char> = text.chars().collect();
    let at = |index: usize| chars.get(index).copied().unwrap_or('\0');
    let (mut found, mut line, mut index) = (Vec::new(), 1, 0);
    while index < chars.len() {
        let began = (index, line);
        match at(index) {
            '/' if at(index + 1) == '/' => {
                while index < chars.len() && at(index) != '\n' {
                    index += 1;
                }
            }
            '/' if at(index + 1) == '*' => {
                let mut level = 0;
                while index < chars.len() {
                    match (at(index), at(index + 1)) {
                        ('/', '*') => (level, index) = (level + 1, index + 2),
                        ('*', '/') => (level, index) = (level - 1, index + 2),
                        _ => index += 1,
                    }
                    if level == 0 {
                        break;
                    }
                }
            }
            '"' => index = quoted(&chars, index, &mut found, line),
            'r' if raw(&chars, index).is_some() => {
                let hashes = raw(&chars, index).unwrap_or(0);
                let end: Vec<char> =
                    std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
                let from = index + 2 + hashes;
                let mut to = from;
                while to < chars.len() && !chars[to..].starts_with(&end) {
                    to += 1;
                }
                found.push((line, Token::Text(chars[from..to].iter().collect())));
                index = to + end.len();
            }
            // A character, and not a lifetime.
            '\'' if at(index + 1) == '\\' => {
                index += 3;
                while index < chars.len() && at(index) != '\'' {
                    index += 1;
                }
                index += 1;
            }
            '\'' if at(index + 2) == '\'' => index += 3,
            ':' if at(index + 1) == ':' => {
                found.push((line, Token::Colons));
                index += 2;
            }
            first if first.is_alphanumeric() || first == '_' => {
                while at(index).is_alphanumeric() || at(index) == '_' {
                    index += 1;
                }
                found.push((line, Token::Word(chars[began.0..index].iter().collect())));
            }
            other => {
                if !other.is_whitespace() {
                    found.push((line, Token::Other(other)));
                }
                index += 1;
            }
        }
        let index = index.min(chars.len());
        line += chars[began.0..index].iter().filter(|c| **c == '\n').count();
    }
    found
}

/// A text in plain quotes; where it ends.
fn quoted(chars: &[char], from: usize, found: &mut Vec<(usize, Token)>, line: usize) -> usize {
    let mut to = from + 1;
    while to < chars.len() && chars[to] != '"' {
        to += if chars[to] == '\\' { 2 } else { 1 };
    }
    let to = to.min(chars.len());
    found.push((line, Token::Text(chars[from + 1..to].iter().collect())));
    to + 1
}

/// Whether a raw text begins here, and with how many `#`.
fn raw(chars: &[char], from: usize) -> Option<usize> {
    let before = from.checked_sub(1).and_then(|index| chars.get(index));
    if before.is_some_and(|c| c.is_alphanumeric() || *c == '_') && before != Some(&'b') {
        return None;
    }
    let hashes = chars[from + 1..].iter().take_while(|c| **c == '#').count();
    (chars.get(from + 1 + hashes) == Some(&'"')).then_some(hashes)
}

#[test]
fn paths_are_found_in_every_form() {
    let text = r##"
        // use crate::comment;
        use crate::model::{self, Date, spec::Reader};
        use crate::{graph, engine::{RunMove, decide}};
        /* use crate::comment; /* nested */ */
        fn f<'a>(_: &'a str) -> crate::store::Store { let _ = ('"', "crate::text", r#"crate::raw"#); }
        use super::super::policy::retry;
    "##;
    let source = Source { path: "src/graph/deep.rs".into(), tokens: tokens(text) };
    let found: Vec<String> = (source.floors(Path::new("src")).iter())
        .map(|u| format!("{} {}::{}", u.line, u.floor, u.item.as_deref().unwrap_or("")))
        .collect();
    let wanted = [
        "3 model::self",
        "3 model::Date",
        "3 model::spec",
        "4 graph::",
        "4 engine::RunMove",
        "4 engine::decide",
        "6 store::Store",
        "7 policy::retry",
    ];
    assert_eq!(found, wanted);
    let texts: Vec<String> = source.product_texts().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["crate::text", "crate::raw"]);
}
