//! What an attempt prints: a file made at its first byte, and a short tail for the row.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::clock::Clock;
use super::files::{Files, private_folder};
use crate::model::{RunId, TaskRunId};

/// The tail that the row keeps.
const TAIL_LIMIT: usize = 8 * 1024;
/// What the file may hold; the rest is counted and left out.
const FILE_LIMIT: u64 = 64 * 1024 * 1024;

/// Where a line came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error and logging.
    Err,
}

/// The output of one attempt. Each line in the file is `<instant> <O|E> <text>`.
pub struct LogSink {
    files: Files,
    run: RunId,
    task_run: TaskRunId,
    attempt_no: u32,
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    file: Option<File>,
    /// A file that could not be made or written: output is then kept in the tail only.
    broken: Option<String>,
    written: u64,
    dropped: u64,
    tail: Vec<u8>,
    /// The unfinished line of each stream.
    open: [Vec<u8>; 2],
}

impl LogSink {
    /// Nothing is made before the first byte.
    pub fn new(
        files: &Files,
        clock: &Clock,
        run: RunId,
        task_run: TaskRunId,
        attempt_no: u32,
    ) -> Self {
        let (files, clock, state) = (files.clone(), clock.clone(), Mutex::default());
        LogSink { files, run, task_run, attempt_no, clock, state }
    }

    fn path(&self) -> PathBuf {
        self.files.log(self.run, self.task_run, self.attempt_no)
    }

    /// Adds output; whole lines are written at once.
    pub fn write(&self, text: &[u8], stream: Stream) {
        let mut state = self.lock();
        let which = stream as usize;
        let mut rest = text;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let mut line = std::mem::take(&mut state.open[which]);
            line.extend_from_slice(&rest[..end]);
            self.line(&mut state, &line, stream);
            rest = &rest[end + 1..];
        }
        state.open[which].extend_from_slice(rest);
        // A line without an end must not grow without bound.
        if state.open[which].len() > TAIL_LIMIT * 8 {
            let line = std::mem::take(&mut state.open[which]);
            self.line(&mut state, &line, stream);
        }
    }

    /// Ends the last lines and says where the log is and how it ends.
    pub fn finish(&self) -> (Option<String>, Option<String>) {
        let mut state = self.lock();
        for stream in [Stream::Out, Stream::Err] {
            let line = std::mem::take(&mut state.open[stream as usize]);
            if !line.is_empty() {
                self.line(&mut state, &line, stream);
            }
        }
        if state.dropped > 0 {
            let note = format!("mainspring: {} more bytes of output were left out", state.dropped);
            state.dropped = 0;
            state.written = 0;
            self.line(&mut state, note.as_bytes(), Stream::Err);
        }
        if let Some(why) = state.broken.clone() {
            let note = format!("mainspring: the log file could not be written: {why}");
            push_tail(&mut state.tail, note.as_bytes());
        }
        let tail = (!state.tail.is_empty())
            .then(|| String::from_utf8_lossy(&state.tail).trim_end_matches('\n').to_owned());
        let uri = state.file.take().map(|_| self.path().to_string_lossy().into_owned());
        (uri, tail)
    }

    fn line(&self, state: &mut State, line: &[u8], stream: Stream) {
        push_tail(&mut state.tail, line);
        if state.broken.is_some() {
            return;
        }
        if state.written >= FILE_LIMIT {
            state.dropped += line.len() as u64;
            return;
        }
        let tag = match stream {
            Stream::Out => 'O',
            Stream::Err => 'E',
        };
        // Bytes that are not UTF-8 stay readable: each becomes a replacement character.
        let text = format!("{} {tag} {}\n", self.clock.now(), String::from_utf8_lossy(line));
        match self.append(state, text.as_bytes()) {
            Ok(()) => state.written += text.len() as u64,
            Err(error) => state.broken = Some(error.to_string()),
        }
    }

    fn append(&self, state: &mut State, text: &[u8]) -> std::io::Result<()> {
        if state.file.is_none() {
            let path = self.path();
            if let Some(folder) = path.parent() {
                private_folder(folder)?;
            }
            state.file = Some(File::create(&path)?);
        }
        match state.file.as_mut() {
            Some(file) => file.write_all(text),
            None => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds a line and forgets the oldest ones beyond the limit.
fn push_tail(tail: &mut Vec<u8>, line: &[u8]) {
    let line = &line[line.len().saturating_sub(TAIL_LIMIT - 1)..];
    tail.extend_from_slice(line);
    tail.push(b'\n');
    if tail.len() > TAIL_LIMIT {
        let excess = tail.len() - TAIL_LIMIT;
        // Cut at a line's end where there is one.
        let cut = tail[excess..]
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(excess, |at| excess + at + 1);
        tail.drain(
            ..cut.min(tail.len().saturating_sub(line.len() + 1)).max(excess.min(tail.len())),
        );
    }
}
