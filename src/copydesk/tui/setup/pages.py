"""Pages of the setup screen: accounts, voice, writer, time zone, and file locations."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content

from copydesk.model.confidence import ConfidenceBin
from copydesk.model.delivery import ConnectedAccount
from copydesk.model.draft import Format
from copydesk.model.learning import LearningReport
from copydesk.model.ranking import RankingProfile
from copydesk.model.rule import Rule
from copydesk.model.serialization import to_json_value
from copydesk.model.voice import FormatVoice, VoiceComparison, VoicePreview, VoiceProfile
from copydesk.model.writer import OFFLINE, WriterInfo, Writers
from copydesk.text import reveal
from copydesk.text.formatting import format_relative
from copydesk.tui import labels
from copydesk.tui.keys import key_label
from copydesk.tui.layout import Block, Paragraph, Table, paragraph
from copydesk.tui.setup.writers import endpoint_blocks
from copydesk.tui.terminal.cells import fit, safe_line

if TYPE_CHECKING:
    from copydesk.model.check_finding import CheckFinding


class Section(StrEnum):
    """Sections of the setup; the value is the label on the screen."""

    ACCOUNTS = labels.ACCOUNTS_TITLE
    VOICE = labels.VOICE_TITLE
    LEARNING = labels.LEARNING_TITLE
    WRITERS = labels.WRITERS_TITLE
    ZONE = labels.ZONE_PROMPT
    RANKING = labels.RANKING_TITLE
    RULES = labels.RULES_TITLE
    LOCATIONS = labels.FILES_TITLE


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
    ranking: RankingProfile
    rules: tuple[Rule, ...]
    writers: Writers
    learning: LearningReport | None
    """None while its section is not displayed."""


def account_row(account: ConnectedAccount, name: str, now: datetime, width: int) -> Content:
    """Return the row of the account called `name` in `width` cells. The leading letter says the same as the colour."""
    if account.login_error:
        sign, role, state = "!", "bad", labels.ACCOUNT_CANNOT_POST
    else:
        sign, role = "+", "good"
        state = (
            labels.account_tested(format_relative(account.checked_at, now))
            if account.checked_at
            else labels.ACCOUNT_NOT_TESTED
        )
    # The sign, the space after it and two spaces before the state take four cells.
    room = max(width - len(state) - 4, 8)
    line = Content.assemble(
        (f"{sign} ", role), fit(safe_line(name), room), "  ", (state, role if account.login_error else "dim")
    )
    return line.truncate(width, ellipsis=True)


def account_page(account: ConnectedAccount | None, credential_storage: str, now: datetime) -> list[Block]:
    """Return the page of an account, or the note shown if there is none."""
    if account is None:
        return no_accounts()
    details = account.details
    rows = [
        (labels.FIELD_PLATFORM, safe_line(labels.platform_name(details.platform))),
        (labels.FIELD_SERVER, safe_line(details.server)),
        (labels.FIELD_NAME, safe_line(details.name)),
    ]
    if details.software:
        rows.append((labels.FIELD_SOFTWARE, safe_line(details.software)))
    if details.max_length:
        rows.append((labels.FIELD_MAX_LENGTH, f"{details.max_length:,}"))
    rows.append((labels.FIELD_CONNECTED, labels.format_date_time(account.connected_at, now)))
    rows.append(
        (
            labels.FIELD_TESTED,
            f"{labels.format_date_time(account.checked_at, now)}, {format_relative(account.checked_at, now)}"
            if account.checked_at
            else labels.ACCOUNT_NOT_TESTED,
        )
    )
    rows.append((labels.FIELD_CREDENTIALS, safe_line(credential_storage)))
    blocks: list[Block] = []
    if account.login_error:
        blocks += [
            paragraph(safe_line(account.login_error), "bad"),
            _key_hints(("setup.connect", labels.RECONNECT_HINT)),
            paragraph(),
        ]
    return [*blocks, Table([(Content.styled(name, "dim"), Content(value)) for name, value in rows])]


def no_accounts() -> list[Block]:
    """Return the note shown while no account is connected."""
    return [
        paragraph(labels.EMPTY_ACCOUNTS_TITLE, "strong"),
        paragraph(),
        paragraph(labels.EMPTY_ACCOUNTS_HINT),
        paragraph(),
        _key_hints(("setup.connect", labels.connect_hint())),
    ]


def voice_page(setup: SetupSnapshot) -> list[Block]:
    """Return the page of the voice: style, forbidden phrases, examples, and settings per format."""
    voice = setup.voice
    style = Paragraph(Content(reveal(voice.style))) if voice.style else paragraph(labels.VOICE_STYLE_EMPTY, "dim")
    blocks: list[Block] = [
        paragraph(labels.VOICE_STYLE, "strong"),
        style,
        paragraph(),
        paragraph(labels.VOICE_AVOID, "strong"),
    ]
    blocks.append(
        paragraph(
            ", ".join(safe_line(phrase) for phrase in voice.avoid) or labels.VOICE_AVOID_EMPTY,
            "" if voice.avoid else "dim",
        )
    )
    if voice.hashtag_list:
        blocks += [
            paragraph(),
            paragraph(labels.VOICE_HASHTAGS, "strong"),
            paragraph(", ".join(map(safe_line, voice.hashtag_list))),
        ]
    blocks += [
        paragraph(),
        paragraph(labels.VOICE_EXAMPLES, "strong"),
        *_examples(voice.examples),
        paragraph(),
        paragraph(labels.VOICE_FORMATS, "strong"),
    ]
    blocks.append(Table([_format_row(kind, voice.formats.get(kind)) for kind in Format]))
    if setup.unfollowed:
        blocks += [
            paragraph(),
            paragraph(labels.voice_unsupported(setup.unfollowed), "warn"),
        ]
    hints = _key_hints(("setup.edit", labels.VOICE_EDIT_HINT), ("setup.import", labels.VOICE_IMPORT_HINT))
    return [*blocks, paragraph(), hints]


def import_page(posts: Sequence[str]) -> list[Block]:
    """Return the page of the posts that an import adds to the examples."""
    return list(_examples(posts))


def _examples(examples: Sequence[str]) -> Iterator[Block]:
    if not examples:
        yield paragraph(labels.VOICE_EXAMPLES_EMPTY, "dim")
    for number, example in enumerate(examples, 1):
        yield Table([(Content.styled(f"{number}", "dim"), Content(reveal(example)))])


def _format_row(kind: Format, settings: FormatVoice | None) -> tuple[Content, ...]:
    wire = to_json_value(settings) if settings else {}
    assert isinstance(wire, Mapping)
    text = ", ".join(f"{labels.VOICE_SETTINGS.get(name, name)} {safe_line(str(value))}" for name, value in wire.items())
    values = Content(text) if text else Content.styled(labels.VOICE_DEFAULT, "dim")
    return Content.styled(labels.FORMAT_NAMES[kind], "accent"), values


def learning_page(report: LearningReport, now: datetime) -> list[Block]:
    """Return the page of what is learnt from decisions, and of how well confidence predicts them."""
    confidence = report.confidence
    since = labels.format_date_time(report.since, now) if report.since else None
    blocks: list[Block] = [
        paragraph(labels.learning_decisions(report.approved, report.rejected)),
        paragraph(labels.learning_since(since), "dim"),
        paragraph(),
        paragraph(labels.CONFIDENCE_TITLE, "strong"),
        paragraph(labels.CONFIDENCE_NOTE),
    ]
    if not confidence.known:
        blocks.append(paragraph(labels.confidence_unknown(confidence.decisions, confidence.needed), "dim"))
    elif confidence.brier is not None and confidence.brier_of_base_rate is not None:
        is_better = confidence.brier < confidence.brier_of_base_rate
        brier = labels.brier_score(confidence.brier, confidence.brier_of_base_rate, confidence.predicted)
        blocks += [paragraph(brier, "good" if is_better else "warn"), paragraph(), _reliability(confidence.bins)]
    return [
        *blocks,
        paragraph(),
        _key_hints(("setup.remove", labels.forget_hint(is_reset=report.reset_at is not None))),
    ]


def _reliability(bins: Sequence[ConfidenceBin]) -> Table:
    rows = [tuple(Content.styled(text, "dim") for text in labels.RELIABILITY_COLUMNS)]
    rows += [
        (
            Content(f"{found.low:.0%} to {found.high:.0%}"),
            Content(f"{found.drafts:,}"),
            Content(labels.share_or_dash(found.predicted)),
            Content(labels.share_or_dash(found.approved)),
        )
        for found in bins
    ]
    return Table(rows, right_aligned=frozenset({1, 2, 3}))


def writer_page(writer: WriterInfo | None, setup: SetupSnapshot, now: datetime) -> list[Block]:
    """Return the page of the writer under the cursor: a language model, or the offline writer and its limits."""
    hints = _key_hints(
        ("setup.connect", labels.WRITER_ADD_HINT),
        ("setup.use", labels.WRITER_USE_HINT),
        ("setup.edit", labels.WRITER_EDIT_HINT),
    )
    if writer is not None and writer.endpoint is not None:
        return [*endpoint_blocks(writer, setup.writers, now), paragraph(), hints]
    blocks: list[Block] = [
        Paragraph(Content.assemble((f"{labels.WRITER_TITLE}  ", "dim"), (OFFLINE, "strong"))),
        paragraph(),
        paragraph(labels.WRITER_OFFLINE),
        paragraph(labels.WRITER_FOLLOWS),
    ]
    if setup.unfollowed:
        blocks += [paragraph(), paragraph(labels.voice_unsupported(setup.unfollowed), "warn")]
    return [*blocks, paragraph(), hints]


def zone_page(setup: SetupSnapshot) -> list[Block]:
    """Return the page of the time zone that slots and times refer to."""
    rows = [
        (labels.FIELD_ZONE, labels.zone_name(setup.zone)),
        (labels.FIELD_LOCAL_TIME, setup.local_time),
        (labels.FIELD_SLOTS, f"{setup.slots}"),
    ]
    return [
        Table([(Content.styled(name, "dim"), Content(safe_line(value))) for name, value in rows]),
        paragraph(),
        paragraph(labels.ZONE_NOTE, "dim"),
        paragraph(labels.ZONE_CHANGE_NOTE, "dim"),
        paragraph(),
        _key_hints(("setup.edit", labels.ZONE_EDIT_HINT)),
    ]


def locations_page(checks: "Sequence[CheckFinding]", name_keys: Callable[[str], str], notice: str) -> list[Block]:
    """Return the page with the results of `copydesk doctor`, with keys in place of commands that have one."""
    rows = []
    for check in checks:
        word, role = labels.ADVICE_BADGES[check.verdict]
        finding = Content.assemble(
            safe_line(check.found), (f" {safe_line(name_keys(check.advice))}" if check.advice else "", "dim")
        )
        rows.append((Content.styled(word, role), Content(safe_line(check.what)), finding))
    notices = [paragraph(notice, "warn"), paragraph()] if notice else []
    return [*notices, Table(rows), paragraph(), _key_hints(("setup.refresh", labels.RECHECK_HINT))]


def voice_sample_page(sample: VoicePreview) -> list[Block]:
    """Return the page with a sample text that the writer made from an item."""
    blocks: list[Block] = [
        Paragraph(Content.assemble((f"{labels.VOICE_SAMPLE_OF} ", "dim"), safe_line(sample.title))),
        paragraph(),
    ]
    blocks += [Paragraph(Content(reveal(sample.text))), paragraph()]
    if not sample.tags:
        blocks.append(paragraph(labels.VOICE_SAMPLE_WITHOUT_TAGS, "dim"))
    findings = sample.checks.findings
    failed = len({finding.rule for finding in findings})
    blocks.append(
        paragraph(labels.checks_passed(sample.checks.ran - failed, sample.checks.ran), "dim" if failed else "good")
    )
    return [*blocks, *(Paragraph(Content.styled(safe_line(finding.message), "warn"), indent=2) for finding in findings)]


def voice_comparison_page(compared: Sequence[VoiceComparison]) -> list[Block]:
    """Return the page with what a change of the voice does to recent items."""
    blocks: list[Block] = [paragraph(labels.VOICE_COMPARED, "strong")]
    for found in compared:
        blocks += [paragraph(), paragraph(safe_line(found.title), "dim")]
        if found.before == found.after:
            blocks.append(paragraph(labels.VOICE_UNCHANGED, "dim"))
            continue
        texts = ((labels.VOICE_NOW, found.before), (labels.VOICE_THEN, found.after))
        rows = [
            (Content.styled(label, "dim"), Content(labels.VOICE_DECLINED if text is None else reveal(text)))
            for label, text in texts
        ]
        blocks.append(Table(rows))
    return blocks


def _key_hints(*hints: tuple[str, str]) -> Block:
    return Paragraph(
        Content("\n").join(Content.assemble((key_label(action), "key"), f" {text}") for action, text in hints)
    )
