"""The pages of the setup: an account, the voice, the writer, the time zone, where things are."""

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
_ROLES = {"ok": ("ok", "good"), "warning": ("look", "warn"), "error": ("WRONG", "bad")}


class Section(StrEnum):
    """What is set up; the value is its name on the screen."""

    ACCOUNTS = "Accounts"
    VOICE = "Voice"
    WRITER = "Writer"
    ZONE = "Time zone"
    PLACES = "Where things are"


class Setup(NamedTuple):
    """What the desk says of itself."""

    accounts: tuple[ConnectedAccount, ...]
    keys: str
    """Where the keys of the accounts are, in words."""
    voice: VoiceProfile
    unfollowed: tuple[str, ...]
    """What of the voice the offline writer cannot do."""
    zone: str
    shown: str
    """This moment on the clock of the zone."""
    slots: int


def account_row(row: ConnectedAccount, now: datetime, width: int) -> Content:
    """One account in `width` cells; the letter says what the colour says."""
    if row.trouble:
        sign, role, says = "!", "bad", "cannot be posted to"
    else:
        sign, role = "+", "good"
        says = f"works, {ago(row.checked_at, now)}" if row.checked_at else "not checked yet"
    room = max(width - len(says) - 4, 8)
    line = Content.assemble(
        (f"{sign} ", role), fit(cell(row.label), room), "  ", (says, role if row.trouble else "dim")
    )
    return line.truncate(width, ellipsis=True)


def account_page(row: ConnectedAccount | None, keys: str, now: datetime) -> list[Block]:
    """What is known of an account."""
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
        blocks += [plain(cell(row.trouble), "bad"), _keys(("setup.connect", "connects it again.")), plain()]
    return [*blocks, Table([(Content.styled(name, "dim"), Content(says)) for name, says in rows])]


def no_account() -> list[Block]:
    """What stands where there is none."""
    return [
        plain("No account is connected.", "strong"),
        plain(),
        plain("Drafts can be written and reviewed without one; to post them, connect where they go."),
        plain(),
        _keys(("setup.connect", "connects one: Bluesky, Mastodon, X, LinkedIn, Threads, a blog, a webhook.")),
    ]


def voice_page(setup: Setup) -> list[Block]:
    """How the user writes."""
    voice = setup.voice
    style = Paragraph(Content(reveal(voice.style))) if voice.style else plain("No style is set.", "dim")
    blocks: list[Block] = [plain("Style", "strong"), style, plain(), plain("Never", "strong")]
    blocks.append(plain(", ".join(cell(each) for each in voice.avoid) or "nothing", "" if voice.avoid else "dim"))
    blocks += [plain(), plain("Examples", "strong"), *_examples(voice.examples), plain(), plain("Formats", "strong")]
    blocks.append(Table([_format(kind, voice.formats.get(kind)) for kind in Format]))
    if setup.unfollowed:
        what = ", ".join(setup.unfollowed)
        blocks += [plain(), plain(f"The offline writer cannot follow {what}: that takes one that understands.", "warn")]
    return [*blocks, plain(), _keys(("setup.edit", "edits it, and shows what would be written."))]


def _examples(examples: Sequence[str]) -> Iterator[Block]:
    if not examples:
        yield plain("none", "dim")
    for number, example in enumerate(examples, 1):
        yield Table([(Content.styled(f"{number}", "dim"), Content(reveal(example)))])


def _format(kind: Format, settings: FormatVoice | None) -> tuple[Content, ...]:
    wire = to_wire(settings) if settings else {}
    assert isinstance(wire, Mapping)
    says = ", ".join(f"{CALLED.get(name, name)} {cell(str(value))}" for name, value in wire.items())
    return Content.styled(kind.value, "accent"), Content(says) if says else Content.styled("as it comes", "dim")


def writer_page(setup: Setup) -> list[Block]:
    """What writes."""
    beyond = ", ".join(setup.unfollowed)
    blocks: list[Block] = [
        Paragraph(Content.assemble(("Writer  ", "dim"), ("offline", "strong"))),
        plain(),
        plain("It takes its sentences from the source, needs no network and no key, and costs nothing."),
        plain("Of the voice it keeps what never may be said, lengths, hashtags, emoji and links."),
    ]
    if beyond:
        blocks += [plain(), plain(f"What it cannot follow: {beyond}.", "warn")]
    return [*blocks, plain(), _keys(("setup.edit", "edits the voice and tries it on a real item."))]


def zone_page(setup: Setup) -> list[Block]:
    """Whose clock slots and times are on."""
    rows = [("time zone", setup.zone), ("there it is", setup.shown), ("weekly slots", f"{setup.slots}")]
    return [
        Table([(Content.styled(name, "dim"), Content(cell(says))) for name, says in rows]),
        plain(),
        plain("Slots and times are on this clock. What is scheduled keeps its moment when the zone changes:", "dim"),
        plain("09:00 here may be 10:00 there.", "dim"),
        plain(),
        _keys(("setup.edit", "changes it.")),
    ]


def places_page(examined: "Sequence[Examined]") -> list[Block]:
    """What `copydesk doctor` says."""
    rows = []
    for each in examined:
        word, role = _ROLES[each.verdict]
        says = Content.assemble(cell(each.found), (f" {cell(each.advice)}" if each.advice else "", "dim"))
        rows.append((Content.styled(word, role), Content(cell(each.what)), says))
    return [Table(rows), plain(), _keys(("setup.refresh", "looks again."))]


def tried_page(tried: Tried) -> list[Block]:
    """What the writer made of an item."""
    blocks: list[Block] = [Paragraph(Content.assemble(("of ", "dim"), cell(tried.title))), plain()]
    blocks += [Paragraph(Content(reveal(tried.text))), plain()]
    if not tried.tags:
        blocks.append(plain("This item has no tags: hashtags are for those that have some.", "dim"))
    findings = tried.checks.findings
    failed = len({each.rule for each in findings})
    blocks.append(plain(f"{tried.checks.ran - failed} of {tried.checks.ran} checks pass", "dim" if failed else "good"))
    return [*blocks, *(Paragraph(Content.styled(cell(each.message), "warn"), indent=2) for each in findings)]


def _keys(*said: tuple[str, str]) -> Block:
    return Paragraph(Content("\n").join(Content.assemble((key(action), "key"), f" {words}") for action, words in said))
