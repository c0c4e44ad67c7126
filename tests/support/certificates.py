"""Create a TLS certificate for the test servers."""

import shutil
import subprocess
from pathlib import Path

import pytest


def create_certificate(folder: Path, name: str = "IP:127.0.0.1") -> Path:
    """Create a self-signed certificate for `name` with its key in the same file; return its path."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    combined = folder / "both.pem"
    command = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext subjectAltName={name}"
    subprocess.run(
        [*command.split(), "-keyout", folder / "key", "-out", folder / "crt"], check=True, capture_output=True
    )
    combined.write_bytes((folder / "key").read_bytes() + (folder / "crt").read_bytes())
    return combined
