"""What the environment and the files of the AWS command line say about S3."""

from __future__ import annotations

import configparser
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["aws_options"]


def aws_options(environ: Mapping[str, str]) -> dict[str, str]:
    """Options for a store of S3; what is not among them, the library finds by itself.

    Variables win over the profile of ``AWS_PROFILE`` in ``~/.aws/credentials`` and
    ``~/.aws/config``. Of profiles only keys, region and endpoint are read: a role or a single
    sign-on is for the program that exports its credentials as variables.

    Examples
    --------
    >>> from mainspring._awsfiles import aws_options
    >>> aws_options({"AWS_ENDPOINT_URL": "http://localhost:9000", "AWS_ACCESS_KEY_ID": "me",
    ...              "HOME": "/nowhere"})
    {'endpoint': 'http://localhost:9000', 'region': 'us-east-1'}
    """
    profile = _profile(environ)
    options: dict[str, str] = {}
    endpoint = (environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL")
                or environ.get("AWS_ENDPOINT") or profile.get("endpoint_url"))
    region = (environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION")
              or profile.get("region"))
    if endpoint:
        options["endpoint"] = endpoint
    if region or endpoint:
        options["region"] = region or "us-east-1"  # servers of other makers have none
    if not environ.get("AWS_ACCESS_KEY_ID") and "aws_access_key_id" in profile:
        options["access_key_id"] = profile["aws_access_key_id"]
        options["secret_access_key"] = profile.get("aws_secret_access_key", "")
        if "aws_session_token" in profile:
            options["session_token"] = profile["aws_session_token"]
    return options


def _profile(environ: Mapping[str, str]) -> dict[str, str]:
    name = environ.get("AWS_PROFILE") or "default"
    home = environ.get("HOME") or os.path.expanduser("~")
    found: dict[str, str] = {}
    for variable, file, section in (
            ("AWS_CONFIG_FILE", "config", name if name == "default" else f"profile {name}"),
            ("AWS_SHARED_CREDENTIALS_FILE", "credentials", name)):
        path = environ.get(variable) or os.path.join(home, ".aws", file)
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
            found.update(parser.items(section) if parser.has_section(section) else [])
        except (configparser.Error, UnicodeDecodeError, OSError):
            continue
    return found
