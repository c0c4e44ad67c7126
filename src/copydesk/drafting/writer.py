"""What a writer is given, what it gives back, and the choice of one."""

from datetime import datetime
from importlib import import_module
from typing import Protocol

from copydesk.errors import SettingsError
from copydesk.model.draft import Field, Format, Trace
from copydesk.model.item import Item
from copydesk.model.source import SourceType
from copydesk.model.voice import FormatVoice, Voice
from copydesk.model.wire import Json, Struct

__all__ = ["Brief", "Field", "Trace", "Writer", "Written", "brief_of", "choose_writer"]

DEFAULT_PLATFORMS = ("x", "bluesky")
"""Whose limits a SHORT and the parts of a THREAD keep where nobody says which platforms are meant."""


class Brief(Struct, frozen=True):
    """Everything that a writer may know about one draft. Source texts are as they came: data, whatever they say."""

    item_id: str
    """Seeds every choice that could as well have gone another way."""
    format: Format
    title: str
    url: str | None = None
    summary: str = ""
    text: str = ""
    language: str | None = None
    source_name: str = ""
    source_type: SourceType | None = None
    publisher: str | None = None
    author: str | None = None
    published: datetime | None = None
    image: str | None = None
    tags: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    """The names of the other sources that tell the same story."""
    voice: Voice = Voice()
    platforms: tuple[str, ...] = ()
    """Where it is meant to go: the tightest of their limits holds. Empty for DEFAULT_PLATFORMS."""
    feedback: str | None = None
    """What the reviewer wants changed about `previous`."""
    previous: str | None = None
    """The text that a new version is wanted of."""
    earlier: tuple[str, ...] = ()
    """The versions before it: none of them is wanted again."""
    instructions: str | None = None
    """The user's prompt. The only words here that tell a writer what to do; without a `url` it is the material too."""
    parameters: dict[str, Json] = {}
    """What an experiment sets, by name, for writers that know what to do with it; what a voice can hold is there."""

    @property
    def before(self) -> tuple[str, ...]:
        """Every version that there was."""
        return (self.previous, *self.earlier) if self.previous else self.earlier

    @property
    def settings(self) -> FormatVoice:
        """The voice's settings of this brief's format."""
        return self.voice.of(self.format)


class Written(Struct, frozen=True):
    """A draft as a writer hands it over. The parts of a THREAD stand in one text, see `thread.join_parts`."""

    text: str
    sentences: tuple[Trace, ...] = ()
    """Every sentence and framing of the text in order; empty where the writer cannot tell."""
    notes: tuple[str, ...] = ()
    """What the writer could not do of what was asked, in words for the reviewer."""


class Writer(Protocol):
    """Whoever writes drafts."""

    name: str
    """Stored with the draft."""

    async def write(self, brief: Brief) -> Written:
        """The draft that `brief` asks for. Raises WriterError where there is none to be had."""
        ...


# Resolved when chosen, so that a writer's imports cost nothing where it is not used.
WRITERS = {"offline": ("copydesk.drafting.extractive", "OfflineWriter")}


def choose_writer(name: str = "offline") -> Writer:
    """The writer called `name`. Raises SettingsError for a name that is not known."""
    if name not in WRITERS:
        raise SettingsError(f"There is no writer called {name!r}.", hint=f"Known writers: {', '.join(WRITERS)}.")
    module, kind = WRITERS[name]
    made: Writer = getattr(import_module(module), kind)()
    return made


def brief_of(
    item: Item,
    format: Format,
    voice: Voice,
    *,
    also: tuple[str, ...] = (),
    platforms: tuple[str, ...] = (),
    feedback: str | None = None,
    previous: str | None = None,
) -> Brief:
    """What a writer is told about `item`."""
    entry = item.entry
    return Brief(
        item_id=item.id,
        format=format,
        title=entry.title,
        url=entry.url,
        summary=entry.summary,
        text=entry.text,
        language=entry.language,
        source_name=item.source_name,
        source_type=item.source_type,
        publisher=entry.publisher,
        author=entry.author,
        published=entry.published,
        image=entry.image,
        tags=entry.tags,
        also=also,
        voice=voice,
        platforms=platforms,
        feedback=feedback,
        previous=previous,
    )
