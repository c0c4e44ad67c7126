"""Tests for the roles of the reviewers of one desk: what each may do, and who may give them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from copydesk.desk import Desk, open_desk
from copydesk.errors import ConflictError, InvalidError, NotFoundError, RoleError, StoreCorruptError
from copydesk.model.draft import Action, Status
from copydesk.model.role import Reviewer, Role
from copydesk.model.token import Scope
from copydesk.store.database import COMMIT_BATCH_SIZE
from desk_fixtures import NOW, URL_ONE, execute_sql, open_desk_at, settings_at
from draft_consistency import dump_tables
from posting_fixtures import connect_account, fake_platforms

LATER = NOW + timedelta(hours=3)


def open_as(reviewer: str, home: Path, now: datetime = NOW) -> AbstractAsyncContextManager[Desk]:
    """Open the desk as this reviewer would, with a platform that accepts everything."""
    settings = settings_at(home, console__reviewer=reviewer)
    return open_desk(settings, clock=lambda: now, platforms=fake_platforms())


class Team:
    """The desk as the owner and one person of each role see it, with a draft."""

    def __init__(self, desks: dict[str, Desk], draft_id: str) -> None:
        self.owner, self.writer = desks["owner"], desks["writer"]
        self.reviewer, self.publisher = desks["reviewer"], desks["publisher"]
        self.stranger = desks["stranger"]
        self.draft_id = draft_id


@pytest.fixture
async def team(tmp_path: Path) -> AsyncIterator[Team]:
    async with AsyncExitStack() as stack:
        desks = {
            name: await stack.enter_async_context(open_as(name, tmp_path)) for name in ("owner", "stranger", *Role)
        }
        for role in Role:
            await desks["owner"].reviewers.set_role(role, role)
        draft = (await desks["owner"].drafts.create({"text": "The ferry sails again."})).drafts[0]
        yield Team(desks, draft.id)


async def test_without_roles_everybody_may_do_everything(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path, console__reviewer="ben") as ben:
        draft_id = (await ben.drafts.create({"text": "The ferry sails."})).drafts[0].id
        await ben.drafts.approve(draft_id)
        await ben.drafts.schedule(draft_id, LATER)
        assert await ben.reviewers.list() == ()


async def test_damaged_roles_are_reported_as_such(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        draft_id = (await desk.drafts.create({"text": "The ferry sails."})).drafts[0].id
        execute_sql(tmp_path, """UPDATE "user" SET roles = '[1]'""")
        with pytest.raises(StoreCorruptError):
            await desk.drafts.approve(draft_id)


async def test_first_role_makes_its_giver_a_publisher(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path, console__reviewer="anna") as anna:
        given = await anna.reviewers.set_role("ben", Role.WRITER)
        assert given == (Reviewer("anna", Role.PUBLISHER), Reviewer("ben", Role.WRITER))
        assert await anna.reviewers.list() == given


async def test_desk_always_has_a_publisher(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path, console__reviewer="anna") as anna:
        with pytest.raises(ConflictError, match="Nobody would be a publisher"):
            await anna.reviewers.set_role("anna", Role.WRITER)
        await anna.reviewers.set_role("ben", Role.WRITER)
        with pytest.raises(ConflictError, match="Nobody would be a publisher"):
            await anna.reviewers.remove("anna")
        await anna.reviewers.remove("ben")
        # The last one: after that there are no roles.
        assert await anna.reviewers.remove("anna") == ()


async def test_invalid_reviewers_are_refused(team: Team) -> None:
    for name in ("", " ", "x" * 101):
        with pytest.raises(InvalidError):
            await team.owner.reviewers.set_role(name, Role.WRITER)
    with pytest.raises(InvalidError):
        await team.owner.reviewers.set_role("ben", "boss")  # type: ignore[arg-type]
    with pytest.raises(NotFoundError, match="'nobody' has no role"):
        await team.owner.reviewers.remove("nobody")


async def test_number_of_roles_is_limited(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.desk.reviewers.MAX_REVIEWERS", 4)
    with pytest.raises(ConflictError, match="4 reviewers have a role already"):
        await team.owner.reviewers.set_role("ben", Role.WRITER)
    await team.owner.reviewers.set_role("writer", Role.REVIEWER)


async def test_only_publishers_give_roles(team: Team) -> None:
    with pytest.raises(RoleError, match="This needs the role publisher; yours is reviewer"):
        await team.reviewer.reviewers.set_role("reviewer", Role.PUBLISHER)
    with pytest.raises(RoleError):
        await team.writer.reviewers.remove("reviewer")
    await team.publisher.reviewers.set_role("writer", Role.REVIEWER)
    await team.writer.drafts.approve(team.draft_id)


async def test_person_without_a_role_is_a_writer_once_somebody_has_one(team: Team) -> None:
    with pytest.raises(RoleError, match="This needs the role reviewer; yours is writer"):
        await team.stranger.drafts.approve(team.draft_id)


async def test_writer_writes_and_decides_nothing(team: Team, tmp_path: Path) -> None:
    drafts = team.writer.drafts
    await drafts.edit(team.draft_id, "The ferry sails again today.")
    await drafts.comments.add(team.draft_id, "Which one?")
    await drafts.create({"text": "Another one."})
    await drafts.activity.start_edit(team.draft_id)
    await drafts.activity.end_edit(team.draft_id)
    # Their own edit, which approves nothing.
    await drafts.undo()
    await drafts.redo(team.draft_id)
    await drafts.undo(team.draft_id)
    before = dump_tables(tmp_path)
    for refused in (
        lambda: drafts.approve(team.draft_id),
        lambda: drafts.reject(team.draft_id, "Dull."),
        lambda: drafts.archive(team.draft_id),
        lambda: drafts.bulk({"action": "approve", "ids": [team.draft_id]}),
        lambda: drafts.bulk_all(Action.REJECT, [team.draft_id]),
        lambda: drafts.activity.start_edit(team.draft_id, take_over=True),
        lambda: team.writer.rules.add({"kind": "avoid", "term": "ferry", "draftId": team.draft_id}),
        lambda: team.writer.sources.create({"type": "rss", "url": URL_ONE}, test=False),
        lambda: team.writer.voice.update({"style": "dry"}),
        lambda: team.writer.voice.add_examples(["The ferry sails again."]),
        lambda: team.writer.tokens.create("agent", Scope.PUBLISH),
        lambda: team.writer.accounts.connect("mastodon", {}),
        lambda: team.writer.writers.add({}),
        lambda: team.writer.schedule.set_zone("Europe/Berlin"),
        lambda: team.writer.posting.post(team.draft_id),
    ):
        await assert_refused(refused, yours="writer")
    assert dump_tables(tmp_path) == before


async def assert_refused(work: Callable[[], Awaitable[object]], *, yours: str) -> None:
    """Assert that the role does not allow the work."""
    with pytest.raises(RoleError, match=rf"needs the role (reviewer|publisher); yours is {yours}\."):
        await work()


async def test_reviewer_decides_and_publishes_nothing(team: Team) -> None:
    await connect_account(team.owner)
    await team.reviewer.drafts.approve(team.draft_id)
    await team.reviewer.drafts.edit(team.draft_id, "The ferry sails again, at last.")
    for refused in (
        lambda: team.reviewer.drafts.schedule(team.draft_id, LATER),
        lambda: team.reviewer.drafts.schedule_all_at([team.draft_id], LATER),
        lambda: team.reviewer.schedule.schedule_next(team.draft_id),
        lambda: team.reviewer.posting.post(team.draft_id),
        lambda: team.reviewer.accounts.remove("fake:anna"),
    ):
        await assert_refused(refused, yours="reviewer")
    await team.publisher.drafts.schedule(team.draft_id, LATER)
    # The undo would take the time away.
    await assert_refused(lambda: team.reviewer.drafts.undo(team.draft_id), yours="reviewer")
    await team.publisher.drafts.undo(team.draft_id)
    await team.publisher.posting.post(team.draft_id)
    assert (await team.owner.drafts.get(team.draft_id)).status is Status.POSTED


async def test_approved_text_is_edited_by_reviewers_only(team: Team) -> None:
    await team.reviewer.drafts.approve(team.draft_id)
    await assert_refused(lambda: team.writer.drafts.edit(team.draft_id, "Something else."), yours="writer")
    # The approval is not the writer's to take back, by undo either.
    await assert_refused(lambda: team.writer.drafts.undo(team.draft_id), yours="writer")
    await assert_refused(team.writer.drafts.undo, yours="writer")
    assert (await team.owner.drafts.get(team.draft_id)).status is Status.APPROVED


async def test_refused_bulk_is_one_error_and_leaves_nothing_to_resume(team: Team) -> None:
    created = [
        (await team.owner.drafts.create({"text": f"Number {number}."})).drafts[0]
        for number in range(COMMIT_BATCH_SIZE + 1)
    ]
    await assert_refused(
        lambda: team.writer.drafts.bulk_all(Action.APPROVE, [draft.id for draft in created]), yours="writer"
    )
    assert await team.owner.drafts.interrupted_bulks() == ()


async def test_change_of_a_role_counts_at_once(team: Team) -> None:
    await team.owner.reviewers.set_role("writer", Role.REVIEWER)
    await team.writer.drafts.approve(team.draft_id)
    await team.owner.reviewers.set_role("writer", Role.WRITER)
    await assert_refused(lambda: team.writer.drafts.unapprove(team.draft_id), yours="writer")


async def test_background_work_needs_no_role(team: Team, tmp_path: Path) -> None:
    """Whoever runs the daemon may be nobody in particular: what others have scheduled is posted."""
    await connect_account(team.owner)
    await team.owner.drafts.approve(team.draft_id)
    await team.owner.drafts.schedule(team.draft_id, LATER)
    async with open_as("stranger", tmp_path, LATER) as late:
        await late.schedule.due_drafts.dispatch_due()
        await late.posting.send_due()
        assert (await late.drafts.get(team.draft_id)).status is Status.POSTED
