//! What attempts print, as it is kept; and where a job goes that nobody here can run.

use std::path::PathBuf;
use std::sync::Arc;

use mainspring::model::{RunId, State, TaskRunId};
use mainspring::runtime::{
    Clock, Files, HandlerHost, LogOptions, LogPlace, LogSink, NewRunRequest, ProcessHost, Stream,
};
use serde_json::json;

use super::handlers::{Desk, Folder, START, sound};

/// What is kept of output that comes in these pieces: the lines of the file without their stamps.
fn kept(pieces: &[(&[u8], Stream)]) -> Vec<String> {
    let folder = Folder::new("output");
    let (clock, _) = Clock::test(START);
    let files = Files::of(&folder.database(), Some(&folder.files()));
    let log = LogSink::new(&files, &clock, RunId(1), TaskRunId(1), 1);
    for (bytes, stream) in pieces {
        log.write(bytes, *stream);
    }
    let (uri, _) = log.finish();
    let text = std::fs::read_to_string(uri.unwrap()).unwrap();
    text.lines().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
}

#[test]
fn lines_carry_their_stream_and_pieces_are_joined_within_each() {
    let lines = kept(&[
        (b"one ", Stream::Out),
        (b"wrong\n", Stream::Err),
        (b"line\ntwo\n", Stream::Out),
        (b"rest", Stream::Out),
    ]);
    assert_eq!(lines, ["E wrong", "O one line", "O two", "O rest"]);
}

#[test]
fn a_character_that_is_cut_by_a_piece_is_whole_again() {
    let snail = "\u{1f40c}".as_bytes();
    let lines =
        kept(&[(&snail[..1], Stream::Out), (&snail[1..], Stream::Out), (b"\n", Stream::Out)]);
    assert_eq!(lines, ["O \u{1f40c}"]);
}

#[test]
fn bytes_that_are_no_text_are_shown_as_bytes() {
    // GBK for "zhong wen", a lone continuation, NUL, an escape sequence.
    let lines = kept(&[(b"\xd6\xd0\xce\xc4 \x80 \0 \x1b[1m\n", Stream::Out)]);
    assert_eq!(lines, ["O \\xd6\\xd0\\xce\\xc4 \\x80 \\x00 \u{1b}[1m"]);
}

#[test]
fn of_a_line_that_is_written_over_the_last_state_is_kept() {
    let lines = kept(&[
        (b"1%\r2%\r", Stream::Out),
        (b"100%\r\n", Stream::Out),
        (b"windows\r\n\r\n", Stream::Out),
    ]);
    assert_eq!(lines, ["O 100%", "O windows", "O "]);
}

#[test]
fn a_bar_without_an_end_does_not_grow_and_a_long_line_is_cut_between_characters() {
    let bar = b"\r123456789 of 987654321".repeat(100_000);
    assert_eq!(kept(&[(&bar, Stream::Out)]), ["O 123456789 of 987654321"]);
    // Three bytes each: 65,536 is no multiple.
    let long = "中".repeat(100_000);
    let lines = kept(&[(long.as_bytes(), Stream::Out)]);
    assert!(lines.len() > 1);
    let joined: String = lines.iter().map(|line| &line[2..]).collect();
    assert_eq!(joined, long);
}

#[test]
fn what_comes_after_the_end_was_told_is_added() {
    let folder = Folder::new("late-output");
    let (clock, _) = Clock::test(START);
    let files = Files::of(&folder.database(), Some(&folder.files()));
    let log = LogSink::new(&files, &clock, RunId(1), TaskRunId(1), 1);
    assert_eq!(log.finish(), (None, None));
    log.write(b"before\n", Stream::Out);
    let (first, _) = log.finish();
    log.write(b"after\n", Stream::Out);
    let (second, tail) = log.finish();
    assert_eq!((&first, tail.as_deref()), (&second, Some("before\nafter")));
    let text = std::fs::read_to_string(first.unwrap()).unwrap();
    assert_eq!(text.lines().count(), 2);
}

#[test]
fn a_log_that_is_brought_elsewhere_has_a_mark_and_its_row_the_place() {
    let folder = Folder::new("brought");
    let (clock, _) = Clock::test(START);
    let files = Files::beside(&folder.database());
    let task = ("load", Some(3));
    let place = LogPlace { dag: "shop", biz_date: "2024-01-01", run: (7, 5), task, attempt_no: 2 };
    let uri = place.below("s3://bucket/prefix/");
    assert_eq!(uri, "s3://bucket/prefix/shop/2024-01-01/run-7-5/load/item-3/attempt-2");
    let mark = files.log_mark(RunId(7), TaskRunId(31), 2);
    let log = LogSink::new(&files, &clock, RunId(7), TaskRunId(31), 2).brought_to(Some(uri));
    assert_eq!(log.finish(), (None, None));
    assert!(!mark.exists(), "nothing was printed");
    log.write(b"printed\n", Stream::Out);
    assert_eq!(log.finish().0.as_deref(), Some(place.below("s3://bucket/prefix").as_str()));
    assert_eq!(
        std::fs::read_to_string(&mark).unwrap().trim_end(),
        place.below("s3://bucket/prefix")
    );
    let text = std::fs::read_to_string(files.log(RunId(7), TaskRunId(31), 2)).unwrap();
    assert!(text.ends_with(" O printed\n"));
    // It goes on after it was brought: elsewhere, by a process that may not have begun it.
    std::fs::remove_file(&mark).unwrap();
    let uri = place.below("file:///other");
    let log = LogSink::continued(&files, &clock, RunId(7), TaskRunId(31), 2).brought_to(Some(uri));
    log.write(b"more\n", Stream::Out);
    assert!(std::fs::read_to_string(&mark).unwrap().starts_with("file:///other/shop/"));
    std::fs::write(&mark, "kept").unwrap();
    log.finish();
    log.write(b"after the end\n", Stream::Out);
    assert_eq!(std::fs::read_to_string(&mark).unwrap(), "kept");
}

#[test]
fn what_is_beyond_the_limit_is_counted_and_said_at_the_end() {
    let folder = Folder::new("limit");
    let (clock, _) = Clock::test(START);
    let files = Files::beside(&folder.database());
    let files = files.with_logs(LogOptions { prefix: None, limit: 1024 });
    let log = LogSink::new(&files, &clock, RunId(1), TaskRunId(1), 1);
    for _ in 0..1000 {
        log.write(b"123456789\n", Stream::Out);
    }
    let text = std::fs::read_to_string(log.finish().0.unwrap()).unwrap();
    let lines: Vec<&str> = text.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    let (last, kept) = lines.split_last().unwrap();
    assert!(kept.iter().all(|line| *line == "O 123456789"));
    // The line that reaches the limit is whole.
    assert!(text.find("E mainspring").unwrap() < 1024 + 100);
    let left = 10 * (1000 - kept.len());
    assert_eq!(*last, format!("E mainspring: {left} more bytes of output were left out"));
}

#[test]
fn handlers_in_files_need_a_session_with_worker_processes() {
    let folder = Folder::new("no-processes");
    let desk = Desk::open(&folder);
    desk.register(json!([{"name": "a", "type": "python", "handler": "dags:a"}]));
    let host = ProcessHost {
        file: PathBuf::from("/nowhere/dags.py"),
        dag: "d".into(),
        version: "1".into(),
    };
    let host: HandlerHost = Arc::new(host);
    let run = desk.session.submit("d", host, NewRunRequest::default()).unwrap();
    desk.wait(run);
    let views = folder.store().task_runs(run).unwrap();
    let progress = &views[0].row.progress;
    assert_eq!((progress.state, progress.code.as_deref()), (State::Failed, Some("EXECUTOR")));
    sound(&folder);
}
