//! Bytes that a program printed, as a line of text that can be read.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A line as it is kept. Bytes that are not UTF-8, and NUL, become `\xff`, so that they can be
/// told from what was printed as text; of a line that was written over with carriage returns,
/// as progress bars do, what was there at last.
pub fn readable(line: &[u8]) -> Cow<'_, str> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = match line.contains(&b'\r') {
        true => line.split(|byte| *byte == b'\r').rfind(|part| !part.is_empty()).unwrap_or(b""),
        false => line,
    };
    match std::str::from_utf8(line) {
        Ok(text) if !text.contains('\0') => Cow::Borrowed(text),
        _ => Cow::Owned(escaped(line)),
    }
}

fn escaped(line: &[u8]) -> String {
    let mut text = String::with_capacity(line.len() + 16);
    for chunk in line.utf8_chunks() {
        for (at, part) in chunk.valid().split('\0').enumerate() {
            if at > 0 {
                text.push_str("\\x00");
            }
            text.push_str(part);
        }
        for byte in chunk.invalid() {
            // Writing to a string does not fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}
