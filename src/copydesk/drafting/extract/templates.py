"""Templates that combine a title, a quotation and a name, and their selection per item.

Templates must be true of any item: none says that a story is important or what it means.
"""

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from typing import NamedTuple

from copydesk.drafting.writer import Field, Trace

# None has words, so that they fit any language.
TITLE_AND_QUOTE = (
    "{title}\n\n{quote} — {name}",
    "{name}: {title}\n\n{quote}",
    "{title}\n\n{name}: {quote}",
    "{title} ({name})\n\n{quote}",
)
TITLE = ("{title} — {name}", "{name}: {title}", "{title} ({name})")
QUOTE = ("{quote} — {name}", "{name}: {quote}")
CLOSING = "{name}: {url}"


class TemplateValue(NamedTuple):
    """Text for a placeholder, and the origin of its words."""

    text: str
    traces: tuple[Trace, ...]


class ComposedText(NamedTuple):
    """A text, and the origin of its words."""

    text: str
    traces: tuple[Trace, ...]


def rotate_templates(options: Sequence[str], seed: str) -> list[str]:
    """Return `options` rotated to start at the one that `seed` selects, identically on every machine."""
    # Not hash(), which differs between processes.
    start = int.from_bytes(blake2b(seed.encode("utf-8", "surrogatepass"), digest_size=8).digest()) % len(options)
    return [*options[start:], *options[:start]]


def compose(template: str, values: dict[str, TemplateValue | None]) -> ComposedText:
    """Return `template` with its placeholders filled. If it has no `{url}`, the link is appended."""
    if values.get("url") and "{url}" not in template:
        template += "\n\n{url}"
    text: list[str] = []
    traces: list[Trace] = []
    for line in template.split("\n"):
        rendered, line_traces = _fill_line(line, values)
        text.append(rendered)
        traces += line_traces
    return ComposedText("\n".join(text), tuple(traces))


def _fill_line(line: str, values: dict[str, TemplateValue | None]) -> tuple[str, list[Trace]]:
    rendered, traces, template_text = "", [], ""
    for literal, placeholder in _parse_placeholders(line):
        rendered, template_text = rendered + literal, template_text + literal
        value = values.get(placeholder) if placeholder else None
        if value is None:
            continue
        rendered += value.text
        # Adjacent template text is one trace.
        if all(trace.field is Field.TEMPLATE for trace in value.traces):
            template_text += value.text
        else:
            traces += [*_template_trace(template_text), *value.traces]
            template_text = ""
    return rendered, [*traces, *_template_trace(template_text)]


@cache
def _parse_placeholders(line: str) -> tuple[tuple[str, str], ...]:
    """Return pairs of literal text and the placeholder after it; the rest of the line has the placeholder ""."""
    pairs: list[tuple[str, str]] = []
    while "{" in line:
        literal, _, rest = line.partition("{")
        placeholder, _, line = rest.partition("}")
        pairs.append((literal, placeholder))
    return (*pairs, (line, ""))


def _template_trace(words: str) -> list[Trace]:
    stripped = words.strip(" \n()—:“”")
    return [Trace(text=stripped, field=Field.TEMPLATE)] if stripped else []
