"""Pages of the setup screen: accounts, voice, writer, time zone, and file locations."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content

from copydesk.model.account import ConnectedAccount
from copydesk.model.draft import Format
from copydesk.model.serialization import to_json_value
from copydesk.model.voice import FormatVoice, VoicePreview, VoiceProfile
from copydesk.text import reveal
from copydesk.text.formatting import format_relative, format_utc
from copydesk.tui.keys import key_label
from copydesk.tui.layout import Block, Paragraph, Table, paragraph
from copydesk.tui.setup.voice_form_state import SETTING_LABELS
from copydesk.tui.terminal.cells import fit, safe_line

if TYPE_CHECKING:
    from copydesk.desk.doctor import CheckFinding

THREAD_SEPARATOR = "\n---\n"
_VERDICTS = {"ok": ("ok", "good"), "warning": ("look", "warn"), "error": ("WRONG", "bad")}


class Section(StrEnum):
    """Sections of the setup; the value is the label on the screen."""

    ACCOUNTS = "Accounts"
    VOICE = "Voice"
    WRITER = "Writer"
    ZONE = "Time zone"
    LOCATIONS = "Where things are"


class SetupSnapshot(NamedTuple):
    """The desk's configuration, as loaded."""

    accounts: tuple[ConnectedAccount, ...]
    credential_storage: str
    """Description of where the accounts' credentials are stored."""
    voice: VoiceProfile
    unfollowed: tuple[str, ...]
    """Parts of the voice that the offline writer cannot follow."""
    zone: str
    local_time: str
    """The current time in `zone`, formatted."""
    slots: int


def account_row(account: ConnectedAccount, now: datetime, width: int) -> Content:
    """Return the account's row in `width` cells. The leading letter carries the same information as the colour."""
    if account.trouble:
        sign, role, state = "!", "bad", "cannot be posted to"
    else:
        sign, role = "+", "good"
        state = f"works, {format_relative(account.checked_at, now)}" if account.checked_at else "not checked yet"
    # The sign, the space after it and two spaces before the state take four cells.
    room = max(width - len(state) - 4, 8)
    line = Content.assemble(
        (f"{sign} ", role), fit(safe_line(account.label), room), "  ", (state, role if account.trouble else "dim")
    )
    return line.truncate(width, ellipsis=True)


def account_page(account: ConnectedAccount | None, credential_storage: str, now: datetime) -> list[Block]:
    """Return the page of an account, or the note shown if there is none."""
    if account is None:
        return no_accounts()
    details = account.details
    rows = [
        ("platform", safe_line(details.platform)),
        ("server", safe_line(details.server)),
        ("name", safe_line(details.name)),
    ]
    if details.software:
        rows.append(("runs", safe_line(details.software)))
    if details.longest:
        rows.append(("longest post", f"{details.longest:,}"))
    rows.append(("connected", format_utc(account.connected_at)))
    rows.append(
        (
            "checked",
            f"{format_utc(account.checked_at)}, {format_relative(account.checked_at, now)}"
            if account.checked_at
            else "not yet",
        )
    )
    rows.append(("its keys", safe_line(credential_storage)))
    blocks: list[Block] = []
    if account.trouble:
        blocks += [
            paragraph(safe_line(account.trouble), "bad"),
            _key_hints(("setup.connect", "connects it again.")),
            paragraph(),
        ]
    return [*blocks, Table([(Content.styled(name, "dim"), Content(value)) for name, value in rows])]


def no_accounts() -> list[Block]:
    """Return the note shown while no account is connected."""
    return [
        paragraph("No account is connected.", "strong"),
        paragraph(),
        paragraph("Drafts can be written and reviewed without one; to post them, connect where they go."),
        paragraph(),
        _key_hints(("setup.connect", "connects one: Bluesky, Mastodon, X, LinkedIn, Threads, a blog, a webhook.")),
    ]


def voice_page(setup: SetupSnapshot) -> list[Block]:
    """Return the page of the voice: style, forbidden phrases, examples, and settings per format."""
    voice = setup.voice
    style = Paragraph(Content(reveal(voice.style))) if voice.style else paragraph("No style is set.", "dim")
    blocks: list[Block] = [paragraph("Style", "strong"), style, paragraph(), paragraph("Never", "strong")]
    blocks.append(
        paragraph(", ".join(safe_line(phrase) for phrase in voice.avoid) or "nothing", "" if voice.avoid else "dim")
    )
    blocks += [
        paragraph(),
        paragraph("Examples", "strong"),
        *_examples(voice.examples),
        paragraph(),
        paragraph("Formats", "strong"),
    ]
    blocks.append(Table([_format_row(kind, voice.formats.get(kind)) for kind in Format]))
    if setup.unfollowed:
        aspects = ", ".join(setup.unfollowed)
        blocks += [
            paragraph(),
            paragraph(f"The offline writer cannot follow {aspects}: that takes one that understands.", "warn"),
        ]
    return [*blocks, paragraph(), _key_hints(("setup.edit", "edits it, and shows what would be written."))]


def _examples(examples: Sequence[str]) -> Iterator[Block]:
    if not examples:
        yield paragraph("none", "dim")
    for number, example in enumerate(examples, 1):
        yield Table([(Content.styled(f"{number}", "dim"), Content(reveal(example)))])


def _format_row(kind: Format, settings: FormatVoice | None) -> tuple[Content, ...]:
    wire = to_json_value(settings) if settings else {}
    assert isinstance(wire, Mapping)
    text = ", ".join(f"{SETTING_LABELS.get(name, name)} {safe_line(str(value))}" for name, value in wire.items())
    return Content.styled(kind.value, "accent"), Content(text) if text else Content.styled("as it comes", "dim")


def writer_page(setup: SetupSnapshot) -> list[Block]:
    """Return the page about the writer and its limits."""
    unsupported = ", ".join(setup.unfollowed)
    blocks: list[Block] = [
        Paragraph(Content.assemble(("Writer  ", "dim"), ("offline", "strong"))),
        paragraph(),
        paragraph("It takes its sentences from the source, needs no network and no key, and costs nothing."),
        paragraph("Of the voice it keeps what never may be said, lengths, hashtags, emoji and links."),
    ]
    if unsupported:
        blocks += [paragraph(), paragraph(f"What it cannot follow: {unsupported}.", "warn")]
    return [*blocks, paragraph(), _key_hints(("setup.edit", "edits the voice and tries it on a real item."))]


def zone_page(setup: SetupSnapshot) -> list[Block]:
    """Return the page of the time zone that slots and times refer to."""
    rows = [("time zone", setup.zone), ("there it is", setup.local_time), ("weekly slots", f"{setup.slots}")]
    return [
        Table([(Content.styled(name, "dim"), Content(safe_line(value))) for name, value in rows]),
        paragraph(),
        paragraph(
            "Slots and times are on this clock. What is scheduled keeps its moment when the zone changes:", "dim"
        ),
        paragraph("09:00 here may be 10:00 there.", "dim"),
        paragraph(),
        _key_hints(("setup.edit", "changes it.")),
    ]


def locations_page(checks: "Sequence[CheckFinding]") -> list[Block]:
    """Return the page with the results of `copydesk doctor`."""
    rows = []
    for check in checks:
        word, role = _VERDICTS[check.verdict]
        finding = Content.assemble(
            safe_line(check.found), (f" {safe_line(check.advice)}" if check.advice else "", "dim")
        )
        rows.append((Content.styled(word, role), Content(safe_line(check.what)), finding))
    return [Table(rows), paragraph(), _key_hints(("setup.refresh", "looks again."))]


def voice_sample_page(sample: VoicePreview) -> list[Block]:
    """Return the page with a sample text that the writer made from an item."""
    blocks: list[Block] = [Paragraph(Content.assemble(("of ", "dim"), safe_line(sample.title))), paragraph()]
    blocks += [Paragraph(Content(reveal(sample.text))), paragraph()]
    if not sample.tags:
        blocks.append(paragraph("This item has no tags: hashtags are for those that have some.", "dim"))
    findings = sample.checks.findings
    failed = len({finding.rule for finding in findings})
    blocks.append(
        paragraph(f"{sample.checks.ran - failed} of {sample.checks.ran} checks pass", "dim" if failed else "good")
    )
    return [*blocks, *(Paragraph(Content.styled(safe_line(finding.message), "warn"), indent=2) for finding in findings)]


def _key_hints(*hints: tuple[str, str]) -> Block:
    return Paragraph(
        Content("\n").join(Content.assemble((key_label(action), "key"), f" {text}") for action, text in hints)
    )
