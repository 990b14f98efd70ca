"""Killed at random, scheduler, supervisors and workers, while 500 tasks run: nothing is lost.

`CRASH_FULL=1` makes it 200 kills with SIGKILL and 20 stops, and stops longer than a lease lasts;
`CRASH_SEED` another story.
"""

import collections
import os
import random
import signal
from pathlib import Path

from . import _tools as tools

FULL = bool(os.environ.get("CRASH_FULL"))
KILLS = 200 if FULL else 14
STOPS = 20 if FULL else 2
TASKS = 500

LAST_CHANCE = "SELECT 1 FROM task_run WHERE losses_used >= 2 AND finished_at IS NULL LIMIT 1"

MANY = """
    with ms.Dag("many", defaults={{"retry_interval": "5ms", "retry_backoff": "FIXED"}}) as dag:
        for i in range({tasks}):
            @ms.task(name=f"t{{i}}", params={{"i": i}}, retries=200,
                     depends_on=[f"t{{i - 25}}"] if i >= 25 else [])
            def one(i: int) -> int:
                said("start")
                time.sleep({pause})
                said("end")
                return i
"""


def test_random_kills_lose_nothing_and_double_nothing(place):
    seed = int(os.environ.get("CRASH_SEED", "20130115"))
    print("seed", seed)
    dice = random.Random(seed)
    (place.root / "mainspring.toml").write_text("slots = 4\n")
    place.write("many.py", MANY.format(tasks=TASKS, pause=0.2 if FULL else 0.02))
    up = place.up()
    run = place.trigger("many")
    kinds = collections.Counter()
    order = (["worker"] * 6 + ["scheduler"] * 3 + ["supervisor", "both"] * 2) * 16
    order = order[:KILLS] + ["stop"] * STOPS
    dice.shuffle(order)
    # Spread over the first four fifths of the work, each at a moment in the middle. Who is behind,
    # for ends come in bunches, waits for no more of them.
    moments = sorted(dice.randrange(1, TASKS * 4 // 5) for _ in order)
    while order and place.run(run)["state"] == "RUNNING":
        # A task has three losses: who has had two comes to its end first.
        tools.until(lambda: place.run(run)["state"] != "RUNNING" or (
            len(place.story(event="end")) >= moments[0] and not place.rows(LAST_CHANCE)),
            60, pause=0.01)
        kind = order[-1]
        if kind in ("worker", "supervisor", "both"):
            found = [pid for pid in up.trees() if _is_supervisor(pid) == (kind == "supervisor")]
            if not found:  # its pool is just being filled again
                continue
            _kill(dice.choice(sorted(found)))
        if kind in ("scheduler", "both"):
            up.kill()
            up = place.up()
        if kind == "stop":
            os.kill(up.pid, signal.SIGSTOP)
            tools.until(lambda: _state(up.pid) == "T")
            # Workers end what they have; nobody gives them more.
            tools.until(lambda: not _busy(place, up), 20)
            os.kill(up.pid, signal.SIGCONT)
        kinds[order.pop()] += 1
        moments.pop(0)
    print(dict(kinds))
    assert place.finished(run, 120) == "SUCCESS", collections.Counter(place.states(run).values())
    tools.until(lambda: tools.others.leases(place.database) == [])
    assert up.stop() == 0
    up.gone()
    assert order == [], f"the dag ended before {len(order)} of the kills"
    explained(place, run)
    place.sound()


LONG = """
    with ms.Dag("long", defaults={"retry_interval": "5ms"}) as dag:
        @ms.task(timeout="90s")
        def one():
            said("start")
            held(f"go{ms.context().attempt}")
            said("end")

        @ms.task(depends_on=[one])
        def two():
            said("start")
            said("end")
"""

LEASE = 15.0
"""Seconds for which a scheduler is believed to live after its last sign of life."""


def _stopped_beyond_the_lease(place, up):
    """Stop a scheduler until its lease has run out. In the full chaos that is waited for; else the
    rows are put back to how they would be then."""
    os.kill(up.pid, signal.SIGSTOP)
    tools.until(lambda: _state(up.pid) == "T")
    lease = "SELECT lease_until FROM node WHERE role = 'scheduler' AND pid = ?"
    if not FULL:
        code, out, err = place.python(f"""
            import sqlite3
            conn = sqlite3.connect({str(place.database)!r}, timeout=30)
            conn.execute("UPDATE node SET heartbeat_at = heartbeat_at - 20000000, "
                         "lease_until = lease_until - 20000000 WHERE pid = {up.pid}")
            conn.commit()
        """)
        assert code == 0, out + err
    (node,) = place.rows(lease, up.pid)
    tools.until(lambda: tools.time.time() * 1e6 > node["lease_until"] + 1e6, 2 * LEASE, pause=0.1)


def test_stopped_beyond_its_lease_on_this_machine_nobody_takes_over(place):
    """Its lock says that it lives, which is more than a lease can say: it goes on as it was."""
    place.write("long.py", LONG)
    up = place.up()
    run = place.trigger("long")
    place.seen(task="one", event="start")
    beside = place.up("--standby", serving=False)
    beside.wait("standing_by")
    _stopped_beyond_the_lease(place, up)
    assert beside.all("serving") == [] and beside.child.poll() is None
    place.open_gate("go1")
    place.seen(task="one", event="end")
    os.kill(up.pid, signal.SIGCONT)
    assert place.finished(run) == "SUCCESS"
    assert [each["outcome"] for each in place.attempts(run)] == ["SUCCESS"] * 2
    assert beside.all("serving") == []
    assert up.stop() == 0
    beside.wait("serving")
    assert beside.stop() == 0
    place.sound()


def test_stopped_beyond_its_lease_where_its_lock_cannot_be_read_it_is_replaced(place):
    """As on another machine: who stands by takes over when the lease is over. The one that was
    stopped wakes up late, writes nothing, ends what it has, and leaves."""
    place.write("long.py", LONG)
    up = place.up()
    run = place.trigger("long")
    place.seen(task="one", event="start")
    beside = place.up("--standby", serving=False)
    beside.wait("standing_by")
    (node,) = place.rows("SELECT id FROM node WHERE pid = ? AND role = 'scheduler'", up.pid)
    # What cannot be opened to be locked tells nothing: then the lease decides.
    lock = place.database.with_suffix(".files") / "locks" / f"node-{node['id']}.lock"
    lock.rename(lock.with_suffix(".away"))
    lock.mkdir()
    began = tools.time.monotonic()
    _stopped_beyond_the_lease(place, up)
    beside.wait("serving", seconds=LEASE)
    assert not FULL or tools.time.monotonic() - began > LEASE - 5.5, "not before it was over"
    place.seen(2, task="one", event="start")
    before = place.rows("SELECT count(*) AS n FROM journal")
    os.kill(up.pid, signal.SIGCONT)
    up.wait("fenced", seconds=20)
    assert up.ended() == 1
    up.gone()  # the attempt that it still had is ended with it
    place.open_gate("go1")  # nobody is left who could go on by that
    assert place.rows("SELECT count(*) AS n FROM journal") == before, "it wrote nothing"
    place.open_gate("go2")
    assert place.finished(run) == "SUCCESS"
    assert [(each["task"], each["number"], each["outcome"]) for each in place.attempts(run)] == [
        ("one", 1, "LOST"), ("one", 2, "SUCCESS"), ("two", 1, "SUCCESS")]
    assert [(line["task"], line["attempt"]) for line in place.story(event="end")] == [
        ("one", 2), ("two", 1)]
    assert beside.stop() == 0
    place.sound()


def test_a_supervisor_that_is_stopped_hears_of_a_cancel_all_the_same(place):
    """Whoever is asked to end a tree is woken for it."""
    place.write("long.py", LONG)
    up = place.up()
    run = place.trigger("long")
    place.seen(task="one", event="start")
    (supervisor,) = [pid for pid in up.trees() if _is_supervisor(pid)]
    os.kill(supervisor, signal.SIGSTOP)
    tools.until(lambda: _state(supervisor) == "T")
    code, out, err = place.ms("cancel", run)
    assert code == 0, out + err
    assert place.finished(run) == "CANCELED"
    tools.until(lambda: tools.others.leases(place.database) == [])
    up.gone()
    assert up.stop() == 0
    place.sound()


def test_a_supervisor_that_is_stopped_beyond_the_lease_costs_nothing(place):
    """It only looks on: what its worker returns meanwhile counts."""
    place.write("long.py", LONG)
    up = place.up()
    run = place.trigger("long")
    place.seen(task="one", event="start")
    (supervisor,) = [pid for pid in up.trees() if _is_supervisor(pid)]
    os.kill(supervisor, signal.SIGSTOP)
    tools.until(lambda: _state(supervisor) == "T")
    end = tools.time.monotonic() + (LEASE + 2 if FULL else 1)
    tools.until(lambda: tools.time.monotonic() > end, 2 * LEASE, pause=0.1)
    place.open_gate("go1")
    tools.until(lambda: place.states(run)["one"] == "SUCCESS")
    os.kill(supervisor, signal.SIGCONT)
    assert place.finished(run) == "SUCCESS"
    assert [each["outcome"] for each in place.attempts(run)] == ["SUCCESS"] * 2
    assert up.stop() == 0
    up.gone()
    place.sound()


def explained(place, run):
    """Each task run has one valid success, which the witness saw; each attempt has its reason."""
    assert set(place.states(run).values()) == {"SUCCESS"}
    starts = collections.Counter((line["task"], line["attempt"], line["token"])
                                 for line in place.story(event="start"))
    ends = {(line["task"], line["attempt"], line["token"]) for line in place.story(event="end")}
    assert set(starts.values()) == {1}, "an attempt began twice"
    success = collections.Counter()
    for each in place.attempts(run):
        me = (each["task"], each["number"], each["token"])
        if each["outcome"] == "SUCCESS":
            success[each["task"]] += 1
            assert me in ends, me
        elif each["outcome"] == "FAILED":
            assert each["code"] in ("SIGNAL_9", "SUPERVISOR", "WORKER"), each
        else:
            assert each["outcome"] == "LOST", each
        starts.pop(me, None)
    assert not starts, "ran without a record"
    assert set(success.values()) == {1} and len(success) == TASKS
    # No attempt began while another of its task run lived: the clock is that of the machine.
    lines = collections.defaultdict(list)
    for line in place.story():
        lines[line["task"]].append(line)
    for task, story in lines.items():
        numbers = [line["attempt"] for line in sorted(story, key=lambda line: line["clock"])]
        assert numbers == sorted(numbers), (task, story)


def _is_supervisor(pid):
    try:
        return b"_supervisor.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def _busy(place, up):
    """Whether a handler that lives is between its two lines."""
    ended = {(line["key"], line["attempt"]) for line in place.story(event="end")}
    inside = {line["pid"] for line in place.story(event="start")
              if (line["key"], line["attempt"]) not in ended}
    return bool(inside.intersection(up.trees()))


def _kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
