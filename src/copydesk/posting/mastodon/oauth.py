"""Browser sign-in with an OAuth 2 code (docs.joinmastodon.org/spec/oauth, RFC 7636, RFC 8252)."""

from typing import TypeVar

from msgspec.structs import replace

from copydesk.posting import oauth
from copydesk.posting.http import said
from copydesk.posting.mastodon.answers import App, SignInMeans, Token, saying
from copydesk.posting.mastodon.server import Server
from copydesk.posting.platform import LoginError, NotSentError, SignIn, UnknownOutcomeError

SCOPES = "read:accounts read:statuses write:statuses write:media"
"""The minimum that posting and metrics need."""
BY_HAND = "urn:ietf:wg:oauth:2.0:oob"
"""Redirect URI that makes the server show the code to the user."""
T = TypeVar("T")

_CLIENT_NAME = "Copydesk"


async def begin(server: Server, redirect: str) -> SignIn:
    """Register Copydesk with the server and return the sign-in. Raise `LoginError` or `NotSentError`."""
    # Register for every sign-in: the redirect URI contains a random port.
    form = {"client_name": _CLIENT_NAME, "redirect_uris": redirect, "scopes": SCOPES}
    app = await _post_form(server, "/api/v1/apps", form, App)
    context = {"client_id": app.client_id, "client_secret": app.client_secret}
    sign_in = oauth.begin(
        f"{server.address}/oauth/authorize",
        client_id=app.client_id,
        redirect=redirect,
        scope=SCOPES,
        pkce=await _supports_pkce(server),
        kept=context,
    )
    # The page that shows the code does not show the state.
    return replace(sign_in, state="") if redirect == BY_HAND else sign_in


async def exchange(server: Server, sign_in: SignIn, code: str) -> dict[str, str]:
    """Exchange the code for the account's credentials. Raise `LoginError` or `NotSentError`."""
    form = {"grant_type": "authorization_code", "code": code.strip(), "redirect_uri": sign_in.redirect, "scope": SCOPES}
    token = await _post_form(server, "/oauth/token", {**form, **sign_in.kept}, Token)
    return {"token": token.access_token, **{name: sign_in.kept[name] for name in ("client_id", "client_secret")}}


async def revoke(server: Server, secrets: dict[str, str]) -> None:
    """Revoke the token. Raise `NotSentError` if that failed."""
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


async def _post_form(server: Server, path: str, form: dict[str, str], kind: type[T]) -> T:
    """Post a form and decode the response. A rejected form is a failed sign-in."""
    try:
        answer = await server.ask("POST", path, form=form)
    except UnknownOutcomeError as error:
        not_sent = NotSentError(error.message, hint=error.hint)
    else:
        if answer.status in (400, 401, 403, 422):
            raise LoginError(
                f"{server.host} did not let Copydesk in{_reason_suffix(saying(answer))}.", hint="Begin again."
            )
        return server.understood(answer, kind)
    raise not_sent


def _reason_suffix(message: str) -> str:
    return f": {said(message).rstrip('.')}" if message.strip() else ""


async def _supports_pkce(server: Server) -> bool:
    """Return True if the server supports PKCE. Servers that do not may reject a code requested with it."""
    metadata = await server.read_if_there("/.well-known/oauth-authorization-server", SignInMeans)
    return metadata is not None and "S256" in metadata.code_challenge_methods_supported
