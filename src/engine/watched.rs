//! All cells of a world, and which of them a run is in.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cell::{Cell, CellAt, CellKey, Known, Looking, Votes, Why};
use super::edges::Verdict;
use super::plan::Across;
use super::run::Run;
use super::{Plan, TaskRunRef};
use crate::model::{Date, Instant};

/// All cells of a world, by their upstreams: a task run finds with one look whether anybody looks
/// at its task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cells {
    upstreams: BTreeMap<Arc<str>, Watched>,
    /// Those that were not read yet.
    unread: BTreeSet<CellKey>,
}

/// The cells of one upstream.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Watched {
    cells: BTreeMap<CellAt, Cell>,
    /// How many there are of the instant, of a date, of a week and of a month: mostly only one of
    /// these is asked for.
    instants: u32,
    dates: u32,
    weeks: u32,
    months: u32,
    /// Cells whose fires may be of several dates, by those fires.
    fires: BTreeSet<(Instant, CellAt)>,
}

impl Cells {
    /// What the cells that are known say to each edge of a task to other runs.
    pub(super) fn votes(&self, run: &Run, index: u32) -> Vec<Votes> {
        let edges = run.plan.across(index).iter();
        edges.map(|edge| self.votes_of(edge, run)).collect()
    }

    fn votes_of(&self, edge: &Across, run: &Run) -> Votes {
        let mut votes = Votes::default();
        for key in edge.cells(run.period()) {
            match self.known(&key) {
                Some(known) => votes.change(Votes::default(), known.votes(edge)),
                None => votes.unread += 1,
            }
        }
        votes
    }

    /// What a cell says to an edge; that it waits, where it was not read.
    pub(super) fn cell_votes(known: Option<&Known>, edge: &Across) -> Votes {
        known.map_or(Votes { unread: 1, ..Votes::default() }, |known| known.votes(edge))
    }

    pub(super) fn get(&self, key: &CellKey) -> Option<&Cell> {
        self.upstreams.get(&key.upstream)?.cells.get(&key.at)
    }

    pub(super) fn known(&self, key: &CellKey) -> Option<&Known> {
        self.get(key)?.known.as_ref()
    }

    /// Whether nobody looks at anything.
    pub(super) fn is_empty(&self) -> bool {
        self.upstreams.is_empty()
    }

    /// The cells of an upstream, if anybody looks at it.
    pub(super) fn watched(&self, upstream: &str) -> Option<&Watched> {
        self.upstreams.get(upstream)
    }

    pub(super) fn watched_mut(&mut self, upstream: &str) -> Option<&mut Watched> {
        self.upstreams.get_mut(upstream)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (CellKey, &Cell)> {
        self.upstreams.iter().flat_map(|(upstream, watched)| {
            let key = |at: &CellAt| CellKey { upstream: Arc::clone(upstream), at: *at };
            watched.cells.iter().map(move |(at, cell)| (key(at), cell))
        })
    }

    /// Those that were not read yet.
    pub(super) fn unread(&self) -> impl Iterator<Item = &CellKey> {
        self.unread.iter()
    }

    /// Why an edge does not hold: the verdicts of its runs that do not let go, up to so many.
    pub(super) fn whys<'c>(&'c self, edge: &Across, run: &Run) -> Vec<(CellKey, Verdict, Why<'c>)> {
        let mut whys = Vec::new();
        for key in edge.cells(run.period()) {
            match self.known(&key) {
                None => whys.push((key, Verdict::Waits, Why::Unread)),
                Some(known) => whys.extend(
                    (known.verdicts(edge).into_iter())
                        .map(|(verdict, why)| (key.clone(), verdict, why)),
                ),
            }
        }
        whys
    }

    /// The edges of a task run look at their cells from now on.
    pub(super) fn watch(&mut self, at: TaskRunRef, plan: &Plan, when: Looking) {
        for (edge, number) in plan.across(at.index).iter().zip(0..) {
            for key in edge.cells(when) {
                let watched = self.upstreams.entry(Arc::clone(&key.upstream)).or_default();
                let cell = watched.cell(key.at);
                cell.watchers.insert((at, number));
                if cell.known.is_none() {
                    self.unread.insert(key);
                }
            }
        }
    }

    /// They look no more. A cell that nobody looks at is forgotten.
    pub(super) fn unwatch(&mut self, at: TaskRunRef, plan: &Plan, when: Looking) {
        for (edge, number) in plan.across(at.index).iter().zip(0..) {
            for key in edge.cells(when) {
                let Some(watched) = self.upstreams.get_mut(&key.upstream) else { continue };
                let Some(cell) = watched.cells.get_mut(&key.at) else { continue };
                cell.watchers.remove(&(at, number));
                if cell.watchers.is_empty() {
                    watched.forget(key.at);
                    if watched.cells.is_empty() {
                        self.upstreams.remove(&key.upstream);
                    }
                    self.unread.remove(&key);
                }
            }
        }
    }

    /// What a cell is, as it was read.
    pub(super) fn set(&mut self, key: &CellKey, known: Known) {
        let Some(watched) = self.upstreams.get_mut(&key.upstream) else { return };
        watched.set(key.at, known);
        self.unread.remove(key);
    }

    /// The cells in which a run of an upstream is.
    pub(super) fn of<'c>(
        &'c self,
        upstream: &str,
        biz_date: Date,
        at: Instant,
    ) -> impl Iterator<Item = &'c Cell> + use<'c> {
        let watched = self.upstreams.get(upstream);
        watched.into_iter().flat_map(move |watched| {
            watched.places(biz_date, at).filter_map(|place| watched.cells.get(&place))
        })
    }
}

impl Watched {
    /// One of them, made where there is none.
    fn cell(&mut self, at: CellAt) -> &mut Cell {
        if !self.cells.contains_key(&at)
            && let Some(count) = self.count(at)
        {
            *count += 1;
        }
        self.cells.entry(at).or_default()
    }

    fn forget(&mut self, at: CellAt) {
        self.index(at, false);
        if self.cells.remove(&at).is_some()
            && let Some(count) = self.count(at)
        {
            *count -= 1;
        }
    }

    fn set(&mut self, at: CellAt, known: Known) {
        self.index(at, false);
        if let Some(cell) = self.cells.get_mut(&at) {
            cell.known = Some(known);
        }
        self.index(at, true);
    }

    /// How many there are of its kind. Those of fires are found by their fires.
    fn count(&mut self, at: CellAt) -> Option<&mut u32> {
        match at {
            CellAt::Instant(_) => Some(&mut self.instants),
            CellAt::Date(_) => Some(&mut self.dates),
            CellAt::Week(_) => Some(&mut self.weeks),
            CellAt::Month(_) => Some(&mut self.months),
            CellAt::Slots { .. } => None,
        }
    }

    fn index(&mut self, place: CellAt, to: bool) {
        if let CellAt::Date(_) | CellAt::Instant(_) = place {
            return;
        }
        let Some(known) = self.cells.get(&place).and_then(|cell| cell.known.as_ref()) else {
            return;
        };
        for at in known.expected.keys() {
            if to {
                self.fires.insert((*at, place));
            } else {
                self.fires.remove(&(*at, place));
            }
        }
    }

    pub(super) fn get(&self, place: CellAt) -> Option<&Cell> {
        self.cells.get(&place)
    }

    pub(super) fn get_mut(&mut self, place: CellAt) -> Option<&mut Cell> {
        self.cells.get_mut(&place)
    }

    /// The places in which a run is, each once: those that name it by its date or instant, and
    /// those of which one of the fires is its own. Not at all of them is a cell.
    pub(super) fn places(
        &self,
        biz_date: Date,
        at: Instant,
    ) -> impl Iterator<Item = CellAt> + use<'_> {
        let named = [
            (self.dates, CellAt::Date(biz_date)),
            (self.weeks, CellAt::Week(biz_date)),
            (self.months, CellAt::Month(biz_date)),
            (self.instants, CellAt::Instant(at)),
        ];
        let named = named.into_iter().filter(|(count, _)| *count > 0).map(|(_, place)| place);
        let least = CellAt::Instant(Instant(i64::MIN));
        let fires = self.fires.range((at, least)..).take_while(move |(then, _)| *then == at);
        let fires = fires.map(|(_, place)| *place);
        // The week and the month of its own date have been named.
        named.chain(fires.filter(move |place| match place {
            CellAt::Week(date) | CellAt::Month(date) => *date != biz_date,
            _ => true,
        }))
    }
}
