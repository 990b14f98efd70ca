//! What somebody probably meant who wrote a zone name that does not exist.

use jiff::tz::TimeZoneDatabase;

use crate::model::Problem;

/// Names that are written often and cannot be repaired by spelling.
const MEANT: &[(&str, &str)] = &[
    ("Asia/Beijing", "China has one zone, Asia/Shanghai"),
    ("Asia/Peking", "China has one zone, Asia/Shanghai"),
    ("China/Beijing", "China has one zone, Asia/Shanghai"),
    ("CST", "it may mean Asia/Shanghai, America/Chicago or America/Havana: write one of them"),
    ("IST", "it may mean Asia/Kolkata, Asia/Jerusalem or Europe/Dublin: write one of them"),
    ("BST", "it may mean Europe/London or Asia/Dhaka: write one of them"),
    ("JST", "write Asia/Tokyo"),
    ("PST", "write America/Los_Angeles"),
    ("PDT", "write America/Los_Angeles"),
    ("EDT", "write America/New_York"),
    ("CDT", "write America/Chicago"),
    ("MDT", "write America/Denver"),
    ("CEST", "write Europe/Berlin or another city of that zone"),
    ("Local", "name the zone; the host's own zone is never used"),
    ("local", "name the zone; the host's own zone is never used"),
    ("Z", "write UTC"),
];

/// The problem `unknown_zone` with the nearest names.
pub(super) fn unknown(name: &str) -> Problem {
    let shown: String = name.chars().take(60).collect();
    if shown.is_empty() {
        return Problem::new("unknown_zone", "timezone", "the zone is empty")
            .hint("name a zone such as Asia/Shanghai or UTC");
    }
    let problem =
        Problem::new("unknown_zone", "timezone", format!("there is no time zone `{shown}`"));
    if let Some((_, hint)) = MEANT.iter().find(|(wrong, _)| *wrong == name) {
        return problem.hint(*hint);
    }
    if is_offset(name) {
        return problem.hint(
            "a zone is named by a city, such as Asia/Shanghai; a fixed offset is Etc/GMT-8 \
             (which is 8 hours EAST of Greenwich)",
        );
    }
    match nearest(&shown) {
        near if near.is_empty() => {
            problem.hint("zones have IANA names such as Asia/Shanghai or America/New_York")
        }
        near => problem.hint(format!("did you mean {}?", near.join(" or "))),
    }
}

/// `GMT+8`, `UTC-05:00`, `+08:00`.
fn is_offset(name: &str) -> bool {
    let rest = name.trim_start_matches("UTC").trim_start_matches("GMT");
    rest.starts_with(['+', '-']) && rest[1..].bytes().all(|c| c.is_ascii_digit() || c == b':')
}

/// Up to three known names that look like this one.
fn nearest(name: &str) -> Vec<String> {
    let wanted = name.to_ascii_lowercase();
    let mut scored: Vec<(f64, String)> = TimeZoneDatabase::bundled()
        .available()
        .map(|known| {
            let lower = known.as_str().to_ascii_lowercase();
            // A city without its continent ("shanghai") counts as near to the whole name.
            let city = lower.rsplit('/').next().unwrap_or(&lower);
            let whole = strsim::jaro_winkler(&wanted, &lower);
            let part = strsim::jaro_winkler(&wanted, city) - 0.01;
            (whole.max(part), known.as_str().to_owned())
        })
        .filter(|(score, _)| *score > 0.88)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored.truncate(3);
    scored.into_iter().map(|(_, name)| name).collect()
}
