//! What became of the cells of a task, as a plan reads it.

use mainspring::model::{Date, PastCell, RunId, State, TaskId};
use mainspring::store::{Progressed, RunsAt, Store, StoredResult};

use crate::store::support::{Desk, at};

fn cells(store: &mut dyn Store, task: TaskId, from: &str, to: &str) -> Vec<PastCell> {
    let dates = (Date::parse(from).unwrap(), Date::parse(to).unwrap());
    let mut found = Vec::new();
    store.past_cells(task, dates, &mut |cell| found.push(cell)).unwrap();
    found.sort();
    found
}

/// Says how a task run stands, whatever it was.
fn stand(
    desk: &mut Desk<'_>,
    run: &mut mainspring::store::CreatedRun,
    at_index: usize,
    to: State,
    code: Option<&str>,
) {
    let mut batch = desk.batch();
    let row = &mut run.task_runs[at_index];
    let before = row.progress.revision;
    row.progress.revision += 1;
    row.progress.state = to;
    row.progress.code = code.map(str::to_owned);
    row.progress.finished_at = to.is_final().then(|| at(9));
    batch.progressed.push(Progressed {
        id: row.id,
        expected_revision: before,
        progress: row.progress.clone(),
    });
    desk.store.commit(&batch).unwrap();
}

pub fn what_became_of_cells_is_told(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let mut first = desk.create(0);
    let mut batch = desk.batch();
    desk.start(&mut batch, &mut first, 0, 2);
    desk.store.commit(&batch).unwrap();
    let mut batch = desk.batch();
    desk.end(&mut batch, &mut first, 0, 5);
    desk.store.commit(&batch).unwrap();
    stand(&mut desk, &mut first, 1, State::Blocked, None);
    stand(&mut desk, &mut first, 2, State::Skipped, Some("NOT_SELECTED"));
    let mut second = desk.create(0);
    stand(&mut desk, &mut second, 2, State::Skipped, Some("DISABLED"));

    let tasks: Vec<_> = desk.dag.tasks.iter().map(|task| (task.task_id, task.version_id)).collect();
    let date = Date::parse("2024-01-14").unwrap();
    let plain = |of: usize, run: RunId, state| PastCell {
        nominal_at: at(0),
        biz_date: date,
        run,
        version: tasks[of].1,
        state,
        disabled: false,
        live: false,
        stale: false,
        finished_at: None,
        revision: 0,
    };
    let (one, two) = (first.row.id, second.row.id);
    let done = PastCell { finished_at: Some(at(5)), revision: 3, ..plain(0, one, State::Success) };
    let found = cells(desk.store, tasks[0].0, "2024-01-14", "2024-01-14");
    assert_eq!(found, [done, plain(0, two, State::Pending)]);
    let blocked = PastCell { live: true, revision: 1, ..plain(1, one, State::Blocked) };
    let found = cells(desk.store, tasks[1].0, "2024-01-01", "2024-12-31");
    assert_eq!(found, [blocked, plain(1, two, State::Pending)]);
    // What was left out of its run is not there.
    let disabled = PastCell {
        disabled: true,
        finished_at: Some(at(9)),
        revision: 1,
        ..plain(2, two, State::Skipped)
    };
    let found = cells(desk.store, tasks[2].0, "2024-01-14", "2024-01-20");
    assert_eq!(found, [disabled]);
    for (from, to) in [("2024-01-15", "2024-01-20"), ("2023-01-15", "2024-01-13")] {
        assert_eq!(cells(desk.store, tasks[0].0, from, to), []);
    }
    assert_eq!(desk.store.past_durations(tasks[0].0, 10).unwrap(), [1_000]);
    assert_eq!(desk.store.past_durations(tasks[0].0, 0).unwrap(), [0i64; 0]);
    assert_eq!(desk.store.past_durations(tasks[1].0, 10).unwrap(), [0i64; 0]);
}

pub fn what_was_left_as_it_was_is_the_success_before(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    let mut first = desk.create(0);
    first.task_runs[0].progress.fingerprint = Some("f".into());
    first.task_runs[0].progress.result = Some("7".into());
    stand(&mut desk, &mut first, 0, State::Success, None);
    let mut second = desk.create(0);
    second.task_runs[0].progress.unchanged = true;
    stand(&mut desk, &mut second, 0, State::Skipped, Some("UNCHANGED"));
    let mut third = desk.create(0);
    stand(&mut desk, &mut third, 0, State::Skipped, Some("UNCHANGED"));
    let other = desk.create(86_400);

    let id = |run: &mainspring::store::CreatedRun| run.task_runs[0].id;
    let ids = [&first, &second, &third, &other].map(id);
    let found = ids.map(|id| desk.store.earlier_fingerprint(id).unwrap());
    assert_eq!(found, [None, Some("f".to_owned()), Some("f".to_owned()), None]);
    for of in &ids[..3] {
        let text = StoredResult::Text("7".into());
        assert_eq!(desk.store.result(*of).unwrap(), Some(text), "{of}");
    }
    let task = desk.dag.tasks[0].task_id;
    let fires = RunsAt::Fires(vec![at(0)]);
    let date = RunsAt::Date(Date::parse("2024-01-14").unwrap());
    for at in [&fires, &date] {
        let found = desk.store.upstream_runs(task, at).unwrap();
        let newest = (third.row.id, id(&third), Some("UNCHANGED"));
        assert_eq!((found[0].run, found[0].task_run, found[0].code.as_deref()), newest);
        assert_eq!(found[0].output, (first.row.id, id(&first)));
        assert_eq!(found[0].result.as_deref(), Some("7"));
    }
    let past = cells(desk.store, task, "2024-01-14", "2024-01-14");
    let newest = past.iter().find(|cell| cell.run == third.row.id).unwrap();
    assert_eq!((newest.state, newest.version), (State::Success, desk.dag.tasks[0].version_id));
    let stored = desk.store.stored_run(first.row.id).unwrap().unwrap().task_runs.remove(0);
    assert_eq!(
        (stored.progress.fingerprint.as_deref(), stored.progress.unchanged),
        (Some("f"), false)
    );
    let stored = desk.store.stored_run(second.row.id).unwrap().unwrap().task_runs.remove(0);
    assert!(stored.progress.unchanged);
}
