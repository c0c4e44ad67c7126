"""Turn screenshots of a console into one animated SVG, in which rows that stay are stored once.

Browsers play it in an `<img>`, which runs no scripts and loads nothing: the animation is CSS alone.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

CELL_WIDTH, ROW_HEIGHT = 12.2, 24.4
MARGIN = 10
_CLASS = re.compile(r"\.terminal-\d+-(r\d+) \{ ([^}]*) \}")
_RECT = re.compile(r'<rect fill="([^"]+)" x="([^"]+)" y="([^"]+)" width="([^"]+)" height="[^"]+"[^>]*/>')
_TEXT = re.compile(
    r'<text class="terminal-\d+-(r\d+)" x="([^"]+)" y="([^"]+)" textLength="([^"]+)" clip-path="[^"]+">(.*?)</text>'
)


class Frame(NamedTuple):
    """A screenshot as SVG, and how many seconds it is shown."""

    svg: str
    seconds: float


def animate(frames: Sequence[Frame], size: tuple[int, int], background: str, fonts: str) -> str:
    """Return the frames as one SVG that repeats; without animation it shows the first frame."""
    columns, rows = size
    styles: dict[str, str] = {}
    shown: dict[tuple[int, str], list[int]] = {}
    for number, frame in enumerate(frames):
        for row, content in enumerate(_rows(frame.svg, rows, styles)):
            shown.setdefault((row, content), []).append(number)
    timing = _Timing([frame.seconds for frame in frames])
    groups = [
        f'<g{timing.attribute(numbers)} transform="translate(0,{row * ROW_HEIGHT:.1f})">{content}</g>'
        for (row, content), numbers in sorted(shown.items(), key=lambda entry: entry[0][0])
        if content
    ]
    width, height = columns * CELL_WIDTH + 2 * MARGIN, rows * ROW_HEIGHT + 2 * MARGIN
    css = [
        f"text{{font-family:{fonts},monospace;font-size:20px;white-space:pre}}",
        *(f".{name}{{{style}}}" for style, name in styles.items()),
        *timing.rules(),
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}">',
            f"<style>{''.join(css)}</style>",
            f'<rect width="100%" height="100%" rx="8" fill="{background}"/>',
            f'<g transform="translate({MARGIN},{MARGIN})">',
            *groups,
            "</g>",
            "</svg>\n",
        ]
    )


def _rows(svg: str, count: int, styles: dict[str, str]) -> list[str]:
    """Return the content of each row, at its top; `styles` gets the classes, by their style."""
    names = {}
    for name, style in _CLASS.findall(svg):
        names[name] = styles.setdefault(style.replace(": ", ":").strip(), f"s{len(styles)}")
    rows = [""] * count
    for colour, x, y, width in _RECT.findall(svg):
        # The frame of the window has no row.
        if 0 <= (row := round((float(y) - 1.5) / ROW_HEIGHT)) < count:
            rows[row] += f'<rect fill="{colour}" x="{x}" width="{width}" height="24.9"/>'
    for name, x, y, length, text in _TEXT.findall(svg):
        row = round((float(y) - 20) / ROW_HEIGHT)
        rows[row] += f'<text class="{names[name]}" x="{x}" y="18.5" textLength="{length}">{text}</text>'
    return rows


class _Timing:
    """The CSS animations by which rows appear and disappear; rows shown in the same frames share one."""

    def __init__(self, seconds: Sequence[float]) -> None:
        self._starts = [sum(seconds[:number]) for number in range(len(seconds))]
        self._total = sum(seconds)
        self._names: dict[tuple[int, ...], str] = {}

    def attribute(self, frames: Sequence[int]) -> str:
        """Return the class of a row that is shown in these frames; none for one that always is."""
        if len(frames) == len(self._starts):
            return ""
        name = self._names.setdefault(tuple(frames), f"k{len(self._names)}")
        return f' class="{name}"'

    def rules(self) -> list[str]:
        """Return the CSS of all animations."""
        rules = []
        for frames, name in self._names.items():
            steps, visible = [], None
            for number, start in enumerate(self._starts):
                if (number in frames) is not visible:
                    visible = number in frames
                    steps.append(f"{start / self._total:.2%}{{visibility:{'visible' if visible else 'hidden'}}}")
            still = "" if 0 in frames else "visibility:hidden;"
            rules.append(f".{name}{{{still}animation:{name} {self._total:g}s step-end infinite}}")
            rules.append(f"@keyframes {name}{{{''.join(steps)}}}")
        return rules
