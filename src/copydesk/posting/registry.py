"""Registry of platforms.

A new platform needs a module with a class that fulfils `Platform`, and an entry here. The modules are imported when
they are first used, because the console needs only the entries to start.
"""

from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING

from copydesk.model.draft import Format
from copydesk.model.platform import CredentialField, Limits, PlatformInfo
from copydesk.text.length import bluesky_length, mastodon_length, utf16_length, x_length

if TYPE_CHECKING:
    from copydesk.posting.client import PlatformClient
    from copydesk.posting.platform import CredentialStore, Platform

DISCLOSURE_LEVELS = ("not_disclosed", "no_ai", "some_ai", "fully_autonomous")
"""Forem's levels of AI disclosure; dev.to rejects articles without one."""
MIN_WEBHOOK_SECRET_LENGTH = 16
"""Characters. A signature travels with each request, so a shorter secret could be guessed at leisure."""
_POSTS = frozenset({Format.SHORT, Format.THREAD})
_ARTICLES = frozenset({Format.BLOG})
_WEB_IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")

PLATFORMS: dict[str, PlatformInfo] = {
    info.name: info
    for info in (
        PlatformInfo(
            name="bluesky",
            label="Bluesky",
            adapter="copydesk.posting.bluesky:Bluesky",
            profile_template="https://bsky.app/profile/{name}",
            limits=Limits(
                formats=_POSTS,
                max_length=300,
                max_bytes=3000,
                max_images=4,
                max_image_bytes=2_000_000,
                # That of Bluesky's own app, and of drafts: the server has none.
                max_alt_length=2000,
            ),
            # The card is part of the post, and the client must send it.
            makes_link_cards=False,
            count=bluesky_length,
            default_server="https://bsky.social",
            credential_fields=(
                CredentialField(name="handle", question="Handle, like me.bsky.social"),
                CredentialField(
                    name="password",
                    question="App password, from Settings, Privacy and security",
                    secret=True,
                ),
            ),
        ),
        PlatformInfo(
            name="mastodon",
            label="Mastodon",
            adapter="copydesk.posting.mastodon:Mastodon",
            profile_template="{server}/@{user}",
            limits=Limits(
                formats=_POSTS, max_length=500, max_images=4, max_image_bytes=10_000_000, max_alt_length=1500
            ),
            count=mastodon_length,
            makes_link_cards=True,
            credential_fields=(
                CredentialField(
                    name="token", question="Access token", secret=True, optional=True, replaces_sign_in=True
                ),
            ),
            uses_browser=True,
            manual_redirect_uri="urn:ietf:wg:oauth:2.0:oob",
        ),
        PlatformInfo(
            name="x",
            label="X",
            adapter="copydesk.posting.x:X",
            profile_template="https://x.com/{name}",
            limits=Limits(
                formats=_POSTS,
                max_length=280,
                max_images=4,
                max_image_bytes=5_000_000,
                image_types=("image/jpeg", "image/png", "image/webp"),
                max_alt_length=1000,
            ),
            count=x_length,
            makes_link_cards=True,
            default_server="https://api.x.com",
            credential_fields=(
                CredentialField(name="client_id", question="Client ID of your app at developer.x.com (OAuth 2.0)"),
                CredentialField(
                    name="client_secret", question="Its client secret, if it has one", secret=True, optional=True
                ),
            ),
            uses_browser=True,
            redirect_port=8399,
        ),
        PlatformInfo(
            name="linkedin",
            label="LinkedIn",
            adapter="copydesk.posting.linkedin:LinkedIn",
            profile_template="https://www.linkedin.com/in/me/recent-activity/all/",
            limits=Limits(
                formats=frozenset({Format.SHORT}),
                max_length=3000,
                max_images=20,
                max_image_bytes=5_000_000,
                max_alt_length=1000,
            ),
            count=utf16_length,
            default_server="https://api.linkedin.com",
            credential_fields=(
                CredentialField(name="client_id", question="Client ID of your app at linkedin.com/developers"),
                CredentialField(name="client_secret", question="Its client secret", secret=True),
            ),
            uses_browser=True,
            redirect_port=8398,
        ),
        PlatformInfo(
            name="threads",
            label="Threads",
            adapter="copydesk.posting.threads:Threads",
            profile_template="https://www.threads.com/@{name}",
            limits=Limits(formats=_POSTS, max_length=500),
            count=utf16_length,
            makes_link_cards=True,
            default_server="https://graph.threads.net",
            credential_fields=(
                CredentialField(
                    name="client_id",
                    question="Threads app ID, from the settings of your app at developers.facebook.com",
                ),
                CredentialField(name="client_secret", question="Threads app secret", secret=True),
            ),
            uses_browser=True,
            redirect_port=8397,
            # Threads requires https, which nothing serves there: the user copies the code from the address bar.
            manual_redirect_uri="https://localhost:8397/callback",
        ),
        PlatformInfo(
            name="wordpress",
            label="WordPress",
            adapter="copydesk.posting.blogs.wordpress:WordPress",
            profile_template="{server}",
            limits=Limits(
                formats=_ARTICLES,
                max_images=4,
                max_image_bytes=2_000_000,
                image_types=_WEB_IMAGE_TYPES,
                max_alt_length=1000,
            ),
            credential_fields=(
                CredentialField(name="user", question="Your user name on the blog"),
                CredentialField(
                    name="password",
                    question="An application password (Users > Profile > Application Passwords)",
                    secret=True,
                ),
            ),
        ),
        PlatformInfo(
            name="ghost",
            label="Ghost",
            adapter="copydesk.posting.blogs.ghost:Ghost",
            profile_template="{server}",
            limits=Limits(
                formats=_ARTICLES,
                max_title_length=255,
                max_images=4,
                max_image_bytes=2_000_000,
                image_types=_WEB_IMAGE_TYPES,
                max_alt_length=191,  # of the feature image; 125 on a Ghost from before October 2024
            ),
            credential_fields=(
                CredentialField(
                    name="key",
                    question="The Admin API key of a custom integration (Settings > Integrations)",
                    secret=True,
                ),
            ),
        ),
        PlatformInfo(
            name="devto",
            label="dev.to",
            adapter="copydesk.posting.blogs.devto:DevTo",
            profile_template="https://dev.to/{name}",
            limits=Limits(formats=_ARTICLES, max_title_length=128),
            default_server="https://dev.to",
            credential_fields=(
                CredentialField(
                    name="key", question="An API key (Settings > Extensions > DEV Community API Keys)", secret=True
                ),
                CredentialField(
                    name="disclosure",
                    question=f"AI disclosure of your articles: {', '.join(DISCLOSURE_LEVELS)}"
                    f" (empty: {DISCLOSURE_LEVELS[0]})",
                    optional=True,
                ),
            ),
        ),
        PlatformInfo(
            name="micropub",
            label="Micropub",
            adapter="copydesk.posting.blogs.micropub:Micropub",
            profile_template="{server}",
            limits=Limits(formats=_ARTICLES, max_images=4, max_image_bytes=2_000_000, max_alt_length=1000),
            credential_fields=(CredentialField(name="token", question="A token for your site", secret=True),),
        ),
        PlatformInfo(
            name="webhook",
            label="Webhook",
            adapter="copydesk.posting.webhook:Webhook",
            limits=Limits(
                formats=frozenset(Format),
                max_images=4,
                max_image_bytes=2_000_000,
                image_types=_WEB_IMAGE_TYPES,
                max_alt_length=2000,
            ),
            credential_fields=(
                CredentialField(
                    name="secret",
                    question=f"Secret that requests are signed with, at least {MIN_WEBHOOK_SECRET_LENGTH} characters",
                    secret=True,
                ),
            ),
        ),
    )
}
"""By name, in the order in which they are offered."""

SAMPLE_PLATFORM = PlatformInfo(
    name="fake",
    label="Fake Social",
    adapter="",
    profile_template="{server}/{name}",
    limits=Limits(formats=frozenset(Format), max_images=4, max_image_bytes=1_000_000, max_alt_length=1000),
    default_server="https://fake.example",
    credential_fields=(CredentialField(name="name", question="Name of the account"),),
)
"""The simulated platform of the sample desk, which is never offered: a desk gets its `FakePlatform` when opened."""

DEFAULT_PLATFORMS = ("x", "bluesky")
"""Their limits apply to a SHORT and to each part of a THREAD if neither the draft nor the accounts name a platform."""


def platform_label(name: str) -> str:
    """Return a platform's name as people read it; `name` itself if the platform is unknown."""
    info = SAMPLE_PLATFORM if name == SAMPLE_PLATFORM.name else PLATFORMS.get(name)
    return info.label if info else name


def register_platform(info: PlatformInfo) -> None:
    """Add the platform of a plug-in. Raise ValueError if there is another of its name."""
    if PLATFORMS.setdefault(info.name, info) != info:
        raise ValueError(f"Duplicate platform {info.name!r}.")


def load_adapter(name: str) -> type["Platform"]:
    """Import and return the class of the platform `name`, a key of `PLATFORMS`."""
    module, _, class_name = PLATFORMS[name].adapter.partition(":")
    adapter: type[Platform] = getattr(import_module(module), class_name)
    return adapter


def create_platform(
    name: str, client: "PlatformClient", credential_store: "CredentialStore", clock: Callable[[], datetime]
) -> "Platform":
    """Return a new instance of the platform `name`, a key of `PLATFORMS`."""
    # A protocol says nothing about constructors.
    instance: Platform = load_adapter(name)(client, credential_store, clock=clock)  # type: ignore[call-arg]
    return instance
