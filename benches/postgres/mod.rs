//! The PostgreSQL store against a plain client that commits the same rows in the same batches.

#[path = "../../tests/it/postgres.rs"]
#[allow(dead_code, reason = "the tests need more of it")]
mod server;

use std::time::{Duration, Instant as Clock};

use mainspring::model::Instant;
use mainspring::store::{Batch, Store as _};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Statement};

use super::{START, TASKS, batches, dag, median, new_run, node};

const RUNS: i32 = 20;

/// Whoever writes rows and checks nothing.
struct Plain {
    runtime: Runtime,
    client: Client,
    progress: Statement,
    end: Statement,
    release: Statement,
    begin: Statement,
    lease: Statement,
    journal: Statement,
    next: i64,
}

impl Plain {
    fn connect(url: &str, schema: &str) -> Plain {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let url = url.replace(&format!("&schema={schema}"), "");
        let client = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
            tokio::spawn(connection);
            client.batch_execute(&format!("SET search_path = {schema}")).await.unwrap();
            client
        });
        let prepare = |text: &str| runtime.block_on(client.prepare(text)).unwrap();
        Plain {
            progress: prepare(
                "UPDATE task_run SET state = n.state, revision = n.revision, first_ready_at = \
                 n.ready, started_at = n.started, finished_at = n.finished, attempt_no = n.no, token \
                 = n.token, result = n.result FROM unnest($1::bigint[], $2::text[], $3::bigint[], \
                 $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[]) AS \
                 n (id, state, revision, ready, started, finished, no, token, result) WHERE \
                 task_run.id = n.id AND task_run.nominal_at = $10",
            ),
            end: prepare(
                "UPDATE attempt SET outcome = n.outcome, finished_at = n.finished, duration_ms = 998, \
                 cpu_ms = 120 FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS n (id, outcome, \
                 finished) WHERE attempt.task_run_id = n.id AND attempt.attempt_no = 1 AND \
                 attempt.nominal_at = $4",
            ),
            release: prepare("DELETE FROM attempt_lease WHERE task_run_id = ANY ($1::bigint[])"),
            begin: prepare(
                "INSERT INTO attempt (id, task_run_id, attempt_no, token, nominal_at, \
                 task_version_id, node_id, started_at) SELECT n.id, n.task_run, 1, n.token, $4, 1, 1, \
                 $5 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS n (id, task_run, token)",
            ),
            lease: prepare(
                "INSERT INTO attempt_lease (task_run_id, attempt_no, token, node_id, slots) SELECT \
                 n.id, 1, n.token, 1, 1 FROM unnest($1::bigint[], $2::bigint[]) AS n (id, token)",
            ),
            journal: prepare("INSERT INTO journal (run_id, entries) VALUES ($1, $2)"),
            runtime,
            client,
            next: 1 << 40,
        }
    }

    fn say(&self, statement: &Statement, values: &[&(dyn ToSql + Sync)]) {
        self.runtime.block_on(self.client.execute(statement, values)).unwrap();
    }

    fn commit(&mut self, batch: &Batch, nominal: i64) {
        self.runtime.block_on(self.client.batch_execute("BEGIN")).unwrap();
        let rows = &batch.progressed;
        let of = |get: &dyn Fn(&mainspring::model::Progress) -> Option<i64>| -> Vec<Option<i64>> {
            rows.iter().map(|row| get(&row.progress)).collect()
        };
        let ids: Vec<i64> = rows.iter().map(|row| row.id.0).collect();
        let states: Vec<&str> = rows.iter().map(|row| row.progress.state.as_str()).collect();
        let results: Vec<Option<&str>> =
            rows.iter().map(|row| row.progress.result.as_deref()).collect();
        self.say(
            &self.progress,
            &[
                &ids,
                &states,
                &of(&|now| Some(now.revision.into())),
                &of(&|now| now.first_ready_at.map(|at| at.0)),
                &of(&|now| now.started_at.map(|at| at.0)),
                &of(&|now| now.finished_at.map(|at| at.0)),
                &of(&|now| Some(now.attempt_no.into())),
                &of(&|now| Some(now.token.0)),
                &results,
                &nominal,
            ],
        );
        if !batch.ends.is_empty() {
            let ends = batch.ends.iter().map(|ended| &ended.end);
            let ids: Vec<i64> = ends.clone().map(|end| end.task_run_id.0).collect();
            let outcomes: Vec<&str> = ends.clone().map(|end| end.outcome.as_str()).collect();
            let finished: Vec<i64> = ends.map(|end| end.finished_at.0).collect();
            self.say(&self.end, &[&ids, &outcomes, &finished, &nominal]);
            self.say(&self.release, &[&ids]);
        }
        if !batch.starts.is_empty() {
            let numbers: Vec<i64> = (self.next..).take(batch.starts.len()).collect();
            self.next += batch.starts.len() as i64;
            let ids: Vec<i64> = batch.starts.iter().map(|start| start.task_run_id.0).collect();
            let tokens: Vec<i64> = batch.starts.iter().map(|start| start.token.0).collect();
            self.say(&self.begin, &[&numbers, &ids, &tokens, &nominal, &batch.now.0]);
            self.say(&self.lease, &[&ids, &tokens]);
        }
        for (run, entries) in &batch.journal {
            self.say(&self.journal, &[&run.0, entries]);
        }
        self.runtime.block_on(self.client.batch_execute("COMMIT")).unwrap();
    }
}

pub fn main() {
    let schema = server::fresh();
    let url = server::server().url(&schema);
    let mut store = server::reopen(&url);
    let lease = store.join(&node()).unwrap();
    let registered = store.register(&[dag("bench", TASKS)], Instant(START)).unwrap().remove(0);
    let mut plain = Plain::connect(&url, &schema);
    let (mut ours, mut theirs, mut creating) = (Vec::new(), Vec::new(), Vec::new());
    let mut rows = 0;
    for day in 0..RUNS {
        let ids = store.next_ids().unwrap();
        let mut run = new_run(&registered, lease, ids, day);
        let nominal = run.row.nominal_at.0;
        let all = batches(&mut run, lease);
        let clock = Clock::now();
        store.commit(&all[0]).unwrap();
        creating.push(clock.elapsed());
        for batch in &all[1..] {
            let clock = Clock::now();
            if day % 2 == 0 {
                store.commit(batch).unwrap();
                ours.push(clock.elapsed());
                rows += batch.progressed.len();
            } else {
                plain.commit(batch, nominal);
                theirs.push(clock.elapsed());
            }
        }
    }
    let whole: Duration = ours.iter().sum();
    let (commits, seconds) = (ours.len() as f64, whole.as_secs_f64());
    println!("PostgreSQL, one server for both, nothing synced to its disk:");
    println!("  make a run of {TASKS}: {:.2?}", median(&mut creating));
    println!(
        "  {:.0} commits/s of 32 ends + 32 starts, {:.0} changed task runs/s",
        commits / seconds,
        rows as f64 / seconds
    );
    let (ours, theirs) = (median(&mut ours), median(&mut theirs));
    let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
    println!(
        "  a commit: {ours:.2?}; a plain client {theirs:.2?}; {ratio:.2} of its speed (limit 0.33)"
    );
}
