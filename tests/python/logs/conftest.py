"""A real S3 server in a process of its own, which a test may kill and start again."""

import socket
import subprocess
import sys
import uuid
from urllib.error import URLError
from urllib.request import Request, urlopen

import mainspring._shipping as shipping
import pytest
from crash._tools import until
from mainspring import _config, _session

SERVER = """
import logging, sys, threading
from moto.server import ThreadedMotoServer
logging.disable()
server = ThreadedMotoServer(port=int(sys.argv[1]), verbose=False)
server.start()
threading.Event().wait()
"""


class S3:
    """The server; what it holds is gone with its process."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._process = None

    @property
    def environment(self):
        return {"AWS_ENDPOINT_URL": self.url, "AWS_REGION": "us-east-1",
                "AWS_ACCESS_KEY_ID": "somebody", "AWS_SECRET_ACCESS_KEY": "secret"}

    def start(self):
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(self.port)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(self._answers, 60)
        return self

    def _answers(self):
        assert self._process.poll() is None, "the S3 server has ended"
        try:
            with urlopen(f"{self.url}/moto-api/data.json", timeout=5):
                return True
        except (URLError, ConnectionError):
            return False

    def kill(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def client(self, name="s3"):
        import boto3

        return boto3.client(name, endpoint_url=self.url, region_name="us-east-1",
                            aws_access_key_id="somebody", aws_secret_access_key="secret")

    def bucket(self, name=None):
        """Make a bucket; its name."""
        name = name or f"logs-{uuid.uuid4().hex[:12]}"
        self.client().create_bucket(Bucket=name)
        return name

    def keys(self, bucket):
        """Keys of a bucket, and how large the objects are."""
        pages = self.client().get_paginator("list_objects_v2").paginate(Bucket=bucket)
        return {each["Key"]: each["Size"] for page in pages for each in page.get("Contents", ())}

    def asks_for_rights(self, yes):
        """Whether requests from now on are refused to who has no right."""
        data = b"0" if yes else b"1000000000"
        request = Request(f"{self.url}/moto-api/reset-auth", data=data,
                          headers={"Content-Type": "text/plain"})
        with urlopen(request, timeout=10):
            pass

    def user(self, *actions):
        """The keys of a new user who may do only this."""
        import json

        iam, name = self.client("iam"), f"user-{uuid.uuid4().hex[:8]}"
        iam.create_user(UserName=name)
        iam.put_user_policy(UserName=name, PolicyName="rights", PolicyDocument=json.dumps({
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Action": list(actions), "Resource": "*"}]}))
        made = iam.create_access_key(UserName=name)["AccessKey"]
        return {"AWS_ACCESS_KEY_ID": made["AccessKeyId"],
                "AWS_SECRET_ACCESS_KEY": made["SecretAccessKey"]}


@pytest.fixture(scope="session")
def server():
    """One server for all tests that do not kill it."""
    made = S3().start()
    yield made
    made.kill()


@pytest.fixture
def s3(server, monkeypatch):
    """The server, with its address and keys in the environment of this process."""
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    return server


@pytest.fixture
def own():
    """A server that a test may kill; it is not started yet."""
    made = S3()
    yield made
    made.kill()


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Settings of a project in this process, whose logs are brought somewhere."""
    opened = []

    def use(logs, **more):
        database = tmp_path / "project" / "shop.db"
        shipping._checked.clear()
        _config.reset(_config.load_settings({"logs": logs, "database": str(database), **more},
                                            {}, tmp_path))
        monkeypatch.setattr(_session, "_chosen", None)
        opened.append(str(database))
        return database

    yield use
    for each in opened:
        _session.close(each)
    _config.reset()
