//! What a plan takes in besides what was asked for: what its cells need, and what needs them.

use std::collections::BTreeSet;

use super::Refused;
use super::facts::Past;
use super::planner::Planner;
use super::sheet::{Ended, Standing};
use crate::engine::CellAt;
use crate::model::{Date, Instant, Why};

impl<P: Past> Planner<'_, P> {
    /// Takes in the cells that planned ones depend on and that are missing, failed or stale.
    pub fn take_upstream(&mut self) -> Result<(), Refused<P::Error>> {
        let mut looked: BTreeSet<(u32, usize, Date)> = BTreeSet::new();
        let mut next = std::mem::take(&mut self.fresh);
        let mut all = next.clone();
        while let Some((task, fire)) = next.pop() {
            for at in 0..self.board.nodes[task as usize].here_up.len() {
                let up = self.board.nodes[task as usize].here_up[at];
                self.need((task, fire), up, fire)?;
            }
            let node = &self.board.nodes[task as usize];
            let date = self.board.timelines[node.timeline].date(fire);
            for at in 0..self.board.nodes[task as usize].looks.len() {
                let look = self.board.nodes[task as usize].looks[at].clone();
                let by_date = self.board.is_by_date(look.pairing);
                if by_date && !looked.insert((task, at, date)) {
                    continue;
                }
                if let Some((from, to)) = self.board.reach_up(look.pairing, date, date) {
                    // More than these days will be looked at, in all likelihood.
                    self.read(look.up, from, to)?;
                }
                let pairs = self.board.pairs(look.pairing, fire);
                if look.any && self.has_one(look.up, &pairs)? {
                    continue;
                }
                for up in pairs.iter().flat_map(|(first, end)| *first..*end) {
                    self.need((task, fire), look.up, up)?;
                }
            }
            all.extend_from_slice(&self.fresh);
            next.append(&mut self.fresh);
        }
        self.fresh = all;
        Ok(())
    }

    fn has_one(&mut self, task: u32, spans: &[(u32, u32)]) -> Result<bool, Refused<P::Error>> {
        for fire in spans.iter().flat_map(|(first, end)| *first..*end) {
            let is_in = self.sheets[task as usize].get(fire).is_in();
            if is_in || self.standing(task, fire)? == Standing::Fresh {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A planned cell depends on another one.
    fn need(
        &mut self,
        (by, from): (u32, u32),
        task: u32,
        fire: u32,
    ) -> Result<(), Refused<P::Error>> {
        let known = self.sheets[task as usize].get(fire).why();
        if !matches!(known, None | Some(Why::NotAsked)) {
            return Ok(());
        }
        if let Some(why) = self.hindered(task, fire)? {
            // Whoever looks at the plan sees what it will wait for.
            return match why {
                Why::Running | Why::InBackfill => self.say(task, fire, why),
                _ => Ok(()),
            };
        }
        match self.standing(task, fire)? {
            Standing::Fresh | Standing::Open => Ok(()),
            Standing::Absent if !self.is_expected((by, from), task, fire) => Ok(()),
            _ => self.say(task, fire, Why::Upstream),
        }
    }

    /// Whether a cell without a task run is one that somebody would miss. Before a task was
    /// registered its edges hold, and a task that needs its day before would go back for ever: there
    /// one step beyond the range is taken, to another task.
    fn is_expected(&self, (by, from): (u32, u32), task: u32, fire: u32) -> bool {
        let node = &self.board.nodes[task as usize];
        let times = &self.board.timelines[node.timeline];
        let range = self.ask.from..=self.ask.to;
        let looker = &self.board.timelines[self.board.nodes[by as usize].timeline];
        times.at(fire) > times.registered
            || range.contains(&times.date(fire))
            || (by != task && range.contains(&looker.date(from)))
    }

    /// Takes in the cells that depend on planned ones.
    pub fn take_downstream(&mut self) -> Result<(), Refused<P::Error>> {
        loop {
            let mut fresh = std::mem::take(&mut self.fresh);
            if fresh.is_empty() {
                return Ok(());
            }
            fresh.sort_unstable();
            fresh.dedup();
            for of_task in fresh.chunk_by(|a, b| a.0 == b.0) {
                let Some((task, _)) = of_task.first() else { continue };
                let fires: Vec<u32> = of_task.iter().map(|(_, fire)| *fire).collect();
                self.spread(*task, &fires)?;
            }
        }
    }

    /// Takes in what depends on some cells of a task that were planned just now.
    fn spread(&mut self, task: u32, fires: &[u32]) -> Result<(), Refused<P::Error>> {
        let times = &self.board.timelines[self.board.nodes[task as usize].timeline];
        let dates = || fires.iter().map(|fire| times.date(*fire));
        let (Some(from), Some(to)) = (dates().min(), dates().max()) else { return Ok(()) };
        let last = fires.iter().map(|fire| times.at(*fire)).max().unwrap_or(Instant(i64::MIN));
        for at in 0..self.board.nodes[task as usize].here_down.len() {
            let down = self.board.nodes[task as usize].here_down[at];
            self.read(down, from, to)?;
            for fire in fires {
                self.reached(down, *fire)?;
            }
        }
        for at in 0..self.board.nodes[task as usize].seen.len() {
            let (down, look) = self.board.nodes[task as usize].seen[at];
            let pairing = self.board.nodes[down as usize].looks[look].pairing;
            let (from, to) = match self.board.reach_down(pairing, from, to) {
                Some(dates) => dates,
                None => (from.plus_days(-1), self.last_slot(task, down, look, last, to)),
            };
            let timeline = self.board.nodes[down as usize].timeline;
            self.board.timelines[timeline].ensure(from, to);
            self.read(down, from, to)?;
            let by_date = self.board.is_by_date(pairing);
            let dates: Vec<_> = self.board.timelines[timeline].range(from, to).collect();
            for (_, (first, end)) in dates {
                let mut looks = false;
                for fire in first..end {
                    if fire == first || !by_date {
                        looks = self.board.pairs(pairing, fire).iter().any(|(first, end)| {
                            let sheet = &self.sheets[task as usize];
                            (*first..*end).any(|fire| sheet.get(fire).is_in())
                        });
                    }
                    if looks {
                        self.reached(down, fire)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The last date from which an edge that counts slots looks at a fire of its upstream.
    fn last_slot(&self, up: u32, down: u32, look: usize, last: Instant, to: Date) -> Date {
        let times = &self.board.timelines[self.board.nodes[up as usize].timeline];
        let pairing = self.board.nodes[down as usize].looks[look].pairing;
        let ahead = self.board.slots_back(pairing).saturating_add(1);
        let at = CellAt::Slots { until: last, from: 1, to: ahead };
        times.last_date(&at).unwrap_or(to).max(to).plus_days(2)
    }

    /// Whether a cell has a success that nothing but a change of what it depends on makes old.
    fn is_good(&mut self, task: u32, fire: u32) -> Result<bool, Refused<P::Error>> {
        let is_fresh = self.standing(task, fire)? == Standing::Fresh;
        Ok(is_fresh && self.sheets[task as usize].get(fire).ended == Ended::Success)
    }

    /// A cell depends on one that is planned.
    fn reached(&mut self, task: u32, fire: u32) -> Result<(), Refused<P::Error>> {
        if self.sheets[task as usize].get(fire).is_in() {
            return Ok(());
        }
        match self.hindered(task, fire)? {
            None => {
                if self.ask.reprocess && self.is_good(task, fire)? {
                    self.sheets[task as usize].keep(fire);
                }
                self.say(task, fire, Why::Downstream)
            }
            Some(why @ (Why::Running | Why::InBackfill)) => self.say(task, fire, why),
            Some(_) => Ok(()),
        }
    }
}
