"""Replacement characters of the same width for terminals that do not use UTF-8."""

import re
from codecs import lookup
from collections.abc import Mapping
from functools import lru_cache

from rich.cells import cell_len

_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")
"""The values to which Python sets LC_CTYPE in the C locale (PEP 538): they say nothing about the terminal."""
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
_REPLACEMENTS = {
    glyph: plain for glyphs, plains in _GLYPHS.items() for glyph, plain in zip(glyphs, plains, strict=True)
}
_NON_ASCII = re.compile(r"[^\x00-\x7f]")


def terminal_encoding(environ: Mapping[str, str]) -> str:
    """Return the terminal's encoding according to the locale variables; UTF-8 if they do not tell."""
    coerced = environ.get("LC_CTYPE") if environ.get("LC_CTYPE") not in _COERCED else None
    locale = environ.get("LC_ALL") or coerced or environ.get("LANG") or environ.get("LC_CTYPE") or "C.UTF-8"
    if locale in {"C", "POSIX"}:
        return "ascii"
    _, dot, codeset = locale.partition(".")
    try:
        return lookup(codeset.partition("@")[0]).name if dot else "utf-8"
    except LookupError:
        return "utf-8"


def replace_unencodable(text: str, encoding: str) -> str:
    """Replace characters that `encoding` lacks, so that every column keeps its position."""
    return _NON_ASCII.sub(lambda match: _replacement(match[0], encoding), text)


@lru_cache(4096)
def _replacement(glyph: str, encoding: str) -> str:
    try:
        glyph.encode(encoding)
    except UnicodeEncodeError:
        return _REPLACEMENTS.get(glyph) or _fallback(glyph)
    return glyph


def _fallback(glyph: str) -> str:
    if "─" <= glyph <= "╿":
        return "+"
    if "▀" <= glyph <= "▟" or "⠁" <= glyph <= "⣿":
        return "#"
    return "?" * cell_len(glyph)
