//! What processes ask of each other by rows, and the lives that prove that no fire was lost.

use mainspring::model::{Ask, Decided, RequestRow, RunId, SkipReason, Steer};
use mainspring::model::{BackfillId, Skip};
use mainspring::store::{Changed, CommitError, NewSkip, Store};

use crate::store::support::{Desk, at, backfill_plan, flights, new_run, node, schedule};

fn asks(desk: &Desk<'_>) -> Vec<Ask> {
    let (run, task) = (RunId(7), "clean".to_owned());
    vec![
        Ask::Trigger {
            dag: "flights".into(),
            biz_date: None,
            nominal_at: Some(at(60)),
            params: serde_json::from_str(r#"{"名": [1, null, "é\u0001"]}"#).unwrap(),
            only: Some(vec![task.clone()]),
            force: true,
        },
        Ask::Cancel { run, tasks: Some(vec![task.clone()]), grace_ms: Some(0) },
        Ask::Rerun { run, tasks: None, downstream: true },
        Ask::Approve { run, task, reject: true, note: Some("not \u{1F600} now".into()) },
        Ask::Pause { dag: "flights".into(), schedule: Some("default".into()) },
        Ask::Resume { dag: "flights".into(), schedule: None, missed: None },
        Ask::Backfill { plan: Box::new(backfill_plan(&desk.dag, "f00d", &[100, 200])) },
        Ask::Steer { backfill: BackfillId(3), steer: Steer::Halt, grace_ms: None },
    ]
}

fn asked(row: &RequestRow) -> Ask {
    serde_json::from_str(&row.payload).unwrap()
}

pub fn a_request_is_read_back_and_answered_once(store: &mut dyn Store) {
    let desk = Desk::open(store);
    let scope = desk.lease.scope_id;
    let other = desk.store.join(&node(2)).unwrap().scope_id;
    let asks = asks(&desk);
    let mut ids = Vec::new();
    for (now, ask) in (10..).zip(&asks) {
        let by = (now % 2 == 0).then_some("somebody");
        ids.push(desk.store.put_request(scope, ask, by, at(now)).unwrap());
        desk.store.put_request(other, ask, None, at(now)).unwrap();
    }
    assert!(ids.is_sorted());
    let open = desk.store.open_requests(scope, 100).unwrap();
    assert_eq!(open.iter().map(|row| row.id).collect::<Vec<_>>(), ids);
    assert_eq!(open.iter().map(asked).collect::<Vec<_>>(), asks);
    let row = desk.store.request(ids[0]).unwrap().unwrap();
    assert_eq!(row, open[0]);
    assert_eq!((row.scope, row.requested_at), (scope, at(10)));
    assert_eq!((row.requested_by.as_deref(), row.decided_at), (Some("somebody"), None));
    assert_eq!((open[1].requested_by.as_deref(), row.answer), (None, None));
    assert_eq!(desk.store.open_requests(scope, 3).unwrap(), open[..3]);
    assert_eq!(desk.store.request(999).unwrap(), None);
    // The answer is a part of the batch that carries it out.
    let yes = Decided { run: Some(RunId(9)), ..Decided::default() };
    let no = Decided { refused: Some("there is no run 7".into()), ..Decided::default() };
    let mut batch = desk.batch();
    batch.answers = vec![(ids[0], yes.clone()), (ids[2], no)];
    desk.store.commit(&batch).unwrap();
    let row = desk.store.request(ids[0]).unwrap().unwrap();
    assert_eq!(row.decided_at, Some(batch.now));
    let answer: Decided = serde_json::from_str(&row.answer.unwrap()).unwrap();
    assert_eq!(answer, yes);
    let left: Vec<i64> =
        desk.store.open_requests(scope, 100).unwrap().iter().map(|row| row.id).collect();
    assert_eq!(left, [&ids[1..2], &ids[3..]].concat());
    assert_eq!(desk.store.open_requests(other, 100).unwrap().len(), asks.len());
    // Of two who answer, one is refused, with all else that he says.
    for id in [ids[0], 999] {
        let mut batch = desk.batch();
        batch.answers = vec![(ids[1], yes.clone()), (id, yes.clone())];
        match desk.store.commit(&batch) {
            Err(CommitError::Conflict { what }) => assert_eq!(what, Changed::Request(id)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(desk.store.request(ids[1]).unwrap().unwrap().decided_at, None);
}

pub fn the_lives_of_schedules_are_told_one_after_the_other(store: &mut dyn Store) {
    let mut desk = Desk::open(store);
    assert_eq!(desk.store.life(None, 10).unwrap(), None);
    let mut def = flights();
    def.schedules = vec![schedule("default", "0 2 * * *"), schedule("second", "@hourly")];
    desk.dag = desk.store.register(&[def], at(0)).unwrap().remove(0);
    let (first, second) = (desk.dag.schedules[0].0, desk.dag.schedules[1].0);
    let mut made = Vec::new();
    for (nominal, timed, of) in [(10, true, first), (20, true, second), (30, true, first)] {
        let ids = desk.store.next_ids().unwrap();
        let mut run = new_run(&desk.dag, desk.lease, ids, nominal);
        (run.row.timed, run.row.schedule_id, run.schedules) = (timed, Some(of), vec![of]);
        made.push((at(nominal), run.row.id));
        let mut batch = desk.batch();
        batch.created.push(run);
        desk.store.commit(&batch).unwrap();
    }
    let skip = |from, to| Skip {
        schedule: first,
        from: at(from),
        to: at(to),
        count: 1,
        reason: SkipReason::Missed,
    };
    let mut batch = desk.batch();
    for skip in [skip(12, 14), skip(16, 18)] {
        batch.skips.push(NewSkip { skip, joins: false });
    }
    desk.store.commit(&batch).unwrap();
    let life = desk.store.life(None, 10).unwrap().unwrap();
    assert_eq!((life.id, life.key.as_str(), life.watermark), (first, "flights.default", at(0)));
    assert_eq!(life.fired, [made[2], made[0]]);
    assert_eq!(life.skips, [skip(16, 18), skip(12, 14)]);
    let newest = desk.store.life(None, 1).unwrap().unwrap();
    assert_eq!((newest.fired, newest.skips), (vec![made[2]], vec![skip(16, 18)]));
    // Also of one that was removed.
    desk.store.register(&[flights()], at(40)).unwrap();
    let life = desk.store.life(Some(first), 10).unwrap().unwrap();
    assert_eq!((life.id, life.key.as_str()), (second, "flights.second"));
    assert_eq!((life.fired, life.periods.len()), (vec![made[1]], 2));
    assert_eq!(desk.store.life(Some(second), 10).unwrap(), None);
}
