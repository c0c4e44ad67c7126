"""The last stage of a run: the best stories become drafts, each with its checks, each in a transaction of its own."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Self

import msgspec
from sqlalchemy import Connection

from copydesk.desk.ground import Ground
from copydesk.desk.own_picture import own_picture
from copydesk.desk.report import Report
from copydesk.desk.trial import Turn, next_turn, take
from copydesk.errors import WriterError
from copydesk.model.draft import Checks, Draft, DraftImage, Format, Status
from copydesk.model.item import ItemState
from copydesk.model.run import RunRequest
from copydesk.model.source import Source
from copydesk.model.voice import Voice, VoiceProfile
from copydesk.ranking.rank import Ranked
from copydesk.store import drafts, items, sources, voices
from copydesk.store.drafts import NewDraft
from copydesk.store.ids import new_id
from copydesk.store.tables import Origin

if TYPE_CHECKING:
    from copydesk.drafting.checks import Recent
    from copydesk.drafting.writer import Written

log = logging.getLogger(__name__)
RECENT = timedelta(days=60)
"""A draft should not repeat what was written in this time."""
MOST_RECENT = 200
"""Drafts that a new one is compared with."""
MOST_TURNS = 5
"""So often a story is written at most, where others draft beside this run."""


async def write_drafts(ground: Ground, ranked: Sequence[Ranked], request: RunRequest, report: Report) -> None:
    """Draft the best stories, in each format that is asked for, until the run has made as many as it may."""
    most = ground.settings.pipeline.max_drafts if request.max_drafts is None else request.max_drafts
    formats = [Format(name) for name in request.formats or ground.settings.pipeline.formats]
    jobs = len(ranked) * len(formats)
    report.expect(min(most, jobs))
    if not ranked or not most:
        return
    desk = await _Writing.begin(ground, report, formats)
    for story in ranked:
        made = report.stats.drafts_created
        room = most - made
        # No story is begun that does not fit, for what is left out now would be left out for good.
        if room < len(formats) and made:
            break
        report.expect(min(jobs, most + report.done - made))
        await desk.write(story, formats[:room])
    report.expect(report.done)


class _Writing:
    """One run's writing: the voice, the writer, and what was written lately."""

    def __init__(
        self,
        ground: Ground,
        report: Report,
        formats: Sequence[Format],
        voice: Voice,
        recent: "Recent",
        tags: Mapping[str, tuple[str, ...]],
    ) -> None:
        from copydesk.drafting.writer import choose_writer  # noqa: PLC0415 - only a run that drafts needs it

        self._ground = ground
        self._report = report
        self._formats = formats
        self._turns: dict[Format, Turn] | None = None
        """What an experiment gives the next drafts, where that was read with the last; None where it is to be read."""
        self._voice = voice
        self._recent = recent
        self._tags = tags
        self._writer = choose_writer()

    @classmethod
    async def begin(cls, ground: Ground, report: Report, formats: Sequence[Format]) -> Self:
        """Read what every draft of the run needs."""
        from copydesk.drafting.checks import Recent  # noqa: PLC0415 - only a run that drafts needs it

        now = ground.clock()
        voice, texts, every = await ground.read(_needed, now - RECENT)
        tags = {source.id: source.config.tags for source in every if source.config}
        return cls(ground, report, formats, voice or Voice(), await asyncio.to_thread(Recent, texts), tags)

    async def write(self, story: Ranked, formats: Sequence[Format]) -> None:
        """Write, check and store the drafts of a story, all in one transaction; or what became of it without any."""
        for _ in range(MOST_TURNS - 1):
            turns = self._turns if self._turns is not None else await self._ground.read(_turns, self._formats)
            self._turns = None
            with suppress(_TurnTakenError):
                return await self._write_once(story, formats, {kind: turns[kind] for kind in formats if kind in turns})
        # Whoever finds the place taken each time takes part in no experiment.
        return await self._write_once(story, formats, {})

    async def _write_once(self, story: Ranked, formats: Sequence[Format], turns: Mapping[Format, Turn]) -> None:
        written, errors = await self._write_all(story, formats, turns)
        kept = await self._keep(story, written, errors, turns)
        self._report.add(drafts_failed=len(errors))
        if kept:
            for draft in written:
                self._recent.add(draft.text)
            self._report.add(drafts_created=len(written))
        self._report.step(story.lead.entry.title, steps=len(formats))

    async def _write_all(
        self, story: Ranked, formats: Sequence[Format], turns: Mapping[Format, Turn]
    ) -> tuple[list[Draft], list[WriterError]]:
        written, errors = [], []
        for kind in formats:
            try:
                written.append(await self._write_safely(story, kind, turns.get(kind)))
            except WriterError as error:
                errors.append(error)
        return written, errors

    async def _write_safely(self, story: Ranked, format: Format, turn: Turn | None) -> Draft:
        """The draft; whatever goes wrong is a WriterError: one story must not stand in the way of all the others."""
        try:
            return await self._write(story, format, turn)
        except WriterError:
            raise
        except Exception as error:
            log.exception("drafting %s failed", story.lead.id)
            # Only its name: what it says may hold whatever was at hand.
            named = type(error).__name__
            raise WriterError(f"Writing failed with an error that Copydesk did not expect ({named}).") from error

    async def _write(self, story: Ranked, format: Format, turn: Turn | None) -> Draft:
        from copydesk.drafting.checks import check, subject_of  # noqa: PLC0415
        from copydesk.drafting.writer import brief_of  # noqa: PLC0415

        lead = story.lead
        also = tuple(source.name for source in story.score.sources if source.item_id != lead.id)
        # What could be written one way or another is decided by the source's own id: ours differ between desks.
        voice = turn.voice(self._voice, format) if turn else self._voice
        parameters = turn.parameters if turn else {}
        brief = brief_of(lead, format, voice, also=also)
        brief = msgspec.structs.replace(brief, item_id=lead.entry.ident, parameters=parameters)
        written = await self._writer.write(brief)
        now = self._ground.clock()
        images = own_picture(lead.entry, now)
        checks = check(written.text, subject_of(brief, recent=self._recent, images=images))
        return self._draft(story, format, written, images, checks)

    def _draft(
        self, story: Ranked, format: Format, written: "Written", images: tuple[DraftImage, ...], checks: Checks
    ) -> Draft:
        from copydesk.drafting.checks import confidence  # noqa: PLC0415

        now, lead = self._ground.clock(), story.lead
        return Draft(
            id=new_id(now),
            text=written.text,
            format=format,
            status=Status.PENDING_REVIEW,
            confidence=confidence(checks),
            feedback=None,
            rejection_feedback=None,
            scheduled_at=None,
            posted_at=None,
            post_id=None,
            item_id=lead.id,
            regenerated_from_id=None,
            created_at=now,
            updated_at=now,
            tags=self._tags.get(lead.source_id, ()),
            images=images,
            checks=checks,
            sentences=written.sentences,
            score=story.score,
            writer=self._writer.name,
        )

    async def _keep(
        self, story: Ranked, written: Sequence[Draft], errors: Sequence[WriterError], turns: Mapping[Format, Turn]
    ) -> bool:
        """Keep the drafts, what they mean for the items of their story, and the turns that were theirs.

        False, and nothing kept, where the story's item is gone, was drafted by another run first, or where nothing
        was written: a story that cannot be written today cannot be written tomorrow, and does not wait any longer.
        Raises _TurnTakenError, with nothing kept.
        """
        lead = story.lead
        told = f"told by {lead.source_name}"
        others = [(item.id, ItemState.DUPLICATE, told) for item in story.items if item.id != lead.id]

        def keep(conn: Connection, user_id: str) -> tuple[bool, dict[Format, Turn] | None]:
            if not written:
                reason = f"could not be drafted: {errors[0]}"
                items.settle(conn, user_id, [(item.id, ItemState.FILTERED, reason) for item in story.items])
            elif not items.settle(conn, user_id, [(lead.id, ItemState.DRAFTED, None)]):
                return False, None
            items.settle(conn, user_id, others)
            for draft in written:
                drafts.add(conn, user_id, self._new(story, draft, turns.get(draft.format)))
            # Also the turns of what could not be written: else the next story would fail in the same variant.
            if not all(take(conn, user_id, turn) for turn in turns.values()):
                raise _TurnTakenError
            return bool(written), _turns(conn, user_id, self._formats)

        kept, self._turns = await self._ground.write(keep)
        return kept

    def _new(self, story: Ranked, draft: Draft, turn: Turn | None) -> NewDraft:
        return NewDraft(
            draft=draft,
            source_id=story.lead.source_id,
            source_type=story.lead.source_type,
            story_id=story.story_id,
            origin=Origin.PIPELINE,
            run_id=self._report.run_id,
            experiment_id=turn.experiment_id if turn else None,
            variant_id=turn.variant_id if turn else None,
        )


class _TurnTakenError(Exception):
    """Another draft took the place in the experiment, or it has ended: the text is to be written once more."""


def _turns(conn: Connection, user_id: str, formats: Sequence[Format]) -> dict[Format, Turn]:
    """What an experiment gives the next draft of each format; nothing where none is active."""
    found = {kind: next_turn(conn, user_id, kind) for kind in formats}
    return {kind: turn for kind, turn in found.items() if turn is not None}


def _needed(
    conn: Connection, user_id: str, since: datetime
) -> tuple[VoiceProfile | None, tuple[str, ...], tuple[Source, ...]]:
    texts = drafts.texts_since(conn, user_id, since, MOST_RECENT)
    return voices.read(conn, user_id), texts, sources.every(conn, user_id)
