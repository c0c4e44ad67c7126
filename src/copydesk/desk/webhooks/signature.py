"""Signatures of Standard Webhooks (https://www.standardwebhooks.com), version 1: HMAC-SHA256 with a shared secret."""

import hmac
import secrets
from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import datetime

_PREFIX = "whsec_"
_KEY_LENGTH = 32
"""Bytes; the specification asks for 24 to 64."""


def new_secret() -> str:
    """Return a random secret: `whsec_` and the key in base64."""
    return _PREFIX + b64encode(secrets.token_bytes(_KEY_LENGTH)).decode()


def signed_headers(secret: str, message_id: str, body: bytes, now: datetime) -> Mapping[str, str]:
    """Return the headers that identify and sign a message sent at `now`."""
    key = b64decode(secret.removeprefix(_PREFIX))
    # The time is signed too, so that a recorded message cannot be sent again later.
    timestamp = str(int(now.timestamp()))
    digest = hmac.digest(key, f"{message_id}.{timestamp}.".encode() + body, "sha256")
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{b64encode(digest).decode()}",
    }
