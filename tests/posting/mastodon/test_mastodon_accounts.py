"""Tests for connecting Mastodon-compatible accounts, and for their metrics and deletions."""

from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec.structs import replace

from copydesk.posting.platform import (
    LoginError,
    NotSentError,
    PostingError,
    PostMetrics,
)
from fake_mastodon import GOTOSOCIAL, MASTODON, MASTODON_4, ME, TOKEN, Fault, Software
from mastodon_fixtures import URL, MastodonSetup


@pytest.fixture
def setup() -> MastodonSetup:
    return MastodonSetup()


def query_parameters(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


async def test_own_token_connects_account(setup):
    connected = await setup.platform.connect("Social.Example/", {"token": f" {TOKEN}\n"})
    assert (connected.account, connected.credentials) == (setup.account, {"token": TOKEN})


@pytest.mark.parametrize("software", [MASTODON_4, GOTOSOCIAL])
async def test_check_returns_current_server_limits(software):
    setup = MastodonSetup(software)
    setup.server.max_length = 5000
    checked = await setup.platform.check(replace(setup.account, software="mastodon 4.6.0", max_length=500))
    assert checked == replace(setup.account, max_length=5000)


async def test_missing_server_information_is_none(setup):
    for path in ("/api/v2/instance", "/api/v1/instance", "/.well-known/nodeinfo"):
        setup.server.faults[f"GET {path}"].append(404)
    checked = await setup.platform.check(setup.account)
    assert (checked.software, checked.max_length, checked.name) == ("", None, "me@social.example")


async def test_older_instance_endpoint_is_used(setup):
    setup.server.faults["GET /api/v2/instance"].append(404)
    assert (await setup.platform.check(setup.account)).max_length == 500


async def test_server_name_is_one_safe_line(setup):
    setup.server.software = Software("\x1b]0;owned\x07MASTODON", "4.6.0\n" + "x" * 10_000)
    assert (await setup.platform.check(setup.account)).software == ("mastodon 4.6.0 " + "x" * 100)[:80]


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, 500, Fault.THROTTLED, Fault.NO_CONNECTION])
@pytest.mark.parametrize("path", ["/api/v1/accounts/verify_credentials", "/api/v2/instance", "/nodeinfo/2.0"])
async def test_failed_check_is_not_sent(setup, path, fault):
    setup.server.faults[f"GET {path}"].append(fault)
    with pytest.raises(NotSentError):
        await setup.platform.check(setup.account)


async def test_revoked_or_foreign_token_raises_login_error(setup):
    setup.server.tokens = {TOKEN: "2000"}
    with pytest.raises(LoginError, match="does not belong to me"):
        await setup.platform.check(setup.account)
    setup.server.tokens = {}
    with pytest.raises(LoginError):
        await setup.platform.check(setup.account)
    with pytest.raises(LoginError):
        await setup.platform.connect(URL, {"token": " "})


@pytest.mark.parametrize(
    "given",
    [
        "http://social.example",
        "https://me@social.example",
        "@me@social.example",
        "https://social.example?x=1",
        "https://social.example#x",
        "https://social.example/@me",
        "ftp://social.example",
        "https://",
        "https://social.example:port",
        "https://[::1",
        "social example",
    ],
)
async def test_unsafe_server_address_gets_no_token(setup, given):
    with pytest.raises(PostingError):
        await setup.platform.connect(given, {"token": TOKEN})
    assert setup.server.received == []


@pytest.mark.parametrize("given", ["http://127.0.0.1:3000", "http://localhost:3000/", "http://[::1]:3000"])
async def test_local_server_may_use_http(setup, given):
    assert (await setup.platform.connect(given, {"token": TOKEN})).account.server == given.rstrip("/")


async def test_browser_sign_in_connects_account(setup):
    sign_in = await setup.platform.start_sign_in(URL, {}, "http://127.0.0.1:8123/back")
    authorization = query_parameters(sign_in.url)
    assert sign_in.url.startswith("https://social.example/oauth/authorize?")
    assert authorization["scope"] == "read:accounts read:statuses write:statuses write:media"
    assert (authorization["state"], authorization["redirect_uri"]) == (sign_in.state, sign_in.redirect_uri)
    assert (len(sign_in.state) >= 32, authorization["code_challenge_method"]) == (True, "S256")
    assert "cd-planted-app-secret" not in sign_in.url
    assert sign_in.context["code_verifier"] not in sign_in.url
    setup.server.challenges["a-code"] = sign_in.context["code_verifier"]
    connected = await setup.platform.finish_sign_in(URL, sign_in, "a-code")
    assert connected.account == setup.account
    assert connected.credentials == {
        "token": "cd-planted-new-token",
        "client_id": "an-app",
        "client_secret": "cd-planted-app-secret",
    }
    with pytest.raises(LoginError, match=r"The code is invalid\.") as raised:
        await setup.platform.finish_sign_in(URL, sign_in, "a-code")
    assert "planted" not in str(raised.value)


async def test_manual_sign_in_without_pkce(setup):
    setup.server.supports_pkce = False
    sign_in = await setup.platform.start_sign_in(URL, {}, setup.platform.info.manual_redirect_uri)
    assert (sign_in.state, "code_challenge" in query_parameters(sign_in.url)) == ("", False)
    setup.server.challenges["a-code"] = ""
    assert (await setup.platform.finish_sign_in(URL, sign_in, " a-code\n")).account == setup.account


async def test_disconnecting_revokes_token(setup):
    setup.server.tokens["t"] = ME
    setup.secrets.secrets = {"token": "t", "client_id": "an-app", "client_secret": "cd-planted-app-secret"}
    await setup.platform.disconnect(setup.account)
    assert "t" not in setup.server.tokens
    setup.server.faults["POST /oauth/revoke"].append(Fault.CUT_BEFORE)
    with pytest.raises(NotSentError) as raised:
        await setup.platform.disconnect(setup.account)
    assert "settings" in raised.value.hint


async def test_own_token_is_not_revoked(setup):
    await setup.platform.disconnect(setup.account)
    assert setup.server.received == []


# Metrics and deletions.


@pytest.mark.parametrize("software", [MASTODON, MASTODON_4, GOTOSOCIAL])
async def test_metrics_are_counts_and_missing_post_is_none(software):
    setup = MastodonSetup(software)
    statuses = [setup.server.add_status(f"Post {number}", favourites=number) for number in range(45)]
    setup.server.add_status("An answer", parent=statuses[2].id, account="2000")
    setup.server.add_status("", reblog_of=statuses[2].id, account="2000")
    setup.server.statuses.remove(statuses[44])
    metrics = await setup.platform.metrics(setup.account, [status.id for status in statuses])
    assert metrics[statuses[2].id] == PostMetrics(likes=2, replies=1, reposts=1, impressions=None, clicks=None)
    assert metrics[statuses[44].id] is None
    assert (len(metrics), list(metrics)) == (45, [status.id for status in statuses])
    if software is MASTODON:
        assert len(setup.server.received) == 3 + 1


async def test_unreadable_metrics_raise_error(setup):
    status = setup.server.add_status("One")
    setup.server.faults["GET /api/v1/statuses"].append(404)
    setup.server.faults[f"GET /api/v1/statuses/{status.id}"].append(500)
    with pytest.raises(NotSentError):
        await setup.platform.metrics(setup.account, [status.id])


async def test_deleting_missing_post_is_no_error(setup):
    result = await setup.platform.send(setup.account, setup.render("One."), ())
    await setup.platform.delete(setup.account, result)
    await setup.platform.delete(setup.account, result)
    assert setup.server.statuses == []
    setup.server.faults[f"DELETE /api/v1/statuses/{result.ids[0]}"].append(403)
    with pytest.raises(LoginError):
        await setup.platform.delete(setup.account, result)
