"""What is drawn where the terminal does not take UTF-8: another character as wide, from those that it has."""

import re
from codecs import lookup
from collections.abc import Mapping
from functools import lru_cache

from rich.cells import cell_len

_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")
"""What Python sets LC_CTYPE to where the locale is C: it says nothing of the terminal."""
_GLYPHS = {
    "▌": ">",
    "●○◉": "*oo",
    "…·•": "~-*",
    "←↑→↓↕": "<^>v|",
    "▲▼▶◀▸": "^v><>",
    "‹›«»⟨⟩": "<><><>",
    "“”„‘’‚": '"""' + "'''",
    "–—−": "---",
    "✓✗×⚠": "+xx!",
    "▁▂▃▄▅▆▇█": "._-=+ox#",
    "░▒▓": ".:#",
    "─━┄┅┈┉╌╍═╴╶╸╺╼╾": "-" * 15,
    "│┃┆┇┊┋╎╏║╵╷╹╻▏▎▍▊▋▐▕": "|" * 20,
    "▔▀": "^^",
    "\u00a0": " ",
}
_PLAIN = {glyph: plain for glyphs, plains in _GLYPHS.items() for glyph, plain in zip(glyphs, plains, strict=True)}
_OTHER = re.compile(r"[^\x00-\x7f]")


def encoding_of(environ: Mapping[str, str]) -> str:
    """The encoding that the locale says the terminal has; UTF-8 where nothing says anything."""
    coerced = environ.get("LC_CTYPE") if environ.get("LC_CTYPE") not in _COERCED else None
    locale = environ.get("LC_ALL") or coerced or environ.get("LANG") or environ.get("LC_CTYPE") or "C.UTF-8"
    if locale in {"C", "POSIX"}:
        return "ascii"
    _, dot, codeset = locale.partition(".")
    try:
        return lookup(codeset.partition("@")[0]).name if dot else "utf-8"
    except LookupError:
        return "utf-8"


def in_encoding(written: str, encoding: str) -> str:
    """`written` with nothing in it that the encoding does not have, and every column where it was."""
    return _OTHER.sub(lambda found: _glyph(found[0], encoding), written)


@lru_cache(4096)
def _glyph(glyph: str, encoding: str) -> str:
    try:
        glyph.encode(encoding)
    except UnicodeEncodeError:
        return _PLAIN.get(glyph) or _by_its_block(glyph)
    return glyph


def _by_its_block(glyph: str) -> str:
    if "─" <= glyph <= "╿":
        return "+"
    if "▀" <= glyph <= "▟" or "⠁" <= glyph <= "⣿":
        return "#"
    return "?" * cell_len(glyph)
