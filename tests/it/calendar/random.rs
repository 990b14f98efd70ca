//! Random lines from a seed: expressions of both dialects, plain ones that the crate `cron` reads,
//! and texts that once were a real line.

use crate::sim::rng::Rng;
use mainspring::calendar::{ClockChange, Fold, Gap};

/// Zones with every kind of clock change, whose past two libraries tell alike.
pub const ZONES: &[&str] = &[
    "UTC",
    "Asia/Shanghai",
    "America/New_York",
    "America/St_Johns",
    "Europe/Berlin",
    "Europe/Dublin",
    "Australia/Lord_Howe",
    "Antarctica/Troll",
    "America/Havana",
    "Pacific/Apia",
    "Pacific/Chatham",
    "Asia/Pyongyang",
    "Asia/Kathmandu",
];

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

fn number(rng: &mut Rng, low: u64, high: u64) -> u64 {
    low + rng.below(high - low + 1)
}

/// One item of a list: a number, a range (also wrapped), or either with a step.
fn item(rng: &mut Rng, low: u64, high: u64) -> String {
    let (a, b) = (number(rng, low, high), number(rng, low, high));
    let step = number(rng, 1, high);
    match rng.below(20) {
        0..9 => a.to_string(),
        9..14 => format!("{a}-{b}"),
        14..16 => format!("*/{step}"),
        16..18 => format!("{a}/{step}"),
        _ => format!("{a}-{b}/{}", number(rng, 1, high.min(9))),
    }
}

fn list(rng: &mut Rng, low: u64, high: u64, star: u64) -> String {
    if rng.chance(star) {
        return "*".to_owned();
    }
    let count = if rng.chance(600) { 1 } else { number(rng, 2, 3) };
    (0..count).map(|_| item(rng, low, high)).collect::<Vec<_>>().join(",")
}

/// Replaces numbers of a field by their names, here and there.
fn named(rng: &mut Rng, text: String, names: &[&str], low: u64) -> String {
    let (body, step) = text.split_once('/').unwrap_or((&text, ""));
    let Ok(number) = body.parse::<u64>() else { return text };
    let Some(name) = number.checked_sub(low).and_then(|at| names.get(at as usize)) else {
        return text;
    };
    if rng.chance(500) {
        return text;
    }
    let name = if rng.chance(300) { name.to_lowercase() } else { name.to_string() };
    if step.is_empty() { name } else { format!("{name}/{step}") }
}

fn month_days(rng: &mut Rng) -> String {
    let n = rng.below(31);
    match rng.below(14) {
        0..8 => list(rng, 1, 31, 250),
        8 => "L".to_owned(),
        9 => "LW".to_owned(),
        10 => format!("L-{n}"),
        11 => format!("{}W", n + 1),
        12 => format!("L-{}W", n % 8),
        _ => format!("{},L-{}", item(rng, 1, 31), n % 4),
    }
}

fn week_days(rng: &mut Rng, low: u64, high: u64) -> String {
    let day = number(rng, low, high);
    match rng.below(12) {
        0..7 => list(rng, low, high, 150),
        7 => format!("{day}L"),
        8 => format!("{day}#{}", number(rng, 1, 5)),
        9 => (*rng.pick(&["FRIL", "mon#1", "MON-FRI", "sat-tue", "sun"])).to_owned(),
        10 => format!("{},FRIL", item(rng, low, high)),
        _ => {
            let text = item(rng, low, high);
            named(rng, text, &DAYS, low)
        }
    }
}

/// A well-formed expression of either dialect; it may be one that never fires.
pub fn expression(rng: &mut Rng) -> String {
    let (minute, hour) = (list(rng, 0, 59, 200), list(rng, 0, 23, 300));
    let month = list(rng, 1, 12, 600);
    let month = named(rng, month, &MONTHS, 1);
    if rng.chance(400) {
        let (dom, dow) = (month_days(rng), week_days(rng, 0, 7));
        let dom = if rng.chance(300) { "*".to_owned() } else { dom };
        let dow = if rng.chance(400) { "*".to_owned() } else { dow };
        return format!("{minute} {hour} {dom} {month} {dow}");
    }
    let second = if rng.chance(600) { "0".to_owned() } else { list(rng, 0, 59, 50) };
    let free = (*rng.pick(&["?", "*"])).to_owned();
    let (dom, dow) =
        if rng.chance(500) { (month_days(rng), free) } else { (free, week_days(rng, 1, 7)) };
    let year = rng.pick(&["", "", "", " *", " 2024", " 2023-2025", " 2011,2024/3", " 1999,2030"]);
    format!("{second} {minute} {hour} {dom} {month} {dow}{year}")
}

/// An expression that the crate `cron` reads in the same way: ranges forward, Quartz weekdays.
pub fn plain(rng: &mut Rng) -> String {
    let mut field = |low: u64, high: u64| {
        if rng.chance(350) {
            return "*".to_owned();
        }
        let mut items = Vec::new();
        for _ in 0..number(rng, 1, 2) {
            let (a, b) = (number(rng, low, high), number(rng, low, high));
            let (a, b, step) = (a.min(b), a.max(b), number(rng, 1, high));
            items.push(match rng.below(7) {
                0..3 => a.to_string(),
                3..5 => format!("{a}-{b}"),
                5 => format!("{a}-{b}/{step}"),
                _ => format!("*/{step}"),
            });
        }
        items.join(",")
    };
    let (second, minute, hour) = (field(0, 59), field(0, 59), field(0, 23));
    let (day, month, week_day) = (field(1, 31), field(1, 12), field(1, 7));
    let (dom, dow) = if rng.chance(500) { ("*", &*week_day) } else { (&*day, "*") };
    format!("{second} {minute} {hour} {dom} {month} {dow}")
}

/// What happens when clocks change; the default as often as all others.
pub fn clock(rng: &mut Rng) -> ClockChange {
    if rng.chance(500) {
        return ClockChange::default();
    }
    ClockChange {
        gap: *rng.pick(&[Gap::Carry, Gap::Skip, Gap::Shift]),
        fold: *rng.pick(&[Fold::First, Fold::Last, Fold::Both]),
    }
}

/// A second of 2005 to 2024: anywhere, or within two hours of a change of the zone's clocks.
pub fn second(rng: &mut Rng, offset: impl Fn(i64) -> i64) -> i64 {
    const DAY: i64 = 86_400;
    let anywhere = 1_104_537_600 + rng.below(20 * 365 * DAY as u64) as i64;
    if rng.chance(400) {
        return anywhere;
    }
    for day in 0..300 {
        let (mut low, mut high) = (anywhere + day * DAY, anywhere + (day + 1) * DAY);
        if offset(low) == offset(high) {
            continue;
        }
        while high - low > 1 {
            let middle = low.midpoint(high);
            if offset(middle) == offset(high) { high = middle } else { low = middle }
        }
        return high + rng.below(14_400) as i64 - 7200;
    }
    anywhere
}

/// A text that was once one of these, with bytes changed, taken out, doubled or put in.
pub fn mutated(rng: &mut Rng, of: &[&str]) -> String {
    let mut bytes = rng.pick(of).as_bytes().to_vec();
    for _ in 0..=rng.below(4) {
        let at = rng.below(bytes.len() as u64 + 1) as usize;
        let byte = *rng.pick(b"0123456789*/,-?LW#@ \tJANmonSUN\n\0.:;+TZ${}[]()\xc3\xef\xff");
        match rng.below(5) {
            0 if at < bytes.len() => bytes[at] = byte,
            1 if at < bytes.len() => drop(bytes.remove(at)),
            2 => bytes.truncate(at),
            3 => {
                let again = bytes[at..].to_vec();
                bytes.extend(again);
            }
            _ => bytes.insert(at, byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
