//! One message at a time: what it asks of the engine, and whom to tell of the outcome.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::gather::light_definitions;
use super::{Adopt, Driven, Driver, Load, Message, Submit, Waiting};
use crate::engine::{self, Decision, Event, Move, Plan, TaskRunRef, apply, decide};
use crate::model::{Instant, RunRow, Trigger};
use crate::runtime::executor::{Executor as _, HandlerHost, RunInfo};
use crate::runtime::refusal::SessionError;
use crate::runtime::turn::Turn;
use crate::runtime::watch::RunWatch;
use crate::store::StoredRun;

impl Driver {
    /// Decides one message. Returns what must be decided again should the commit be refused.
    pub(super) fn take(
        &mut self,
        message: Message,
        turn: &mut Turn,
        waiting: &mut Waiting,
        now: Instant,
    ) -> Option<Message> {
        match message {
            Message::Submit(submit) => self.submit(submit, turn, waiting, now),
            Message::Adopt(adopt) => self.adopt(adopt, turn, waiting, now),
            Message::Rerun(run, what, reply) => {
                match self.try_decide(&Event::Rerun { run, what: what.clone() }, turn, now) {
                    Ok(()) => {
                        waiting.rerun.push(reply.clone());
                        return Some(Message::Rerun(run, what, reply));
                    }
                    Err(refusal) => {
                        let _ = reply.send(Err(SessionError::Refused(refusal)));
                    }
                }
                None
            }
            Message::Begin(begin) => self.begin_backfill(begin, turn, waiting, now),
            Message::Take(take) => self.take_backfill(take, turn, waiting, now),
            Message::LiveOf(id, reply) => {
                let _ = reply.send(self.live_of(id));
                None
            }
            Message::Report(report) => {
                let report = self.with_texts(report);
                let report = self.with_mark(report);
                self.decide(&Event::AttemptEnded(report.clone()), turn, now);
                Some(Message::Report(report))
            }
            Message::NotReady { at, attempt_no, token } => {
                self.decide(&Event::NotReady { at, attempt_no, token }, turn, now);
                Some(Message::NotReady { at, attempt_no, token })
            }
            Message::Approve(word, reply) => {
                match self.try_decide(&Event::Approve(word.clone()), turn, now) {
                    Ok(()) => {
                        waiting.done.push(reply.clone());
                        Some(Message::Approve(word, reply))
                    }
                    Err(refusal) => {
                        let _ = reply.send(Err(SessionError::Refused(refusal)));
                        None
                    }
                }
            }
            Message::Cancel { run, only, grace_ms } => {
                self.decide(&Event::Cancel { run, only: only.clone(), grace_ms }, turn, now);
                Some(Message::Cancel { run, only, grace_ms })
            }
            Message::Explain(at, reply) => {
                let text = engine::explain(&self.world, at, now).map(|found| found.to_string());
                let _ = reply.send(text);
                None
            }
            Message::Serve(serve) => self.serve(serve, turn, waiting, now),
            Message::Request(request) => {
                self.request(&request, turn, waiting, now);
                Some(Message::Request(request))
            }
            Message::Load(reply) => {
                let _ = reply.send(Load {
                    live: self.world.live_count(),
                    stuck: self.world.zombie_count(),
                    runs: self.open_runs(),
                    next_fire: self.world.next_fire(),
                });
                None
            }
            Message::Drain => {
                self.decide(&Event::Drain, turn, now);
                None
            }
            Message::Refresh { dags, reply } => {
                let read = dags.iter().try_for_each(|dag| {
                    let read = self.reread(*dag);
                    self.or_without(*dag, read)
                });
                let _ = reply.send(read);
                None
            }
            Message::Pause { schedules, paused, missed, reply } => {
                self.pause(&schedules, paused, missed, turn, now);
                waiting.done.push(reply.clone());
                Some(Message::Pause { schedules, paused, missed, reply })
            }
            Message::Stub(plan) => {
                self.stubs.plan = plan;
                None
            }
            Message::Settle(reply) => {
                self.look_once();
                self.settling.push(reply);
                None
            }
            Message::ClockMoved => None,
            Message::PoolSized(pool, slots) => {
                self.pool_sized(pool, slots);
                None
            }
            Message::PoolAges(pool, step_ms) => {
                self.pool_ages(pool, step_ms);
                None
            }
            Message::LimitSized(limit, slots) => {
                self.limit_sized(limit, slots);
                None
            }
            Message::Close { grace_ms } => {
                self.closing = true;
                self.decide(&Event::Interrupt { grace_ms }, turn, now);
                Some(Message::Close { grace_ms })
            }
        }
    }

    pub(super) fn submit(
        &mut self,
        submit: Submit,
        turn: &mut Turn,
        waiting: &mut Waiting,
        now: Instant,
    ) -> Option<Message> {
        let Submit { run, host, reply } = submit;
        let event = Event::CreateRun(run.clone());
        let decided = decide(&self.world, &event, now).map_err(SessionError::from).and_then(|d| {
            let row = d.creates.first().map(|create| create.row.clone());
            self.apply(d, turn)?;
            row.ok_or_else(|| SessionError::Internal("a run was decided but not made".into()))
        });
        match decided {
            Ok(row) => {
                let id = row.id;
                self.drive(row, run.params.clone(), &run.plan, &host);
                waiting.made.push((reply.clone(), id));
                Some(Message::Submit(Submit { run, host, reply }))
            }
            Err(error) => {
                let _ = reply.send(Err(error));
                None
            }
        }
    }

    pub(super) fn adopt(
        &mut self,
        adopt: Adopt,
        turn: &mut Turn,
        waiting: &mut Waiting,
        now: Instant,
    ) -> Option<Message> {
        let Adopt { stored, plan, host, rerun, reply } = adopt;
        let row = stored.row.clone();
        let run = row.id;
        let params = match serde_json::from_str(&row.params) {
            Ok(Value::Object(params)) => params,
            _ => Map::new(),
        };
        let gone: Vec<_> = stored.leases.iter().map(|lease| lease.node_id).collect();
        if let Err(broken) = self.load(&stored, Arc::clone(&plan)) {
            let _ = reply.send(Err(SessionError::Store(broken.to_string())));
            return None;
        }
        self.drive(row, params, &plan, &host);
        // Written only if all of it is: a refusal leaves the rows as they were.
        let mut taken = Turn::default();
        for node in gone {
            if node != self.lease.node_id {
                self.decide(&Event::NodeLost { node }, &mut taken, now);
            }
        }
        if let Some(what) = &rerun
            && let Err(refusal) =
                self.try_decide(&Event::Rerun { run, what: what.clone() }, &mut taken, now)
        {
            let _ = reply.send(Err(SessionError::Refused(refusal)));
            self.runs.remove(&run);
            self.world.forget(run);
            return None;
        }
        turn.append(taken);
        waiting.adopted.push((reply.clone(), run));
        Some(Message::Adopt(Adopt { stored, plan, host, rerun, reply }))
    }

    /// From now on this run is driven here, and can be watched.
    pub(super) fn drive(
        &mut self,
        row: RunRow,
        params: Map<String, Value>,
        plan: &Arc<Plan>,
        host: &HandlerHost,
    ) {
        let info = RunInfo {
            id: row.id,
            dag: row.dag,
            nominal_at: row.nominal_at,
            biz_date: row.biz_date,
            interval: (row.interval_start, row.interval_end),
            timezone: row.timezone,
            params,
        };
        let driven = Driven {
            plan: Arc::clone(plan),
            info: Arc::new(info),
            host: Arc::clone(host),
            earlier: self.earlier_hosts(plan, host),
            watch: Arc::new(RunWatch::new()),
            light: light_definitions(plan),
            live: BTreeSet::new(),
        };
        self.runs.insert(row.id, driven);
    }

    pub(super) fn load(
        &mut self,
        stored: &StoredRun,
        plan: Arc<Plan>,
    ) -> Result<(), engine::Broken> {
        self.read_texts(stored, &plan);
        self.world.load(
            stored.row.clone(),
            stored.cancel_requested,
            plan,
            stored.task_runs.clone(),
            stored.leases.clone(),
        )
    }

    pub(super) fn decide(&mut self, event: &Event, turn: &mut Turn, now: Instant) {
        // A refusal here is an event about something that is gone: nothing to be done about it.
        let _ = self.try_decide(event, turn, now);
    }

    pub(super) fn try_decide(
        &mut self,
        event: &Event,
        turn: &mut Turn,
        now: Instant,
    ) -> Result<(), String> {
        let mut decision =
            decide(&self.world, event, now).map_err(|refusal| refusal.to_string())?;
        for end in decision.ends.iter_mut().filter(|end| !end.released) {
            // Given up, but still running: what it has printed so far belongs to its record.
            end.end.record.params = self.pool.params_of(end.at);
            if let Some(log) = self.pool.log_of(end.at) {
                (end.end.record.log_uri, end.end.record.log_tail) = log.finish();
            }
        }
        for end in &mut decision.ends {
            // What rested has nobody else who tells where its output is.
            if let Some(last) = self.resting.last_words(end.at, end.end.attempt_no) {
                (end.end.record.log_uri, end.end.record.log_tail) = last;
            }
        }
        self.apply(decision, turn).map_err(|error| error.to_string())
    }

    pub(super) fn apply(
        &mut self,
        decision: Decision,
        turn: &mut Turn,
    ) -> Result<(), SessionError> {
        apply(&mut self.world, &decision)
            .map_err(|broken| SessionError::Internal(broken.to_string()))?;
        for create in &decision.creates {
            if create.row.trigger == Trigger::Dependency {
                self.drive_follower(&create.row, &create.plan.0);
            }
        }
        let tried = |to: &Move| {
            let run = self.world.run(to.at.run).filter(|_| to.to.state.is_final());
            run.is_some_and(|run| run.row.interactive)
        };
        if self.world.has_followers() && decision.moves.iter().any(tried) {
            // Whether it stands for a fire is known where its upstream is.
            self.ends_may_differ();
        }
        if decision.schedules.iter().any(|to| to.paused.is_some()) {
            // What is expected of it is another thing from now on.
            self.cells_may_differ();
        }
        for start in &decision.starts {
            if let Some(driven) = self.runs.get_mut(&start.at.run) {
                driven.live.insert(start.at.index);
            }
        }
        for end in decision.ends.iter().filter(|end| end.released) {
            self.no_longer_live(end.at);
        }
        for at in &decision.releases {
            self.no_longer_live(*at);
        }
        self.outdate(&decision, turn);
        turn.add(decision);
        Ok(())
    }

    pub(super) fn no_longer_live(&mut self, at: TaskRunRef) {
        if let Some(driven) = self.runs.get_mut(&at.run) {
            driven.live.remove(&at.index);
        }
    }
}
