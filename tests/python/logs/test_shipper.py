"""The shipper by itself, with a clock that stands: what is brought, when, and what is kept."""

import gzip
import json
import os
import signal
import subprocess
import sys

import pytest
from crash._tools import until
from mainspring._logread import StoredLog
from mainspring._logstore import PART, LogStoreError, open_log_store
from mainspring._shipper import EVERY, HOUR, SWEEP, Shipper, behind

MB = 1 << 20


class Store:
    """A place that notes what is put there, and that may be down."""

    def __init__(self, uri, notes):
        self.inner, self.notes = open_log_store(uri), notes

    def put(self, key, data):
        if self.notes.down:
            raise LogStoreError("away", "it is down")
        self.notes.puts.append((key, len(gzip.decompress(data)) if key.endswith(".gz") else None))
        self.inner.put(key, data)

    def get(self, key):
        return self.inner.get(key)

    def list(self, below):
        return self.inner.list(below)


class Desk:
    """A folder of logs, a shipper, and its surroundings."""

    def __init__(self, folder, uri):
        self.database = str(folder / "shop.db")
        self.folder = folder / "shop.files" / "logs"
        self.folder.mkdir(parents=True)
        self.uri = uri
        self.now, self.live, self.down, self.puts = 1_000_000.0, set(), False, []
        self.shipper = self.another()

    def another(self):
        return Shipper(str(self.folder), lambda asked: self.live & set(asked), keep=3 * HOUR,
                       now=lambda: self.now, open_store=lambda uri: Store(uri, self))

    def place(self, run=1, task_run=1):
        return f"{self.uri}/dag/2024-01-01/run-{run}-5/task-{task_run}/attempt-1"

    def prints(self, data, run=1, task_run=1, live=True):
        """What the core does when an attempt prints."""
        (self.folder / "pending").mkdir(exist_ok=True)
        log = self.folder / str(run) / f"{task_run}-1.log"
        if not log.exists():
            log.parent.mkdir(exist_ok=True)
            (self.folder / "pending" / f"{run}-{task_run}-1").write_text(
                self.place(run, task_run) + "\n")
        with open(log, "ab") as file:
            file.write(data)
        if live:
            self.live.add((task_run, 1))
        return log

    def turns(self):
        while self.shipper.turn():
            pass

    def stored(self, **which):
        return b"".join(StoredLog(self.place(**which)).new())


@pytest.fixture(params=["folder", "s3"])
def desk(request, tmp_path):
    if request.param == "folder":
        return Desk(tmp_path, f"file://{tmp_path}/elsewhere")
    s3 = request.getfixturevalue("s3")
    return Desk(tmp_path, f"s3://{s3.bucket()}/some/prefix")


def test_output_of_10_mb_comes_in_parts_of_one_and_is_what_was_printed(desk):
    data = b"".join(b"%09d\n" % number for number in range(MB))  # 10 bytes, 2**20 times
    desk.prints(data)
    desk.live.clear()
    desk.turns()
    assert desk.puts == [(f"part-{n * MB:012d}.gz", MB) for n in range(10)] + [("end.json", None)]
    assert desk.stored() == data
    assert behind(desk.database)["attempts"] == 0


def test_a_part_that_grows_is_brought_again_and_not_at_every_look(desk):
    desk.prints(b"one\n")
    desk.turns()
    desk.prints(b"two\n")
    desk.turns()
    assert desk.puts == [("part-000000000000.gz", 4)]
    desk.now += EVERY
    desk.turns()
    assert desk.puts[1:] == [("part-000000000000.gz", 8)]
    desk.now += EVERY
    desk.turns()
    assert len(desk.puts) == 2, "nothing is new"


def test_who_reads_while_it_grows_gets_each_byte_once(desk):
    reader = StoredLog(desk.place())
    assert list(reader.new()) == []
    got = b""
    for step in range(5):
        desk.prints(b"%d" % step * (400 * 1024))  # parts end within a step
        desk.now += EVERY
        desk.turns()
        new = b"".join(reader.new())
        assert new == b"%d" % step * (400 * 1024)
        assert b"".join(reader.new()) == b"" and not reader.whole
        got += new
    desk.live.clear()
    desk.turns()
    assert b"".join(reader.new()) == b"" and reader.whole
    assert len(got) == 5 * 400 * 1024


def test_the_last_line_may_have_no_end_and_nothing_is_made_of_bytes(desk):
    data = "订单 \x1b[31m红\x1b[0m 🐌\r\n".encode() + b"\xff\x00 no end"
    desk.prints(data)
    desk.live.clear()
    desk.turns()
    assert desk.stored() == data


def test_the_end_comes_only_when_the_attempt_has_ended(desk):
    desk.prints(b"a\n")
    desk.turns()
    assert [name for name, _ in desk.puts] == ["part-000000000000.gz"]
    desk.live.clear()
    desk.turns()
    assert [name for name, _ in desk.puts] == ["part-000000000000.gz", "end.json"]
    assert json.loads(open_log_store(desk.place()).get("end.json")) == {"bytes": 2}


def test_a_place_that_is_down_is_asked_less_and_less_and_then_gets_all(desk):
    desk.down = True
    desk.prints(b"a\n")
    waits, last = [], desk.now
    while len(waits) < 8:
        before = len(desk.shipper._failed)
        tried = dict(desk.shipper._failed)
        desk.turns()
        if desk.shipper._failed != tried or not before:
            waits.append(desk.now - last)
            last = desk.now
        desk.now += 1
    assert waits == [0, 1, 2, 4, 8, 16, 32, 60]
    (told,) = desk.shipper.news
    assert (told["event"], told["why"]) == ("logs_wait", "it is down")
    late = behind(desk.database, lambda: desk.now)
    assert (late["attempts"], late["bytes"], late["why"][0]["since"]) == (1, 2, 1_000_000.0)
    desk.down = False
    desk.now += 60
    desk.turns()
    assert desk.stored() == b"a\n"
    assert [each["event"] for each in desk.shipper.news] == ["logs_wait", "logs_go_on"]
    assert behind(desk.database) == {"attempts": 0, "bytes": 0, "seconds": 0.0, "why": []}


def test_what_another_began_is_gone_on_with(desk):
    desk.prints(b"x" * (PART + 5))
    desk.turns()
    desk.shipper._let_go()  # as when its process ends
    desk.shipper = desk.another()
    desk.prints(b"y" * 5)
    desk.now += EVERY
    desk.live.clear()
    desk.turns()
    assert desk.puts == [("part-000000000000.gz", PART), (f"part-{PART:012d}.gz", 5),
                         (f"part-{PART:012d}.gz", 10), ("end.json", None)]
    assert desk.stored() == b"x" * (PART + 5) + b"y" * 5


def test_a_part_that_came_but_was_not_noted_is_the_same_part(desk):
    """The process was killed between both."""
    desk.prints(b"one\n")
    mark = (desk.folder / "pending" / "1-1-1").read_text()
    desk.turns()
    reader = StoredLog(desk.place())
    assert b"".join(reader.new()) == b"one\n"
    (desk.folder / "pending" / "1-1-1").write_text(mark)
    desk.prints(b"two\n")
    desk.now += EVERY
    desk.live.clear()
    desk.turns()
    assert desk.stored() == b"one\ntwo\n"
    assert b"".join(reader.new()) == b"two\n"


KILLED = """
import sys
from mainspring import _shipper
from mainspring._logstore import open_log_store

class Slow:
    def __init__(self, uri):
        self.inner = open_log_store(uri)
    def put(self, key, data):
        self.inner.put(key, data)
        print(key, flush=True)
        if key.startswith("part-000003"):
            sys.stdin.read()  # here it is killed

shipper = _shipper.Shipper(sys.argv[1], lambda asked: set(), keep=60, open_store=Slow)
while shipper.turn():
    pass
"""


def test_a_kill_in_the_middle_loses_and_repeats_nothing(desk):
    data = os.urandom(6 * MB + 7)
    desk.prints(data, live=False)
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(desk.folder)],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        while not child.stdout.readline().startswith("part-000003"):
            pass
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()
    desk.turns()
    # The one that was put and not noted is put again.
    assert desk.puts == [*((f"part-{n * MB:012d}.gz", MB) for n in (3, 4, 5)),
                         (f"part-{6 * MB:012d}.gz", 7), ("end.json", None)]
    assert desk.stored() == data


def test_only_one_of_two_processes_does_it(desk):
    desk.prints(b"a\n")
    other = desk.another()
    desk.turns()
    desk.now += EVERY
    desk.prints(b"b\n")
    assert other.turn() is False and len(desk.puts) == 1
    assert desk.shipper.close() == 1, "it lives, so it is not all"
    desk.now += EVERY
    desk.prints(b"c\n")
    other.turn()
    assert desk.stored() == b"a\nb\nc\n"


def test_a_file_goes_only_when_it_was_brought_and_kept(desk):
    first, second = desk.prints(b"a\n"), desk.prints(b"b\n", run=2, task_run=2)
    desk.live = {(2, 1)}
    desk.turns()
    desk.now += 3 * HOUR - 1
    desk.turns()
    assert first.exists()
    desk.now += HOUR + 1
    desk.turns()
    assert not first.exists() and not first.parent.exists()
    assert second.exists(), "its attempt lives"
    assert desk.stored() == b"a\n"


def test_what_is_printed_after_the_end_was_told_comes_too(desk):
    desk.prints(b"a\n", live=False)
    desk.turns()
    desk.prints(b"b\n", live=False)
    desk.now += SWEEP
    desk.turns()
    desk.turns()
    assert desk.stored() == b"a\nb\n"
    assert json.loads(open_log_store(desk.place()).get("end.json")) == {"bytes": 4}


def test_what_is_marked_again_is_brought_again_and_removed_once(desk):
    """As the core does it when a process goes on with a file that was brought already."""
    log = desk.prints(b"a\n", live=False)
    desk.turns()
    desk.now += 2 * HOUR
    (desk.folder / "pending" / "1-1-1").write_text(desk.place() + "\n")
    desk.prints(b"b\n", live=False)
    desk.turns()
    assert desk.stored() == b"a\nb\n"
    for _ in range(8):
        desk.now += HOUR
        desk.turns()
    assert not log.exists()
    assert list((desk.folder / "sent").iterdir()) == []
    assert list((desk.folder / "pending").iterdir()) == []


def test_a_file_that_somebody_removed_stops_nobody(desk):
    desk.prints(b"a\n", live=False).unlink()
    desk.prints(b"b\n", run=2, task_run=2, live=False)
    (desk.folder / "pending" / "not a mark").write_text("")
    (desk.folder / "pending" / "3-3-1").write_text("")
    desk.turns()
    assert desk.stored(run=2, task_run=2) == b"b\n"


def test_a_broken_part_is_said_and_no_more_than_a_part_is_unpacked(desk):
    store = open_log_store(desk.place())
    store.put("part-000000000000.gz", gzip.compress(b"0" * (3 * PART)))
    assert len(b"".join(StoredLog(desk.place()).new())) == PART
    store.put("part-000000000000.gz", b"no gzip")
    with pytest.raises(LogStoreError, match="is broken"):
        list(StoredLog(desk.place()).new())


def test_a_missing_part_is_said_where_it_is_missing(desk):
    desk.prints(b"a" * PART + b"b" * PART + b"end\n", live=False)
    desk.turns()
    store = open_log_store(desk.place())
    found = {each.name: store.get(each.name) for each in store.list("")}
    del found[f"part-{PART:012d}.gz"]
    copy = open_log_store(desk.place(run=9))
    for name, data in found.items():
        copy.put(name, data)
    assert desk.stored(run=9).endswith(
        b"mainspring: 1048576 bytes of this log are missing\nend\n")


def test_the_thread_brings_what_is_there_and_ends_when_it_is_told(desk):
    desk.prints(b"a\n", live=False)
    desk.shipper.start()
    until(lambda: desk.stored() == b"a\n", 30)
    desk.prints(b"late\n", run=2, task_run=2, live=False)
    assert desk.shipper.close() == 0
    assert desk.stored(run=2, task_run=2) == b"late\n"
