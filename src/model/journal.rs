//! The journal: every arrow taken, with its time and reason, packed to a few bytes each.
//!
//! One packed row holds what one commit did to one run. Folding the entries of a run gives the
//! state of each of its task runs; `db verify` does so.

use super::{Instant, Outcome, State, TaskRunId};

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A task run took an arrow.
    Moved {
        /// Which.
        task_run: TaskRunId,
        /// From where.
        from: State,
        /// To where.
        to: State,
        /// Started attempts by then.
        attempt_no: u32,
        /// When.
        when: Instant,
        /// Why, in a code, if there is one.
        code: Option<String>,
    },
    /// A report was refused: it came late, or from another attempt than the current one.
    Late {
        /// Of which task run.
        task_run: TaskRunId,
        /// What it said.
        outcome: Outcome,
        /// Which attempt it claimed to be.
        attempt_no: u32,
        /// When it came.
        when: Instant,
    },
}

/// A packed row that cannot be read: damaged, or of a newer version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a journal row cannot be read at byte {at}: {reason}")]
pub struct Unreadable {
    /// Where.
    pub at: usize,
    /// Why.
    pub reason: &'static str,
}

const VERSION: u8 = 1;
/// In place of the byte of two states: a late report.
const LATE: u8 = 0xff;

/// Packs what one commit did to the run whose first task run is `first`.
pub fn pack(first: TaskRunId, entries: &[Entry]) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 + entries.len() * 8);
    out.push(VERSION);
    let mut last = 0i64;
    for entry in entries {
        let (tag, task_run, attempt_no, when) = match entry {
            Entry::Moved { task_run, from, to, attempt_no, when, .. } => {
                (from.code() << 4 | to.code(), *task_run, *attempt_no, *when)
            }
            Entry::Late { task_run, attempt_no, when, .. } => (LATE, *task_run, *attempt_no, *when),
        };
        out.push(tag);
        signed(&mut out, task_run.0.wrapping_sub(first.0));
        unsigned(&mut out, u64::from(attempt_no));
        // Times of one commit lie close together: store the step.
        signed(&mut out, when.0.wrapping_sub(last));
        last = when.0;
        match entry {
            Entry::Moved { code, .. } => {
                let code = code.as_deref().unwrap_or("").as_bytes();
                unsigned(&mut out, code.len() as u64);
                out.extend_from_slice(code);
            }
            Entry::Late { outcome, .. } => out.push(outcome.code()),
        }
    }
    out
}

/// Reads a packed row of the run whose first task run is `first`.
///
/// # Errors
/// `Unreadable` where the bytes are not what `pack` writes.
pub fn unpack(first: TaskRunId, bytes: &[u8]) -> Result<Vec<Entry>, Unreadable> {
    let mut reader = Reader { bytes, at: 0 };
    if reader.byte()? != VERSION {
        return Err(Unreadable { at: 0, reason: "its version is not known" });
    }
    let mut entries = Vec::new();
    let mut last = 0i64;
    while reader.at < bytes.len() {
        let tag = reader.byte()?;
        let task_run = TaskRunId(first.0.wrapping_add(reader.signed()?));
        let attempt_no = u32::try_from(reader.unsigned()?)
            .map_err(|_| Unreadable { at: reader.at, reason: "an attempt number is too large" })?;
        last = last.wrapping_add(reader.signed()?);
        let when = Instant(last);
        entries.push(if tag == LATE {
            let outcome = Outcome::from_code(reader.byte()?)
                .ok_or(Unreadable { at: reader.at, reason: "an outcome is not known" })?;
            Entry::Late { task_run, outcome, attempt_no, when }
        } else {
            let state = |code| {
                State::from_code(code)
                    .ok_or(Unreadable { at: reader.at, reason: "a state is not known" })
            };
            let (from, to) = (state(tag >> 4)?, state(tag & 15)?);
            let code = reader.text()?;
            Entry::Moved { task_run, from, to, attempt_no, when, code }
        });
    }
    Ok(entries)
}

fn unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Small numbers of either sign take few bytes.
fn signed(out: &mut Vec<u8>, value: i64) {
    unsigned(out, ((value << 1) ^ (value >> 63)) as u64);
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Result<u8, Unreadable> {
        let byte = self.bytes.get(self.at).copied();
        self.at += 1;
        byte.ok_or(Unreadable { at: self.at, reason: "it ends too early" })
    }

    fn unsigned(&mut self) -> Result<u64, Unreadable> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Unreadable { at: self.at, reason: "a number is too long" })
    }

    fn signed(&mut self) -> Result<i64, Unreadable> {
        let value = self.unsigned()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn text(&mut self) -> Result<Option<String>, Unreadable> {
        let len = usize::try_from(self.unsigned()?).unwrap_or(usize::MAX);
        let end = self.at.saturating_add(len);
        let bytes = self
            .bytes
            .get(self.at..end)
            .ok_or(Unreadable { at: self.at, reason: "it ends too early" })?;
        self.at = end;
        match std::str::from_utf8(bytes) {
            Ok("") => Ok(None),
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err(Unreadable { at: self.at, reason: "a code is not text" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        let when = Instant(1_700_000_000_000_000);
        vec![
            Entry::Moved {
                task_run: TaskRunId(7),
                from: State::Pending,
                to: State::Ready,
                attempt_no: 0,
                when,
                code: None,
            },
            Entry::Moved {
                task_run: TaskRunId(10_006),
                from: State::Running,
                to: State::RetryWait,
                attempt_no: 300,
                when: Instant(when.0 - 5),
                code: Some("EXIT_1".into()),
            },
            Entry::Late {
                task_run: TaskRunId(6),
                outcome: Outcome::Lost,
                attempt_no: 1,
                when: Instant(i64::MIN),
            },
        ]
    }

    #[test]
    fn what_is_packed_is_read_back() {
        let packed = pack(TaskRunId(7), &entries());
        assert_eq!(unpack(TaskRunId(7), &packed).unwrap(), entries());
    }

    #[test]
    fn damage_is_an_error_and_never_a_panic() {
        let packed = pack(TaskRunId(7), &entries());
        for cut in 0..packed.len() {
            let _ = unpack(TaskRunId(7), &packed[..cut]);
        }
        for at in 0..packed.len() {
            for flip in 0..=255u8 {
                let mut bytes = packed.clone();
                bytes[at] ^= flip;
                let _ = unpack(TaskRunId(7), &bytes);
            }
        }
        assert!(unpack(TaskRunId(7), &[]).is_err());
        assert!(unpack(TaskRunId(7), &[2]).is_err());
    }
}
