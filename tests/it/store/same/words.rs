//! What people and the engine say besides: how a task run stands, requests and their answers, assets
//! that are ready, tasks that are disabled, queues that age.

use mainspring::model::{Ask, Date, Decided, RunId, State, TaskRunId};
use mainspring::store::Progressed;
use proptest::prelude::*;

use super::super::support::at;
use super::{Stores, pick};

/// One step; numbers choose among what there is.
#[derive(Clone, Debug)]
pub enum Word {
    Stand { run: u8, index: u8, to: u8 },
    Ask { scope: u8, what: u8 },
    Answer { scope: u8, nth: u8 },
    Declare(u8, u8),
    Enable(u8, bool),
    Age(Option<u8>),
    Rely { run: u8, index: u8, state: u8 },
    Outdate(u8, u8),
}

pub fn word() -> impl Strategy<Value = Word> {
    prop_oneof![
        6 => (any::<u8>(), any::<u8>(), any::<u8>())
            .prop_map(|(run, index, to)| Word::Stand { run, index, to }),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(scope, what)| Word::Ask { scope, what }),
        2 => (any::<u8>(), 0..8u8).prop_map(|(scope, nth)| Word::Answer { scope, nth }),
        1 => (0..3u8, 0..2u8).prop_map(|(asset, day)| Word::Declare(asset, day)),
        1 => (0..3u8, any::<bool>()).prop_map(|(task, on)| Word::Enable(task, on)),
        1 => prop::option::of(1..4u8).prop_map(Word::Age),
        1 => (any::<u8>(), any::<u8>(), any::<u8>())
            .prop_map(|(run, index, state)| Word::Rely { run, index, state }),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(task, run)| Word::Outdate(task, run)),
    ]
}

/// Where a task run may stand without an attempt that took it there.
const STANDS: [(State, Option<&str>); 6] = [
    (State::Blocked, None),
    (State::Skipped, Some("UNCHANGED")),
    (State::Skipped, Some("NOT_SELECTED")),
    (State::Skipped, Some("DISABLED")),
    (State::Failed, Some("EXIT_1")),
    (State::Success, None),
];

impl Stores {
    pub fn say(&mut self, word: Word, now: i64) {
        match word {
            Word::Stand { run, index, to } => self.stand(run, index, to, now),
            Word::Ask { scope, what } => {
                let scope = self.leases[usize::from(scope) % self.leases.len()].scope_id;
                let run = RunId(i64::from(what % 4) + 1);
                let task = "clean".to_owned();
                let ask = match what % 3 {
                    0 => Ask::Approve { run, task, reject: what % 2 == 0, note: None },
                    1 => Ask::Rerun { run, tasks: Some(vec![task]), downstream: true },
                    _ => Ask::Pause { dag: "flights".into(), schedule: None },
                };
                let by = (what % 5 == 0).then_some("somebody");
                self.both(|store| store.put_request(scope, &ask, by, at(now))).unwrap();
            }
            Word::Answer { scope, nth } => {
                let scope = self.leases[usize::from(scope) % self.leases.len()].scope_id;
                let open = self.both(|store| store.open_requests(scope, 3)).unwrap();
                // One that is not there, or was answered before, is refused.
                let id = pick(&open, nth).map_or(i64::from(nth), |request| request.id);
                let refused = (nth % 2 == 0).then(|| "not now".to_owned());
                let decided = Decided { run: Some(RunId(1)), refused, ..Decided::default() };
                let mut batch = self.batch();
                batch.answers.push((id, decided));
                let _ = self.commit(&batch);
                self.both(|store| store.request(id)).unwrap();
            }
            Word::Declare(asset, day) => {
                let asset = ["raw", "clean", "nothing"][usize::from(asset)];
                let date = Date(Date::parse("2024-01-14").unwrap().0 + i32::from(day));
                let _ = self.both(|store| store.declare(asset, date, Some("me"), at(now)));
                self.both(|store| store.is_declared(asset, date)).unwrap();
                self.both(|store| store.producer(asset)).unwrap();
            }
            Word::Enable(task, enabled) => {
                let task = ["flights.clean", "late.only", "nobody.none"][usize::from(task)];
                let _ = self.both(|store| store.enable(task, enabled, None, at(now)));
            }
            Word::Age(step) => {
                let step = step.map(|minutes| i64::from(minutes) * 60_000);
                self.both(|store| store.set_ageing("db", step)).unwrap();
                self.both(|store| store.ageing()).unwrap();
            }
            Word::Rely { run, index, state } => {
                let Some(run) = pick(&self.runs, run) else { return };
                let id = pick(&run.task_runs, index).map_or(TaskRunId(0), |row| row.id);
                let state = State::ALL[usize::from(state) % State::ALL.len()];
                let mut batch = self.batch();
                batch.relies.push((id, state));
                batch.stale.push(id);
                let _ = self.commit(&batch);
            }
            Word::Outdate(task, run) => {
                let dag = self.both(|store| store.dag("flights")).unwrap().unwrap();
                let Some(task) = pick(&dag.tasks, task).map(|task| task.task_id) else { return };
                let run = pick(&self.runs, run).map_or(RunId(0), |run| run.row.id);
                let mut batch = self.batch();
                batch.outdated.push((task, Date::parse("2024-01-14").unwrap(), run));
                let _ = self.commit(&batch);
            }
        }
    }

    fn stand(&mut self, which: u8, index: u8, to: u8, now: i64) {
        let Some(id) = pick(&self.runs, which).map(|run| run.row.id) else { return };
        let Some(place) = self.runs.iter().position(|run| run.row.id == id) else { return };
        let mut run = self.runs[place].clone();
        let of = usize::from(index) % run.task_runs.len();
        let row = &mut run.task_runs[of];
        let expected_revision = row.progress.revision;
        let (state, code) = STANDS[usize::from(to) % STANDS.len()];
        row.progress.revision += 1;
        row.progress.state = state;
        row.progress.code = code.map(str::to_owned);
        row.progress.finished_at = state.is_final().then(|| at(now));
        let progress = row.progress.clone();
        let mut batch = self.batch();
        batch.progressed.push(Progressed { id: row.id, expected_revision, progress });
        if self.commit(&batch).is_ok() {
            self.runs[place] = run;
        }
    }
}
