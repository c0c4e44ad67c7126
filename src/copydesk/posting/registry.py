"""The platforms by name. A platform's module is imported when it is first used."""

from collections.abc import Callable, Mapping
from datetime import datetime
from importlib import import_module

from copydesk.posting.client import PlatformClient
from copydesk.posting.platform import CredentialStore, Platform

PLATFORMS: Mapping[str, tuple[str, str]] = {
    "bluesky": ("copydesk.posting.bluesky", "Bluesky"),
    "mastodon": ("copydesk.posting.mastodon", "Mastodon"),
    "x": ("copydesk.posting.x", "X"),
    "linkedin": ("copydesk.posting.linkedin", "LinkedIn"),
    "threads": ("copydesk.posting.threads", "Threads"),
    "wordpress": ("copydesk.posting.blogs.wordpress", "WordPress"),
    "ghost": ("copydesk.posting.blogs.ghost", "Ghost"),
    "devto": ("copydesk.posting.blogs.devto", "DevTo"),
    "micropub": ("copydesk.posting.blogs.micropub", "Micropub"),
    "webhook": ("copydesk.posting.webhook", "Webhook"),
}
"""Module and class of each platform."""


def create_platform(
    name: str, client: PlatformClient, credential_store: CredentialStore, clock: Callable[[], datetime]
) -> Platform:
    """Return a new instance of the platform `name`, a key of `PLATFORMS`."""
    module, class_name = PLATFORMS[name]
    instance: Platform = getattr(import_module(module), class_name)(client, credential_store, clock=clock)
    return instance
