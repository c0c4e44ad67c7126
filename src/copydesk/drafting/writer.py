"""The interface of writers: the brief, the result, and the choice of a writer."""

from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from msgspec.structs import replace

from copydesk.errors import SettingsError
from copydesk.model.draft import Field, Format, Trace
from copydesk.model.item import Item
from copydesk.model.platform import PlatformInfo
from copydesk.model.serialization import Json, Struct
from copydesk.model.source import SourceTypeInfo
from copydesk.model.voice import FormatVoice, Voice
from copydesk.model.writer import ModelRequest
from copydesk.text import links

__all__ = [
    "Brief",
    "Field",
    "SourceItem",
    "StreamingWriter",
    "Trace",
    "Writer",
    "WriterResult",
    "build_brief",
    "find_linked_items",
    "get_writer",
    "limiting_platforms",
    "to_source_item",
    "write_or_stream",
]

# Imported when chosen, so that a writer's dependencies cost nothing unless it is used.
WRITERS = {"offline": ("copydesk.drafting.offline_writer", "OfflineWriter")}


class SourceMaterial(Struct, frozen=True, kw_only=True):
    """Facts and texts of one source item. The texts are untrusted data, whatever they say."""

    title: str
    url: str | None = None
    summary: str = ""
    text: str = ""
    language: str | None = None
    source_name: str = ""
    source_named_by_user: bool = False
    """True if the user gave the source its name; otherwise it is the feed's title."""
    source_type: SourceTypeInfo | None = None
    """None if the user gave the item."""
    publisher: str | None = None
    author: str | None = None
    published: datetime | None = None
    tags: tuple[str, ...] = ()


class SourceItem(SourceMaterial, frozen=True, kw_only=True):
    """One of the further source items of a draft."""

    id: str
    """The stored item's id, to which traces refer."""


class Brief(SourceMaterial, frozen=True, kw_only=True):
    """Everything a writer may know about one draft, whose own item is the source material."""

    item_id: str
    """Seeds all arbitrary choices."""
    format: Format
    image: str | None = None
    other_sources: tuple[str, ...] = ()
    """Names of the other sources that report the story."""
    other_items: tuple[SourceItem, ...] = ()
    """The further items that a BLOG may link to, best first; the brief's own item is the lead."""
    topic: str = ""
    """The user's interest that the items have in common; empty if they report the same story."""
    voice: Voice = Voice()
    platforms: tuple[PlatformInfo, ...] = ()
    """Platforms whose limits apply, see `limiting_platforms`."""
    feedback: str | None = None
    """The reviewer's requests about `previous`."""
    previous: str | None = None
    """The text to write a new version of."""
    findings: tuple[str, ...] = ()
    """What the checks found in `previous`, in words."""
    earlier_versions: tuple[str, ...] = ()
    """The versions before it, none of which should be repeated."""
    instructions: str | None = None
    """The user's prompt, and the only instructions to follow. Without a `url` it is the source material too."""
    parameters: dict[str, Json] = {}
    """Experiment parameters by name, for writers that support them. Those that a voice can express are in `voice`."""

    @property
    def previous_versions(self) -> tuple[str, ...]:
        """All previous versions, newest first."""
        return (self.previous, *self.earlier_versions) if self.previous else self.earlier_versions

    @property
    def settings(self) -> FormatVoice:
        """The voice's settings of this brief's format."""
        return self.voice.format_settings(self.format)

    def for_item(self, item: SourceItem) -> "Brief":
        """Return this brief with `item` as its only item."""
        facts = {name: getattr(item, name) for name in SourceMaterial.__struct_fields__}
        return replace(self, item_id=item.id, other_items=(), other_sources=(), image=None, **facts)


class WriterResult(Struct, frozen=True):
    """A writer's result. The parts of a THREAD are one text, see `thread.join_parts`."""

    text: str
    sentences: tuple[Trace, ...] = ()
    """Every sentence and template text in order; empty if the writer cannot tell their origin."""
    notes: tuple[str, ...] = ()
    """Requests that the writer could not fulfil, in words for the reviewer."""
    model: str = ""
    """The language model that wrote it, stored with the draft as its writer; empty for a writer without one."""
    requests: tuple[ModelRequest, ...] = ()
    """The requests to language models that led to it, failed ones first."""


class Writer(Protocol):
    """Interface of writers."""

    @property
    def name(self) -> str:
        """Its name, stored with the draft."""
        ...

    async def write(self, brief: Brief) -> WriterResult:
        """Return the requested draft. Raise WriterError if none can be written."""
        ...


@runtime_checkable
class LimitedWriter(Writer, Protocol):
    """A writer that does not understand all feedback."""

    def check_feedback(self, feedback: str) -> None:
        """Raise WriterError, with what it can do, if it does not understand `feedback`."""
        ...


@runtime_checkable
class StreamingWriter(Writer, Protocol):
    """A writer that shows the text while it is written."""

    async def stream(self, brief: Brief, on_text: Callable[[str], None]) -> WriterResult:
        """Return the requested draft as `write` does; `on_text` is called with the text so far as it grows."""
        ...


async def write_or_stream(writer: Writer, brief: Brief, on_text: Callable[[str], None] | None) -> WriterResult:
    """Return the requested draft; call `on_text`, if there is one, with the text so far if the writer can."""
    if on_text is not None and isinstance(writer, StreamingWriter):
        return await writer.stream(brief, on_text)
    return await writer.write(brief)


def get_writer(name: str = "offline") -> Writer:
    """Return the writer with this name. Raise SettingsError for an unknown name."""
    if name not in WRITERS:
        raise SettingsError(f"Unknown writer {name!r}.", hint=f"Known writers: {', '.join(WRITERS)}.")
    module, class_name = WRITERS[name]
    writer: Writer = getattr(import_module(module), class_name)()
    return writer


def find_linked_items(brief: Brief, result: WriterResult) -> frozenset[str]:
    """Return the ids of the brief's other items that the text quotes or links to."""
    text = result.text
    linked = {links.comparison_key(text[start:end]) for start, end in links.spans(text)}
    quoted = {trace.item_id for trace in result.sentences}
    return frozenset(
        item.id
        for item in brief.other_items
        if item.id in quoted or (item.url is not None and links.comparison_key(item.url) in linked)
    )


def limiting_platforms(
    format: Format, voice: Voice, targets: tuple[PlatformInfo, ...], defaults: tuple[PlatformInfo, ...]
) -> tuple[PlatformInfo, ...]:
    """Return the platforms whose limits apply to each post of a draft: none for a BLOG, else `targets` or `defaults`.

    The defaults do not apply if the voice allows posts longer than any of them does: the user has other platforms in
    mind.
    """
    if format is Format.BLOG:
        return ()
    max_length = voice.format_settings(format).max_length
    longest = max((info.limits.max_length or 0 for info in defaults), default=0)
    return targets or (defaults if max_length is None or max_length <= longest else ())


def to_source_item(item: Item, source_type: SourceTypeInfo | None) -> SourceItem:
    """Return a stored item as a further item of a brief."""
    return SourceItem(id=item.id, **_material(item, source_type))


def _material(item: Item, source_type: SourceTypeInfo | None) -> dict[str, Any]:
    """Return the fields of `SourceMaterial` by name."""
    of_item = {
        "source_name": item.source_name,
        "source_named_by_user": item.source_named_by_user,
        "source_type": source_type,
    }
    return of_item | {
        name: getattr(item.entry, name) for name in SourceMaterial.__struct_fields__ if name not in of_item
    }


def build_brief(
    item: Item,
    format: Format,
    voice: Voice,
    *,
    source_type: SourceTypeInfo | None,
    other_sources: tuple[str, ...] = (),
    platforms: tuple[PlatformInfo, ...] = (),
    feedback: str | None = None,
    previous: str | None = None,
) -> Brief:
    """Return the brief for a draft of `item`."""
    return Brief(
        item_id=item.id,
        format=format,
        image=item.entry.image,
        other_sources=other_sources,
        voice=voice,
        platforms=platforms,
        feedback=feedback,
        previous=previous,
        **_material(item, source_type),
    )
