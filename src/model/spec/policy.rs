//! How a task is retried, stopped and queued: one layer of it, and the layers laid over another.

use std::collections::BTreeMap;

use super::conditions;
use super::reader::Reader;
use super::slots::{self, Known};
use crate::model::json::{kind_of, shown};
use crate::model::{Backoff, Deadline, NotBefore, OnDeadline, RunDays, TaskPolicy};

/// The fields of a layer: of `defaults`, and part of a task's.
pub(super) const FIELDS: &[&str] = &[
    "retries",
    "max_attempts",
    "max_losses",
    "retry_interval",
    "retry_interval_ms",
    "retry_interval_sec",
    "retry_backoff",
    "retry_cap",
    "retry_cap_ms",
    "retry_cap_sec",
    "retry_jitter",
    "retry_on",
    "timeout",
    "timeout_ms",
    "timeout_sec",
    "grace",
    "grace_ms",
    "grace_sec",
    "idempotent",
    "dedup_key",
    "priority",
    "preemptible",
    "pool",
    "slots",
    "not_before",
    "run_on",
    "run_on_biz_date",
    "max_active",
    "limits",
    "deadline",
    "deadline_ms",
    "deadline_sec",
    "on_deadline",
    "block_timeout",
    "block_timeout_ms",
    "block_timeout_sec",
];

/// Attempts of one task at most: what repeats more often is a schedule.
const MOST_ATTEMPTS: u32 = 10_000;

const BACKOFFS: &[(&str, Backoff)] =
    &[("fixed", Backoff::Fixed), ("exponential", Backoff::Exponential)];

const ON_DEADLINE: &[(&str, OnDeadline)] =
    &[("alert", OnDeadline::Alert), ("cancel", OnDeadline::Cancel)];

const PRIORITIES: &[(&str, u8)] =
    &[("URGENT", 0), ("HIGH", 2), ("NORMAL", 5), ("LOW", 7), ("IDLE", 9)];

/// What one place says. A nested option tells "none" (a written null) from "not said".
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    attempts: Option<u32>,
    max_losses: Option<u32>,
    interval: Option<i64>,
    backoff: Option<Backoff>,
    cap: Option<i64>,
    jitter: Option<u32>,
    retry_on: Option<Option<Vec<String>>>,
    timeout: Option<Option<i64>>,
    grace: Option<i64>,
    idempotent: Option<bool>,
    dedup_key: Option<Option<String>>,
    priority: Option<u8>,
    preemptible: Option<bool>,
    pool: Option<Option<String>>,
    slots: Option<u32>,
    not_before: Option<Option<NotBefore>>,
    run_on: Option<Option<RunDays>>,
    run_on_biz_date: Option<bool>,
    max_active: Option<Option<u32>>,
    limits: Option<BTreeMap<String, u32>>,
    deadline: Option<Option<Deadline>>,
    on_deadline: Option<OnDeadline>,
    block_timeout: Option<Option<i64>>,
}

/// Reads the policy fields of an object.
pub(super) fn read(r: &mut Reader<'_, '_>, known: &Known) -> Layer {
    Layer {
        attempts: attempts(r),
        max_losses: r.count("max_losses", 0, MOST_ATTEMPTS),
        interval: r
            .duration(["retry_interval", "retry_interval_ms", "retry_interval_sec"])
            .flatten(),
        backoff: r.word("retry_backoff", "bad_backoff", BACKOFFS),
        cap: r.duration(["retry_cap", "retry_cap_ms", "retry_cap_sec"]).flatten(),
        jitter: jitter(r),
        retry_on: retry_on(r),
        // 0 is no limit: that is what the tables that users bring mean by it.
        timeout: r
            .duration(["timeout", "timeout_ms", "timeout_sec"])
            .map(|limit| limit.filter(|ms| *ms > 0)),
        grace: r.duration(["grace", "grace_ms", "grace_sec"]).flatten(),
        idempotent: r.flag("idempotent"),
        dedup_key: nullable(r, "dedup_key", |r| r.line("dedup_key", 512)),
        priority: priority(r),
        preemptible: r.flag("preemptible"),
        pool: nullable(r, "pool", |r| slots::pool(r, known)),
        slots: r.count("slots", 1, 1_000_000),
        not_before: nullable(r, "not_before", conditions::not_before),
        run_on: nullable(r, "run_on", |r| conditions::run_on(r, &known.calendars)),
        run_on_biz_date: r.flag("run_on_biz_date"),
        max_active: nullable(r, "max_active", |r| r.count("max_active", 1, 1_000_000)),
        limits: slots::limits(r, known),
        deadline: deadline(r),
        on_deadline: r.word("on_deadline", "bad_on_deadline", ON_DEADLINE),
        block_timeout: r
            .duration(["block_timeout", "block_timeout_ms", "block_timeout_sec"])
            .map(|limit| limit.filter(|ms| *ms > 0)),
    }
}

/// The policy of a task under the defaults of its dag and of the project; `layers` from the
/// nearest to the farthest.
pub(super) fn resolve(r: &mut Reader<'_, '_>, layers: [&Layer; 3]) -> TaskPolicy {
    fn first<T>(layers: [&Layer; 3], of: impl Fn(&Layer) -> Option<T>) -> Option<T> {
        layers.into_iter().find_map(of)
    }
    let default = TaskPolicy::default();
    let interval = first(layers, |l| l.interval).unwrap_or(default.retry_interval_ms);
    let cap = first(layers, |l| l.cap);
    if let Some(cap) = cap.filter(|cap| *cap < interval) {
        let message = format!("the longest delay ({cap} ms) is below the first ({interval} ms)");
        r.report("retry_cap", "retry_cap_below_interval", message);
    }
    let dedup_key = first(layers, |l| l.dedup_key.clone()).flatten();
    let idempotent = first(layers, |l| l.idempotent).unwrap_or(default.idempotent);
    TaskPolicy {
        max_attempts: max_attempts(r, layers, idempotent || dedup_key.is_some()),
        max_losses: first(layers, |l| l.max_losses).unwrap_or(default.max_losses),
        retry_interval_ms: interval,
        retry_backoff: first(layers, |l| l.backoff).unwrap_or(default.retry_backoff),
        // A cap that nobody wrote does not shorten an interval that somebody did.
        retry_cap_ms: cap.unwrap_or(default.retry_cap_ms.max(interval)),
        retry_jitter_permille: first(layers, |l| l.jitter).unwrap_or_default(),
        retry_on: first(layers, |l| l.retry_on.clone()).flatten(),
        timeout_ms: first(layers, |l| l.timeout).flatten(),
        grace_ms: first(layers, |l| l.grace).unwrap_or(default.grace_ms),
        idempotent,
        dedup_key,
        priority: first(layers, |l| l.priority).unwrap_or(default.priority),
        preemptible: preemptible(r, layers, idempotent),
        pool: first(layers, |l| l.pool.clone()).flatten(),
        slots: first(layers, |l| l.slots).unwrap_or(default.slots),
        not_before: first(layers, |l| l.not_before).flatten(),
        run_on: conditions::resolve(
            r,
            first(layers, |l| l.run_on.clone()).flatten(),
            layers.map(|l| l.run_on_biz_date),
        ),
        max_active: first(layers, |l| l.max_active).flatten(),
        limits: first(layers, |l| l.limits.clone()).unwrap_or_default(),
        deadline: first(layers, |l| l.deadline).flatten(),
        on_deadline: first(layers, |l| l.on_deadline).unwrap_or_default(),
        block_timeout_ms: first(layers, |l| l.block_timeout).flatten(),
    }
}

/// What may be stopped in favour of others is started again by itself. Where both are said equally
/// near, one of them is a mistake; a default from farther out gives way to `idempotent=False`.
fn preemptible(r: &mut Reader<'_, '_>, layers: [&Layer; 3], idempotent: bool) -> bool {
    let Some(at) = layers.iter().position(|layer| layer.preemptible.is_some()) else {
        return TaskPolicy::default().preemptible;
    };
    let wanted = layers[at].preemptible == Some(true);
    if idempotent || !wanted {
        return wanted;
    }
    let said = layers.iter().position(|layer| layer.idempotent.is_some()).unwrap_or(layers.len());
    if at <= said {
        let message = "a task that is not idempotent cannot give way and be started again";
        let hint = "take out `preemptible`, or say why a repeat does no harm: `idempotent=True`";
        r.advise("preemptible", "preemptible_not_idempotent", message, hint);
    }
    false
}

/// A duration after the nominal time, or a time of day. 0 is none, as for a timeout.
fn deadline(r: &mut Reader<'_, '_>) -> Option<Option<Deadline>> {
    if let Some(serde_json::Value::String(text)) = r.get("deadline")
        && (text.contains(':') || text.trim_start().starts_with('+'))
    {
        if let Some(other) =
            ["deadline_ms", "deadline_sec"].into_iter().find(|f| r.get(f).is_some())
        {
            let message = format!("`deadline` and `{other}` say the same thing");
            r.advise(other, "duplicate_field", message, "keep one of the two");
        }
        return r.take("deadline", Deadline::parse(text)).map(Some);
    }
    let after = r.duration(["deadline", "deadline_ms", "deadline_sec"])?;
    Some(after.filter(|ms| *ms > 0).map(|after_ms| Deadline::After { after_ms }))
}

/// More than one attempt of something that must not be repeated is refused where the author asked
/// for it at least as near as for `idempotent`; where the number is a default from farther out,
/// the nearer `idempotent=False` wins and there is one attempt.
fn max_attempts(r: &mut Reader<'_, '_>, layers: [&Layer; 3], repeatable: bool) -> Option<u32> {
    let at = layers.iter().position(|layer| layer.attempts.is_some())?;
    let attempts = layers[at].attempts?;
    if repeatable || attempts == 1 {
        return Some(attempts);
    }
    let said = layers.iter().position(|layer| layer.idempotent.is_some()).unwrap_or(layers.len());
    if at > said {
        return Some(1);
    }
    let field = if r.get("retries").is_some() { "retries" } else { "max_attempts" };
    let message = format!("{attempts} attempts of a task that is not idempotent");
    let hint = "take the retries out, or give a `dedup_key` by which the target knows a repeat";
    r.advise(field, "retry_not_idempotent", message, hint);
    None
}

/// `retries=n` and `max_attempts=n+1` say the same.
fn attempts(r: &mut Reader<'_, '_>) -> Option<u32> {
    let retries = r.count("retries", 0, MOST_ATTEMPTS - 1);
    let attempts = r.count("max_attempts", 1, MOST_ATTEMPTS);
    match (retries, attempts) {
        (Some(retries), Some(attempts)) if attempts != retries + 1 => {
            let message = format!("retries = {retries} and max_attempts = {attempts} do not agree");
            let hint = format!(
                "max_attempts counts the first attempt: {retries} retries are {} attempts",
                retries + 1
            );
            r.advise("retries", "retries_conflict", message, hint);
            None
        }
        (Some(retries), _) => Some(retries + 1),
        (None, attempts) => attempts,
    }
}

fn nullable<T>(
    r: &mut Reader<'_, '_>,
    field: &str,
    read: impl FnOnce(&mut Reader<'_, '_>) -> Option<T>,
) -> Option<Option<T>> {
    if r.is_null(field) { Some(None) } else { read(r).map(Some) }
}

fn jitter(r: &mut Reader<'_, '_>) -> Option<u32> {
    let value = r.get("retry_jitter")?;
    match value.as_f64() {
        Some(part) if (0.0..=1.0).contains(&part) => Some((part * 1_000.0).round() as u32),
        Some(part) => {
            let hint = "it is the part of the delay that may be added, such as 0.1";
            r.advise("retry_jitter", "out_of_range", format!("{part} is not in 0 to 1"), hint);
            None
        }
        None => {
            let message = format!("expected a number, found {}", kind_of(value));
            r.report("retry_jitter", "wrong_type", message);
            None
        }
    }
}

fn retry_on(r: &mut Reader<'_, '_>) -> Option<Option<Vec<String>>> {
    if r.is_null("retry_on") {
        return Some(None);
    }
    let given = match r.get("retry_on")? {
        serde_json::Value::String(text) => vec![("retry_on".to_owned(), text.as_str())],
        _ => r.texts("retry_on"),
    };
    let mut codes = Vec::new();
    for (field, text) in given {
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | ':');
        if text.is_empty() || text.chars().count() > 128 || !text.chars().all(fits) {
            let message = format!("{} is not an error code", shown(&text.into()));
            let hint = "codes are TIMEOUT, ERROR, EXIT_2, HTTP_5XX, CONN_RESET or a class name";
            r.advise(&field, "bad_code", message, hint);
        } else if !codes.iter().any(|code| code == text) {
            codes.push(text.to_owned());
        }
    }
    Some(Some(codes))
}

fn priority(r: &mut Reader<'_, '_>) -> Option<u8> {
    let value = r.get("priority")?;
    if value.is_string() {
        return r.word("priority", "bad_priority", PRIORITIES);
    }
    let number = value.as_u64().and_then(|n| u8::try_from(n).ok()).filter(|n| *n <= 9);
    if number.is_none() {
        let message = format!("{} is not a priority", shown(value));
        let hint = "0 runs first and 9 last; the names are URGENT, HIGH, NORMAL, LOW and IDLE";
        r.advise("priority", "bad_priority", message, hint);
    }
    number
}
