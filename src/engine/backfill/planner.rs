//! Which cells a plan computes, and why; and why not the others.

use std::collections::BTreeSet;

use super::super::takes;
use super::board::Board;
use super::facts::{Facts, Past};
use super::sheet::{Ended, Sheet, Standing};
use super::{LIMIT, Refused, trouble};
use crate::model::{BackfillAsk, Date, Instant, Only, TaskDef, Why};

/// So many days of one task are read at once where nobody knows how many will be needed.
const BLOCK: i32 = 32;

/// An edge of a task, the date from which it was looked at, and the first and last end it saw.
type Seen = ((u32, usize, Date), (i64, i64));

/// A plan that is being made.
pub struct Planner<'a, P: Past> {
    /// Who looks at whom.
    pub board: Board,
    /// What became of the cells of each task.
    pub sheets: Vec<Sheet>,
    /// What is asked.
    pub ask: &'a BackfillAsk,
    /// What is registered.
    pub facts: &'a Facts,
    /// The tasks that are asked for.
    pub asked: Vec<u32>,
    /// Dates of the range without a fire, by timeline.
    pub empty: Vec<(usize, Date, Why)>,
    /// The instant of the question.
    pub now: Instant,
    /// Planned cells from which nobody has looked on yet.
    pub fresh: Vec<(u32, u32)>,
    past: &'a mut P,
    /// The newest end that an edge of a task saw, for the date that was looked at last.
    seen: Option<Seen>,
    shown: usize,
}

impl<'a, P: Past> Planner<'a, P> {
    /// Lays out what there is.
    pub fn new(
        facts: &'a Facts,
        ask: &'a BackfillAsk,
        past: &'a mut P,
        now: Instant,
    ) -> Result<Planner<'a, P>, Refused<P::Error>> {
        let board = Board::new(facts)?;
        let sheets = vec![Sheet::default(); board.nodes.len()];
        let asked = trouble::asked_tasks(&board, facts, ask)?;
        Ok(Planner {
            board,
            sheets,
            ask,
            facts,
            asked,
            empty: Vec::new(),
            now,
            fresh: Vec::new(),
            past,
            seen: None,
            shown: 0,
        })
    }

    /// Judges each cell of what is asked for.
    pub fn judge(&mut self) -> Result<(), Refused<P::Error>> {
        let (from, to) = (self.ask.from, self.ask.to);
        trouble::check_size(&self.board, self.ask, &self.asked)?;
        let timelines: BTreeSet<usize> =
            self.asked.iter().map(|task| self.board.nodes[*task as usize].timeline).collect();
        for timeline in timelines {
            let times = &mut self.board.timelines[timeline];
            times.ensure(from, to);
            for date in (from.0..=to.0).map(Date) {
                if times.known(date) == (0, 0) {
                    let early = times.is_before_start(date);
                    let why = if early { Why::BeforeStart } else { Why::NotExpected };
                    self.empty.push((timeline, date, why));
                }
            }
        }
        for task in self.asked.clone() {
            self.read_ahead(task, from, to)?;
            let timeline = self.board.nodes[task as usize].timeline;
            let dates: Vec<_> = self.board.timelines[timeline].range(from, to).collect();
            for (_, (first, end)) in dates {
                for fire in first..end {
                    let why = self.why(task, fire)?;
                    self.say(task, fire, why)?;
                }
            }
        }
        Ok(())
    }

    /// Says something of a cell.
    pub fn say(&mut self, task: u32, fire: u32, why: Why) -> Result<(), Refused<P::Error>> {
        let sheet = &mut self.sheets[task as usize];
        if !sheet.get(fire).is_shown() {
            self.shown += 1;
            if self.shown > LIMIT {
                return Err(trouble::grew_too_large(self.ask).into());
            }
        }
        sheet.say(fire, why);
        if why.is_in() && (self.ask.upstream || self.ask.downstream) {
            self.fresh.push((task, fire));
        }
        Ok(())
    }

    /// Why a cell cannot be computed, whatever is asked for.
    pub fn hindered(&mut self, task: u32, fire: u32) -> Result<Option<Why>, Refused<P::Error>> {
        let node = &self.board.nodes[task as usize];
        let at = self.board.timelines[node.timeline].at(fire);
        if at > self.now {
            return Ok(Some(Why::Future));
        }
        if !node.task.enabled && !self.ask.force {
            return Ok(Some(Why::Disabled));
        }
        if self.facts.held.contains_key(&(node.task.task_id, at)) {
            return Ok(Some(Why::InBackfill));
        }
        self.read_cell(task, fire)?;
        let is_open = self.sheets[task as usize].get(fire).ended == Ended::Open;
        Ok(is_open.then_some(Why::Running))
    }

    fn why(&mut self, task: u32, fire: u32) -> Result<Why, Refused<P::Error>> {
        if let Some(why) = self.hindered(task, fire)? {
            return Ok(why);
        }
        if self.ask.reprocess {
            return Ok(Why::Forced);
        }
        let asked = |kind: Only, why: Why| if self.ask.asks(kind) { why } else { Why::NotAsked };
        Ok(match self.standing(task, fire)? {
            Standing::Absent => asked(Only::Missing, Why::Missing),
            Standing::Failed => asked(Only::Failed, Why::Failed),
            Standing::Stopped if self.ask.asks(Only::Failed) => Why::Failed,
            Standing::Stopped => asked(Only::Missing, Why::Missing),
            Standing::OldVersion => asked(Only::Stale, Why::StaleVersion),
            Standing::OldUpstream => asked(Only::Stale, Why::StaleUpstream),
            Standing::Fresh if self.ask.asks(Only::All) => Why::Forced,
            Standing::Fresh => Why::Succeeded,
            Standing::Open => Why::Running,
        })
    }

    /// How a cell stands.
    pub fn standing(&mut self, task: u32, fire: u32) -> Result<Standing, Refused<P::Error>> {
        self.read_cell(task, fire)?;
        let cell = self.sheets[task as usize].get(fire);
        Ok(match cell.ended {
            Ended::Never => Standing::Absent,
            Ended::Stopped => Standing::Stopped,
            Ended::Failed => Standing::Failed,
            Ended::Open => Standing::Open,
            Ended::Success | Ended::Skipped if !self.is_current(task, fire, cell.version) => {
                Standing::OldVersion
            }
            ended => {
                // What its calendar skipped was skipped before its upstreams ran.
                let ran = ended == Ended::Success;
                let behind = cell.stale || ran && self.is_behind(task, fire, cell.finished)?;
                if behind { Standing::OldUpstream } else { Standing::Fresh }
            }
        })
    }

    /// Whether a version has the content of the one that a run would take.
    fn is_current(&self, task: u32, fire: u32, version: u16) -> bool {
        let node = &self.board.nodes[task as usize];
        let same = self.sheets[task as usize].same.get(usize::from(version)).copied();
        let (active, other) = same.unwrap_or((true, true));
        match node.share {
            Some((share, _)) => {
                let date = self.board.timelines[node.timeline].date(fire);
                if takes(share, &node.key, date) { other } else { active }
            }
            None => active,
        }
    }

    /// Whether an upstream succeeded later than a cell that ended then.
    fn is_behind(
        &mut self,
        task: u32,
        fire: u32,
        finished: i64,
    ) -> Result<bool, Refused<P::Error>> {
        for at in 0..self.board.nodes[task as usize].here_up.len() {
            let up = self.board.nodes[task as usize].here_up[at];
            self.read_cell(up, fire)?;
            let cell = self.sheets[up as usize].get(fire);
            if cell.ended == Ended::Success && cell.finished > finished {
                return Ok(true);
            }
        }
        for at in 0..self.board.nodes[task as usize].looks.len() {
            let any = self.board.nodes[task as usize].looks[at].any;
            let (least, most) = self.ends(task, at, fire)?;
            // Where one is enough, the first that came was.
            if if any { least } else { most } > finished {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first and the last end of what an edge looks at, of those that succeeded.
    fn ends(&mut self, task: u32, look: usize, fire: u32) -> Result<(i64, i64), Refused<P::Error>> {
        let node = &self.board.nodes[task as usize];
        let (up, pairing) = (node.looks[look].up, node.looks[look].pairing);
        let date = self.board.timelines[node.timeline].date(fire);
        let by_date = self.board.is_by_date(pairing);
        if let Some((at, ends)) = self.seen.filter(|_| by_date)
            && at == (task, look, date)
        {
            return Ok(ends);
        }
        let (mut least, mut most) = (i64::MAX, i64::MIN);
        for (first, end) in self.board.pairs(pairing, fire).iter().copied() {
            for fire in first..end {
                self.read_cell(up, fire)?;
                let cell = self.sheets[up as usize].get(fire);
                if cell.ended == Ended::Success {
                    (least, most) = (least.min(cell.finished), most.max(cell.finished));
                }
            }
        }
        let ends = (if least == i64::MAX { i64::MIN } else { least }, most);
        if by_date {
            self.seen = Some(((task, look, date), ends));
        }
        Ok(ends)
    }

    /// Reads what became of a task for some dates, and of what its edges look at from there.
    pub fn read_ahead(&mut self, task: u32, from: Date, to: Date) -> Result<(), Refused<P::Error>> {
        self.read(task, from, to)?;
        let node = &self.board.nodes[task as usize];
        let here = node.here_up.iter().map(|up| (*up, Some((from, to))));
        let looks = node.looks.iter();
        let looks = looks.map(|look| (look.up, self.board.reach_up(look.pairing, from, to)));
        let wanted: Vec<_> = here.chain(looks).collect();
        for (up, dates) in wanted {
            if let Some((from, to)) = dates {
                self.read(up, from, to)?;
            }
        }
        Ok(())
    }

    /// Reads what became of a task for some dates, unless that was done.
    pub fn read(&mut self, task: u32, from: Date, to: Date) -> Result<(), Refused<P::Error>> {
        let node = &self.board.nodes[task as usize];
        let times = &mut self.board.timelines[node.timeline];
        for dates in self.sheets[task as usize].read.add(from, to) {
            times.ensure(dates.0, dates.1);
            let sheet = &mut self.sheets[task as usize];
            sheet.grow(times.len());
            let mut each = |past: crate::model::PastCell| {
                if let Some(fire) = times.find(past.biz_date, past.nominal_at) {
                    sheet.put(fire, &past);
                }
            };
            let read = self.past.cells(node.task.task_id, dates, &mut each);
            read.map_err(Refused::Past)?;
        }
        let sheet = &mut self.sheets[task as usize];
        for known in sheet.same.len()..sheet.versions.len() {
            let version = sheet.versions[known];
            let mut is = |other: crate::model::TaskVersionId, def: Option<&TaskDef>| {
                if version == other {
                    return Ok(true);
                }
                let past = self.past.definition(version)?;
                let other = match def {
                    Some(def) => Some(content(def)),
                    None => self.past.definition(other)?.map(|def| content(&def)),
                };
                Ok(past.map(|def| content(&def)) == other)
            };
            let active = is(node.task.version_id, Some(&node.task.def)).map_err(Refused::Past)?;
            let other = match node.share {
                Some((_, other)) => is(other, None).map_err(Refused::Past)?,
                None => active,
            };
            sheet.same.push((active, other));
        }
        Ok(())
    }

    fn read_cell(&mut self, task: u32, fire: u32) -> Result<(), Refused<P::Error>> {
        let timeline = self.board.nodes[task as usize].timeline;
        let date = self.board.timelines[timeline].date(fire);
        if self.sheets[task as usize].read.has(date) {
            return Ok(());
        }
        let first = Date(date.0.div_euclid(BLOCK).saturating_mul(BLOCK));
        self.read(task, first, first.plus_days(BLOCK - 1))
    }

    /// How long the newest attempts of a task took.
    pub fn durations(&mut self, task: u32, limit: u32) -> Result<Vec<i64>, Refused<P::Error>> {
        let id = self.board.nodes[task as usize].task.task_id;
        self.past.durations(id, limit).map_err(Refused::Past)
    }
}

/// A definition without what does not change what it computes.
fn content(def: &TaskDef) -> TaskDef {
    TaskDef { source: None, authored_version: None, ..def.clone() }
}
