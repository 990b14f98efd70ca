//! What is asked of the past by edges, plans and followers, of whatever the steps have left.

use mainspring::model::{Date, Instant};
use mainspring::store::{EndsAsked, RunsAt, StoreError};

use super::super::support::at;
use super::Stores;

impl Stores {
    pub fn compare_questions(&mut self) {
        let date = Date::parse("2024-01-14").unwrap();
        self.both(|store| store.revisions()).unwrap();
        let followers: Vec<_> = ["flights", "late"]
            .map(|key| self.both(|store| store.dag(key)).unwrap().unwrap().id)
            .into();
        for key in ["flights.fetch", "flights.clean", "flights.load", "late.only", "late.none"] {
            let Some(task) = self.both(|store| store.upstream(key)).unwrap() else { continue };
            let id = task.task;
            self.both(|store| {
                let mut found = store.dependents(id)?;
                found.sort_by_key(|edge| (edge.task, edge.from, edge.to));
                Ok::<_, StoreError>(found)
            })
            .unwrap();
            self.both(|store| store.so_since(id, &|def| def.handler.is_some())).unwrap();
            let plain = format!("jobs:{}", key.split_once('.').unwrap().1);
            let is_plain = |handler: Option<&str>| handler == Some(&plain);
            self.both(|store| store.so_since(id, &|def| is_plain(def.handler.as_deref()))).unwrap();
            let fires: Vec<Instant> = (-2..8).map(at).collect();
            for asked in [RunsAt::Date(date), RunsAt::Fires(fires), RunsAt::Fires(vec![at(3)])] {
                self.both(|store| store.upstream_runs(id, &asked)).unwrap();
            }
            for follower in &followers {
                for since in [0, 6, 20] {
                    let (follower, since, after) = (*follower, at(since), None);
                    let asked = EndsAsked { task: id, follower, since, after };
                    self.both(|store| store.upstream_ends(&asked)).unwrap();
                }
            }
            for limit in [1, 100] {
                self.both(|store| store.past_durations(id, limit)).unwrap();
            }
            for dates in [(date, date), (Date(0), Date(date.0 - 1))] {
                self.both(|store| {
                    let mut cells = Vec::new();
                    let told = store.past_cells(id, dates, &mut |cell| cells.push(cell));
                    cells.sort();
                    told.map(|()| cells)
                })
                .unwrap();
            }
        }
        let mut last = None;
        while let Some(life) = self.both(|store| store.life(last, 3)).unwrap() {
            last = Some(life.id);
        }
        for scope in self.leases.iter().map(|lease| lease.scope_id).collect::<Vec<_>>() {
            self.both(|store| store.blocked_runs(scope)).unwrap();
        }
        let ids: Vec<_> =
            self.runs.iter().flat_map(|run| &run.task_runs).map(|row| row.id).collect();
        for id in ids {
            self.both(|store| store.result(id)).unwrap();
        }
    }
}
