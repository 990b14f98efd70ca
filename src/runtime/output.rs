//! The beginning of what an attempt left in files, for edges that look for a pattern in it.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

use crate::engine::LONGEST_TEXT;

/// The beginning of a result that is in a file. None where it cannot be read: then nothing matches.
pub fn result_head(path: &Path) -> Option<Arc<str>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LONGEST_TEXT as u64).read_to_end(&mut bytes).ok()?;
    // The last character may be cut in two.
    let whole = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(bytes.get(..error.valid_up_to())?).ok()?,
    };
    Some(whole.into())
}

/// What a log has of standard output, without the times of its lines.
pub fn stdout_head(path: &Path) -> Option<Arc<str>> {
    let mut text = String::new();
    for line in BufReader::new(File::open(path).ok()?).lines() {
        // Lines are `<instant> <O|E> <text>`, made of readable text.
        let line = line.ok()?;
        let printed = line.split_once(' ').and_then(|(_, rest)| rest.strip_prefix("O "));
        if let Some(printed) = printed {
            text.push_str(printed);
            text.push('\n');
        }
        if text.len() >= LONGEST_TEXT {
            break;
        }
    }
    Some(text.into())
}
