//! Mapped tasks and shards: expansion, ends, reruns, limits.

use mainspring::engine::{Event, TaskRunRef};
use mainspring::model::{NodeId, RunId, State};

use super::bench::{Bench, check};

const LMR: &str = "l; m <- l : map=l; r <- m";

/// Scenario C09, `[]`: the reduce runs with an empty list, and the run succeeds.
#[test]
fn an_empty_list_is_no_reason_to_hang_or_to_skip() {
    let mut bench = Bench::new(LMR);
    bench.all(&["l ok =[]"]);
    assert_eq!(bench.states(), "l=SUCCESS#1 m=SUCCESS#0 r=RUNNING#1 run=RUNNING");
    assert_eq!(bench.result("m").as_deref(), Some("[]"));
    bench.happen("r ok");
    assert_eq!(bench.states(), "l=SUCCESS#1 m=SUCCESS#0 r=SUCCESS#1 run=SUCCESS");
    assert_eq!(bench.world.next_wake(), None);
}

/// Scenario C09, `[1]` and `[None]`: one item stays a list of one.
#[test]
fn one_item_is_a_list_of_one() {
    for (item, result, list) in [("1", "1", "[1]"), ("null", "null", "[null]")] {
        let mut bench = Bench::new(LMR);
        bench.all(&[&format!("l ok =[{item}]")]);
        assert_eq!(
            bench.states(),
            "l=SUCCESS#1 m=RUNNING#0 r=PENDING#0 m[0]=RUNNING#1 run=RUNNING"
        );
        let progress = &bench.world.run(RunId(1)).unwrap().task_run(3).progress;
        assert_eq!(progress.item.as_deref(), Some(item));
        bench.happen(&format!("m[0] ok ={result}"));
        assert_eq!(bench.result("m").as_deref(), Some(list));
        bench.happen("r ok");
        assert_eq!(
            bench.states(),
            "l=SUCCESS#1 m=SUCCESS#0 r=SUCCESS#1 m[0]=SUCCESS#1 run=SUCCESS"
        );
    }
}

#[test]
fn results_are_in_the_order_of_the_list_whoever_ends_first() {
    let mut bench = Bench::new(LMR);
    bench.all(&["l ok =[\"a\",\"b\",\"c\"]", "m[2] ok =30", "m[0] ok =10", "m[1] ok =20"]);
    assert_eq!(bench.result("m").as_deref(), Some("[10,20,30]"));
}

/// Scenario C09, 10 000 items: one reduce, and the end of an item costs the same however many.
#[test]
fn ten_thousand_items_and_one_reduce() {
    let mut bench = Bench::new("slots=20000; l; m <- l : map=l; r <- m");
    let list: Vec<String> = (0..10_000).map(|n| n.to_string()).collect();
    bench.all(&[&format!("l ok =[{}]", list.join(","))]);
    let run = RunId(1);
    assert_eq!(bench.world.run(run).unwrap().count(State::Running), 10_001);
    for index in 3..10_003 {
        let at = TaskRunRef { run, index };
        let live = bench.world.task_run(at).unwrap().live.clone().unwrap();
        bench.event(&Event::AttemptEnded(mainspring::engine::Report {
            at,
            attempt_no: live.attempt_no,
            token: live.token,
            outcome: mainspring::model::Outcome::Success,
            result: Some(format!("{}", 2 * (index - 3)).into()),
            result_uri: None,
            record: Default::default(),
            released: true,
            texts: None,
        }));
        // Itself, and at the very end what stands for them all with its dependent.
        assert!(bench.last.moves.len() <= 3, "{index}: {:?}", bench.last.moves);
    }
    bench.event(&Event::Dispatch);
    let doubled: Vec<String> = (0..10_000).map(|n| (2 * n).to_string()).collect();
    assert_eq!(bench.result("m"), Some(format!("[{}]", doubled.join(","))));
    assert_eq!(bench.started["r"].len(), 1);
    bench.happen("r ok");
    assert_eq!(bench.world.run(run).unwrap().row.state.as_str(), "SUCCESS");
}

/// Scenario C09, not a list: it fails when it is expanded, says what there was, and is not tried
/// again by itself.
#[test]
fn what_is_not_a_list_fails_with_the_reason() {
    for (result, what) in
        [("5", "a number"), ("\"x\"", "text"), ("{}", "an object"), ("null", "null")]
    {
        let mut bench = Bench::new("l; m <- l : map=l max=3; r <- m");
        bench.all(&[&format!("l ok ={result}")]);
        let states = "l=SUCCESS#1 m=FAILED#1(NOT_A_LIST) r=BLOCKED#0(by m) run=FAILED";
        assert_eq!(bench.states(), states);
        bench.all(&["+3600"]);
        assert_eq!(bench.states(), states);
        let wanted = format!("a task is mapped over a list, and this is {what}");
        let mut bench = Bench::new("l; m <- l : map=l");
        bench.event(&Event::Dispatch);
        bench.happen(&format!("l ok ={result}"));
        let error = bench.ends.iter().find_map(|end| end.end.record.error.clone());
        assert_eq!(error.as_deref(), Some(&*wanted));
    }
}

#[test]
fn too_many_items_are_refused_before_there_is_a_row() {
    let mut bench = Bench::new("l; m <- l : map=l");
    bench.all(&[&format!("l ok =[{}1]", "1,".repeat(100_000))]);
    assert_eq!(bench.states(), "l=SUCCESS#1 m=FAILED#1(TOO_MANY_ITEMS) run=FAILED");
}

/// Scenario C09, raises: a failed item fails the whole, by its code, and names it to what waits.
#[test]
fn a_failed_item_fails_the_whole_when_all_have_ended() {
    let mut bench = Bench::new(LMR);
    bench.all(&["l ok =[1,2,3]", "m[1] fail X"]);
    assert_eq!(
        bench.states(),
        "l=SUCCESS#1 m=RUNNING#0 r=PENDING#0 m[0]=RUNNING#1 m[1]=FAILED#1(X) m[2]=RUNNING#1 \
         run=RUNNING"
    );
    assert_eq!(
        bench.why("m"),
        "m of run 1 is RUNNING: waits for 2 of its 3 items, 1 have ended badly"
    );
    bench.all(&["m[0] fail Y", "m[2] ok"]);
    assert_eq!(
        bench.states(),
        "l=SUCCESS#1 m=FAILED#0(Y) r=BLOCKED#0(by m) m[0]=FAILED#1(Y) m[1]=FAILED#1(X) \
         m[2]=SUCCESS#1 run=FAILED"
    );
}

#[test]
fn items_are_retried_each_by_itself() {
    let mut bench = Bench::new("m : map=[1,2] max=2 fixed=5000");
    bench.all(&["m[0] fail X", "m[1] ok"]);
    assert_eq!(bench.states(), "m=RUNNING#0 m[0]=RETRY_WAIT#1(X) m[1]=SUCCESS#1 run=RUNNING");
    bench.all(&["+5", "m[0] ok"]);
    assert_eq!(bench.states(), "m=SUCCESS#0 m[0]=SUCCESS#2 m[1]=SUCCESS#1 run=SUCCESS");
    assert_eq!(bench.result("m").as_deref(), Some("[1,1]"));
}

#[test]
fn one_item_is_run_again_and_the_others_keep_their_results() {
    let mut bench = Bench::new(LMR);
    bench.all(&["l ok =[1,2,3]", "m[0] ok =1", "m[1] fail X", "m[2] ok =3", "rerun m[1]"]);
    assert_eq!(
        bench.states(),
        "l=SUCCESS#1 m=RUNNING#0 r=PENDING#0 m[0]=SUCCESS#1 m[1]=RUNNING#2 m[2]=SUCCESS#1 \
         run=RUNNING"
    );
    bench.all(&["m[1] ok =2"]);
    assert_eq!(bench.result("m").as_deref(), Some("[1,2,3]"));
    bench.all(&["r ok", "rerun m[0]"]);
    // What had its results before is stale now.
    assert!(bench.states().contains("r=SUCCESS#1*"), "{}", bench.states());
    bench.all(&["m[0] ok =9"]);
    assert_eq!(bench.result("m").as_deref(), Some("[9,2,3]"));
    // And with what is downstream, that runs again.
    bench.all(&["rerun m[0]+", "m[0] ok =7", "r ok"]);
    assert!(bench.states().contains("r=SUCCESS#2 "), "{}", bench.states());
    assert_eq!(bench.result("m").as_deref(), Some("[7,2,3]"));
}

#[test]
fn rerun_failed_takes_the_failed_items_and_no_others() {
    let mut bench = Bench::new(LMR);
    bench.all(&["l ok =[1,2,3]", "m[0] fail X", "m[1] ok =2", "m[2] fail X", "rerun failed"]);
    assert_eq!(
        bench.states(),
        "l=SUCCESS#1 m=RUNNING#0 r=PENDING#0 m[0]=RUNNING#2 m[1]=SUCCESS#1 m[2]=RUNNING#2 \
         run=RUNNING"
    );
    bench.all(&["m[0] ok =1", "m[2] ok =3", "r ok"]);
    assert_eq!(bench.result("m").as_deref(), Some("[1,2,3]"));
    bench.happen("rerun failed");
    assert_eq!(bench.refused(), "run 1 has nothing that failed, timed out or was canceled");
}

/// Scenario C09, the list changes on a rerun: what it does not have any more ends CANCELED with
/// REMOVED, and the reduce sees the new list only.
#[test]
fn a_shorter_list_removes_items_and_a_longer_one_makes_them() {
    let mut bench = Bench::new(LMR);
    bench.all(&["l ok =[1,2,3]", "m[0] ok =1", "m[1] ok =2", "m[2] ok =3", "r ok"]);
    bench.all(&["rerun l+", "l ok =[5]"]);
    assert_eq!(
        bench.states(),
        "l=SUCCESS#2 m=RUNNING#0 r=PENDING#1 m[0]=RUNNING#2 m[1]=CANCELED#1(REMOVED) \
         m[2]=CANCELED#1(REMOVED) run=RUNNING"
    );
    let item = |bench: &Bench, index| {
        bench.world.run(RunId(1)).unwrap().task_run(index).progress.item.clone()
    };
    assert_eq!(item(&bench, 3).as_deref(), Some("5"));
    bench.all(&["m[0] ok =50", "r ok"]);
    assert_eq!(bench.result("m").as_deref(), Some("[50]"));
    assert!(bench.states().ends_with("run=SUCCESS"), "{}", bench.states());
    bench.happen("rerun m[2]");
    assert_eq!(bench.refused(), "run 1: m[2] was removed, the list is shorter now");
    bench.all(&["rerun l+", "l ok =[6,7,8,9]"]);
    assert_eq!(bench.world.run(RunId(1)).unwrap().count(State::Running), 5);
    assert_eq!(item(&bench, 5).as_deref(), Some("8"));
    bench.all(&["m[0] ok =6", "m[1] ok =7", "m[2] ok =8", "m[3] ok =9", "r ok"]);
    assert_eq!(bench.result("m").as_deref(), Some("[6,7,8,9]"));
    assert!(bench.states().ends_with("run=SUCCESS"), "{}", bench.states());
}

#[test]
fn a_limit_of_its_own_lets_so_many_run_and_hinders_nobody_else() {
    let mut bench = Bench::new("m : map=[1,2,3,4] atonce=2; z : prio=9");
    bench.all(&[]);
    assert_eq!(
        bench.states(),
        "m=RUNNING#0 z=RUNNING#1 m[0]=RUNNING#1 m[1]=RUNNING#1 m[2]=READY#0 m[3]=READY#0 \
         run=RUNNING"
    );
    assert_eq!(
        bench.why("m[2]"),
        "m[2] of run 1 is READY: waits for another item, 2 of 2 are live at once"
    );
    assert!(!bench.world.has_ready(bench.now));
    bench.all(&["m[1] ok"]);
    assert_eq!(
        bench.states(),
        "m=RUNNING#0 z=RUNNING#1 m[0]=RUNNING#1 m[1]=SUCCESS#1 m[2]=RUNNING#1 m[3]=READY#0 \
         run=RUNNING"
    );
    // A thread that is still there takes its place.
    bench.all(&["m[0] hung"]);
    assert!(bench.states().contains("m[3]=READY#0"), "{}", bench.states());
    bench.all(&["m[0] released"]);
    assert!(bench.states().contains("m[3]=RUNNING#1"), "{}", bench.states());
}

#[test]
fn shards_are_items_with_numbers() {
    let mut bench = Bench::new("s : shards=3; r <- s");
    bench.all(&[]);
    assert_eq!(
        bench.states(),
        "s=RUNNING#0 r=PENDING#0 s[0]=RUNNING#1 s[1]=RUNNING#1 s[2]=RUNNING#1 run=RUNNING"
    );
    let run = bench.world.run(RunId(1)).unwrap();
    let items: Vec<_> = (2..5).map(|at| run.task_run(at).progress.item.clone().unwrap()).collect();
    assert_eq!(items, ["0".into(), "1".into(), "2".into()] as [std::sync::Arc<str>; 3]);
}

#[test]
fn a_parameter_of_the_run_may_be_the_list() {
    let with = |list: serde_json::Value| {
        let mut bench = Bench::with("m : mapparam=tables", |new| {
            new.params.insert("tables".into(), list);
        });
        bench.all(&[]);
        bench.states()
    };
    let two = "m=RUNNING#0 m[0]=RUNNING#1 m[1]=RUNNING#1 run=RUNNING";
    assert_eq!(with(serde_json::json!(["a", "b"])), two);
    assert_eq!(with(serde_json::json!(7)), "m=FAILED#1(NOT_A_LIST) run=FAILED");
}

#[test]
fn a_chain_of_maps_goes_through_the_collected_list() {
    let mut bench = Bench::new("l; m <- l : map=l; n <- m : map=m; r <- n");
    bench.all(&["l ok =[1,2]", "m[0] ok =10", "m[1] ok =20"]);
    assert!(bench.states().contains("n=RUNNING#0 r=PENDING#0"), "{}", bench.states());
    bench.all(&["n[1] ok =21", "n[0] ok =11"]);
    assert_eq!(bench.result("n").as_deref(), Some("[11,21]"));
    let mut bench = Bench::new("l; m <- l : map=l; n <- m : map=m; r <- n");
    bench.all(&["l ok =[]"]);
    assert_eq!(bench.states(), "l=SUCCESS#1 m=SUCCESS#0 n=SUCCESS#0 r=RUNNING#1 run=RUNNING");
}

#[test]
fn cancel_takes_one_item_or_all_of_them() {
    let mut bench = Bench::new(LMR);
    bench.all(&["l ok =[1,2,3]", "m[0] ok", "cancel m[1]", "m[1] ok", "m[2] ok"]);
    assert_eq!(
        bench.states(),
        "l=SUCCESS#1 m=CANCELED#0(CANCELED) r=BLOCKED#0(by m) m[0]=SUCCESS#1 \
         m[1]=CANCELED#1(CANCELED) m[2]=SUCCESS#1 run=CANCELED"
    );
    let mut bench = Bench::new("slots=1; m : map=[1,2,3]");
    bench.all(&["cancel m"]);
    // The tree of what runs is dead first.
    assert_eq!(
        bench.states(),
        "m=RUNNING#0 m[0]=RUNNING#1 m[1]=CANCELED#0(CANCELED) m[2]=CANCELED#0(CANCELED) run=RUNNING"
    );
    bench.all(&["m[0] fail"]);
    assert_eq!(
        bench.states(),
        "m=CANCELED#0(CANCELED) m[0]=CANCELED#1(CANCELED) m[1]=CANCELED#0(CANCELED) \
         m[2]=CANCELED#0(CANCELED) run=CANCELED"
    );
    // What was canceled before it was expanded is expanded when it is run again.
    let mut bench = Bench::new(LMR);
    bench.all(&["cancel m", "l ok =[4]", "rerun m"]);
    assert!(bench.states().contains("m[0]=RUNNING#1"), "{}", bench.states());
}

#[test]
fn a_crash_loses_neither_items_nor_what_they_have_done() {
    let mut bench = Bench::new("l; m <- l : map=l atonce=2 max=3 fixed=1000; r <- m");
    bench.all(&["l ok =[1,2,3]", "m[1] ok =2", "crash", "+1"]);
    assert_eq!(
        bench.states(),
        "l=SUCCESS#1 m=RUNNING#0 r=PENDING#0 m[0]=RUNNING#2 m[1]=SUCCESS#1 m[2]=RUNNING#2 \
         run=RUNNING"
    );
    let kept = bench.world.clone();
    let read = bench.rows.world(100, NodeId(2));
    assert_eq!(
        read.run(RunId(1)).unwrap().task_runs().len(),
        kept.run(RunId(1)).unwrap().task_runs().len()
    );
    bench.all(&["m[0] ok =1", "m[2] ok =3", "crash", "r ok"]);
    assert_eq!(bench.result("m").as_deref(), Some("[1,2,3]"));
    assert!(bench.states().ends_with("run=SUCCESS"), "{}", bench.states());
}

#[test]
fn an_upstream_that_is_run_again_makes_the_whole_stale_and_not_its_items_wait() {
    let mut bench = Bench::new(LMR);
    bench.all(&["l ok =[1,2]", "m[0] ok", "rerun l", "m[1] ok"]);
    assert!(bench.states().contains("m=SUCCESS#0*"), "{}", bench.states());
    bench.all(&["r ok", "l ok =[8]", "rerun m+", "m[0] ok =80"]);
    assert_eq!(bench.result("m").as_deref(), Some("[80]"));
}

#[test]
fn a_mapped_task_waits_like_any_other_and_ends_with_what_it_waits_for() {
    check(
        "l; m <- l : map=l; r <- m",
        &["l fail X"],
        "l=FAILED#1(X) m=BLOCKED#0(by l) r=BLOCKED#0(by l) run=FAILED",
    );
    let mut bench = Bench::with("l; m <- l : map=l; r <- m", |new| new.only = Some(vec![1, 2]));
    bench.all(&["r ok"]);
    // Nobody made the list: nothing is on it.
    assert_eq!(bench.states(), "l=SKIPPED#0(NOT_SELECTED) m=SUCCESS#0 r=SUCCESS#1 run=SUCCESS");
}
