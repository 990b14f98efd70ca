//! One whole way: definition, run, results, history.

use std::sync::Arc;

use mainspring::model::{Outcome, RunState, State};
use mainspring::runtime::{Finished, INLINE_RESULT_LIMIT, SessionError, Stream};
use mainspring::store::{AttemptFilter, RunFilter};
use serde_json::json;

use super::handlers::{Desk, Folder, Host, first_input, returned, sound, states};

fn three() -> serde_json::Value {
    json!([
        {"name": "a", "handler": "m:a"},
        {"name": "b", "handler": "m:b", "inputs": {"x": "a"}},
        {"name": "c", "handler": "m:c", "inputs": {"x": "b"}},
    ])
}

#[test]
fn results_go_downstream_and_into_the_history() {
    let folder = Folder::new("life");
    let desk = Desk::open(&folder);
    desk.register(three());
    let host = Host::default()
        .on("a", |_, _| returned(Some("[1,2]")))
        .on("b", |job, _| returned(Some(&format!("{{\"got\":{}}}", first_input(job)))))
        .on("c", |job, _| {
            job.log.write(first_input(job).as_bytes(), Stream::Out);
            returned(None)
        });
    let run = desk.submit(&Arc::new(host));
    desk.wait(run);

    let mut store = folder.store();
    let row = store.runs(&RunFilter::default()).unwrap().remove(0).row;
    // Asked for at midnight UTC of the 15th, without a schedule: the day before.
    assert_eq!((row.state, row.biz_date.to_string().as_str()), (RunState::Success, "2024-01-14"));
    let attempts = store.attempts(&AttemptFilter::Run(run)).unwrap();
    assert_eq!(attempts.len(), 3);
    assert!(attempts.iter().all(|attempt| attempt.outcome == Some(Outcome::Success)));
    assert_eq!(attempts[2].record.log_tail.as_deref(), Some("{\"got\":[1,2]}"));
    let log = attempts[2].record.log_uri.clone().unwrap();
    let text = std::fs::read_to_string(log).unwrap();
    assert_eq!(text, "2024-01-15T00:00:00Z O {\"got\":[1,2]}\n");
    sound(&folder);
}

#[test]
fn a_large_result_goes_by_file_and_downstream_all_the_same() {
    let folder = Folder::new("large");
    let desk = Desk::open(&folder);
    desk.register(three());
    let large = format!("\"{}\"", "x".repeat(INLINE_RESULT_LIMIT));
    let length = large.len();
    let host = Host::default()
        .on("a", move |_, _| returned(Some(&large)))
        .on("b", |job, _| returned(Some(&first_input(job).len().to_string())));
    let run = desk.submit(&Arc::new(host));
    desk.wait(run);
    let views = folder.store().task_runs(run).unwrap();
    assert_eq!(views[0].row.progress.result, None, "it is not in the row");
    assert!(views[0].row.progress.result_uri.is_some());
    assert_eq!(views[1].row.progress.result.as_deref(), Some(length.to_string().as_str()));
    sound(&folder);
}

#[test]
fn a_failure_blocks_what_is_downstream_and_a_rerun_mends_it() {
    let folder = Folder::new("mend");
    let desk = Desk::open(&folder);
    desk.register(three());
    let bad = Host::default().on("b", |_, _| Finished::failed("EXIT_1", "SystemExit", "no"));
    let run = desk.submit(&Arc::new(bad));
    desk.wait(run);
    let name = |n: &str| n.to_owned();
    assert_eq!(
        states(&folder, run),
        [
            (name("a"), State::Success, 1),
            (name("b"), State::Failed, 1),
            (name("c"), State::Blocked, 0)
        ]
    );
    sound(&folder);

    let good = Arc::new(Host::default());
    let all = mainspring::runtime::Rerun { tasks: None, downstream: false };
    desk.session.rerun(run, good.clone(), &all).unwrap();
    desk.wait(run);
    assert_eq!(
        states(&folder, run),
        [
            (name("a"), State::Success, 1),
            (name("b"), State::Success, 2),
            (name("c"), State::Success, 1)
        ]
    );
    assert_eq!(good.calls(), [(name("b"), 2), (name("c"), 1)], "what succeeded did not run again");
    sound(&folder);
}

#[test]
fn wrong_parameters_are_told_all_at_once_and_make_no_run() {
    let folder = Folder::new("params");
    let desk = Desk::open(&folder);
    desk.register(json!([{"name": "a", "handler": "m:a", "param_schema": [
        {"name": "n", "type": "int", "required": true},
        {"name": "day", "type": "date", "required": true},
    ]}]));
    let params = json!({"n": "5", "m": 1}).as_object().unwrap().clone();
    let request = mainspring::runtime::NewRunRequest { params, ..Default::default() };
    let refused = desk.session.submit("d", Arc::new(Host::default()), request).unwrap_err();
    let SessionError::Spec(problems) = refused else { panic!("{refused}") };
    let codes: Vec<_> = problems.0.iter().map(|problem| problem.code).collect();
    assert_eq!(codes, ["unknown_parameter", "wrong_type", "missing_parameter"]);
    assert_eq!(folder.store().runs(&RunFilter::default()).unwrap().len(), 0);
}

#[test]
fn ten_thousand_tasks_share_few_commits() {
    let folder = Folder::new("noop");
    let desk = Desk::open(&folder);
    let tasks: Vec<_> =
        (0..10_000).map(|i| json!({"name": format!("t{i}"), "type": "noop"})).collect();
    desk.register(tasks.into());
    let run = desk.submit(&Arc::new(Host::default()));
    desk.wait(run);
    let mut store = folder.store();
    let counts = store.runs(&RunFilter::default()).unwrap().remove(0).counts;
    assert_eq!(counts, [(State::Success, 10_000)]);
    // One journal row a commit: the first makes the run, each further one ends what four slots
    // held and starts the next four.
    assert_eq!(store.journal(run).unwrap().len(), 1 + 10_000 / 4);
}
