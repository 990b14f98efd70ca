//! What an attempt gets of its texts: the same in every attempt, whoever asks and whenever.

use std::sync::Arc;

use mainspring::engine::check_definition;
use mainspring::model::{AttemptRow, Date, Instant, Outcome, RunId, State};
use mainspring::runtime::{Finished, NewRunRequest, Rerun};
use mainspring::store::AttemptFilter;
use serde_json::{Value, json};

use super::handlers::{Desk, Folder, Host, fill, returned, sound, states};

/// Returns the value of the argument `text`, or how the filling in failed.
fn echo(host: Host, task: &str) -> Host {
    host.on(task, |job, _| match fill(job, &[("DB", "hunter2")]) {
        Ok(()) => returned(Some(&job.params()["text"].to_string())),
        Err(failed) => *failed,
    })
}

fn register(desk: &Desk, spec: &Value) {
    desk.session.register(&[check_definition(spec).unwrap_or_else(|e| panic!("{e}"))]).unwrap();
}

fn submit(desk: &Desk, dag: &str, request: NewRunRequest) -> RunId {
    let host: Arc<Host> = Arc::new(echo(Host::default(), "a"));
    let run = desk.session.submit(dag, host, request).unwrap();
    desk.wait(run);
    run
}

fn attempts(folder: &Folder, run: RunId) -> Vec<AttemptRow> {
    folder.store().attempts(&AttemptFilter::Run(run)).unwrap()
}

/// The result of the first task of a run.
fn result(folder: &Folder, run: RunId) -> String {
    let views = folder.store().task_runs(run).unwrap();
    serde_json::from_str(views[0].row.progress.result.as_deref().unwrap()).unwrap()
}

fn case(id: &str) -> Value {
    let path = format!("{}/tests/data/time/template.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.into_iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("no case {id}"))
}

fn daily(case: &Value) -> Value {
    let input = &case["input"];
    json!({"name": "d", "timezone": input["tz"], "schedule": input["schedule"],
           "tasks": [{"name": "a", "handler": "m:a", "params": {"text": input["text"]},
                      "dedup_key": "d/${biz_date:yyyyMMdd}"}]})
}

/// 2024-06-10T02:00:00+08:00, the scenario's fire.
const FIRE: Instant = Instant(1_717_956_000_000_000);
const HOUR: i64 = 3_600_000;

/// Scenario E10: rerun, backfill and a run without a date.
#[test]
fn dates_in_texts_are_those_of_the_run_and_not_of_the_clock() {
    let folder = Folder::new("e10");
    let desk = Desk::at(&folder, folder.store(), FIRE);
    let scheduled = case("e10-scheduled");
    register(&desk, &daily(&scheduled));
    let at_the_fire = NewRunRequest { nominal_at: Some(FIRE), ..NewRunRequest::default() };
    let run = submit(&desk, "d", at_the_fire);
    let first = result(&folder, run);
    assert_eq!(json!(first), scheduled["expect"]);

    // 2024-06-12T12:10:00+08:00.
    desk.advance(58 * HOUR + 600_000);
    let tasks = Some(vec!["a".to_owned()]);
    let host = Arc::new(echo(Host::default(), "a"));
    desk.session.rerun(run, host, &Rerun { tasks, downstream: false }).unwrap();
    desk.wait(run);
    assert_eq!(attempts(&folder, run).len(), 2);
    assert_eq!(json!(result(&folder, run)), case("e10-rerun")["expect"]);

    let backfill = case("e10-backfill");
    let date = Date::parse(backfill["input"]["biz_date"].as_str().unwrap()).unwrap();
    let request = NewRunRequest { biz_date: Some(date), ..NewRunRequest::default() };
    let run = submit(&desk, "d", request);
    assert_eq!(json!(result(&folder, run)), backfill["expect"]);
    sound(&folder);
}

/// Half past one in Shanghai is the evening of the day before in UTC.
#[test]
fn a_run_without_a_date_has_the_civil_date_of_the_schedules_zone() {
    let folder = Folder::new("e10-manual");
    let manual = case("e10-manual");
    // 2024-06-12T01:30:00+08:00.
    let now = FIRE.plus_millis(47 * HOUR + HOUR / 2);
    let desk = Desk::at(&folder, folder.store(), now);
    register(&desk, &daily(&manual));
    let run = submit(&desk, "d", NewRunRequest::default());
    assert_eq!(json!(result(&folder, run)), manual["expect"]);
}

/// A retry, then a rerun a year later by another process, after the dag was given another text.
#[test]
fn a_rerun_a_year_later_gets_byte_for_byte_the_same() {
    let folder = Folder::new("year");
    let texts = json!({
        "text": "${biz_date} ${today:%j} $[yyyyMMddHH-1/24] ${interval_start} ${interval_end} \
                 ${nominal_at} ${params.size} ${week_start} $[year_week(yyyy-MM-dd)] 上海 $${x}",
    });
    let mut spec = json!({"name": "d", "timezone": "America/New_York", "schedule": "0 30 2 * * ?",
        "tasks": [{"name": "a", "handler": "m:a", "params": texts, "max_attempts": 2,
                   "retry_interval": "1s", "dedup_key": "${biz_date}-${params.size}",
                   "param_schema": [{"name": "size", "type": "int", "default": 5}]}]});
    // 2024-03-10T03:00:00-04:00: 02:30 does not exist that day.
    let nominal_at = Some(Instant(1_710_054_000_000_000));
    let first = Desk::open(&folder);
    register(&first, &spec);
    let host = Host::default().on("a", |job, _| match (fill(job, &[]), job.attempt.attempt_no) {
        (Err(failed), _) => *failed,
        (Ok(()), 1) => Finished::failed("ERROR", "ValueError", "not yet"),
        (Ok(()), _) => returned(Some(&job.params()["text"].to_string())),
    });
    let mut request = NewRunRequest { nominal_at, ..NewRunRequest::default() };
    request.params.insert("size".into(), json!(9));
    let run = first.session.submit("d", Arc::new(host), request).unwrap();
    first.until(run, State::RetryWait, 1);
    first.advance(1_000);
    first.wait(run);
    let once = result(&folder, run);
    assert_eq!(
        once,
        "2024-03-09 070 2024031001 2024-03-09T02:30:00-05:00 2024-03-10T03:00:00-04:00 \
         2024-03-10T03:00:00-04:00 9 2024-03-04 2024-10 上海 ${x}"
    );
    spec["tasks"][0]["params"]["text"] = json!("another");
    spec["tasks"][0]["param_schema"][0]["default"] = json!(6);
    register(&first, &spec);
    first.session.close(0, None);

    let later = Desk::at(&folder, folder.store(), Instant(1_741_590_000_000_000));
    let host = Arc::new(echo(Host::default(), "a"));
    let tasks = Some(vec!["a".to_owned()]);
    later.session.rerun(run, host, &Rerun { tasks, downstream: false }).unwrap();
    later.wait(run);
    assert_eq!(result(&folder, run), once);
    let kept: Vec<_> = attempts(&folder, run).into_iter().map(|row| row.record.params).collect();
    assert_eq!(kept.len(), 3);
    assert!(kept.iter().all(|text| *text == kept[0]), "{kept:?}");
    let kept: Value = serde_json::from_str(kept[0].as_deref().unwrap()).unwrap();
    assert_eq!(kept, json!({"params": {"text": once}, "dedup_key": "2024-03-09-9"}));
    sound(&folder);
}

#[test]
fn results_are_filled_in_and_a_missing_field_fails_without_a_retry() {
    let folder = Folder::new("field");
    let desk = Desk::open(&folder);
    let task = |name: &str, text: &str| {
        json!({"name": name, "handler": "m:x", "depends_on": ["up"], "params": {"text": text},
               "max_attempts": 5, "retry_interval": "1s"})
    };
    desk.register(json!([
        {"name": "up", "handler": "m:up"},
        task("good", "${result.up.rows} rows, ${result.up.path}"),
        task("bad", "${result.up.rowz}"),
    ]));
    let host = Host::default()
        .on("up", |_, _| returned(Some("{\"rows\": 836, \"path\": \"x/${today}\"}")));
    let run = desk.submit(&Arc::new(echo(echo(host, "good"), "bad")));
    desk.wait(run);
    let name = |text: &str| text.to_owned();
    assert_eq!(
        states(&folder, run),
        [
            (name("up"), State::Success, 1),
            (name("good"), State::Success, 1),
            (name("bad"), State::Failed, 1)
        ]
    );
    let views = folder.store().task_runs(run).unwrap();
    assert_eq!(views[1].row.progress.result.as_deref(), Some("\"836 rows, x/${today}\""));
    assert_eq!(views[2].row.progress.code.as_deref(), Some("RENDER"));
    let failed = attempts(&folder, run).into_iter().find(|a| a.outcome == Some(Outcome::Failed));
    assert_eq!(
        failed.unwrap().record.error.as_deref(),
        Some(
            "d.bad.params.text: `${result.up.rowz}`: `up` has no field `rowz` [no_field]\n  \
             hint: it has path, rows"
        )
    );
    sound(&folder);
}

/// A secret reaches the handler; what is kept of it is a mask.
#[test]
fn a_secret_is_given_and_not_kept() {
    let folder = Folder::with_file("secret");
    let desk = Desk::open(&folder);
    desk.register(json!([
        {"name": "a", "handler": "m:a", "params": {"text": "db://me:${secret:DB}@host"}},
        {"name": "b", "handler": "m:b", "params": {"text": "${secret:NONE}"}, "max_attempts": 3},
    ]));
    let host = echo(Host::default(), "b").on("a", |job, _| match fill(job, &[("DB", "hunter2")]) {
        Ok(()) => {
            assert_eq!(job.params()["text"], "db://me:hunter2@host");
            returned(None)
        }
        Err(failed) => *failed,
    });
    let run = desk.submit(&Arc::new(host));
    desk.wait(run);
    let name = |text: &str| text.to_owned();
    assert_eq!(
        states(&folder, run),
        [(name("a"), State::Success, 1), (name("b"), State::Failed, 1)]
    );
    let rows = attempts(&folder, run);
    let (good, bad): (Vec<_>, Vec<_>) =
        rows.iter().partition(|row| row.outcome == Some(Outcome::Success));
    assert_eq!(
        good[0].record.params.as_deref(),
        Some("{\"params\":{\"text\":\"db://me:***@host\"}}")
    );
    assert_eq!(bad[0].record.error_code.as_deref(), Some("SECRET"));
    let said = bad[0].record.error.as_deref().unwrap();
    assert!(said.contains("MAINSPRING_SECRET_NONE"), "{said}");
    // Neither the rows nor the journal nor a log has it.
    for entry in std::fs::read_dir(folder.database().parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            assert!(!bytes.windows(7).any(|part| part == b"hunter2"), "{}", path.display());
        }
    }
    sound(&folder);
}
