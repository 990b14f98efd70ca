//! What became of each cell of a task, and what a plan says of it.

use crate::model::{Instant, PastCell, State, TaskVersionId, Why};

use super::spans::Spans;

/// How a cell stands, whatever is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// There is no task run.
    Absent,
    /// It was canceled, or is BLOCKED and nothing can move it.
    Stopped,
    /// It failed.
    Failed,
    /// It succeeded with another content of its task.
    OldVersion,
    /// It succeeded before an upstream of it did.
    OldUpstream,
    /// It succeeded.
    Fresh,
    /// A task run of it is open.
    Open,
}

/// How its newest task run ended, if it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// There is none.
    Never,
    /// Well.
    Success,
    /// It did not have to run.
    Skipped,
    /// Badly.
    Failed,
    /// Before it could.
    Stopped,
    /// It is open.
    Open,
}

/// A cell. There may be a million of them, so it is small.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// The run; 0 for none.
    pub run: i64,
    /// When it became final.
    pub finished: i64,
    /// Transitions of its task run.
    pub revision: u32,
    /// Which of the versions of its sheet it used.
    pub version: u16,
    /// How it ended.
    pub ended: Ended,
    /// Whether it is marked stale.
    pub stale: bool,
    /// Whether it is good as it is, but for what it depends on.
    pub keep: bool,
    why: u8,
}

/// Nothing is said of a cell.
const NOTHING: u8 = u8::MAX;

impl Cell {
    const NONE: Cell = Cell {
        run: 0,
        finished: i64::MIN,
        revision: 0,
        version: 0,
        ended: Ended::Never,
        stale: false,
        keep: false,
        why: NOTHING,
    };

    /// Whether it is computed.
    pub fn is_in(&self) -> bool {
        self.why < 16
    }

    /// Whether it is shown.
    pub fn is_shown(&self) -> bool {
        self.why != NOTHING
    }

    /// What is said of it.
    pub fn why(&self) -> Option<Why> {
        Why::from_code(self.why)
    }

    /// The code of that, 255 for nothing.
    pub fn why_code(&self) -> u8 {
        self.why
    }
}

/// The cells of a task, by the fires of its timeline.
#[derive(Clone, Debug, Default)]
pub struct Sheet {
    cells: Vec<Cell>,
    /// Dates whose task runs were read.
    pub read: Spans,
    /// Versions that its task runs used.
    pub versions: Vec<TaskVersionId>,
    /// For each of those, whether its content is that of the active one, and of the other one that
    /// is out.
    pub same: Vec<(bool, bool)>,
}

impl Sheet {
    /// A cell.
    pub fn get(&self, fire: u32) -> Cell {
        self.cells.get(fire as usize).copied().unwrap_or(Cell::NONE)
    }

    /// Says something of a cell.
    pub fn say(&mut self, fire: u32, why: Why) {
        self.grow(fire + 1);
        if let Some(cell) = self.cells.get_mut(fire as usize) {
            cell.why = why.code();
        }
    }

    /// A cell is good as it is, but for what it depends on.
    pub fn keep(&mut self, fire: u32) {
        self.grow(fire + 1);
        if let Some(cell) = self.cells.get_mut(fire as usize) {
            cell.keep = true;
        }
    }

    /// Makes room for so many fires.
    pub fn grow(&mut self, fires: u32) {
        if self.cells.len() < fires as usize {
            // As many as there are, and not twice as many.
            self.cells.reserve_exact(fires as usize - self.cells.len());
            self.cells.resize(fires as usize, Cell::NONE);
        }
    }

    /// A task run of a cell; the newest run counts.
    pub fn put(&mut self, fire: u32, past: &PastCell) {
        let version = self.versions.iter().position(|known| *known == past.version);
        let version = version.unwrap_or_else(|| {
            self.versions.push(past.version);
            self.versions.len() - 1
        });
        let Some(cell) = self.cells.get_mut(fire as usize) else { return };
        if past.run.0 < cell.run {
            return;
        }
        *cell = Cell {
            run: past.run.0,
            finished: past.finished_at.unwrap_or(Instant(i64::MIN)).0,
            revision: past.revision,
            version: u16::try_from(version).unwrap_or(u16::MAX),
            ended: ended(past),
            stale: past.stale,
            keep: cell.keep,
            why: cell.why,
        };
    }

    /// The cells of which something is said.
    pub fn shown(&self) -> impl Iterator<Item = (u32, &Cell)> {
        (0u32..).zip(&self.cells).filter(|(_, cell)| cell.is_shown())
    }
}

fn ended(past: &PastCell) -> Ended {
    match past.state {
        State::Success => Ended::Success,
        State::Skipped if past.disabled => Ended::Stopped,
        State::Skipped => Ended::Skipped,
        State::Failed | State::Timeout => Ended::Failed,
        State::Canceled => Ended::Stopped,
        State::Blocked if !past.live => Ended::Stopped,
        State::Blocked | State::Pending | State::Ready | State::Running | State::RetryWait => {
            Ended::Open
        }
    }
}
