//! Schedules: their lives, how far they came, and the fires that made no run.

use std::collections::BTreeMap;

use super::commit::conflict;
use super::{Data, MemorySchedule, next};
use crate::model::{
    DagId, Instant, Period, PeriodKind, ScheduleDef, ScheduleId, Skip, Target, TimeRule,
};
use crate::store::definition::{edited, matched};
use crate::store::{Batch, Changed, CommitError, NewSkip, ScheduleLife, StoredSchedule};

fn kind_of(paused: bool) -> PeriodKind {
    if paused { PeriodKind::Paused } else { PeriodKind::Active }
}

impl MemorySchedule {
    fn new(dag: DagId, def: &ScheduleDef, position: usize, now: Instant) -> Self {
        let kind = kind_of(def.paused);
        let life = Period { from: now, until: None, kind, rule: def.rule.clone() };
        MemorySchedule {
            dag,
            def: def.clone(),
            position,
            removed: false,
            watermark: now,
            changed: now,
            skipped: now,
            periods: vec![life],
        }
    }

    /// From `at` on it is of another kind, or of another rule.
    fn turn(&mut self, kind: PeriodKind, rule: TimeRule, at: Instant) {
        let Some(open) = self.periods.last_mut() else { return };
        if open.kind == kind && open.rule == rule {
            return;
        }
        // What is covered already, by a clock that was ahead, stays as it was.
        let at = at.max(self.watermark).max(self.skipped);
        // No fire fell into what begins here, or later by a clock that was set back.
        if at <= open.from {
            open.kind = kind;
            open.rule = rule;
            return;
        }
        open.until = Some(at);
        self.periods.push(Period { from: at, until: None, kind, rule });
    }

    fn turn_to(&mut self, kind: PeriodKind, at: Instant) {
        if let Some(rule) = self.periods.last().map(|open| open.rule.clone()) {
            self.turn(kind, rule, at);
        }
    }

    fn remove(&mut self, now: Instant) {
        self.removed = true;
        self.changed = now;
        self.turn_to(PeriodKind::Removed, now);
    }

    fn change(&mut self, def: &ScheduleDef, position: usize, now: Instant) -> bool {
        if !self.removed && self.position == position && !edited(&self.def, def) {
            return false;
        }
        // A pause made elsewhere stays.
        self.def = ScheduleDef { paused: self.def.paused, ..def.clone() };
        self.position = position;
        self.removed = false;
        self.changed = now;
        self.turn(kind_of(self.def.paused), def.rule.clone(), now);
        true
    }
}

impl Data {
    pub(super) fn register_schedules(
        &mut self,
        dag: DagId,
        defs: &[ScheduleDef],
        now: Instant,
    ) -> bool {
        let (ids, names): (Vec<ScheduleId>, Vec<String>) = self
            .schedules
            .iter()
            .filter(|(_, known)| known.dag == dag)
            .map(|(id, known)| (*id, known.def.name.clone()))
            .unzip();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let known: Vec<Option<ScheduleId>> =
            matched(&names, defs).into_iter().map(|at| ids.get(at?).copied()).collect();
        let mut changed = false;
        for (id, schedule) in self.schedules.iter_mut().filter(|(_, schedule)| schedule.dag == dag)
        {
            if !schedule.removed && !known.contains(&Some(*id)) {
                schedule.remove(now);
                changed = true;
            }
        }
        for (position, (def, known)) in defs.iter().zip(known).enumerate() {
            changed |= match known.and_then(|id| self.schedules.get_mut(&id)) {
                Some(schedule) => schedule.change(def, position, now),
                None => {
                    let id = ScheduleId(next(&self.schedules, |id| id.0));
                    let mut fresh = MemorySchedule::new(dag, def, position, now);
                    // A table would have them, whoever wrote them.
                    let known = self.skips.iter().filter(|skip| skip.schedule == id);
                    fresh.skipped = known.map(|skip| skip.to).fold(now, Instant::max);
                    self.schedules.insert(id, fresh);
                    true
                }
            };
        }
        changed
    }

    pub(super) fn remove_dags(&mut self, keys: &[String], now: Instant) {
        for id in keys.iter().filter_map(|key| self.find_dag(key)).collect::<Vec<_>>() {
            let Some(dag) = self.dags.get_mut(&id).filter(|dag| !dag.removed) else { continue };
            dag.removed = true;
            dag.revision += 1;
            let schedules = self.schedules.values_mut();
            for schedule in schedules.filter(|schedule| schedule.dag == id && !schedule.removed) {
                schedule.remove(now);
            }
        }
    }

    pub(super) fn stored_schedules(&self, dag: DagId) -> Vec<StoredSchedule> {
        let ends_late = |schedule: &MemorySchedule| {
            schedule.periods.iter().filter_map(|each| each.until).max() > Some(schedule.watermark)
        };
        let mut found: Vec<_> = self
            .schedules
            .iter()
            .filter(|(_, schedule)| schedule.dag == dag)
            .filter(|(_, schedule)| !schedule.removed || ends_late(schedule))
            .collect();
        found.sort_by_key(|(id, schedule)| (schedule.position, **id));
        found.into_iter().map(|(id, schedule)| self.stored_schedule(*id, schedule)).collect()
    }

    fn stored_schedule(&self, id: ScheduleId, schedule: &MemorySchedule) -> StoredSchedule {
        let MemorySchedule { dag, def, watermark, changed, .. } = schedule;
        let target = |task: &Option<String>| match task {
            None => Some(Target { dag: *dag, task: None }),
            Some(name) => {
                let id = self.find_task(*dag, name)?;
                let is_there = self.tasks.get(&id).is_some_and(|task| !task.removed);
                is_there.then_some(Target { dag: *dag, task: Some(id) })
            }
        };
        let bound = def.bindings.iter();
        let reaches = |period: &&Period| period.until.is_none_or(|until| until > *watermark);
        let skips = || self.skips.iter().filter(|skip| skip.schedule == id);
        let mut ahead: Vec<(Instant, Instant)> =
            skips().filter(|skip| skip.to > *watermark).map(|skip| (skip.from, skip.to)).collect();
        ahead.sort_unstable();
        StoredSchedule {
            id,
            dag: *dag,
            def: def.clone(),
            bindings: bound
                .filter_map(|each| Some((target(&each.task)?, each.params.clone())))
                .collect(),
            watermark: *watermark,
            changed_at: *changed,
            periods: schedule.periods.iter().filter(reaches).cloned().collect(),
            ahead,
            last_skip: skips().rfind(|skip| skip.to == *watermark).map(|skip| skip.reason),
        }
    }

    pub(super) fn life_after(&self, after: Option<ScheduleId>, limit: u32) -> Option<ScheduleLife> {
        let mut later =
            self.schedules.iter().filter(|(id, _)| after.is_none_or(|last| **id > last));
        let (id, schedule) = later.next()?;
        let of_it = self.skips.iter().rev().filter(|skip| skip.schedule == *id);
        let mut skips: Vec<Skip> = of_it.cloned().collect();
        skips.sort_by_key(|skip| std::cmp::Reverse(skip.to));
        let of_it = self.fired.iter().filter(|(_, fired)| fired == id);
        let rows = of_it.filter_map(|(run, _)| self.runs.get(run)).map(|(row, _)| row);
        let timed = rows.filter(|row| row.timed && row.dag_id == schedule.dag);
        let mut fired: Vec<_> = timed.map(|row| (row.nominal_at, row.id)).collect();
        fired.sort_unstable_by(|a, b| b.cmp(a));
        skips.truncate(limit as usize);
        fired.truncate(limit as usize);
        Some(ScheduleLife {
            id: *id,
            key: format!("{}.{}", self.dags.get(&schedule.dag)?.header.key, schedule.def.name),
            watermark: schedule.watermark,
            periods: schedule.periods.clone(),
            skips,
            fired,
        })
    }

    pub(super) fn skips_of(&self, dag: DagId, limit: u32) -> Vec<Skip> {
        let of_dag = |skip: &&Skip| {
            self.schedules.get(&skip.schedule).is_some_and(|schedule| schedule.dag == dag)
        };
        let mut found: Vec<Skip> = self.skips.iter().rev().filter(of_dag).cloned().collect();
        // Stable: of those that end together the newest comes first.
        found.sort_by_key(|skip| std::cmp::Reverse(skip.to));
        found.truncate(limit as usize);
        found
    }

    pub(super) fn check_schedules(&self, batch: &Batch) -> Result<(), CommitError> {
        let mut moved: BTreeMap<ScheduleId, Instant> = BTreeMap::new();
        for change in &batch.watermarks {
            let stored = self.schedules.get(&change.schedule);
            let same = stored.is_some_and(|schedule| schedule.changed == change.changed_at);
            let stored = stored.map(|schedule| schedule.watermark);
            let stands = moved.insert(change.schedule, change.to).or(stored);
            if change.to <= change.from || stands != Some(change.from) || !same {
                return Err(conflict(Changed::Schedule(change.schedule)));
            }
        }
        for pause in &batch.pauses {
            let known = self.schedules.get(&pause.schedule);
            if known.is_none_or(|schedule| schedule.removed) {
                return Err(conflict(Changed::Schedule(pause.schedule)));
            }
        }
        Ok(())
    }

    /// Writes what was checked.
    pub(super) fn write_schedules(&mut self, batch: &Batch) {
        for change in &batch.watermarks {
            if let Some(schedule) = self.schedules.get_mut(&change.schedule) {
                schedule.watermark = change.to;
            }
        }
        for skip in &batch.skips {
            self.note(skip);
        }
        self.fired.extend(batch.links.iter().copied());
        for pause in &batch.pauses {
            let Some(schedule) = self.schedules.get_mut(&pause.schedule) else { continue };
            if schedule.def.paused == pause.paused {
                continue;
            }
            schedule.def.paused = pause.paused;
            schedule.changed = pause.at;
            schedule.turn_to(kind_of(pause.paused), pause.at);
            if let Some(dag) = self.dags.get_mut(&schedule.dag) {
                dag.revision += 1;
            }
        }
    }

    fn note(&mut self, NewSkip { skip, joins }: &NewSkip) {
        if let Some(schedule) = self.schedules.get_mut(&skip.schedule) {
            schedule.skipped = schedule.skipped.max(skip.to);
        }
        let before = self
            .skips
            .iter_mut()
            .filter(|known| known.schedule == skip.schedule && known.to < skip.from)
            .max_by_key(|known| known.to);
        match before {
            // Whatever lies between is not made part of it.
            Some(known) if *joins && known.reason == skip.reason => {
                known.to = skip.to;
                known.count += skip.count;
            }
            _ => self.skips.push(skip.clone()),
        }
    }
}
