"""Tests for the deliveries that need the user, and for the answers."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec import structs

from copydesk.desk import Desk
from copydesk.desk.doctor import examine
from copydesk.errors import ConflictError
from copydesk.model.delivery import DeliveryReport
from copydesk.model.draft import Format, Status
from copydesk.posting.blogs.micropub import SETTLE_TIME, Micropub
from copydesk.posting.client import PlatformClient
from copydesk.posting.fake import FakePlatform, FakeServer, Fault
from copydesk.posting.platform import DeliveryGuarantees
from copydesk.settings import load
from desk_fixtures import NOW, Watch, execute_sql
from fake_blog import FakeClock, InMemorySecrets
from fake_blog import Fault as BlogFault
from fake_micropub import FakeMicropub
from posting_fixtures import ME, connect_account, create_approved_draft, draft_status, fake_platforms, open_posting_desk
from store_fixtures import database_variables

MINUTE = timedelta(minutes=1)
NO_LOOKUP = DeliveryGuarantees(can_read_back=False)
NO_ANSWER = [Fault.CUT_BEFORE, Fault.CUT_BEFORE]
"""Neither to the post nor to the look at the account."""


async def test_list_and_answers_by_situation(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    async with open_posting_desk(tmp_path, fake_platforms(server, guarantees=NO_LOOKUP), clock=watch) as desk:
        await connect_account(desk)
        assert (await desk.posting.list_needing_user(), (await desk.status()).needing_user) == ((), 0)
        texts = ["Unknown.", "Rejected.", "Fine.", "Waits for a login."]
        for text, faults in zip(texts, [NO_ANSWER, [Fault.REFUSED], [], [Fault.LOGIN]], strict=True):
            server.faults.extend(faults)
            await desk.posting.post(await create_approved_draft(desk, text), wait=60)
        questions = await desk.posting.list_needing_user()
        assert [(question.text, question.delivery.situation, question.answers) for question in questions] == [
            ("Unknown.", "cannot_check", ("posted", "again", "drop", "sign_in")),
            ("Rejected.", "rejected", ("posted", "again", "drop", "sign_in")),
            ("Waits for a login.", "needs_login", ("drop", "sign_in")),
        ]
        assert {question.profile_url for question in questions} == {"https://fake.example/me"}
        assert questions[0].delivery.in_doubt
        assert questions[0].known.endswith("Copydesk cannot check Fake Social.")
        assert (await desk.status()).needing_user == 3
        await connect_account(desk)
        assert [question.answers for question in await desk.posting.list_needing_user()] == [
            ("posted", "again", "drop"),
            ("posted", "again", "drop"),
        ]


async def test_delivery_without_account_is_listed(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.LOGIN)
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        await desk.posting.post(await create_approved_draft(desk), wait=60)
        execute_sql(tmp_path, "UPDATE delivery SET account_id = NULL")
        (question,) = await desk.posting.list_needing_user()
        assert (question.delivery.situation, question.answers) == ("disconnected", ("drop",))


async def test_unknown_outcome_that_is_checked_cannot_be_sent_again(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.LATE)
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        await desk.posting.post(await create_approved_draft(desk), wait=60)
        (question,) = await desk.posting.list_needing_user()
        assert (question.delivery.situation, question.answers) == ("check", ("posted", "drop"))
        with pytest.raises(ConflictError):
            await desk.posting.resend(question.delivery.id)


class LostArticle:
    """A desk that posts to a Micropub site which never gets the first request and never responds to it."""

    def __init__(self) -> None:
        self.clock = FakeClock(NOW)
        self.blog = FakeMicropub(self.clock)
        self.blog.faults.append(BlogFault.CUT_BEFORE)
        secrets = InMemorySecrets(token="t0ken", endpoint="https://micropub.example/api")
        self.platforms = {"micropub": Micropub(PlatformClient(self.blog), secrets, clock=self.clock)}

    async def post(self, desk: Desk) -> DeliveryReport:
        await connect_account(desk, platform="micropub")
        draft_id = await create_approved_draft(desk, "# Tea\n\nFirst, boil it.", "BLOG")
        await desk.posting.post(draft_id, wait=0)
        await desk.posting.drain()
        (report,) = await desk.posting.list_deliveries(draft_id)
        return report


async def test_site_without_list_asks_after_two_lookups(tmp_path: Path) -> None:
    lost = LostArticle()
    lost.blog.has_list = False
    async with open_posting_desk(tmp_path, lost.platforms, clock=lost.clock) as desk:
        first = await lost.post(desk)
        assert (first.state, first.situation, first.in_doubt) == ("unknown", "check", True)
        lost.clock.now += MINUTE
        (second,) = await desk.posting.send_due()
        assert (second.state, second.situation, second.in_doubt) == ("needs_user", "inconclusive", True)
        assert "micropub.example sent no list of its posts." in second.says
        (question,) = await desk.posting.list_needing_user()
        assert question.answers == ("posted", "again", "drop")
        with pytest.raises(ConflictError, match=r"The last request may still arrive.* Try again in 14 minutes\."):
            await desk.posting.resend(second.id)
        lost.clock.now = NOW + SETTLE_TIME
        assert (await desk.posting.resend(second.id)).state == "sent"
    assert len(lost.blog.posts) == 1


async def test_list_that_fails_once_is_looked_up_again(tmp_path: Path) -> None:
    lost = LostArticle()
    lost.blog.has_list = False
    async with open_posting_desk(tmp_path, lost.platforms, clock=lost.clock) as desk:
        report = await lost.post(desk)
        lost.blog.has_list = True
        lost.blog.add_post({"name": ["Old"], "content": ["x"], "mp-slug": ["old"]})
        lost.blog.posts[0]["properties"]["published"] = [(NOW - timedelta(days=1)).isoformat()]
        for _ in range(4):
            lost.clock.now += SETTLE_TIME
            await desk.posting.send_due()
        (report,) = await desk.posting.list_deliveries(report.draft_id)
        assert (report.state, report.situation) == ("sent", "posted")
    assert len(lost.blog.posts) == 2


@pytest.mark.parametrize("answer", ["posted", "again", "drop"])
async def test_answer_to_unknown_outcome_empties_the_list(tmp_path: Path, answer: str) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.extend(NO_ANSWER)
    async with open_posting_desk(tmp_path, fake_platforms(server, guarantees=NO_LOOKUP), clock=watch) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id, wait=60)
        (question,) = await desk.posting.list_needing_user()
        watch.now += 2 * MINUTE
        posting = desk.posting
        report = await {"posted": posting.mark_posted, "again": posting.resend, "drop": posting.give_up}[answer](
            question.delivery.id
        )
        situations = {"posted": "confirmed_by_user", "again": "posted", "drop": "dropped_in_doubt"}
        assert report.situation == situations[answer]
        assert await posting.list_needing_user() == ()
        assert await draft_status(desk, draft_id) == ("approved" if answer == "drop" else "posted")
    assert len(server.posts) == (1 if answer == "again" else 0)


async def test_failed_delivery_is_dropped_whatever_became_of_its_draft(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.REFUSED)
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        (question,) = await desk.posting.list_needing_user()
        await desk.drafts.unapprove(draft_id)
        assert await desk.posting.list_needing_user() == ()
        await desk.drafts.approve(draft_id)
        assert [other.delivery.id for other in await desk.posting.list_needing_user()] == [question.delivery.id]
        await desk.drafts.unapprove(draft_id)
        assert (await desk.posting.give_up(question.delivery.id)).situation == "dropped"
        assert await draft_status(desk, draft_id) == "awaiting_review"
        await desk.drafts.approve(draft_id)
        assert await desk.posting.list_needing_user() == ()
        # A delivery that was dropped can still be sent.
        assert (await desk.posting.post(draft_id)).posted == (ME,)


async def test_answers_of_two_users_send_once(tmp_path: Path) -> None:
    server, watch = FakeServer(), Watch()
    server.faults.extend(NO_ANSWER)
    async with open_posting_desk(tmp_path, fake_platforms(server, guarantees=NO_LOOKUP), clock=watch) as desk:
        await connect_account(desk)
        await desk.posting.post(await create_approved_draft(desk), wait=60)
        (question,) = await desk.posting.list_needing_user()
        watch.now += 2 * MINUTE
        await desk.posting.resend(question.delivery.id)
        for answer in (desk.posting.resend, desk.posting.mark_posted, desk.posting.give_up):
            with pytest.raises(ConflictError, match="Nothing changed"):
                await answer(question.delivery.id)
    assert len(server.posts) == 1


async def test_drafts_without_account_are_listed_by_what_they_wait_for(tmp_path: Path) -> None:
    watch = Watch()
    async with open_posting_desk(tmp_path, fake_platforms(FakeServer()), clock=watch) as desk:
        for text, platforms in (("Any.", []), ("Toot.", ["mastodon"]), ("Due toot.", ["mastodon"])):
            draft = (await desk.drafts.create({"text": text, "targetPlatforms": platforms})).drafts[0]
            await desk.drafts.approve(draft.id)
        await desk.drafts.schedule(draft.id, watch.now + MINUTE)
        assert [missing.known for missing in await desk.posting.list_missing_accounts()] == [
            "No account is connected: 2 approved drafts cannot be posted."
        ]
        watch.now += 2 * MINUTE
        (missing,) = await desk.posting.list_missing_accounts()
        assert (missing.due, missing.approved, missing.text) == (1, 2, "Due toot.")
        await connect_account(desk)
        (missing,) = (await desk.posting.needs_you()).accounts
        assert (
            missing.known == "No account for Mastodon is connected: 1 due draft and 1 approved draft cannot be posted."
        )
        connect, elsewhere = "copydesk account connect mastodon", f"copydesk draft post {draft.id[-6:]} --to NAME"
        assert missing.advice == f"Connect one: {connect}. Post it elsewhere: {elsewhere}"
        assert (await desk.status()).needing_user == 1
        for waiting in (await desk.drafts.list(status=Status.APPROVED)).items:
            await desk.drafts.unapprove(waiting.id)
        # The due draft.
        assert (await desk.status()).needing_user == 1
        await desk.drafts.cancel_schedule(draft.id)
        await desk.drafts.unapprove(draft.id)
        assert (await desk.posting.list_missing_accounts(), (await desk.status()).needing_user) == ((), 0)


async def test_format_that_no_account_takes_is_listed(tmp_path: Path) -> None:
    platform = FakePlatform(FakeServer())
    limits = structs.replace(platform.info.limits, formats=frozenset((Format.SHORT,)))
    platform.info = structs.replace(platform.info, limits=limits)
    async with open_posting_desk(tmp_path, {"fake": platform}) as desk:
        await connect_account(desk)
        draft = (await desk.drafts.create({"text": "# Title\n\nA story.", "format": "BLOG"})).drafts[0]
        await desk.drafts.approve(draft.id)
        (missing,) = await desk.posting.list_missing_accounts()
        assert missing.known == "No connected account takes a BLOG: 1 approved draft cannot be posted."


async def test_doctor_says_which_account_is_missing(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms(FakeServer())) as desk:
        draft = (await desk.drafts.create({"text": "Toot.", "targetPlatforms": ["mastodon"]})).drafts[0]
        await connect_account(desk)
        await desk.drafts.approve(draft.id)
    findings = await examine(
        load(database_variables(tmp_path), tmp_path), lambda: open_posting_desk(tmp_path, fake_platforms(FakeServer()))
    )
    (found,) = [finding for finding in findings if finding.found.startswith("No account for Mastodon")]
    assert (found.what, found.verdict) == ("accounts", "warning")
    assert found.advice.startswith("Connect one: copydesk account connect mastodon.")


async def test_doctor_counts_deliveries_and_tells_of_an_older_database(tmp_path: Path) -> None:
    server = FakeServer()
    server.faults.append(Fault.REFUSED)
    settings = load(database_variables(tmp_path), tmp_path)

    def open_desk() -> object:
        return open_posting_desk(tmp_path, fake_platforms(server))

    async with open_desk() as desk:
        await connect_account(desk)
        await desk.posting.post(await create_approved_draft(desk))
    findings = {
        finding.found: finding for finding in await examine(settings, open_desk) if finding.what == "deliveries"
    }
    assert [(found, finding.advice) for found, finding in findings.items()] == [
        ("1 delivery needs you.", "See what is known, and answer: copydesk needs-you")
    ]
    marks = json.loads((tmp_path / "sends.json").read_text())
    (tmp_path / "sends.json").unlink()
    (_, older) = [finding for finding in await examine(settings, open_desk) if finding.what == "deliveries"]
    assert older.found.startswith("This machine has no record of the posts until ")
    assert older.advice.startswith("If other machines have posted, copy sends.json from one of them")
    assert not (tmp_path / "sends.json").exists()
    # A mark that it does not know: the database is an older copy.
    for unknown in marks["desks"].values():
        unknown[0]["deliveryId"] = "lost"
    (tmp_path / "sends.json").write_text(json.dumps(marks))
    (_, older) = [finding for finding in await examine(settings, open_desk) if finding.what == "deliveries"]
    assert older.found.startswith("The database went back to an older state: it lacks posts sent until ")
