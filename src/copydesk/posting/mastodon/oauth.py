"""The user's browser says yes: OAuth 2 with a code (docs.joinmastodon.org/spec/oauth, RFC 7636, RFC 8252)."""

from typing import TypeVar

from msgspec.structs import replace

from copydesk.posting import oauth
from copydesk.posting.http import said
from copydesk.posting.mastodon.answers import App, SignInMeans, Token, saying
from copydesk.posting.mastodon.server import Server
from copydesk.posting.platform import LoginError, NotSentError, SignIn, UnknownOutcomeError

SCOPES = "read:accounts read:statuses write:statuses write:media"
"""No more than what posting takes."""
BY_HAND = "urn:ietf:wg:oauth:2.0:oob"
"""The redirect with which the server shows the code to the user."""
T = TypeVar("T")

_NAME = "Copydesk"


async def begin(server: Server, redirect: str) -> SignIn:
    """Make Copydesk known to the server, and say where the user is to go; LoginError, NotSentError."""
    form = {"client_name": _NAME, "redirect_uris": redirect, "scopes": SCOPES}
    app = await _told(server, "/api/v1/apps", form, App)
    kept = {"client_id": app.client_id, "client_secret": app.client_secret}
    begun = oauth.begin(
        f"{server.address}/oauth/authorize",
        client_id=app.client_id,
        redirect=redirect,
        scope=SCOPES,
        pkce=await _takes_challenges(server),
        kept=kept,
    )
    return replace(begun, state="") if redirect == BY_HAND else begun


async def exchange(server: Server, sign_in: SignIn, code: str) -> dict[str, str]:
    """The secrets of the account that the code is for; LoginError, NotSentError."""
    form = {"grant_type": "authorization_code", "code": code.strip(), "redirect_uri": sign_in.redirect, "scope": SCOPES}
    token = await _told(server, "/oauth/token", {**form, **sign_in.kept}, Token)
    return {"token": token.access_token, **{name: sign_in.kept[name] for name in ("client_id", "client_secret")}}


async def revoke(server: Server, secrets: dict[str, str]) -> None:
    """Take the token back, so that nobody can use it any more; NotSentError where that did not work."""
    try:
        answer = await server.ask("POST", "/oauth/revoke", form=secrets)
        if answer.good:
            return
    except UnknownOutcomeError:
        pass
    raise NotSentError(
        f"{server.host} did not take Copydesk's access back.",
        hint="Revoke it there, in the settings of your account under authorized apps.",
    )


async def _told(server: Server, path: str, form: dict[str, str], kind: type[T]) -> T:
    """The answer to a form; one that the server does not take is a sign-in that failed."""
    try:
        answer = await server.ask("POST", path, form=form)
    except UnknownOutcomeError as error:
        failed = NotSentError(error.message, hint=error.hint)
    else:
        if answer.status in (400, 401, 403, 422):
            raise LoginError(f"{server.host} did not let Copydesk in{_reason(saying(answer))}.", hint="Begin again.")
        return server.understood(answer, kind)
    raise failed


def _reason(says: str) -> str:
    return f": {said(says).rstrip('.')}" if says.strip() else ""


async def _takes_challenges(server: Server) -> bool:
    """Whether the server binds the code to us (PKCE). One that does not may refuse the code of whoever tries."""
    means = await server.read_if_there("/.well-known/oauth-authorization-server", SignInMeans)
    return means is not None and "S256" in means.code_challenge_methods_supported
