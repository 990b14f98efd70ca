"""``/metrics`` and ``/health`` on a port of this machine, for Prometheus and for probes.

It answers two addresses by GET and nothing else, reads no body, keeps no connection, and has a
bound on how many there are and on how long each may last. Where it listens on this machine only, it
also refuses names of hosts that are not this machine's: a page in a browser could otherwise read it
by a name that was made to lead here.
"""

from __future__ import annotations

import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from mainspring._metrics import STEP, Metrics
from mainspring._metrics_text import CONTENT_TYPE
from mainspring.errors import ConflictError, MainspringError

__all__ = ["MetricsServer", "address"]

CONNECTIONS = 16
"""Open at a time; a further one is closed at once."""

LASTS = 5.0
"""Seconds that a connection may last, however busy it is."""

LOOK = 0.25
"""Seconds between two looks for those that last longer."""


def address(text: str, *, open: bool = False) -> tuple[str, int]:
    """Where to listen, from ``[HOST:]PORT``.

    Raises
    ------
    ValueError
        When it is no address, or others could reach it and ``open`` does not say that they may.

    Examples
    --------
    >>> from mainspring._metrics_server import address
    >>> address("9464"), address("[::1]:9464"), address("0.0.0.0:9464", open=True)
    (('127.0.0.1', 9464), ('::1', 9464), ('0.0.0.0', 9464))
    """
    host, colon, number = text.strip().rpartition(":")
    if not colon:
        host = "127.0.0.1"
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""  # an address of version 6 without its brackets: which colon is the last?
    if not host or not (number.isascii() and number.isdigit() and int(number) <= 65535):
        raise ValueError(f"{text!r} is no address to listen on\n"
                         "  hint: [HOST:]PORT, as in 9464, 127.0.0.1:9464 or [::1]:9464")
    if not open and not _is_loopback(host):
        raise ValueError(
            f"whoever reaches {host} could read the metrics without a password; they name dags and "
            "tasks\n  hint: leave the host out to serve this machine only, or add --metrics-open")
    return host, int(number)


def _is_loopback(host: str) -> bool:
    import ipaddress

    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False  # a name may lead anywhere


class MetricsServer:
    """Answers on its own threads until :meth:`close`.

    Parameters
    ----------
    metrics : Metrics
        What to tell.
    host, port : str, int
        Where; port 0 takes any free one.

    Raises
    ------
    ConflictError
        When nothing can listen there, as where another process does.
    """

    def __init__(self, metrics: Metrics, host: str, port: int) -> None:
        self.metrics = metrics
        try:
            self._server = _Server(metrics, host, port)
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise ConflictError(f"metrics cannot be served on {host} port {port}: {why}\n"
                                "  hint: choose another port; 9464 is usual") from error
        self.host, self.port = self._server.server_address[:2]
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=work, name=f"mainspring-metrics-{name}", daemon=True)
            for name, work in (("http", self._serve), ("step", self._step))
        ]
        for thread in self._threads:
            thread.start()

    def _serve(self) -> None:
        self._server.serve_forever(poll_interval=LOOK)

    def _step(self) -> None:
        while not self._ended.wait(STEP):
            try:
                self.metrics.step()
            except MainspringError:
                pass  # whoever asks is told; the next step may go well

    def close(self) -> None:
        """Listen no more."""
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        for thread in self._threads:
            thread.join(2.0)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, metrics: Metrics, host: str, port: int) -> None:
        self.metrics = metrics
        self.only_here = _is_loopback(host)
        self._until: dict[Any, float] = {}
        self._lock = threading.Lock()
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        # That of the base asks the resolver for our name, which may take long.
        import socketserver

        socketserver.TCPServer.server_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            full = len(self._until) >= CONNECTIONS
            if not full:
                self._until[request] = time.monotonic() + LASTS
        if full:
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no thread to be had now
            self.shutdown_request(request)

    def service_actions(self) -> None:
        """End connections that last too long: a read of theirs then ends at once."""
        now = time.monotonic()
        with self._lock:
            late = [each for each, until in self._until.items() if until < now]
        for each in late:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it is gone already

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        with self._lock:
            self._until.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever asked has gone; nobody else needs to know."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = LASTS
    error_content_type = "text/plain; charset=utf-8"
    error_message_format = "%(message)s\n"

    def do_GET(self) -> None:
        """Answer."""
        path = self.path.partition("?")[0]
        if self.server.only_here and not self._meant_here():
            self._answer(403, "this is served by its own name only, such as 127.0.0.1\n")
        elif path == "/metrics":
            try:
                self._answer(200, self.server.metrics.text(), CONTENT_TYPE)
            except MainspringError as error:
                self._answer(500, f"{error}\n")
        elif path == "/health":
            why = self.server.metrics.unwell()
            self._answer(503 if why else 200, f"{why or 'ok'}\n")
        else:
            self._answer(404, "there are /metrics and /health\n")

    def version_string(self) -> str:
        """What it says of itself: nothing of versions."""
        return "mainspring"

    def _refuse(self) -> None:
        self.send_response(405)
        self.send_header("Allow", "GET")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_TRACE = _refuse

    def _meant_here(self) -> bool:
        host = self.headers.get("Host")
        if host is None:
            return True
        name = host.strip()
        if not name.endswith("]"):
            name = name.rpartition(":")[0] or name
        return _is_loopback(name.strip("[]"))

    def _answer(self, code: int, text: str, kind: str = error_content_type) -> None:
        body = text.encode("utf-8", "backslashreplace")
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: a probe a second would fill the log."""
