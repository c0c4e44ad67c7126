"""Getting into accounts of Mastodon and its kin, and what became of posts there."""

from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec.structs import replace

from copydesk.posting.platform import (
    Figures,
    LoginError,
    NotSentError,
    PostingError,
)
from fake_mastodon import GOTOSOCIAL, MASTODON, MASTODON_4, ME, TOKEN, Fault, Software
from mastodon_fixtures import URL, Here


@pytest.fixture
def here() -> Here:
    return Here()


def query(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


async def test_a_token_of_the_users_own_leads_into_the_account(here):
    found = await here.platform.connect("Social.Example/", {"token": f" {TOKEN}\n"})
    assert (found.account, found.secrets) == (here.me, {"token": TOKEN})


@pytest.mark.parametrize("software", [MASTODON_4, GOTOSOCIAL])
async def test_a_check_tells_what_the_server_is_now(software):
    here = Here(software)
    here.server.longest = 5000
    known = await here.platform.check(replace(here.me, software="mastodon 4.6.0", longest=500))
    assert known == replace(here.me, longest=5000)


async def test_what_a_server_does_not_say_is_not_known(here):
    for path in ("/api/v2/instance", "/api/v1/instance", "/.well-known/nodeinfo"):
        here.server.faults[f"GET {path}"].append(404)
    known = await here.platform.check(here.me)
    assert (known.software, known.longest, known.name) == ("", None, "me@social.example")


async def test_an_older_instance_is_asked_in_the_older_way(here):
    here.server.faults["GET /api/v2/instance"].append(404)
    assert (await here.platform.check(here.me)).longest == 500


async def test_what_a_server_says_of_itself_is_no_more_than_a_line(here):
    here.server.software = Software("\x1b]0;owned\x07MASTODON", "4.6.0\n" + "x" * 10_000)
    assert (await here.platform.check(here.me)).software == ("mastodon 4.6.0 " + "x" * 100)[:80]


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, 500, Fault.THROTTLED, Fault.NO_CONNECTION])
@pytest.mark.parametrize("path", ["/api/v1/accounts/verify_credentials", "/api/v2/instance", "/nodeinfo/2.0"])
async def test_where_nobody_could_ask_nothing_is_known(here, path, fault):
    here.server.faults[f"GET {path}"].append(fault)
    with pytest.raises(NotSentError):
        await here.platform.check(here.me)


async def test_a_token_that_was_revoked_or_is_anothers_is_a_login(here):
    here.server.tokens = {TOKEN: "2000"}
    with pytest.raises(LoginError, match="not that of me"):
        await here.platform.check(here.me)
    here.server.tokens = {}
    with pytest.raises(LoginError):
        await here.platform.check(here.me)
    with pytest.raises(LoginError):
        await here.platform.connect(URL, {"token": " "})


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
async def test_where_secrets_would_go_is_looked_at_first(here, given):
    with pytest.raises(PostingError):
        await here.platform.connect(given, {"token": TOKEN})
    assert here.server.asked == []


@pytest.mark.parametrize("given", ["http://127.0.0.1:3000", "http://localhost:3000/", "http://[::1]:3000"])
async def test_a_test_server_may_go_without_encryption(here, given):
    assert (await here.platform.connect(given, {"token": TOKEN})).account.server == given.rstrip("/")


async def test_the_browser_leads_into_an_account(here):
    begun = await here.platform.begin(URL, {}, "http://127.0.0.1:8123/back")
    sent = query(begun.url)
    assert begun.url.startswith("https://social.example/oauth/authorize?")
    assert sent["scope"] == "read:accounts read:statuses write:statuses write:media"
    assert (sent["state"], sent["redirect_uri"]) == (begun.state, begun.redirect)
    assert (len(begun.state) >= 32, sent["code_challenge_method"]) == (True, "S256")
    assert "cd-planted-app-secret" not in begun.url
    assert begun.kept["code_verifier"] not in begun.url
    here.server.challenges["a-code"] = begun.kept["code_verifier"]
    found = await here.platform.finish(URL, begun, "a-code")
    assert found.account == here.me
    assert found.secrets == {
        "token": "cd-planted-new-token",
        "client_id": "an-app",
        "client_secret": "cd-planted-app-secret",
    }
    with pytest.raises(LoginError, match=r"The code is invalid\.") as raised:
        await here.platform.finish(URL, begun, "a-code")
    assert "planted" not in str(raised.value)


async def test_a_code_by_hand_has_no_state_and_an_older_server_no_challenge(here):
    here.server.pkce = False
    begun = await here.platform.begin(URL, {}, here.platform.by_hand)
    assert (begun.state, "code_challenge" in query(begun.url)) == ("", False)
    here.server.challenges["a-code"] = ""
    assert (await here.platform.finish(URL, begun, " a-code\n")).account == here.me


async def test_disconnecting_gives_the_access_back(here):
    here.server.tokens["t"] = ME
    here.keys.held = {"token": "t", "client_id": "an-app", "client_secret": "cd-planted-app-secret"}
    await here.platform.disconnect(here.me)
    assert "t" not in here.server.tokens
    here.server.faults["POST /oauth/revoke"].append(Fault.CUT_BEFORE)
    with pytest.raises(NotSentError) as raised:
        await here.platform.disconnect(here.me)
    assert "settings" in raised.value.hint


async def test_a_token_of_the_users_own_is_not_ours_to_revoke(here):
    await here.platform.disconnect(here.me)
    assert here.server.asked == []


# What became of posts.


@pytest.mark.parametrize("software", [MASTODON, MASTODON_4, GOTOSOCIAL])
async def test_figures_are_what_the_server_counts_and_what_is_gone_is_none(software):
    here = Here(software)
    statuses = [here.server.write(f"Post {number}", favourites=number) for number in range(45)]
    here.server.write("An answer", parent=statuses[2].id, account="2000")
    here.server.write("", reblog_of=statuses[2].id, account="2000")
    here.server.statuses.remove(statuses[44])
    figures = await here.platform.figures(here.me, [status.id for status in statuses])
    assert figures[statuses[2].id] == Figures(likes=2, replies=1, reposts=1, impressions=None, clicks=None)
    assert figures[statuses[44].id] is None
    assert (len(figures), list(figures)) == (45, [status.id for status in statuses])
    if software is MASTODON:
        assert len(here.server.asked) == 3 + 1


async def test_figures_that_nobody_could_read_are_an_error_and_not_gone(here):
    status = here.server.write("One")
    here.server.faults["GET /api/v1/statuses"].append(404)
    here.server.faults[f"GET /api/v1/statuses/{status.id}"].append(500)
    with pytest.raises(NotSentError):
        await here.platform.figures(here.me, [status.id])


async def test_deleting_what_is_not_there_is_no_error(here):
    made = await here.platform.send(here.me, here.intent("One."), ())
    await here.platform.delete(here.me, made)
    await here.platform.delete(here.me, made)
    assert here.server.statuses == []
    here.server.faults[f"DELETE /api/v1/statuses/{made.ids[0]}"].append(403)
    with pytest.raises(LoginError):
        await here.platform.delete(here.me, made)
