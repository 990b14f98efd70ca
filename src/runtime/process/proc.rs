//! What the kernel tells of processes under `/proc`. Where there is none, nobody is found.

use std::collections::BTreeMap;
use std::fs;

/// A process that cannot be mistaken for a later one of the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// Its number.
    pub pid: i32,
    /// When it was started, in ticks since the machine was.
    pub started: u64,
}

/// The process with this number, if it lives (or waits to be reaped).
pub fn identity(pid: i32) -> Option<Identity> {
    stat(pid).map(|stat| Identity { pid, started: stat.started })
}

/// Numbers of all processes.
pub fn all() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// All that descend from a process, itself left out; those that only wait to be reaped as well.
pub fn descendants(of: i32) -> Vec<Identity> {
    let mut children: BTreeMap<i32, Vec<Identity>> = BTreeMap::new();
    for pid in all() {
        if let Some(stat) = stat(pid) {
            let identity = Identity { pid, started: stat.started };
            children.entry(stat.parent).or_default().push(identity);
        }
    }
    let mut found = children.remove(&of).unwrap_or_default();
    let mut at = 0;
    while let Some(next) = found.get(at).map(|identity| identity.pid) {
        found.extend(children.remove(&next).unwrap_or_default());
        at += 1;
    }
    found
}

/// What an environment variable was when a process was started.
pub fn started_with(pid: i32, name: &str) -> Option<String> {
    let bytes = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut entries = bytes.split(|byte| *byte == 0);
    let value = entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
    value.map(|value| String::from_utf8_lossy(value).into_owned())
}

/// Memory that a process holds now, in kilobytes.
pub fn rss_kb(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Whether a process has children, other than the one named. None where the kernel does not say.
pub fn has_children_beside(parent: i32, known: i32) -> Option<bool> {
    let text = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    Some(text.split_whitespace().any(|pid| pid.parse() != Ok(known)))
}

struct Stat {
    parent: i32,
    started: u64,
}

fn stat(pid: i32) -> Option<Stat> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The name stands in brackets and may hold anything, brackets too.
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    Some(Stat { parent: fields.get(1)?.parse().ok()?, started: fields.get(19)?.parse().ok()? })
}
