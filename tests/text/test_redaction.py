"""Tests that known secrets are replaced in a text, in every encoding in which they may appear."""

import base64
import html
import json
from urllib.parse import quote

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from copydesk.text.redaction import MASK, MAX_RECENT, MIN_LENGTH, Redaction
from sampling import sample_size


@given(secret=st.text(st.characters(exclude_categories=()), min_size=MIN_LENGTH, max_size=30), around=st.text())
@settings(max_examples=sample_size(60))
def test_encoded_secret_is_redacted(secret, around):
    assume(secret not in MASK * 3)
    redaction = Redaction()
    redaction.add(secret)
    raw = secret.encode(errors="surrogatepass")
    for encoded in (
        secret,
        quote(raw),
        quote(raw, safe=""),
        json.dumps(secret),
        html.escape(secret),
        repr(secret),
        repr(raw),
    ):
        redacted = redaction.redact(f"{around}{encoded}{around}")
        assert MASK in redacted
        assert encoded.strip("'\"b") not in redacted.replace(around, "") or not encoded.strip("'\"b")


@given(user=st.text(max_size=9), secret=st.text(min_size=MIN_LENGTH, max_size=30), suffix=st.text(max_size=3))
def test_secret_in_basic_auth_is_redacted(user, secret, suffix):
    redaction = Redaction()
    redaction.add(secret)
    header = base64.b64encode(f"{user}:{secret}{suffix}".encode()).decode()
    assert MASK in redaction.redact(f"Authorization: Basic {header}")


def test_short_values_are_not_redacted():
    redaction = Redaction()
    redaction.add("abc", "12345", "")
    assert redaction.redact("abc 12345") == "abc 12345"


def test_overlapping_secrets_are_redacted():
    redaction = Redaction()
    redaction.add("secret-1")
    redaction.add("secret-1-and-more")
    assert redaction.redact("secret-1-and-more, secret-1") == f"{MASK}, {MASK}"


def test_partly_overlapping_secrets_leave_nothing():
    redaction = Redaction()
    redaction.add("abcdefgh", "efghijkl", "aaaaaa")
    assert redaction.redact("-abcdefghijkl-aaaaaaaaaaa-") == f"-{MASK}-{MASK}-"


def test_only_last_secrets_are_kept():
    redaction = Redaction()
    redaction.add("permanent", permanent=True)
    redaction.add("used-again")
    for number in range(MAX_RECENT + 1):
        redaction.add(f"token-{number:06}", "used-again")
    text = f"permanent used-again token-{MAX_RECENT:06}"
    assert redaction.redact(text) == f"{MASK} {MASK} {MASK}"
    assert redaction.redact("token-000000") == "token-000000"
