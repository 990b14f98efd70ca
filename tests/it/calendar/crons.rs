//! Real schedule lines: each is read and fires as often in 2024 as counted, or is refused for the
//! reason noted.

use mainspring::calendar::{Cron, Dialect, Rule, Zone};
use mainspring::model::{Date, Instant};

use super::support::file;

#[test]
fn real_lines_fire_as_often_as_counted() {
    let from = Instant::from_secs(i64::from(Date::parse("2024-01-01").unwrap().0) * 86_400);
    let to = Instant::from_secs(i64::from(Date::parse("2025-01-01").unwrap().0) * 86_400);
    let text = file("crons.tsv");
    let mut lines = 0;
    for line in text.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [expr, language, answer, _source] = columns[..] else { panic!("{line}") };
        match Rule::cron(expr, &Zone::utc()) {
            Ok(rule) => assert_eq!(rule.count(from, to).to_string(), answer, "{line}"),
            Err(error) => {
                assert_eq!(error.0[0].code, answer, "{line}");
                // Somebody wrote this line and meant something: say what to write instead.
                assert!(error.0[0].hint.is_some(), "{error}");
            }
        }
        if let Ok(cron) = Cron::parse(expr) {
            let quartz = language.starts_with("quartz");
            assert_eq!(cron.dialect() == Dialect::Quartz, quartz, "{line}");
        }
        lines += 1;
    }
    assert_eq!(lines, 570);
}
