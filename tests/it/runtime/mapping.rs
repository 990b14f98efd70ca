//! Mapped tasks over a real file: lists from results and files, items with their arguments, reruns.

use std::sync::Arc;

use mainspring::model::{RunId, State};
use mainspring::runtime::{Finished, HandlerHost, Input, Job, Rerun};
use mainspring::store::{RunFilter, Store, StoredResult, TaskRunView};
use serde_json::{Value, json};

use super::handlers::{Desk, Folder, Host, fill, first_input, returned, sound};

fn tasks() -> Value {
    json!([
        {"name": "l", "handler": "m:l"},
        {"name": "m", "handler": "m:m", "map": {"argument": "x", "result": "l"}},
        {"name": "r", "handler": "m:r", "inputs": {"all": "m"}},
    ])
}

/// Returns its item, as it is.
fn item(job: &Job) -> Finished {
    returned(Some(&job.item.as_ref().unwrap().text))
}

fn host(list: impl Into<String>) -> Host {
    let list = list.into();
    Host::default()
        .on("l", move |_, _| returned(Some(&list)))
        .on("m", |job, _| item(job))
        .on("r", |job, _| returned(Some(&first_input(job))))
}

fn views(folder: &Folder, run: RunId) -> Vec<TaskRunView> {
    folder.store().task_runs(run).unwrap()
}

fn result(folder: &Folder, run: RunId, task: usize) -> String {
    let id = views(folder, run)[task].row.id;
    match folder.store().result(id).unwrap().unwrap() {
        StoredResult::Text(text) => text.to_string(),
        StoredResult::File(path) => std::fs::read_to_string(path).unwrap(),
    }
}

fn rerun(desk: &Desk, run: RunId, host: &Arc<Host>, names: &[&str], downstream: bool) {
    let tasks = Some(names.iter().map(|name| (*name).to_owned()).collect());
    let host = Arc::clone(host) as HandlerHost;
    desk.session.rerun(run, host, &Rerun { tasks, downstream }).unwrap();
    desk.wait(run);
}

/// Scenario C09: what the reduce receives.
#[test]
fn the_reduce_receives_the_list_whatever_its_length() {
    for list in ["[]", "[1]", "[null]", "[1,\"b\",{\"c\":[]}]"] {
        let folder = Folder::new("map");
        let desk = Desk::open(&folder);
        desk.register(tasks());
        let host = Arc::new(host(list));
        let run = desk.submit(&host);
        desk.wait(run);
        assert_eq!(desk.session.watch(run).unwrap().status().state.as_str(), "SUCCESS");
        assert_eq!(result(&folder, run, 2), list);
        assert_eq!(host.calls().iter().filter(|(task, _)| task == "r").count(), 1);
        sound(&folder);
    }
}

/// Scenario C09, 10 000: in a few commits, the results in a file, one reduce.
#[test]
fn ten_thousand_items_pass_through_a_file() {
    let folder = Folder::new("many");
    let desk = Desk::open(&folder);
    desk.register(tasks());
    let wide = "x".repeat(40);
    let list: Vec<String> = (0..10_000).map(|n| format!("\"{n:05}{wide}\"")).collect();
    let list = format!("[{}]", list.join(","));
    let host = Arc::new(host(&*list));
    let run = desk.submit(&host);
    desk.wait(run);
    let (calls, state) = (host.calls(), desk.session.watch(run).unwrap().status().state);
    assert_eq!((calls.len(), state.as_str()), (10_002, "SUCCESS"));
    assert!(result(&folder, run, 1) == list, "the results are the list");
    assert!(result(&folder, run, 2) == list, "the reduce saw them");
    let whole = &views(&folder, run)[1].row;
    assert!(whole.progress.result.is_none() && whole.progress.result_uri.is_some());
    sound(&folder);
}

#[test]
fn what_is_not_a_list_says_so_in_its_attempt() {
    let folder = Folder::new("no-list");
    let desk = Desk::open(&folder);
    desk.register(tasks());
    let run = desk.submit(&Arc::new(host("{\"a\":1}")));
    desk.wait(run);
    let whole = views(&folder, run)[1].row.clone();
    assert_eq!(whole.progress.state, State::Failed);
    let filter = mainspring::store::AttemptFilter::TaskRun(whole.id);
    let attempts = folder.store().attempts(&filter).unwrap();
    let record = &attempts[0].record;
    assert_eq!(record.error_code.as_deref(), Some("NOT_A_LIST"));
    assert_eq!(
        record.error.as_deref(),
        Some("a task is mapped over a list, and this is an object")
    );
    sound(&folder);
}

#[test]
fn an_item_is_run_again_by_its_name() {
    let folder = Folder::new("one");
    let desk = Desk::open(&folder);
    desk.register(tasks());
    let spoilt = host("[1,2,3]").on("m", |job, _| match job.item.as_ref().unwrap().map_index {
        1 => Finished::failed("X", "Bad", "not yet"),
        _ => item(job),
    });
    let run = desk.submit(&Arc::new(spoilt));
    desk.wait(run);
    let states: Vec<String> =
        views(&folder, run).iter().map(|v| v.row.progress.state.to_string()).collect();
    assert_eq!(states, ["SUCCESS", "FAILED", "BLOCKED", "SUCCESS", "FAILED", "SUCCESS"]);
    let why = desk.session.explain(run, "m[1]").unwrap();
    assert!(why.starts_with(&format!("m[1] of run {run} is FAILED: ended")), "{why}");
    let again = Arc::new(host("[7]"));
    rerun(&desk, run, &again, &["m[1]"], false);
    assert_eq!(again.calls(), [("m".to_owned(), 2), ("r".to_owned(), 1)]);
    assert_eq!(result(&folder, run, 2), "[1,2,3]");
    let missing = desk.session.explain(run, "m[3]").unwrap_err().to_string();
    assert_eq!(missing, "dag d has no m[3] here\n  hint: m has items m[0] to m[2]");
    let missing = desk.session.explain(run, "l[0]").unwrap_err().to_string();
    assert_eq!(missing, "dag d has no l[0] here\n  hint: l is not mapped: it has no items");
    // A shorter list: what it does not have any more is removed, and counts no more.
    rerun(&desk, run, &Arc::new(host("[9]")), &["l"], true);
    assert_eq!(result(&folder, run, 2), "[9]");
    let removed: Vec<_> = views(&folder, run).iter().map(|v| v.row.progress.code.clone()).collect();
    assert_eq!(removed[4..], [Some("REMOVED".to_owned()), Some("REMOVED".to_owned())]);
    let runs = folder.store().runs(&RunFilter::default()).unwrap();
    assert_eq!(runs[0].counts, [(State::Success, 4)]);
    assert_eq!(runs[0].row.state.as_str(), "SUCCESS");
    sound(&folder);
}

#[test]
fn a_limit_of_its_own_holds_on_real_threads() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let folder = Folder::new("limit");
    let desk = Desk::open(&folder);
    desk.register(json!([{"name": "m", "handler": "m:m",
        "map": {"argument": "x", "items": (0..40).collect::<Vec<_>>(), "max_active": 2}}]));
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (inside, peak) = (Arc::clone(&now), Arc::clone(&most));
    let run = desk.submit(&Arc::new(Host::default().on("m", move |job, _| {
        peak.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::yield_now();
        inside.fetch_sub(1, Ordering::SeqCst);
        item(job)
    })));
    desk.wait(run);
    assert!(most.load(Ordering::SeqCst) <= 2, "{most:?}");
    let all: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    assert_eq!(result(&folder, run, 0), format!("[{}]", all.join(",")));
    sound(&folder);
}

#[test]
fn texts_are_filled_in_for_each_item() {
    let folder = Folder::new("texts");
    let desk = Desk::open(&folder);
    desk.register(json!([
        {"name": "l", "handler": "m:l"},
        {"name": "m", "handler": "m:m", "inputs": {"also": "l"},
         "map": {"argument": "x", "result": "l"},
         "params": {"text": "/in/${params.x.table}/${biz_date}/${result.l.0.table}"}},
        {"name": "s", "handler": "m:s", "shards": 2,
         "params": {"text": "${params.shardIndex}/${params.shard_total}"}},
    ]));
    let echo = |job: &Job, _: &_| match fill(job, &[]) {
        Ok(()) => returned(Some(&job.params()["text"].to_string())),
        Err(failed) => *failed,
    };
    let run = desk.submit(&Arc::new(
        Host::default()
            .on("l", |_, _| returned(Some("[{\"table\":\"a\"},{\"table\":\"b\"}]")))
            .on("m", move |job, stop| {
                assert!(matches!(job.inputs[0].1, Input::Text(_)));
                echo(job, stop)
            })
            .on("s", echo),
    ));
    desk.wait(run);
    let date = views(&folder, run)[0].row.biz_date;
    assert_eq!(result(&folder, run, 1), format!("[\"/in/a/{date}/a\",\"/in/b/{date}/a\"]"));
    assert_eq!(result(&folder, run, 2), "[\"0/2\",\"1/2\"]");
    sound(&folder);
}

#[test]
fn a_process_that_dies_in_the_middle_is_followed_by_one_that_goes_on() {
    let folder = Folder::new("resume");
    let desk = Desk::open(&folder);
    desk.register(tasks());
    let waits = host("[1,2,3,4,5,6]").on("m", |job, stop| {
        if job.item.as_ref().unwrap().map_index < 2 {
            return item(job);
        }
        let _ = stop.recv_timeout(std::time::Duration::from_secs(30));
        Finished::failed("STOPPED", "Stopped", "asked to stop")
    });
    let run = desk.submit(&Arc::new(waits));
    // Four slots: two have returned, as the list has, and four wait.
    desk.until(run, State::Success, 3);
    desk.until(run, State::Running, 5);
    desk.session.close(60_000, Some(std::time::Duration::from_secs(60)));
    sound(&folder);
    let next = Desk::open(&folder);
    let again = Arc::new(host("[9]"));
    next.session.resume(run, Arc::clone(&again) as HandlerHost).unwrap();
    next.wait(run);
    let mut called: Vec<String> = again.calls().into_iter().map(|(task, _)| task).collect();
    called.sort();
    assert_eq!(called, ["m", "m", "m", "m", "r"]);
    assert_eq!(result(&folder, run, 2), "[1,2,3,4,5,6]");
    sound(&folder);
}

/// What breaks the rows of a mapped task is found.
#[test]
fn a_broken_mapped_task_is_found() {
    let cases = [
        ("DELETE FROM task_run WHERE map_index = 1 AND item IS NOT NULL", "M1"),
        (
            "DROP INDEX task_run_place; UPDATE task_run SET map_index = 0 WHERE item IS NOT NULL",
            "M1",
        ),
        ("UPDATE task_run SET item = NULL WHERE map_index = 2", "M1"),
        ("DROP INDEX task_run_place; UPDATE task_run SET map_index = 0 WHERE map_index = -1", "U1"),
        ("UPDATE task_run SET state = 'FAILED' WHERE map_index = 2", "M1"),
        ("UPDATE task_run SET state = 'READY', finished_at = NULL WHERE map_index = 2", "M1"),
        ("UPDATE task_run SET state = 'RUNNING', finished_at = NULL WHERE map_index = 2", "V2"),
    ];
    for (harm, invariant) in cases {
        let folder = Folder::with_file("broken");
        let desk = Desk::open(&folder);
        desk.register(tasks());
        let run = desk.submit(&Arc::new(host("[1,2,3]")));
        desk.wait(run);
        sound(&folder);
        drop(desk);
        let mut store = folder.file_store();
        let harm = format!("PRAGMA ignore_check_constraints = ON; {harm}");
        store.connection().execute_batch(&harm).unwrap();
        let found = store.verify().unwrap();
        assert!(found.iter().any(|found| found.invariant == invariant), "{harm}: {found:?}");
    }
}

/// An edge with a pattern looks at the collected list, in its row or in its file.
#[test]
fn a_pattern_is_found_in_the_list_of_results() {
    for (wide, count) in [("", 3), (&*"x".repeat(100_000), 3)] {
        let folder = Folder::new("pattern");
        let desk = Desk::open(&folder);
        let on =
            |pattern: &str| json!([{"upstream": "m", "kind": "OUTPUT_MATCH", "pattern": pattern}]);
        desk.register(json!([
            {"name": "m", "handler": "m:m", "shards": count},
            {"name": "yes", "handler": "m:yes", "depends_on": on("^\\[\"0")},
            {"name": "no", "handler": "m:no", "depends_on": on("\"7")},
        ]));
        let wide = wide.to_owned();
        let run = desk.submit(&Arc::new(Host::default().on("m", move |job, _| {
            returned(Some(&format!("\"{}{wide}\"", job.item.as_ref().unwrap().text)))
        })));
        desk.wait(run);
        let states: Vec<State> =
            views(&folder, run).iter().take(3).map(|view| view.row.progress.state).collect();
        assert_eq!(states, [State::Success, State::Success, State::Skipped]);
        sound(&folder);
    }
}
