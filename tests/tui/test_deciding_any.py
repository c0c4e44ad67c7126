"""Whatever a person does, and in whatever order, the screen shows what the desk has."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from copydesk.model.draft import ListedDraft
from copydesk.tui.widgets.queue import Queue
from deciding_fixtures import Review, reviewing

KEYS = ("a", "x", "u", "ctrl+r", "k", "g", "r")
ANSWERED = "r"
"""The key that asks for a line."""


@settings(max_examples=6, phases=(Phase.explicit, Phase.generate))
@given(
    st.lists(st.tuples(st.sampled_from(KEYS), st.booleans()), min_size=3, max_size=14),
)
def test_any_course_of_decisions_and_undos_leaves_the_screen_as_the_desk_is(course: list[tuple[str, bool]]) -> None:
    with TemporaryDirectory() as home:
        asyncio.run(_go_through(Path(home), course))


async def _go_through(home: Path, course: list[tuple[str, bool]]) -> None:
    async with reviewing(home) as review:
        for key, at_once in course:
            if key == ANSWERED:
                await review.press(key, "enter")
            elif at_once:
                review.app.simulate_key(key)
            else:
                await review.press(key)
        await review.wait()
        drafts = {draft.id: draft for draft in (await review.desk.drafts.list(limit=100)).items}
        for row in review.screen.query_one(Queue).window.rows:
            _same(review, row, drafts[row.id])


def _same(review: Review, row: ListedDraft, draft: ListedDraft) -> None:
    standing = review.screen.deciding.standing(row)
    assert (standing.status, standing.archived) == (draft.status, draft.archived_at is not None), row.text
    assert row.status == draft.status, row.text
