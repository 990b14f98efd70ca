"""Probes in worker processes: each check is a short job of one attempt."""

from . import _tools as tools


def test_each_check_is_a_job_and_all_are_one_attempt(tmp_path, database):
    dag = tools.dag_of(tmp_path, f"""
        asked = {str(tmp_path / "asked")!r}
        with ms.Dag("files") as dag:
            @ms.probe(interval="100ms")
            def ready(biz_date):
                with open(asked, "a") as file:
                    file.write("x")
                print("asked for", biz_date)
                return os.path.getsize(asked) >= 3 and "there"

            @ms.task
            def load(word: str) -> str:
                return word.upper()

            load(ready())
    """)
    run = tools.run(dag)
    assert run.results == {"ready": "there", "load": "THERE"}
    (attempt,) = run["ready"].attempts
    assert (attempt.polls, attempt.log) == (3, "asked for 2024-01-01\n" * 3)


def test_a_check_that_crashes_fails_and_is_retried(tmp_path, database):
    dag = tools.dag_of(tmp_path, f"""
        asked = {str(tmp_path / "asked")!r}
        with ms.Dag("files") as dag:
            @ms.probe(interval="100ms", retries=1, retry_interval="10ms")
            def ready():
                with open(asked, "a") as file:
                    file.write("x")
                if os.path.getsize(asked) == 2:
                    os._exit(7)
                return os.path.getsize(asked) == 4
    """)
    run = tools.run(dag)
    outcomes = [(each.outcome, each.error_code, each.polls) for each in run["ready"].attempts]
    assert outcomes == [("FAILED", "EXIT_7", 2), ("SUCCESS", None, 2)]


def test_checks_need_not_wait_for_long_tasks(tmp_path, database, monkeypatch):
    """Every worker that a slot has is taken; the checks have others."""
    monkeypatch.setenv("MAINSPRING_SLOTS", "1")
    dag = tools.dag_of(tmp_path, f"""
        done = {str(tmp_path / "done")!r}
        with ms.Dag("files") as dag:
            @ms.task
            def long() -> None:
                while not os.path.exists(done):
                    time.sleep(0.005)

            @ms.probe(interval="100ms")
            def ready() -> bool:
                open(done, "w").close()
                return True
    """)
    run = tools.run(dag)
    assert run.state == "SUCCESS"
