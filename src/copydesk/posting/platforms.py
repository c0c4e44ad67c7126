"""Every platform that posts can go to, by the name that the user knows it by; imported when it is first asked for."""

from collections.abc import Callable, Mapping
from datetime import datetime
from importlib import import_module

from copydesk.posting.http import Caller
from copydesk.posting.platform import Platform, Secrets

PLATFORMS: Mapping[str, tuple[str, str]] = {
    "bluesky": ("copydesk.posting.bluesky", "Bluesky"),
    "mastodon": ("copydesk.posting.mastodon", "Mastodon"),
    "x": ("copydesk.posting.x", "X"),
    "linkedin": ("copydesk.posting.linkedin", "LinkedIn"),
    "threads": ("copydesk.posting.threads", "Threads"),
    "wordpress": ("copydesk.posting.wordpress", "WordPress"),
    "ghost": ("copydesk.posting.ghost", "Ghost"),
    "devto": ("copydesk.posting.devto", "DevTo"),
    "micropub": ("copydesk.posting.micropub", "Micropub"),
    "webhook": ("copydesk.posting.webhook", "Webhook"),
}
"""Where each one's class is."""


def platform(name: str, caller: Caller, secrets: Secrets, clock: Callable[[], datetime]) -> Platform:
    """A platform of PLATFORMS."""
    module, kind = PLATFORMS[name]
    made: Platform = getattr(import_module(module), kind)(caller, secrets, clock=clock)
    return made
