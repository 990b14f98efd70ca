"""Where logs are kept for all machines: a folder, or a bucket of an object store.

A place is a URI. Below it an attempt has the parts of its output, each named by the byte at which
it begins, and at its end a small ``end.json``. A part that is still growing is written again under
its name, so an attempt that prints a line a second has no thousands of objects, and a part that
was written twice, before and after a crash, is the same part.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class LogStore(Protocol):
        """What a place can do; each key is below the URI that was opened."""

        def put(self, key: str, data: bytes) -> None: ...
        def get(self, key: str) -> bytes | None: ...
        def list(self, below: str) -> list[Kept]: ...


__all__ = ["END", "PART", "Kept", "LogStoreError", "check", "open_log_store", "part_name",
           "root_of"]

PART = 1 << 20
"""Bytes of output that are one part, before it is compressed."""

END = "end.json"
"""What says that the output of an attempt is whole: its bytes."""

CHECKED = ".mainspring"
"""What is written and read when it is asked whether a place can be used."""

CONNECT, REQUEST = 3.0, 10.0
"""Seconds that a connection and a request may take."""

EXTRA = "pip install 'mainspring[object-store]'"


class Kept(NamedTuple):
    """An object: its name, and what changes with its content."""

    name: str
    tag: str


class LogStoreError(Exception):
    """A place cannot be used now.

    Attributes
    ----------
    code : str
        ``away`` for what may be over in a minute; ``extra``, ``bucket``, ``credentials``,
        ``rights`` for what somebody has to do something about.
    hint : str or None
        What that is.
    """

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code, self.hint = code, hint


def part_name(start: int) -> str:
    """The name of the part that begins at a byte.

    Examples
    --------
    >>> from mainspring._logstore import part_name
    >>> part_name(1 << 20)
    'part-000001048576.gz'
    """
    return f"part-{start:012d}.gz"


def root_of(uri: str) -> str:
    """What fails as a whole: the bucket of a URI, or ``file://``.

    Examples
    --------
    >>> from mainspring._logstore import root_of
    >>> root_of("s3://logs/shop/2024-01-01")
    's3://logs'
    """
    scheme, _, rest = uri.partition("://")
    return f"{scheme}://" + ("" if scheme == "file" else rest.partition("/")[0])


def open_log_store(uri: str) -> LogStore:
    """The place of a URI; nothing is asked of it yet."""
    scheme, _, rest = uri.partition("://")
    if scheme == "file":
        from urllib.parse import unquote

        return _Folder(unquote(rest))
    return _Bucket(uri)


def check(uri: str) -> None:
    """Write, read and list something in a place; tell what cannot be done there.

    Raises
    ------
    LogStoreError
        With what is missing.
    """
    store = open_log_store(uri)
    store.put(CHECKED, b"mainspring keeps logs here\n")
    store.get(CHECKED)
    store.list("")


# --- a folder -------------------------------------------------------------------------------


class _Folder:
    """A folder that all machines see, or that somebody else carries away."""

    def __init__(self, path: str) -> None:
        self.path = path

    def put(self, key: str, data: bytes) -> None:
        target = os.path.join(self.path, key)
        partial = f"{target}.partial"
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(partial, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())  # the file it came from will be removed
            os.replace(partial, target)
        except OSError as error:
            raise self._failed(error, "write") from error

    def get(self, key: str) -> bytes | None:
        try:
            with open(os.path.join(self.path, key), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._failed(error, "read") from error

    def list(self, below: str) -> list[Kept]:
        try:
            with os.scandir(os.path.join(self.path, below)) as found:
                # A file that is put in the place of another has another number.
                return sorted(Kept(each.name, f"{each.inode()}-{each.stat().st_size}")
                              for each in found if not each.name.endswith(".partial"))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._failed(error, "list") from error

    def _failed(self, error: OSError, verb: str) -> LogStoreError:
        message = f"cannot {verb} in the folder {self.path}: {error.strerror or error}"
        if isinstance(error, PermissionError):
            return LogStoreError("rights", message, f"whoever runs this needs to {verb} there")
        return LogStoreError("away", message)


# --- a bucket -------------------------------------------------------------------------------


VARIABLES = ("AWS_", "GOOGLE_", "AZURE_")
_clients: dict[tuple[Any, ...], Any] = {}

RIGHTS = {"write": "s3:PutObject", "read": "s3:GetObject", "list": "s3:ListBucket"}


class _Bucket:
    """A bucket of an object store, by the library obstore."""

    def __init__(self, uri: str) -> None:
        try:
            import obstore
            from obstore.store import from_url
        except ImportError:
            raise LogStoreError("extra", f"{uri} needs the package obstore, which is not here",
                                f"{EXTRA}; a folder needs nothing") from None
        from datetime import timedelta

        self._library: Any = obstore
        self.root = root_of(uri)
        self._prefix = uri[len(self.root):].strip("/")
        client: dict[str, Any] = {"connect_timeout": timedelta(seconds=CONNECT),
                                  "timeout": timedelta(seconds=REQUEST)}
        options: dict[str, Any] = {}
        if uri.startswith("s3://"):
            from mainspring._awsfiles import aws_options

            options = aws_options(os.environ)
            if options.get("endpoint", "").startswith("http://"):
                client["allow_http"] = True
        # One for all attempts, with its connections, as long as nobody changes the credentials.
        known = (self.root, *sorted(options.items()), *sorted(
            each for each in os.environ.items() if each[0].startswith(VARIABLES)))
        if known in _clients:
            self._store = _clients[known]
            return
        try:
            # Whoever calls tries again, and knows for how long.
            opened: Any = from_url  # its overloads want each option of each kind of store by name
            self._store = opened(self.root, client_options=client,
                                 retry_config={"max_retries": 0,
                                               "retry_timeout": timedelta(seconds=REQUEST)},
                                 **options)
            if len(_clients) >= 8:
                _clients.clear()
            _clients[known] = self._store
        except (obstore.exceptions.BaseError, ValueError) as error:
            raise LogStoreError("away", f"{self.root} cannot be opened: {_first(error)}") from error

    def put(self, key: str, data: bytes) -> None:
        self._do("write", key, lambda path: self._library.put(self._store, path, data))

    def get(self, key: str) -> bytes | None:
        def read(path: str) -> bytes:
            return bytes(self._library.get(self._store, path).bytes())

        found: bytes | None = self._do("read", key, read)
        return found

    def list(self, below: str) -> list[Kept]:
        def look(path: str) -> list[Kept]:
            # Only what is right below: the prefix of a project may hold a million objects.
            found = self._library.list_with_delimiter(self._store, path or None)["objects"]
            return sorted(Kept(each["path"].rpartition("/")[2], f"{each['e_tag']}-{each['size']}")
                          for each in found)

        kept: list[Kept] = self._do("list", below, look) or []
        return kept

    def _do(self, verb: str, key: str, what: Callable[[str], Any]) -> Any:
        path = "/".join(filter(None, (self._prefix, key)))
        try:
            return what(path)
        except FileNotFoundError as error:
            if verb == "read" and "NoSuchBucket" not in str(error):
                return None
            raise self._failed(error, verb) from error
        except (self._library.exceptions.BaseError, OSError, ValueError) as error:
            raise self._failed(error, verb) from error

    def _failed(self, error: Exception, verb: str) -> LogStoreError:
        text, kind = str(error), type(error).__name__
        if "NoSuchBucket" in text or "ContainerNotFound" in text:
            return LogStoreError("bucket", f"there is no bucket {self.root}",
                                 "make it, or name another in the setting `logs`")
        if "169.254.169.254" in text or "metadata.google.internal" in text:
            return LogStoreError("credentials", f"there are no credentials for {self.root}",
                                 "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in "
                                 "~/.aws/credentials")
        if kind == "UnauthenticatedError" or re.search(
                "InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken", text):
            return LogStoreError("credentials",
                                 f"{self.root} does not know these credentials: {_first(error)}",
                                 "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
                                 "AWS_SESSION_TOKEN")
        if kind == "PermissionDeniedError" or "403 Forbidden" in text:
            right = f" ({RIGHTS[verb]})" if self.root.startswith("s3:") else ""
            return LogStoreError("rights", f"no right to {verb} in {self.root}{right}",
                                 f"who uses these credentials needs {', '.join(RIGHTS.values())}")
        return LogStoreError("away", f"cannot {verb} in {self.root}: {_first(error)}")


def _first(error: Exception) -> str:
    """What an error of the library says, in one line."""
    text = str(error).partition("Debug source:")[0].strip()
    code = re.search(r"<Code>(.*?)</Code>(?:\s*<Message>(.*?)</Message>)?", text, re.DOTALL)
    if code:
        return ": ".join(filter(None, code.groups()))
    asked = re.search(r"Error performing [A-Z]+ (\w+://[^/\s]+)\S* in \S+ - (.*)", text, re.DOTALL)
    if asked:
        return f"{asked[1]} says: {' '.join(asked[2].split())[:200]}"
    return " ".join(text.split())[-300:]
