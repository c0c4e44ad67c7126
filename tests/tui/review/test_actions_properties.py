"""Property test: after any series of decisions and undos the screen shows the desk's state."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from copydesk.model.draft import ListedDraft
from copydesk.tui.review.draft_queue import DraftQueue
from review_driver import ReviewDriver, open_review
from sampling import sample_size

KEYS = ("a", "x", "u", "ctrl+r", "k", "g", "r")
PROMPTING_KEY = "r"
"""The key that opens a prompt."""


@settings(max_examples=sample_size(24), phases=(Phase.explicit, Phase.generate))
@given(
    st.lists(st.tuples(st.sampled_from(KEYS), st.booleans()), min_size=3, max_size=14),
)
def test_screen_matches_desk_after_random_decisions(steps: list[tuple[str, bool]]) -> None:
    with TemporaryDirectory() as home:
        asyncio.run(_run_keys(Path(home), steps))


async def _run_keys(home: Path, steps: list[tuple[str, bool]]) -> None:
    async with open_review(home) as review:
        for key, fast in steps:
            if key == PROMPTING_KEY:
                await review.press(key, "enter")
            elif fast:
                review.app.simulate_key(key)
            else:
                await review.press(key)
        await review.wait()
        drafts = {draft.id: draft for draft in (await review.desk.drafts.list(limit=100)).items}
        for row in review.screen.query_one(DraftQueue).window.rows:
            _assert_same_state(review, row, drafts[row.id])


def _assert_same_state(review: ReviewDriver, row: ListedDraft, draft: ListedDraft) -> None:
    state = review.screen.changes.current_state(row)
    assert (state.status, state.archived) == (draft.status, draft.archived_at is not None), row.text
    assert row.status == draft.status, row.text
