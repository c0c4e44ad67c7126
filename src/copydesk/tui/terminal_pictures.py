"""Decide how images are shown in this terminal, if at all.

Pure: the environment variables tell, the terminal is not queried.
"""

from collections.abc import Mapping
from enum import StrEnum

from copydesk.tui.plain_glyphs import terminal_encoding

_KITTY_TERMS = ("xterm-kitty", "xterm-ghostty")
_MULTIPLEXED = ("screen", "tmux")
"""Prefixes of TERM inside a multiplexer, which does not pass images on."""


class ImageProtocol(StrEnum):
    """The method by which an image is drawn."""

    KITTY = "kitty"
    """Kitty's graphics protocol, with text cells as placeholders for parts of the image."""
    CELLS = "cells"
    """Two coloured half blocks per cell."""


def choose_image_protocol(setting: str, environ: Mapping[str, str]) -> ImageProtocol | None:
    """Return the protocol for the setting `console.images`; None if images are described in text instead.

    Images consist of colours and non-ASCII characters, so there are none without these, and none in a browser.
    """
    in_browser = "web_driver" in environ.get("TEXTUAL_DRIVER", "")
    if setting == "never" or in_browser or environ.get("NO_COLOR") or terminal_encoding(environ) != "utf-8":
        return None
    if _is_kitty(environ):
        return ImageProtocol.KITTY
    return ImageProtocol.CELLS if setting == "always" else None


def _is_kitty(environ: Mapping[str, str]) -> bool:
    """Return True if the terminal supports the protocol's Unicode placeholders, which WezTerm and Konsole do not.

    The image id is encoded as a colour, so true colour is required.
    """
    term = environ.get("TERM", "")
    if environ.get("TMUX") or environ.get("STY") or term.startswith(_MULTIPLEXED):
        return False  # the variables below may be inherited from the outer terminal
    is_supported = term in _KITTY_TERMS or "KITTY_WINDOW_ID" in environ or environ.get("TERM_PROGRAM") == "ghostty"
    return is_supported and environ.get("COLORTERM") in ("truecolor", "24bit")
