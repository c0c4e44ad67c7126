"""Browser sign-in with an OAuth 2 code (docs.joinmastodon.org/spec/oauth, RFC 7636, RFC 8252)."""

from typing import TypeVar

from msgspec.structs import replace

from copydesk.posting import oauth
from copydesk.posting.client import shorten
from copydesk.posting.mastodon.api_models import ClientApplication, OAuthMetadata, Token, error_text
from copydesk.posting.mastodon.server import Server
from copydesk.posting.platform import LoginError, NotSentError, SignIn, UnknownOutcomeError
from copydesk.posting.registry import PLATFORMS

SCOPES = "read:accounts read:statuses write:statuses write:media"
"""The minimum that posting and metrics need."""
MANUAL_REDIRECT_URI = PLATFORMS["mastodon"].manual_redirect_uri
"""Redirect URI that makes the server show the code to the user."""
T = TypeVar("T")

_CLIENT_NAME = "Copydesk"


async def start_sign_in(server: Server, redirect_uri: str) -> SignIn:
    """Register Copydesk with the server and return the sign-in. Raise `LoginError` or `NotSentError`."""
    # Register for every sign-in: the redirect URI contains a random port.
    form = {"client_name": _CLIENT_NAME, "redirect_uris": redirect_uri, "scopes": SCOPES}
    app = await _post_form(server, "/api/v1/apps", form, ClientApplication)
    context = {"client_id": app.client_id, "client_secret": app.client_secret}
    sign_in = oauth.start_sign_in(
        f"{server.url}/oauth/authorize",
        client_id=app.client_id,
        redirect_uri=redirect_uri,
        scope=SCOPES,
        pkce=await _supports_pkce(server),
        context=context,
    )
    # The page that shows the code does not show the state.
    return replace(sign_in, state="") if redirect_uri == MANUAL_REDIRECT_URI else sign_in


async def exchange_code(server: Server, sign_in: SignIn, code: str) -> dict[str, str]:
    """Exchange the code for the account's credentials. Raise `LoginError` or `NotSentError`."""
    form = {
        "grant_type": "authorization_code",
        "code": code.strip(),
        "redirect_uri": sign_in.redirect_uri,
        "scope": SCOPES,
    }
    token = await _post_form(server, "/oauth/token", {**form, **sign_in.context}, Token)
    return {"token": token.access_token, **{name: sign_in.context[name] for name in ("client_id", "client_secret")}}


async def revoke(server: Server, credentials: dict[str, str]) -> None:
    """Revoke the token. Raise `NotSentError` if that failed."""
    try:
        answer = await server.request("POST", "/oauth/revoke", form=credentials)
        if answer.is_success:
            return
    except UnknownOutcomeError:
        pass
    raise NotSentError(
        f"{server.host} did not revoke Copydesk's access.",
        hint="Revoke it in your account settings under authorized apps.",
    )


async def _post_form(server: Server, path: str, form: dict[str, str], kind: type[T]) -> T:
    """Post a form and decode the response. A rejected form is a failed sign-in."""
    try:
        answer = await server.request("POST", path, form=form)
    except UnknownOutcomeError as error:
        not_sent = NotSentError(error.message, hint=error.hint)
    else:
        if answer.status in (400, 401, 403, 422):
            raise LoginError(f"{server.host} denied access{_reason_suffix(error_text(answer))}.", hint="Try again.")
        return server.decode(answer, kind)
    raise not_sent


def _reason_suffix(message: str) -> str:
    return f": {shorten(message).rstrip('.')}" if message.strip() else ""


async def _supports_pkce(server: Server) -> bool:
    """Return True if the server supports PKCE. Servers that do not may reject a code requested with it."""
    metadata = await server.get_json_or_none("/.well-known/oauth-authorization-server", OAuthMetadata)
    return metadata is not None and "S256" in metadata.code_challenge_methods_supported
