"""A certificate for servers of the tests."""

import shutil
import subprocess
from pathlib import Path

import pytest


def certificate_in(folder: Path) -> Path:
    """A certificate of 127.0.0.1, signed by itself, with its key in the same file."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    made = folder / "both.pem"
    ask = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([*ask.split(), "-keyout", folder / "key", "-out", folder / "crt"], check=True, capture_output=True)
    made.write_bytes((folder / "key").read_bytes() + (folder / "crt").read_bytes())
    return made
