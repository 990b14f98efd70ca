//! What an attempt prints: a file made at its first byte, and a short tail for the row.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::clock::Clock;
use super::files::{Files, private_folder};
use super::readable::readable;
use crate::model::{RunId, TaskRunId};

/// The tail that the row keeps.
const TAIL_LIMIT: usize = 8 * 1024;
/// A line is cut here, so that one without an end does not grow without bound.
const LINE_LIMIT: usize = 64 * 1024;

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
    target: Target,
    clock: Clock,
    state: Mutex<State>,
}

enum Target {
    /// A file of its own.
    File {
        files: Files,
        run: RunId,
        task_run: TaskRunId,
        attempt_no: u32,
        /// Where it is brought to.
        uri: Option<String>,
    },
    /// The standard streams of this process, which somebody else reads.
    Standard,
}

#[derive(Default)]
struct State {
    file: Option<File>,
    /// The file was made: an attempt that was given up may print more after its end was told.
    made: bool,
    /// A file that could not be made or written: output is then kept in the tail only.
    broken: Option<String>,
    written: u64,
    dropped: u64,
    /// Whole lines that are not in the file yet.
    pending: Vec<u8>,
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
        let target = Target::File { files: files.clone(), run, task_run, attempt_no, uri: None };
        LogSink { target, clock: clock.clone(), state: Mutex::default() }
    }

    /// The same, whose output is brought to a URI; the row of the attempt will say that.
    #[must_use]
    pub fn brought_to(mut self, place: Option<String>) -> Self {
        if let Target::File { uri, .. } = &mut self.target {
            *uri = place;
        }
        self
    }

    /// The log of an attempt that another process began: what that wrote stays.
    pub fn continued(
        files: &Files,
        clock: &Clock,
        run: RunId,
        task_run: TaskRunId,
        attempt_no: u32,
    ) -> Self {
        let sink = LogSink::new(files, clock, run, task_run, attempt_no);
        let size = sink.path().and_then(|path| std::fs::metadata(path).ok()).map(|file| file.len());
        {
            let mut state = sink.lock();
            state.made = size.is_some();
            state.written = size.unwrap_or(0);
        }
        sink
    }

    /// The standard streams of this process.
    pub fn standard(clock: &Clock) -> Self {
        LogSink { target: Target::Standard, clock: clock.clone(), state: Mutex::default() }
    }

    fn path(&self) -> Option<PathBuf> {
        match &self.target {
            Target::File { files, run, task_run, attempt_no, .. } => {
                Some(files.log(*run, *task_run, *attempt_no))
            }
            Target::Standard => None,
        }
    }

    /// Adds output; whole lines are written at once.
    pub fn write(&self, text: &[u8], stream: Stream) {
        if matches!(self.target, Target::Standard) {
            pass_on(text, stream);
            return;
        }
        let mut state = self.lock();
        let which = stream as usize;
        let mut rest = text;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            if state.open[which].is_empty() {
                self.line(&mut state, &rest[..end], stream);
            } else {
                let mut line = std::mem::take(&mut state.open[which]);
                line.extend_from_slice(&rest[..end]);
                self.line(&mut state, &line, stream);
            }
            rest = &rest[end + 1..];
        }
        state.open[which].extend_from_slice(rest);
        while state.open[which].len() > LINE_LIMIT {
            // Of a line that is written over and over only the last state is of interest.
            let over = state.open[which][..LINE_LIMIT].iter().rposition(|byte| *byte == b'\r');
            if let Some(over) = over.filter(|over| *over > 0) {
                state.open[which].drain(..over);
                continue;
            }
            let cut = whole_characters(&state.open[which][..LINE_LIMIT]);
            let rest = state.open[which].split_off(cut);
            let line = std::mem::replace(&mut state.open[which], rest);
            self.line(&mut state, &line, stream);
        }
        self.flush(&mut state);
    }

    /// Nothing is written for a while: ends the last lines and lets go of the file.
    pub fn pause(&self) {
        let mut state = self.lock();
        self.end_lines(&mut state);
        self.flush(&mut state);
        trim(&mut state.tail);
        state.file = None;
    }

    fn end_lines(&self, state: &mut State) {
        for stream in [Stream::Out, Stream::Err] {
            let line = std::mem::take(&mut state.open[stream as usize]);
            if !line.is_empty() {
                self.line(state, &line, stream);
            }
        }
    }

    /// Ends the last lines and says where the log is and how it ends.
    pub fn finish(&self) -> (Option<String>, Option<String>) {
        let mut state = self.lock();
        self.end_lines(&mut state);
        if state.dropped > 0 {
            let note = format!("mainspring: {} more bytes of output were left out", state.dropped);
            state.dropped = 0;
            state.written = 0;
            self.line(&mut state, note.as_bytes(), Stream::Err);
        }
        self.flush(&mut state);
        if let Some(why) = state.broken.clone() {
            let note = format!("mainspring: the log file could not be written: {why}");
            push_tail(&mut state.tail, note.as_bytes());
        }
        trim(&mut state.tail);
        let tail = (!state.tail.is_empty())
            .then(|| String::from_utf8_lossy(&state.tail).trim_end_matches('\n').to_owned());
        state.file = None;
        let path = if state.made { self.path() } else { None };
        let uri = match &self.target {
            Target::File { uri, .. } => uri.clone(),
            Target::Standard => None,
        };
        (path.map(|path| uri.unwrap_or_else(|| path.to_string_lossy().into_owned())), tail)
    }

    fn line(&self, state: &mut State, line: &[u8], stream: Stream) {
        let limit = match &self.target {
            Target::File { files, .. } => files.logs.limit,
            Target::Standard => u64::MAX,
        };
        let full = state.written >= limit;
        let text = readable(line);
        push_tail(&mut state.tail, text.as_bytes());
        if state.broken.is_some() {
            return;
        }
        if full {
            state.dropped += line.len() as u64 + 1;
            return;
        }
        let tag = match stream {
            Stream::Out => 'O',
            Stream::Err => 'E',
        };
        let before = state.pending.len();
        // Writing to memory does not fail.
        let _ = writeln!(state.pending, "{} {tag} {text}", self.clock.now());
        state.written += (state.pending.len() - before) as u64;
    }

    /// Writes what is pending; only then more is taken from whoever prints it.
    fn flush(&self, state: &mut State) {
        if state.pending.is_empty() {
            return;
        }
        let pending = std::mem::take(&mut state.pending);
        if let Err(error) = self.append(state, &pending) {
            state.broken = Some(error.to_string());
        }
        // The same memory again, unless it was much.
        if pending.capacity() <= 4 * LINE_LIMIT {
            state.pending = pending;
            state.pending.clear();
        }
    }

    fn append(&self, state: &mut State, text: &[u8]) -> std::io::Result<()> {
        if state.file.is_none()
            && let Some(path) = self.path()
        {
            if let Some(folder) = path.parent() {
                private_folder(folder)?;
            }
            self.mark()?;
            state.file = Some(match state.made {
                true => File::options().append(true).open(&path)?,
                false => File::create(&path)?,
            });
            state.made = true;
        }
        match state.file.as_mut() {
            Some(file) => file.write_all(text),
            None => Ok(()),
        }
    }

    /// Before something is written it is said where that goes: a crash in between forgets nothing.
    /// A mark that is there is left: whoever brings the file keeps in it how far he is.
    fn mark(&self) -> std::io::Result<()> {
        let Target::File { files, run, task_run, attempt_no, uri: Some(uri) } = &self.target else {
            return Ok(());
        };
        let mark = files.log_mark(*run, *task_run, *attempt_no);
        if mark.exists() {
            return Ok(());
        }
        if let Some(folder) = mark.parent() {
            private_folder(folder)?;
        }
        std::fs::write(mark, format!("{uri}\n"))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes to a standard stream. Where nobody reads it any more, nobody misses it.
fn pass_on(text: &[u8], stream: Stream) {
    let _ = match stream {
        Stream::Out => {
            let mut out = std::io::stdout().lock();
            out.write_all(text).and_then(|()| out.flush())
        }
        Stream::Err => std::io::stderr().lock().write_all(text),
    };
}

/// How much of this is whole characters, where its end may cut one.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes.get(bytes.len().saturating_sub(4)..).unwrap_or_default()) {
        Ok(_) => bytes.len(),
        // The last four bytes may begin within a character; only their end matters.
        Err(_) => {
            let lead = bytes.iter().rposition(|byte| byte & 0b1100_0000 != 0b1000_0000);
            match lead.filter(|lead| bytes.len() - lead < 4) {
                Some(lead) if width(bytes[lead]) > bytes.len() - lead && lead > 0 => lead,
                _ => bytes.len(),
            }
        }
    }
}

/// How many bytes a character has that begins with this one.
fn width(lead: u8) -> usize {
    match lead {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF7 => 4,
        _ => 1,
    }
}

/// Adds a line, and from time to time forgets the oldest ones.
fn push_tail(tail: &mut Vec<u8>, line: &[u8]) {
    let line = &line[line.len().saturating_sub(TAIL_LIMIT - 1)..];
    tail.extend_from_slice(line);
    tail.push(b'\n');
    if tail.len() > 8 * TAIL_LIMIT {
        trim(tail);
    }
}

/// Forgets what is beyond the limit: whole lines, where more than one is left.
fn trim(tail: &mut Vec<u8>) {
    let Some(excess) = tail.len().checked_sub(TAIL_LIMIT).filter(|excess| *excess > 0) else {
        return;
    };
    let end = tail[excess..].iter().position(|byte| *byte == b'\n').map(|at| excess + at + 1);
    let cut = end.filter(|end| *end < tail.len()).unwrap_or(excess);
    tail.drain(..cut);
}
