//! Backfills that begin, are filled, stand otherwise and are taken over, as the stores tell of them.

use std::sync::Arc;

use mainspring::model::{
    BackfillRow, BackfillRunRow, BackfillState, RunId, Trigger, backfill_notes,
};
use mainspring::store::{BackfillMoved, CreatedRun};
use proptest::prelude::*;

use super::super::support::{at, backfill_plan, new_run};
use super::{Stores, pick};

/// One step; numbers choose among what there is.
#[derive(Clone, Debug)]
pub enum Fill {
    /// Of one of a few plans, so that some were applied before and some have the same cells.
    Begin { hash: u8, nominals: Vec<u8> },
    /// A place gets its run, or the note of why it has none; `off` runs are of another instant.
    Place { which: u8, ordinal: u8, note: bool, off: bool },
    /// It stands otherwise, where it did stand so.
    Move { which: u8, from: u8, to: u8, cancel: bool },
    /// Another process decides for it.
    TakeOver { which: u8, from: u8, to: u8 },
}

pub fn fill() -> impl Strategy<Value = Fill> {
    prop_oneof![
        2 => (0..6u8, prop::collection::vec(0..5u8, 1..4))
            .prop_map(|(hash, nominals)| Fill::Begin { hash, nominals }),
        5 => (any::<u8>(), 0..4u8, prop::bool::weighted(0.2), prop::bool::weighted(0.1))
            .prop_map(|(which, ordinal, note, off)| Fill::Place { which, ordinal, note, off }),
        2 => (any::<u8>(), any::<u8>(), any::<u8>(), any::<bool>())
            .prop_map(|(which, from, to, cancel)| Fill::Move { which, from, to, cancel }),
        1 => (any::<u8>(), any::<u8>(), any::<u8>())
            .prop_map(|(which, from, to)| Fill::TakeOver { which, from, to }),
    ]
}

const NOTES: [&str; 3] =
    [backfill_notes::NOT_STARTED, backfill_notes::RUNNING, backfill_notes::REFUSED];

impl Stores {
    pub fn fill(&mut self, step: Fill, now: i64) {
        match step {
            Fill::Begin { hash, nominals } => self.begin(hash, &nominals, now),
            Fill::Place { which, ordinal, note, off } => self.place(which, ordinal, note, off),
            Fill::Move { which, from, to, cancel } => {
                let Some(row) = pick(&self.backfills, which).cloned() else { return };
                let state =
                    |nth: u8| BackfillState::ALL[usize::from(nth) % BackfillState::ALL.len()];
                let stands = self.both(|store| store.backfill(row.id)).unwrap().unwrap().row.state;
                let (from, to) = (if from % 4 == 0 { state(from) } else { stands }, state(to));
                let open = matches!(to, BackfillState::Running | BackfillState::Paused);
                let finished_at = (!open).then(|| at(now));
                let mut batch = self.batch();
                let cancel_requested = cancel;
                batch.fill_moves.push(BackfillMoved {
                    id: row.id,
                    from,
                    to,
                    finished_at,
                    cancel_requested,
                });
                let _ = self.commit(&batch);
            }
            Fill::TakeOver { which, from, to } => {
                let Some(id) = pick(&self.backfills, which).map(|row| row.id) else { return };
                let lease = |nth: u8| self.leases[usize::from(nth) % self.leases.len()];
                let (from, to) = (lease(from).scope_id, lease(to));
                let _ = self.both(|store| store.take_over_backfill(id, from, to));
            }
        }
    }

    fn begin(&mut self, hash: u8, nominals: &[u8], now: i64) {
        let dag = self.both(|store| store.dag("flights")).unwrap().unwrap();
        let mut nominals: Vec<i64> = nominals.iter().map(|nominal| i64::from(*nominal)).collect();
        nominals.sort_unstable();
        nominals.dedup();
        let plan = backfill_plan(&dag, &hash.to_string(), &nominals);
        let _ = self.both(|store| store.in_the_way(&plan));
        let row = BackfillRow {
            id: self.both(|store| store.next_backfill()).unwrap(),
            plan: Arc::new(plan),
            state: BackfillState::Running,
            requested_by: hash.is_multiple_of(2).then(|| "somebody".into()),
            created_at: at(now),
            finished_at: None,
            cancel_requested: false,
            scope_id: self.leases[0].scope_id,
        };
        let mut batch = self.batch();
        batch.backfills.push(row.clone());
        if self.commit(&batch).is_ok() {
            self.backfills.push(row);
        }
    }

    fn place(&mut self, which: u8, ordinal: u8, note: bool, off: bool) {
        let Some(row) = pick(&self.backfills, which).cloned() else { return };
        let mut filled = BackfillRunRow {
            backfill_id: row.id,
            ordinal: ordinal.into(),
            run_id: None,
            note: None,
        };
        let mut batch = self.batch();
        let mut made: Option<CreatedRun> = None;
        match row.plan.runs.get(usize::from(ordinal)).filter(|_| !note) {
            None => filled.note = Some(NOTES[usize::from(which) % NOTES.len()].into()),
            Some(planned) => {
                let dag = self.both(|store| store.dag("flights")).unwrap().unwrap();
                let ids = self.both(|store| store.next_ids()).unwrap();
                let seconds = (planned.nominal_at.0 - at(0).0) / 1_000_000 + i64::from(off);
                let mut run = new_run(&dag, self.leases[0], ids, seconds);
                run.row.trigger = Trigger::Backfill;
                run.row.backfill_id = Some(row.id);
                filled.run_id = Some(run.row.id);
                batch.expected = Some(ids);
                batch.created.push(run.clone());
                made = Some(run);
            }
        }
        batch.filled.push(filled);
        if self.commit(&batch).is_ok() {
            self.runs.extend(made);
        }
    }

    pub fn compare_backfills(&mut self) {
        self.both(|store| store.next_backfill()).unwrap();
        self.both(|store| store.held_cells()).unwrap();
        for listed in self.both(|store| store.backfills()).unwrap() {
            let stored = self.both(|store| store.backfill(listed.id)).unwrap().unwrap();
            self.both(|store| store.backfill_cells(listed.id)).unwrap();
            let mut plan = (*stored.row.plan).clone();
            self.both(|store| store.in_the_way(&plan)).unwrap();
            plan.hash.push_str(" of another");
            self.both(|store| store.in_the_way(&plan)).unwrap();
        }
        for scope in self.leases.iter().map(|lease| lease.scope_id).collect::<Vec<_>>() {
            self.both(|store| store.open_backfills(scope)).unwrap();
        }
        for id in self.runs.iter().map(|run| run.row.id).collect::<Vec<RunId>>() {
            let stored = self.both(|store| store.stored_run(id)).unwrap().unwrap();
            for task_run in stored.task_runs {
                self.both(|store| store.earlier_fingerprint(task_run.id)).unwrap();
            }
        }
    }
}
