"""Pages of the setup screen: accounts, voice, writer, time zone, and file locations."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content

from copydesk.model.account import ConnectedAccount
from copydesk.model.draft import Format
from copydesk.model.voice import FormatVoice, Tried, VoiceProfile
from copydesk.model.wire import to_wire
from copydesk.text import reveal
from copydesk.tui.cells import cell, fit
from copydesk.tui.layout import Block, Paragraph, Table, plain
from copydesk.tui.naming import key
from copydesk.tui.voice_entry import CALLED
from copydesk.tui.words import ago, exact

if TYPE_CHECKING:
    from copydesk.desk.doctor import Examined

BETWEEN_POSTS = "\n---\n"
_VERDICTS = {"ok": ("ok", "good"), "warning": ("look", "warn"), "error": ("WRONG", "bad")}


class Section(StrEnum):
    """Sections of the setup; the value is the label on the screen."""

    ACCOUNTS = "Accounts"
    VOICE = "Voice"
    WRITER = "Writer"
    ZONE = "Time zone"
    PLACES = "Where things are"


class Setup(NamedTuple):
    """The desk's configuration, as loaded."""

    accounts: tuple[ConnectedAccount, ...]
    keys: str
    """Description of where the accounts' credentials are stored."""
    voice: VoiceProfile
    unfollowed: tuple[str, ...]
    """Parts of the voice that the offline writer cannot follow."""
    zone: str
    shown: str
    """The current time in `zone`, formatted."""
    slots: int


def account_row(row: ConnectedAccount, now: datetime, width: int) -> Content:
    """Return the account's row in `width` cells. The leading letter carries the same information as the colour."""
    if row.trouble:
        sign, role, state = "!", "bad", "cannot be posted to"
    else:
        sign, role = "+", "good"
        state = f"works, {ago(row.checked_at, now)}" if row.checked_at else "not checked yet"
    # The sign, the space after it and two spaces before the state take four cells.
    room = max(width - len(state) - 4, 8)
    line = Content.assemble(
        (f"{sign} ", role), fit(cell(row.label), room), "  ", (state, role if row.trouble else "dim")
    )
    return line.truncate(width, ellipsis=True)


def account_page(row: ConnectedAccount | None, keys: str, now: datetime) -> list[Block]:
    """Return the page of an account, or the note shown if there is none."""
    if row is None:
        return no_account()
    details = row.details
    rows = [("platform", cell(details.platform)), ("server", cell(details.server)), ("name", cell(details.name))]
    if details.software:
        rows.append(("runs", cell(details.software)))
    if details.longest:
        rows.append(("longest post", f"{details.longest:,}"))
    rows.append(("connected", exact(row.connected_at)))
    rows.append(("checked", f"{exact(row.checked_at)}, {ago(row.checked_at, now)}" if row.checked_at else "not yet"))
    rows.append(("its keys", cell(keys)))
    blocks: list[Block] = []
    if row.trouble:
        blocks += [plain(cell(row.trouble), "bad"), _key_hints(("setup.connect", "connects it again.")), plain()]
    return [*blocks, Table([(Content.styled(name, "dim"), Content(value)) for name, value in rows])]


def no_account() -> list[Block]:
    """Return the note shown while no account is connected."""
    return [
        plain("No account is connected.", "strong"),
        plain(),
        plain("Drafts can be written and reviewed without one; to post them, connect where they go."),
        plain(),
        _key_hints(("setup.connect", "connects one: Bluesky, Mastodon, X, LinkedIn, Threads, a blog, a webhook.")),
    ]


def voice_page(setup: Setup) -> list[Block]:
    """Return the page of the voice: style, forbidden phrases, examples, and settings per format."""
    voice = setup.voice
    style = Paragraph(Content(reveal(voice.style))) if voice.style else plain("No style is set.", "dim")
    blocks: list[Block] = [plain("Style", "strong"), style, plain(), plain("Never", "strong")]
    blocks.append(plain(", ".join(cell(phrase) for phrase in voice.avoid) or "nothing", "" if voice.avoid else "dim"))
    blocks += [plain(), plain("Examples", "strong"), *_examples(voice.examples), plain(), plain("Formats", "strong")]
    blocks.append(Table([_format_row(kind, voice.formats.get(kind)) for kind in Format]))
    if setup.unfollowed:
        aspects = ", ".join(setup.unfollowed)
        blocks += [
            plain(),
            plain(f"The offline writer cannot follow {aspects}: that takes one that understands.", "warn"),
        ]
    return [*blocks, plain(), _key_hints(("setup.edit", "edits it, and shows what would be written."))]


def _examples(examples: Sequence[str]) -> Iterator[Block]:
    if not examples:
        yield plain("none", "dim")
    for number, example in enumerate(examples, 1):
        yield Table([(Content.styled(f"{number}", "dim"), Content(reveal(example)))])


def _format_row(kind: Format, settings: FormatVoice | None) -> tuple[Content, ...]:
    wire = to_wire(settings) if settings else {}
    assert isinstance(wire, Mapping)
    text = ", ".join(f"{CALLED.get(name, name)} {cell(str(value))}" for name, value in wire.items())
    return Content.styled(kind.value, "accent"), Content(text) if text else Content.styled("as it comes", "dim")


def writer_page(setup: Setup) -> list[Block]:
    """Return the page about the writer and its limits."""
    unsupported = ", ".join(setup.unfollowed)
    blocks: list[Block] = [
        Paragraph(Content.assemble(("Writer  ", "dim"), ("offline", "strong"))),
        plain(),
        plain("It takes its sentences from the source, needs no network and no key, and costs nothing."),
        plain("Of the voice it keeps what never may be said, lengths, hashtags, emoji and links."),
    ]
    if unsupported:
        blocks += [plain(), plain(f"What it cannot follow: {unsupported}.", "warn")]
    return [*blocks, plain(), _key_hints(("setup.edit", "edits the voice and tries it on a real item."))]


def zone_page(setup: Setup) -> list[Block]:
    """Return the page of the time zone that slots and times refer to."""
    rows = [("time zone", setup.zone), ("there it is", setup.shown), ("weekly slots", f"{setup.slots}")]
    return [
        Table([(Content.styled(name, "dim"), Content(cell(value))) for name, value in rows]),
        plain(),
        plain("Slots and times are on this clock. What is scheduled keeps its moment when the zone changes:", "dim"),
        plain("09:00 here may be 10:00 there.", "dim"),
        plain(),
        _key_hints(("setup.edit", "changes it.")),
    ]


def places_page(examined: "Sequence[Examined]") -> list[Block]:
    """Return the page with the results of `copydesk doctor`."""
    rows = []
    for check in examined:
        word, role = _VERDICTS[check.verdict]
        finding = Content.assemble(cell(check.found), (f" {cell(check.advice)}" if check.advice else "", "dim"))
        rows.append((Content.styled(word, role), Content(cell(check.what)), finding))
    return [Table(rows), plain(), _key_hints(("setup.refresh", "looks again."))]


def tried_page(tried: Tried) -> list[Block]:
    """Return the page with a sample text that the writer made from an item."""
    blocks: list[Block] = [Paragraph(Content.assemble(("of ", "dim"), cell(tried.title))), plain()]
    blocks += [Paragraph(Content(reveal(tried.text))), plain()]
    if not tried.tags:
        blocks.append(plain("This item has no tags: hashtags are for those that have some.", "dim"))
    findings = tried.checks.findings
    failed = len({finding.rule for finding in findings})
    blocks.append(plain(f"{tried.checks.ran - failed} of {tried.checks.ran} checks pass", "dim" if failed else "good"))
    return [*blocks, *(Paragraph(Content.styled(cell(finding.message), "warn"), indent=2) for finding in findings)]


def _key_hints(*hints: tuple[str, str]) -> Block:
    return Paragraph(Content("\n").join(Content.assemble((key(action), "key"), f" {text}") for action, text in hints))
