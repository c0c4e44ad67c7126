"""Whether pictures are drawn in this terminal, and how. Pure: the environment says it, and nobody is asked."""

from collections.abc import Mapping
from enum import StrEnum

from copydesk.tui.plain_glyphs import encoding_of

_KITTY_TERMS = ("xterm-kitty", "xterm-ghostty")
_MULTIPLEXED = ("screen", "tmux")
"""Beginnings of TERM inside a multiplexer, which passes no pictures on."""


class Way(StrEnum):
    """How a picture is drawn."""

    KITTY = "kitty"
    """By kitty's graphics protocol, in cells of text that stand for parts of the picture."""
    CELLS = "cells"
    """Two coloured halves a cell."""


def way_to_draw(wish: str, environ: Mapping[str, str]) -> Way | None:
    """The way for `wish`, which is the setting `console.images`; None where lines of text say what there is.

    Colours and signs beyond ASCII carry the pictures, so there are none without. In a browser there are none either.
    """
    in_browser = "web_driver" in environ.get("TEXTUAL_DRIVER", "")
    if wish == "never" or in_browser or environ.get("NO_COLOR") or encoding_of(environ) != "utf-8":
        return None
    if _is_kitty(environ):
        return Way.KITTY
    return Way.CELLS if wish == "always" else None


def _is_kitty(environ: Mapping[str, str]) -> bool:
    """Whether it knows the protocol's placeholders; WezTerm and Konsole know the protocol without them.

    The number of a picture is written as a colour, so nothing but all 16 million of them will do.
    """
    term = environ.get("TERM", "")
    if environ.get("TMUX") or environ.get("STY") or term.startswith(_MULTIPLEXED):
        return False  # what is outside has left its name in the environment
    known = term in _KITTY_TERMS or "KITTY_WINDOW_ID" in environ or environ.get("TERM_PROGRAM") == "ghostty"
    return known and environ.get("COLORTERM") in ("truecolor", "24bit")
