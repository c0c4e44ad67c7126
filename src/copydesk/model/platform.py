"""Facts of a platform: what it accepts, how it counts, what it asks for."""

from collections.abc import Callable

from copydesk.model.delivery import Account
from copydesk.model.draft import Format
from copydesk.model.serialization import Struct
from copydesk.text.length import byte_length, grapheme_length


class CredentialField(Struct, frozen=True):
    """One credential or detail the user is asked for when connecting an account."""

    name: str
    question: str
    secret: bool = False
    optional: bool = False
    replaces_sign_in: bool = False
    """With it, an account is connected without the browser, such as with a token that the user created."""


class Limits(Struct, frozen=True):
    """Formats, lengths and image sizes that a platform accepts."""

    formats: frozenset[Format]
    max_length: int | None = None
    """Maximum length of a post in the platform's own units, None without one. A server may allow more."""
    max_bytes: int | None = None
    """Maximum size of a post in UTF-8 bytes."""
    max_title_length: int | None = None
    """Maximum characters of an article's title."""
    max_images: int = 0
    """Maximum per post."""
    max_image_bytes: int = 0
    # Accepted by every platform; some accept more.
    image_types: tuple[str, ...] = ("image/jpeg", "image/png")
    max_alt_length: int = 0


class PlatformInfo(Struct, frozen=True):
    """Everything known about a platform besides the code that talks to it."""

    name: str
    """The name on the wire, in the database and on the command line."""
    label: str
    """The name as the platform writes it."""
    adapter: str
    """Module and class that talk to it, `package.module:Class`. Imported when an account of it is first used."""
    limits: Limits
    count: Callable[[str], int] = grapheme_length
    """Return the length of a text in the platform's own units."""
    makes_link_cards: bool = False
    """It makes a card of the first link by itself."""
    default_server: str = ""
    """Default server URL; empty if the user has to enter one."""
    credential_fields: tuple[CredentialField, ...] = ()
    """The fields a user fills in to connect an account."""
    uses_browser: bool = False
    """Accounts are connected in the user's browser (OAuth 2, RFC 8252), unless a credential was entered that replaces
    it.
    """
    redirect_port: int | None = None
    """Port of the loopback redirect URI that the user registered with the platform; None if any port works."""
    manual_redirect_uri: str = ""
    """Redirect URI that shows the code to the user for copying; empty if the platform has none."""
    profile_template: str = ""
    """The address of an account's posts, with `{server}`, `{name}` and `{user}`, the name without its host; empty if
    there is none.
    """

    def profile_url(self, account: Account) -> str | None:
        """Return the address where the user sees the account's posts."""
        user = account.name.partition("@")[0]
        url = self.profile_template.format(server=account.server, name=account.name, user=user)
        return url or None

    def is_too_long(self, text: str) -> bool:
        """Return True if `text` has more than the maximum length."""
        return self.limits.max_length is not None and self.count(text) > self.limits.max_length

    def fits(self, text: str) -> bool:
        """Return True if the platform accepts `text` as one post."""
        max_bytes = self.limits.max_bytes
        return not self.is_too_long(text) and (max_bytes is None or byte_length(text) <= max_bytes)
