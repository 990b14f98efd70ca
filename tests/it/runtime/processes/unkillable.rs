//! A tree that cannot be killed keeps its slot, is shown, and is tried again only when it is gone.
//!
//! Its supervisor is a false one, which also speaks for the worker: no process that outlives
//! SIGKILL can be had everywhere.

use std::io::{IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use mainspring::model::{AttemptRecord, Outcome, State};
use mainspring::store::{AttemptFilter, SqlStore as _, SqliteOptions, SqliteStore, Store};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use serde_json::{Value, json};

use super::super::handlers::Folder;
use super::{FOLDER, anew, open, register, say, submit, told, until};

fn tell(socket: &mut UnixStream, message: &Value) {
    let text = message.to_string();
    socket.write_all(&u32::try_from(text.len()).unwrap().to_le_bytes()).unwrap();
    socket.write_all(text.as_bytes()).unwrap();
}

/// The next message; none when the other side is gone.
fn hear(socket: &mut UnixStream) -> Option<Value> {
    let mut head = [0; 4];
    socket.read_exact(&mut head).ok()?;
    let mut body = vec![0; u32::from_le_bytes(head) as usize];
    socket.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).unwrap())
}

/// The sockets of a supervisor: to the scheduler, and the one that the worker would have.
fn sockets() -> (UnixStream, UnixStream) {
    let stdin = rustix::stdio::stdin();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0_u8; 1];
    let into = &mut [IoSliceMut::new(&mut byte)];
    rustix::net::recvmsg(stdin, into, &mut ancillary, RecvFlags::empty()).unwrap();
    let data = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
        _ => None,
    });
    (rustix::io::dup(stdin).unwrap().into(), data.unwrap().into())
}

/// Not a test of its own: a supervisor of a tree that outlives each first attempt's kill until a
/// file is there.
#[test]
fn the_false_supervisor() {
    let Some(folder) = told(FOLDER) else { return };
    let folder = PathBuf::from(folder);
    let (mut control, mut data) = sockets();
    tell(&mut control, &json!({"Started": {"pid": std::process::id()}}));
    tell(&mut data, &json!("Ready"));
    while let Some(job) = hear(&mut data) {
        let no = job["attempt"]["attempt_no"].as_u64().unwrap();
        say(&folder, &format!("hangs {no} start"));
        if no > 1 {
            let record = AttemptRecord::default();
            let done = json!({"outcome": Outcome::Success, "record": record, "cpu_total_ms": 0,
                              "imported": true, "spoilt": null});
            tell(&mut data, &json!({"Done": done}));
            continue;
        }
        let asked = hear(&mut control).unwrap();
        say(&folder, &format!("asked {}", asked["Kill"]["reason"]));
        tell(&mut control, &json!({"Survivors": {"pids": [4_000_001, 4_000_002]}}));
        until("the tree dies", || folder.join("dies").exists());
        say(&folder, "gone");
        let status = json!({"exit_code": null, "signal": 9, "asked": true, "cpu_ms": 7,
                            "max_rss_kb": 8});
        tell(&mut control, &json!({"Dead": {"status": status}}));
        return;
    }
}

fn leases(folder: &Path) -> usize {
    let mut store = SqliteStore::open(folder.join("test.db"), SqliteOptions::default()).unwrap();
    let text = "SELECT count(*) FROM attempt_lease";
    match store.ask(text, &[]).unwrap().rows[0][0] {
        mainspring::store::SqlValue::Integer(count) => usize::try_from(count).unwrap(),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn a_tree_that_cannot_be_killed_keeps_its_slot_until_it_is_gone() {
    let folder = Folder::with_file("unkillable");
    let home = folder.database().parent().unwrap().to_owned();
    let session = open(&home, anew("unkillable::the_false_supervisor"), 3, None);
    register(
        &session,
        json!([{"name": "hangs", "handler": "m:hangs", "timeout": "4s", "grace": "100ms",
                "max_attempts": 2, "retry_interval": "1ms", "retry_backoff": "fixed"}]),
    );
    let run = submit(&session);
    let mut store = SqliteStore::open(home.join("test.db"), SqliteOptions::default()).unwrap();
    until("its end is recorded", || session.load().unwrap().stuck == 1);
    assert_eq!(super::said(&home), ["hangs 1 start", "asked \"timeout\""]);

    // The record has ended, and what is to come next waits for the slot.
    let load = session.load().unwrap();
    assert_eq!((load.live, load.runs), (0, 1));
    assert_eq!(leases(&home), 1);
    let row = &store.task_runs(run).unwrap()[0].row;
    assert_eq!(row.progress.state, State::RetryWait);
    let explained = session.explain(run, "hangs").unwrap();
    assert!(explained.contains("attempt 1 is over, but could not be ended"), "{explained}");
    assert!(explained.contains("(kill failed)"), "{explained}");
    assert_eq!(super::said(&home).iter().filter(|line| line.ends_with("start")).count(), 1);

    std::fs::write(home.join("dies"), "").unwrap();
    let watch = session.watch(run).unwrap();
    assert!(watch.wait(std::time::Duration::from_secs(60)), "{:?}", watch.status());
    let order = ["hangs 1 start", "asked \"timeout\"", "gone", "hangs 2 start"];
    assert_eq!(super::said(&home), order, "again only when it is gone");
    let attempts = store.attempts(&AttemptFilter::Run(run)).unwrap();
    let outcomes: Vec<_> = attempts.iter().map(|attempt| attempt.outcome).collect();
    assert_eq!(outcomes, [Some(Outcome::Timeout), Some(Outcome::Success)]);
    until("the slot is back", || leases(&home) == 0);
    assert_eq!(session.load().unwrap().stuck, 0);
    session.close(1_000, Some(std::time::Duration::from_secs(20)));
    assert_eq!(mainspring::runtime::verify(&mut store).unwrap(), []);
}
