"""A state machine of two desks on one file and the reference model, compared after each step."""

import asyncio
import shutil
import tempfile
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant

from copydesk.desk import open_desk
from copydesk.errors import ConflictError
from copydesk.model.change import BulkChange
from copydesk.model.draft import Action
from copydesk.posting.fake import FakePlatform, FakeServer
from desk_fixtures import Watch, settings_at
from posting_fixtures import connect
from proof_desk import assert_agrees, drafts_in
from small_desk import Back, Refused, Small, SmallDesk
from small_tables import UNKNOWN, Values
from steps_fixtures import an_action, answered, change_of, check, furnished, tops, values_of, what_goes_with


class TwoDesks(RuleBasedStateMachine):
    """Runs operations on both desks and the model, on one clock."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp()) / "home"
        self.clock = Watch()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()

    @initialize()
    def begin(self) -> None:
        shutil.copytree(furnished(), self.home)
        self.first = drafts_in(self.home)
        self.ids = list(self.first)
        self.desks = [self.runner.run(self._open()) for _ in range(2)]
        self.runner.run(connect(self.desks[0], platform="somewhere"))
        drafts = {}
        for position, (draft_id, row) in enumerate(self.first.items()):
            values = Values(row["status"], row["text"], rejection_feedback=row["rejection_feedback"])
            drafts[draft_id] = Small(values, row["format"], row["confidence"], position)
        self.model = SmallDesk(drafts)

    async def _open(self):
        platforms = {"somewhere": FakePlatform(FakeServer())}
        context = open_desk(settings_at(self.home), clock=self.clock, platforms=platforms)
        return await self.stack.enter_async_context(context)

    def teardown(self) -> None:
        try:
            if hasattr(self, "first"):
                assert_agrees(self.home, self.first)
        finally:
            self.runner.run(self.stack.aclose())
            self.runner.close()
            shutil.rmtree(self.home.parent)

    # Invariants and queries of the model.

    @invariant()
    def both_see_what_the_model_says(self) -> None:
        predicted = {draft_id: (draft.values, draft.version) for draft_id, draft in self.model.drafts.items()}
        for desk in self.desks:
            listed = self.runner.run(desk.drafts.list(limit=100)).items
            assert {draft.id: (values_of(draft), draft.version) for draft in listed} == predicted
            counts = self.runner.run(desk.drafts.counts())
            assert {**counts.by_status, "archived": counts.archived} == self.model.counts()
        assert tops(self.home) == {
            draft_id: tuple(stack[-1].version if stack else None for stack in (draft.undo, draft.redo))
            for draft_id, draft in self.model.drafts.items()
        }

    def taking(self, action):
        return [draft_id for draft_id, draft in self.model.drafts.items() if action in draft.allowed]

    def times(self):
        stacks = [stack for draft in self.model.drafts.values() for stack in (draft.undo, draft.redo)]
        restorable = [stack[-1].before for stack in stacks if stack]
        values = [draft.values for draft in self.model.drafts.values()]
        return sorted({state.scheduled_at for state in [*restorable, *values] if state.scheduled_at})

    def those_in(self, *statuses):
        return [draft_id for draft_id, draft in self.model.drafts.items() if draft.values.status in statuses]

    def action(self, draft_id, how):
        return an_action(self.model.drafts[draft_id].allowed, how)

    def asking(self, action, feedback, later, how):
        return what_goes_with(action, feedback, self.clock() + timedelta(hours=later), how)

    def _state_text(self, draft_id, refusal):
        """Return the text by which a refusal names the draft's state."""
        if refusal.status == UNKNOWN:
            return "no draft"
        return "archived" if self.model.drafts[draft_id].values.archived else refusal.status

    def change_one(self, which, draft_id, predicted, asked, **options) -> None:
        result = self.answer(self.desks[which].drafts.change(draft_id, asked, **options))
        check(result, predicted)
        if predicted is None:
            draft = self.model.drafts[draft_id]
            assert (values_of(result), result.version) == (draft.values, draft.version)

    def answer(self, asked):
        return self.runner.run(answered(asked))

    def do_bulk(self, which, ids, action, asked) -> None:
        predicted = self.model.bulk(ids, self.clock(), action=action, **asked)
        request = change_of(action, None, asked)
        options = {
            "feedback": request.feedback,
            "scheduled_at": request.scheduled_at,
            "smart_schedule": request.smart_schedule,
        }
        change = BulkChange(action=Action(action), ids=tuple(ids), **options)
        outcome = self.runner.run(self.desks[which].drafts.bulk(change))
        unique_ids = list(dict.fromkeys(ids))
        assert list(outcome.results.succeeded) == [draft_id for draft_id in unique_ids if draft_id not in predicted]
        assert [failure.id for failure in outcome.results.failed] == [
            options for options in unique_ids if options in predicted
        ]
        for failure in outcome.results.failed:
            assert self._state_text(failure.id, predicted[failure.id]) in failure.error

    def take_back(self, which, kind, place) -> None:
        draft_id = None if place is None else self.ids[place]
        predicted = self.model.take_back(kind, self.clock(), draft_id)
        result = self.answer(getattr(self.desks[which].drafts, kind)(draft_id))
        if isinstance(predicted, Refused):
            assert isinstance(result, ConflictError), result
            if predicted.status != UNKNOWN:
                check(result, predicted)
        else:
            assert not isinstance(result, Exception), result
            failed = frozenset(failure.id for failure in result.failed)
            assert Back(frozenset(result.succeeded), failed) == predicted
