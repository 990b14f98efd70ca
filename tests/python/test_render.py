"""Placeholders in a task's own texts: what a handler gets, what is kept, and the preview."""

import json
from datetime import date

import mainspring as ms
import pytest

DAY = "2024-02-29"


@pytest.fixture(autouse=True)
def apart():
    with ms.testing.isolated():
        yield


def loads(**options):
    """A dag of an extract and a load that shows what it was given; ``options`` are its own."""
    with ms.Dag("loads", schedule="0 30 2 * * ?", timezone="America/New_York") as dag:

        @ms.task
        def extract(biz_date: date) -> dict:
            return {"path": f"in/{biz_date}.csv", "rows": 836}

        @ms.task(depends_on=["extract"], **options)
        def load(**given) -> dict:
            ctx = ms.context()
            return {"given": given, "config": ctx.config, "key": ctx.dedup_key,
                    "params": ctx.params}

    return dag


def test_a_handler_gets_its_texts_filled_in_and_the_context_shows_them():
    dag = loads(
        params={"table": "ods_${biz_date:yyyyMMdd}", "rows": "${result.extract.rows}",
                "list": ["$[yyyyMM]", {"x": "$${HOME}"}]},
        config={"sql": "select 1 where dt = '${biz_date}' and p = '${params.table}'"},
        dedup_key="loads/${biz_date}",
    )
    run = dag.run(DAY)
    given = {"table": "ods_20240229", "rows": 836, "list": ["202403", {"x": "${HOME}"}]}
    sql = "select 1 where dt = '2024-02-29' and p = 'ods_20240229'"
    assert run.result("load") == {"given": given, "config": {"sql": sql},
                                  "key": "loads/2024-02-29", "params": given}
    assert run["load"].attempts[0].filled == {
        "params": given, "config": {"sql": sql}, "dedup_key": "loads/2024-02-29"}
    assert run["extract"].attempts[0].filled == {}


def test_a_call_may_hand_over_a_text_and_annotations_make_values_of_it():
    with ms.Dag("typed") as dag:

        @ms.task
        def show(day: date, year: int, share: float, month: int, text: str) -> str:
            return repr((day, year, share, month, text))

        show("${biz_date}", "${biz_date:yyyy}", "0.${biz_date:MM}", "${biz_date:MM}",
             "${biz_date:yyyy}")
    result = dag.run(DAY).result("show")
    assert result == repr((date(2024, 2, 29), 2024, 0.02, 2, "2024"))


def test_what_is_filled_in_must_fit_the_annotation():
    with ms.Dag("typed", defaults={"retries": 3, "retry_interval": "0s"}) as dag:

        @ms.task(params={"year": "${biz_date}"})
        def show(year: int) -> None: ...

    run = dag.run(DAY)
    attempts = run["show"].attempts
    assert [(a.outcome, a.error_code) for a in attempts] == [("FAILED", "RENDER")]
    assert "year: must be an int, not '2024-02-29'" in attempts[0].error


def test_a_rerun_gets_the_same():
    dag = loads(params={"at": "${nominal_at} ${interval_start} ${yesterday}"})
    run = dag.run(DAY)
    first = run.result("load")
    assert first["given"]["at"] == (
        "2024-03-01T02:30:00-05:00 2024-02-29T02:30:00-05:00 2024-02-29")
    again = dag.rerun(run, ["load"])
    assert again.result("load") == first
    one, two = again["load"].attempts
    assert one.filled == two.filled


def test_a_secret_is_given_and_not_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("MAINSPRING_SECRET_DB", "hunter2")
    seen = []
    with ms.Dag("secrets", database=tmp_path / "own.db") as dag:

        @ms.task(params={"url": "db://${secret:DB}@host"})
        def use(url: str) -> None:
            seen.append(url)

        @ms.task(params={"number": "${secret:DB}"})
        def wrong(number: int) -> None: ...

        @ms.task(params={"x": "${secret:NONE}"}, retries=2)
        def missing(x: str) -> None: ...

    run = dag.run(DAY)
    assert seen == ["db://hunter2@host"]
    assert run["use"].attempts[0].filled == {"params": {"url": "db://***@host"}}
    assert (run["wrong"].state, run["wrong"].code) == ("FAILED", "RENDER")
    [attempt] = run["missing"].attempts
    assert attempt.error_code == "SECRET"
    assert "MAINSPRING_SECRET_NONE" in attempt.error
    for file in tmp_path.iterdir():
        assert file.is_dir() or b"hunter2" not in file.read_bytes(), file


def test_everything_wrong_is_told_when_the_dag_is_checked():
    dag = loads(params={"a": "${biz_dat}", "b": "${result.extrac}", "c": "$[0].x"},
                config={"d": "${params.z}"}, dedup_key="${biz_date:YYYY}")
    with pytest.raises(ms.SpecError) as error:
        dag.check()
    found = {problem.place: problem.code for problem in error.value.problems}
    assert found == {
        "loads.load.params.a": "unknown_name", "loads.load.params.b": "unknown_result",
        "loads.load.params.c": "syntax", "loads.load.config.d": "unknown_parameter",
        "loads.load.dedup_key": "syntax"}
    assert all(problem.hint for problem in error.value.problems)
    with pytest.raises(ms.SpecError):
        dag.run(DAY)


def test_a_preview_is_what_the_run_gets():
    dag = loads(params={"day": "${biz_date}", "n": "${result.extract.rows}"},
                config={"at": "${nominal_at}", "plain": "nothing"})
    shown = dag.render("load", DAY)
    assert shown == {"params.day": DAY, "params.n": "${result.extract.rows}",
                     "config.at": "2024-03-01T02:30:00-05:00"}
    assert dag.render(biz_date=DAY)["load.params.day"] == DAY
    assert dag.run(DAY).result("load")["config"]["at"] == shown["config.at"]
    for wrong, code in [(("lod", DAY), "unknown_task"), (("load", "2024-02-30"), "bad_date")]:
        with pytest.raises(ms.SpecError) as error:
            dag.render(*wrong)
        assert error.value.problems[0].code == code


def test_runtime_parameters_in_texts_are_typed():
    with ms.Dag("params") as dag:

        @ms.task(config={"n": "${params.size}", "text": "${params.size} of ${params.table}"})
        def load(table: str, size: int = 500) -> dict:
            return ms.context().config

    assert dag.run(DAY, params={"table": "${today}"}).result("load") == {
        "n": 500, "text": "500 of ${today}"}
    assert dag.render("load", DAY) == {
        "config.n": 500, "config.text": "500 of ${params.table}"}
    assert json.dumps(dag.render("load", DAY, params={"table": "t", "size": 7})) == json.dumps(
        {"config.n": 7, "config.text": "7 of t"})
