//! Which versions runs are made of.

use std::sync::Arc;

use mainspring::engine::{Candidate, PlannedTask, Plans, takes};
use mainspring::model::{DagId, Date, Dependency, Share, TaskId, TaskPolicy, TaskVersionId};
use mainspring::policy::bucket;

use super::bench::task;

fn days(count: i32) -> impl Iterator<Item = Date> {
    let first = Date::parse("2000-01-01").unwrap();
    (0..count).map(move |days| first.plus_days(days))
}

/// The values were computed by another program from the words of the documentation.
#[test]
fn a_bucket_is_what_the_documentation_says() {
    for (text, expect) in [
        ("order.settle 2024-01-01", 15),
        ("order.settle 2024-01-02", 50),
        ("order.extract 2024-01-01", 71),
        ("", 8),
        ("订单.结算 2024-02-29", 72),
    ] {
        assert_eq!(bucket(text), expect, "{text}");
    }
}

#[test]
fn a_percentage_is_about_that_share_of_the_dates() {
    // Four standard deviations of 10,000 throws: 4 * sqrt(10,000 * p * (1 - p)).
    for (percent, most) in [(1, 40.0), (10, 120.0), (50, 200.0), (99, 40.0)] {
        let share = Share::Percent(percent);
        let taken = days(10_000).filter(|day| takes(share, "order.settle", *day)).count();
        let off = (taken as f64 - f64::from(percent) * 100.0).abs();
        assert!(off <= most, "{percent} %: {taken}");
    }
    let all = |percent| days(10_000).filter(|d| takes(Share::Percent(percent), "a.b", *d)).count();
    assert_eq!((all(0), all(100)), (0, 10_000));
}

#[test]
fn two_tasks_choose_by_themselves() {
    let half = Share::Percent(50);
    let both = days(10_000)
        .filter(|day| takes(half, "order.settle", *day) && takes(half, "order.extract", *day))
        .count();
    // A quarter, give or take four times sqrt(10,000 * 1/4 * 3/4).
    assert!((both as i64 - 2_500).abs() <= 173, "{both}");
}

#[test]
fn a_larger_percentage_keeps_every_date_of_a_smaller_one() {
    for day in days(2_000) {
        let taken: Vec<bool> =
            (0..=100).map(|percent| takes(Share::Percent(percent), "order.settle", day)).collect();
        assert!(taken.is_sorted(), "{day}");
    }
}

#[test]
fn from_a_date_on_is_that_date_and_all_after_it() {
    let share = Share::FromBizDate(Date::parse("2000-01-10").unwrap());
    let taken: Vec<bool> = days(20).map(|day| takes(share, "order.settle", day)).collect();
    assert_eq!(taken.iter().position(|taken| *taken), Some(9));
    assert!(taken.is_sorted());
}

fn version(id: i64, number: i64, upstream: Option<&str>) -> PlannedTask {
    let mut made = task(&format!("t{id}"), TaskPolicy::default());
    let mut def = (*made.def).clone();
    def.dependencies = upstream.map(Dependency::on_success).into_iter().collect();
    made.def = Arc::new(def);
    PlannedTask { task_id: TaskId(id), version_id: TaskVersionId(number), ..made }
}

#[test]
fn every_combination_has_one_plan_with_the_edges_of_its_versions() {
    let date = |text: &str| Date::parse(text).unwrap();
    let from = |text: &str| Share::FromBizDate(date(text));
    let tasks = vec![version(1, 11, None), version(2, 21, None)];
    let candidates = [
        Candidate { task: version(1, 12, None), share: from("2024-01-10") },
        Candidate { task: version(2, 22, Some("d.t1")), share: from("2024-01-20") },
        // Of a task that is not among them.
        Candidate { task: version(3, 32, None), share: Share::Percent(100) },
    ];
    let plans = Plans::new(DagId(1), "d", tasks, &candidates).unwrap();
    let made = |day: &str| {
        let plan = plans.of(date(day)).unwrap();
        let versions: Vec<i64> = plan.tasks.iter().map(|task| task.version_id.0).collect();
        (versions, plan.upstream(1).count())
    };
    assert_eq!(made("2024-01-09"), (vec![11, 21], 0));
    assert_eq!(made("2024-01-10"), (vec![12, 21], 0));
    assert_eq!(made("2024-01-20"), (vec![12, 22], 1));
    let same = |left: &str, right: &str| {
        Arc::ptr_eq(&plans.of(date(left)).unwrap(), &plans.of(date(right)).unwrap())
    };
    assert!(same("2024-01-20", "2024-03-01") && same("2024-01-01", "2024-01-09"));
    assert!(!same("2024-01-09", "2024-01-10"));
}

#[test]
fn more_tasks_than_plans_are_kept_for_choose_too() {
    let tasks: Vec<PlannedTask> = (1..=9).map(|id| version(id, id * 10 + 1, None)).collect();
    let candidates: Vec<Candidate> = (1..=9)
        .map(|id| Candidate { task: version(id, id * 10 + 2, None), share: Share::Percent(50) })
        .collect();
    let plans = Plans::new(DagId(1), "d", tasks, &candidates).unwrap();
    for day in days(100) {
        for (id, planned) in (1..).zip(&plans.of(day).unwrap().tasks) {
            let other = bucket(&format!("d.t{id} {day}")) < 50;
            assert_eq!(planned.version_id.0, id * 10 + 1 + i64::from(other), "{day}");
        }
    }
}
