"""The port: what it answers, to whom, and that nobody can hold it up."""

import http.client
import socket
import time

import pytest
from mainspring import _metrics_server
from mainspring._heard import Heard
from mainspring._metrics import Metrics
from mainspring._metrics_server import MetricsServer, address
from mainspring._metrics_text import CONTENT_TYPE
from mainspring._scheduler import SCOPE
from mainspring.errors import ConflictError, StoreError

from ._exposition import parse

DEADLINE = 20.0


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setattr(_metrics_server, "LOOK", 0.02)
    heard = Heard()
    made = MetricsServer(Metrics(str(tmp_path / "none.db"), heard, slots=1, scope=SCOPE),
                         "127.0.0.1", 0)
    yield made
    made.close()


def asked(server, method="GET", path="/metrics", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE)
    connection.request(method, path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer, body


def connected(server, sent=b""):
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE)
    connection.sendall(sent)
    return connection


def ended(connection):
    """Whether the other side has ended it; waits for that."""
    try:
        while connection.recv(4096):
            pass
    except ConnectionResetError:
        return True
    return True


def test_metrics(server):
    answer, body = asked(server)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == CONTENT_TYPE
    assert answer.headers["Server"] == "mainspring"
    assert parse(body)[("mainspring_scheduler_up", ())] == 0
    assert asked(server, path="/metrics?name=x")[0].status == 200


def test_health(server):
    answer, body = asked(server, path="/health")
    assert (answer.status, body) == (503, "starting\n")
    server.metrics.heard.tell({"event": "serving"})
    answer, body = asked(server, path="/health")
    assert (answer.status, body) == (200, "ok\n")
    server.metrics.heard.tell({"event": "stalled", "why": "disk full"})
    answer, body = asked(server, path="/health")
    assert (answer.status, body) == (503, "nothing can be written: disk full\n")


@pytest.mark.parametrize("path", ["/", "/metrics/", "/x/metrics", "/metrics;a", "/x//metrics",
                                  "/Metrics", "/%6detrics", "/../metrics", "/health/", "/metrics.",
                                  "/metrics%00", "/favicon.ico", "*", "/<script>alert(1)</script>"])
def test_other_paths_are_nothing(server, path):
    answer, body = asked(server, path=path)
    assert answer.status == 404
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert "script" not in body


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("path", ["/metrics", "/health", "/x"])
def test_other_methods_are_refused(server, method, path):
    answer, _ = asked(server, method, path)
    assert answer.status == 405
    assert answer.headers["Allow"] == "GET"


def test_what_is_no_method_is_refused(server):
    assert asked(server, "BREW")[0].status == 501


@pytest.mark.parametrize(("host", "status"), [
    ("127.0.0.1", 200), ("127.0.0.1:9464", 200), ("localhost:9464", 200), ("[::1]:9464", 200),
    ("LOCALHOST", 200), ("127.0.0.2", 200), ("evil.example", 403), ("evil.example:9464", 403),
    ("127.0.0.1.evil.example", 403), ("localhost.evil.example", 403), ("", 403), ("10.0.0.1", 403),
])
def test_a_name_that_was_made_to_lead_here_is_refused(server, host, status):
    assert asked(server, host=host)[0].status == status
    assert asked(server, path="/health", host=host)[0].status in (status, 503 if status == 200 else 0)


@pytest.mark.parametrize("sent", [b"\r\n", b"\x00\xff\xfe\r\n\r\n", b"GET\r\n\r\n",
                                  b"GET /metrics HTTP/9.9\r\n\r\n", b"GET " + b"a" * 70_000,
                                  b"GET / HTTP/1.0\r\n" + b"a: b\r\n" * 200 + b"\r\n",
                                  b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"])
def test_what_is_no_request_ends_that_connection_only(server, sent):
    with connected(server) as connection:
        try:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        assert ended(connection)
    assert asked(server)[0].status == 200


def test_a_slow_client_is_ended(server, monkeypatch):
    monkeypatch.setattr(_metrics_server, "LASTS", 0.2)
    with connected(server, b"GET /met") as silent, connected(server, b"GET / HTTP/1.0\r\n") as busy:
        # One that always has one more letter to send has no more time than others.
        end = time.monotonic() + DEADLINE
        busy.settimeout(0.02)
        while True:
            assert time.monotonic() < end
            try:
                busy.sendall(b"a")
                if not busy.recv(1):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        assert ended(silent)


def answers_again(server):
    """It may take a moment until it has seen that others are gone."""
    end = time.monotonic() + DEADLINE
    while True:
        try:
            assert asked(server)[0].status == 200
            break
        except (OSError, http.client.HTTPException):
            assert time.monotonic() < end


def test_there_are_only_so_many_connections(server, monkeypatch):
    monkeypatch.setattr(_metrics_server, "LASTS", 60.0)
    held = [connected(server, b"GET ") for _ in range(_metrics_server.CONNECTIONS)]
    try:
        with connected(server) as one_more:
            assert ended(one_more)
        held.pop().close()
        # The place is free again as soon as the server has seen that.
        answers_again(server)
    finally:
        for each in held:
            each.close()


def test_a_thousand_connections(server):
    many = []
    try:
        for _ in range(1000):
            each = socket.socket()
            many.append(each)
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", server.port))
    finally:
        for each in many:
            each.close()
    answers_again(server)
    assert len(server._server._until) <= _metrics_server.CONNECTIONS


def test_a_database_that_cannot_be_read_is_told(server, monkeypatch):
    def broken():
        raise StoreError("the database cannot be read")

    monkeypatch.setattr(server.metrics, "text", broken)
    answer, body = asked(server)
    assert (answer.status, body) == (500, "the database cannot be read\n")
    assert asked(server, path="/health")[0].status == 503


def test_a_port_that_is_taken(server, tmp_path):
    with pytest.raises(ConflictError, match=f"port {server.port}.*\n  hint: "):
        MetricsServer(server.metrics, "127.0.0.1", server.port)


@pytest.mark.parametrize(("text", "where"), [
    ("9464", ("127.0.0.1", 9464)),
    ("127.0.0.1:1", ("127.0.0.1", 1)),
    ("127.8.8.8:1", ("127.8.8.8", 1)),
    ("localhost:65535", ("localhost", 65535)),
    ("[::1]:9464", ("::1", 9464)),
    (" 9464 ", ("127.0.0.1", 9464)),
])
def test_an_address(text, where):
    assert address(text) == where


@pytest.mark.parametrize("text", ["", "x", ":9464", "-1", "65536", "127.0.0.1", "127.0.0.1:", "::1",
                                  "::1:9464", "1:2:3", "[::1]", "٣", "9464x", "host:12:13"])
def test_what_is_no_address(text):
    with pytest.raises(ValueError, match="is no address to listen on"):
        address(text)


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "192.168.1.2", "example.com", "128.0.0.1",
                                  "localhost.example.com", "[fe80::1]"])
def test_others_may_read_it_only_where_that_is_said(host):
    with pytest.raises(ValueError, match="--metrics-open"):
        address(f"{host}:9464")
    assert address(f"{host}:9464", open=True) == (host.strip("[]"), 9464)
