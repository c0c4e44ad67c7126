"""Two users do everything, also with each other's ids; each sees exactly what they would see alone on the desk."""

import asyncio
import re
import zlib

import pytest

from copydesk.http.table import OPERATIONS
from desk_fixtures import URL_ONE, FakeWeb, Watch, entry, feed
from http_service import run_service
from posting_fixtures import connect_account, fake_platforms

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
SLOTS = [{"dayOfWeek": day, "hour": hour, "minute": 0} for day in range(7) for hour in (9, 17)]
VARIANTS = [{"id": name, "label": name, "config": {"hashtags": number}} for number, name in enumerate("ab")]
EXPERIMENT = {"name": "Tags", "parameter": "hashtags", "variants": VARIANTS}
SOURCE = {"name": "One", "type": "rss", "url": URL_ONE, "config": {"tags": ["sea"]}}
WEBHOOK = {"url": "https://hooks.example/copydesk"}
REJECTED = {"action": "reject", "feedback": "Dull."}
RECORD = {"platform": "linkedin", "likes": 3, "impressions": 30}

# Request, body, and what its response is remembered as. Of `draft` the other user's is `other_draft`.
STEPS = [
    ("GET /drafts", None, {}),
    ("GET /voice", None, {}),
    ("GET /pipeline/stats", None, {}),
    ("POST /drafts", {"text": "One.", "tags": ["sea"]}, {"draft": "drafts.0.id", "item": "itemId"}),
    ("POST /drafts", {"text": "Two."}, {"second": "drafts.0.id"}),
    ("POST /drafts", {"text": "Three.", "format": "THREAD"}, {"third": "drafts.0.id"}),
    ("POST /drafts", {"prompt": "Ferries", "formats": ["SHORT", "BLOG"]}, {"generated": "drafts.0.id"}),
    ("POST /sources", SOURCE, {"source": "id"}),
    ("POST /sources", SOURCE, {}),
    ("POST /webhooks", WEBHOOK, {"webhook": "id"}),
    ("POST /pipeline", None, {"run": "id"}),
    ("POST /pipeline", {"sourceIds": ["{source}"]}, {}),
    ("PUT /schedule/slots", SLOTS, {}),
    ("PUT /voice", {"style": "Dry.", "avoid": ["{user}"]}, {}),
    # After the drafts: the variant that one gets follows from the random id of the experiment.
    ("POST /experiments", EXPERIMENT, {"experiment": "id"}),
    ("GET /drafts?limit=2", None, {"cursor": "nextCursor"}),
    ("GET /drafts?limit=2&cursor={cursor}", None, {}),
    ("GET /pipeline/runs?limit=1", None, {"runs_cursor": "nextCursor"}),
    ("PATCH /drafts/{draft}", {"text": "One, edited.", "action": "approve"}, {}),
    ("POST /drafts/{second}/edit", None, {"lease": "id"}),
    ("POST /drafts/{second}/comments", {"text": "Shorter?"}, {"comment": "id"}),
    ("PATCH /drafts/{second}", REJECTED, {}),
    ("PATCH /drafts/{third}", {"action": "approve"}, {}),
    ("POST /schedule/next", {"draftId": "{draft}"}, {}),
    ("GET /schedule/conflicts?scheduledAt=2026-11-21T17:00:00Z", None, {}),
    ("POST /schedule/auto", None, {}),
    ("POST /drafts/{third}/undo", None, {}),
    ("POST /drafts/{third}/checks", {"text": "Mine."}, {}),
    ("PATCH /drafts/{draft}", {"action": "post"}, {}),
    ("POST /engagement", {**RECORD, "draftId": "{draft}"}, {}),
    # The other user's ids, cursors and names.
    ("GET /drafts/{other_draft}", None, {}),
    ("PATCH /drafts/{other_draft}", {"action": "approve"}, {}),
    ("PATCH /drafts/{other_second}", {"text": "Mine."}, {}),
    ("PATCH /drafts/{other_third}", {"action": "post"}, {}),
    ("POST /drafts/bulk", {"action": "archive", "ids": ["{other_second}", "{second}", "{other_third}"]}, {}),
    ("POST /drafts/{other_draft}/undo", None, {}),
    ("POST /drafts/{other_draft}/images", {"image": 1}, {}),
    ("POST /drafts/{other_draft}/checks", {"text": "Mine."}, {}),
    ("PUT /drafts/{other_draft}/viewer", None, {}),
    ("GET /drafts/{other_draft}/activity", None, {}),
    ("DELETE /drafts/{other_draft}/viewer", None, {}),
    ("POST /drafts/{other_second}/edit", {"takeOver": True}, {}),
    ("PUT /drafts/{other_second}/edit", {"leaseId": "{other_lease}", "text": "Mine."}, {}),
    ("DELETE /drafts/{other_second}/edit", None, {}),
    ("DELETE /unsaved-edits/{other_lease}", None, {}),
    ("POST /drafts/{other_third}/approvals", None, {}),
    ("GET /drafts/{other_second}/comments", None, {}),
    ("POST /drafts/{other_second}/comments", {"text": "Mine."}, {}),
    ("PATCH /comments/{other_comment}", {"resolved": True}, {}),
    ("DELETE /comments/{other_comment}", None, {}),
    ("POST /schedule/next", {"draftId": "{other_third}"}, {}),
    ("POST /schedule/auto", {"draftIds": ["{other_third}"]}, {}),
    ("GET /schedule/conflicts?scheduledAt=2026-11-21T17:00:00Z&excludeDraftId={other_draft}", None, {}),
    ("GET /drafts?sourceId={other_source}", None, {}),
    ("GET /drafts?cursor={other_cursor}", None, {}),
    ("GET /pipeline/runs?cursor={other_runs_cursor}", None, {}),
    ("POST /pipeline", {"sourceIds": ["{other_source}"]}, {}),
    ("POST /engagement", {**RECORD, "draftId": "{other_draft}"}, {}),
    ("PATCH /experiments/{other_experiment}", {"action": "conclude"}, {}),
    ("PATCH /sources/{other_source}", {"enabled": False}, {}),
    ("POST /sources/{other_source}/test", None, {}),
    ("DELETE /sources/{other_source}", None, {}),
    ("GET /webhooks/{other_webhook}", None, {}),
    ("GET /webhooks/{other_webhook}/deliveries", None, {}),
    ("DELETE /webhooks/{other_webhook}", None, {}),
    ("GET /drafts/{other_item}", None, {}),
    # What each has at the end.
    ("GET /drafts/{draft}", None, {}),
    ("GET /needs-you", None, {}),
    ("GET /drafts?limit=100", None, {}),
    ("GET /drafts?tags=sea&status=posted", None, {}),
    ("GET /drafts?sourceId={source}", None, {}),
    ("GET /drafts/{second}/comments", None, {}),
    ("PATCH /comments/{comment}", {"resolved": True}, {}),
    ("DELETE /comments/{comment}", None, {}),
    ("GET /schedule/slots", None, {}),
    ("GET /pipeline/runs", None, {}),
    ("GET /pipeline/stats", None, {}),
    ("GET /engagement", None, {}),
    ("GET /engagement/trends", None, {}),
    ("GET /engagement/posts", None, {}),
    ("GET /experiments", None, {}),
    ("GET /experiments/plan", None, {}),
    ("PATCH /experiments/{experiment}", {"action": "conclude", "reason": "Enough seen."}, {}),
    ("GET /sources", None, {}),
    ("PATCH /sources/{source}", {"name": "Renamed"}, {}),
    ("POST /sources/{source}/test", None, {}),
    ("GET /voice", None, {}),
    ("GET /writers", None, {}),
    ("PUT /writers", {"names": ["offline"]}, {}),
    ("GET /drafts/{draft}/requests", None, {}),
    ("GET /voice/report", None, {}),
    ("POST /voice/preview", {"avoid": ["ferry"]}, {}),
    ("POST /voice/examples", {"content": "Written by {user} long ago."}, {}),
    ("GET /voice/examples", None, {}),
    ("GET /voice/posts?account={other_source}", None, {}),
    ("POST /rules", {"kind": "avoid", "term": "synergy"}, {"rule": "id"}),
    ("GET /rules", None, {}),
    ("GET /drafts/{second}/rules", None, {}),
    ("PATCH /rules/{rule}", {"enabled": False}, {}),
    ("DELETE /rules/{rule}", None, {}),
    ("GET /ranking/why?url=https://one.example/1", None, {}),
    ("POST /ranking/preview", {"interests": ["ferries"]}, {}),
    ("PUT /ranking", {"interests": ["{user}"]}, {}),
    ("GET /ranking", None, {}),
    ("DELETE /ranking", None, {}),
    ("POST /voice/reset", None, {}),
    ("DELETE /voice/reset", None, {}),
    ("GET /webhooks", None, {}),
    ("GET /webhooks/{webhook}", None, {}),
    ("GET /webhooks/{webhook}/deliveries", None, {}),
    ("DELETE /webhooks/{webhook}", None, {}),
    ("DELETE /sources/{source}", None, {}),
    ("GET /drafts?limit=100", None, {}),
]
# Times of events are the database's; the fake platform's addresses contain the id of the post; tokens are numbered.
VOLATILE = re.compile(
    r'("(?:nextCursor|secret|reviewer|resolvedBy|postId|timestamp|nextAttemptAt)":)"[^"]*"|"stageTiming":\{[^}]*\}|"https://fake\.[^"]*"'
)
VOLATILE_HEADERS = {"x-request-id", "ratelimit", "content-length"}


def unknown_id(name):
    """Return an id that nothing has, a different one for each name."""
    return f"019a5b2e-6c1f-7d3a-9b47-{zlib.crc32(name.encode()):012x}"


class Person:
    """A user with a client; remembers ids of what they created."""

    def __init__(self, name, service, client):
        self.name = name
        self.service = service
        self.client = client
        self.known = {"user": "somebody"}
        self.responses = []

    async def take(self, step, other):
        """Send the request, with the other's ids as far as there are any, and record the response."""
        line, body, remembered = step
        theirs = {f"other_{name}": value for name, value in (other.known if other else {}).items()}
        names = theirs | self.known
        method, _, path = fill(line, names).partition(" ")
        # Both use the same keys.
        headers = {"Idempotency-Key": f"step {STEPS.index(step)}".replace(" ", "-")} if method != "GET" else {}
        response = await self.client.request(method, path, json=fill(body, names), headers=headers)
        while self.service.service._tasks:
            await asyncio.gather(*self.service.service._tasks)
        for name, place in remembered.items():
            value = response.json()
            for part in place.split("."):
                value = value[int(part) if part.isdigit() else part]
            self.known[name] = value
        shown = {name: value for name, value in response.headers.items() if name not in VOLATILE_HEADERS}
        self.responses.append((line, response.status_code, shown, response.text))


def fill(value, names):
    if isinstance(value, str):
        return re.sub(r"\{(\w+)\}", lambda name: str(names.get(name[1]) or unknown_id(name[1])), value)
    if isinstance(value, dict):
        return {name: fill(inner, names) for name, inner in value.items()}
    return [fill(inner, names) for inner in value] if isinstance(value, list) else value


def normalized(responses):
    """Return the responses with ids by the order in which they appear, and without what is random."""
    numbers = {}

    def number(match):
        return f"id {numbers.setdefault(match[0], len(numbers))}"

    result = []
    for line, status, headers, text in responses:
        shown = UUID.sub(number, VOLATILE.sub(r"\1…", text))
        result.append((line, status, {name: UUID.sub(number, value) for name, value in headers.items()}, shown))
    return result


async def responses_of(home, names):
    """Let the users take the steps in turn on a new desk; return the normalized responses of the last one."""
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1), entry(2, hours=20), entry(3, hours=40)))
    async with run_service(home, clock=Watch(), transport=web, platforms=fake_platforms()) as service:
        people = []
        for name in names:
            person = Person(name, service, await service.client(user=name))
            people.append(person)
            user = next(user for user in await service.desks.users.list() if user.name == name)
            await connect_account(await service.desks.get(user), name)
        for step in STEPS:
            for person in people:
                await person.take(step, next((other for other in people if other is not person), None))
    return normalized(people[-1].responses)


@pytest.fixture(scope="module")
def transcripts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("isolation")
    alone = asyncio.run(responses_of(folder / "alone", ["anna"]))
    beside = asyncio.run(responses_of(folder / "beside", ["ben", "anna"]))
    return alone, beside


@pytest.mark.parametrize(
    "position", range(len(STEPS)), ids=[f"{number} {step[0]}" for number, step in enumerate(STEPS)]
)
def test_user_sees_what_they_would_see_alone(transcripts, position):
    alone, beside = transcripts
    assert beside[position] == alone[position]


def test_steps_are_about_something(transcripts):
    alone, _ = transcripts
    own = [(step[0], status) for step, (_, status, *_) in zip(STEPS, alone, strict=True) if "other_" not in str(step)]
    # The same source a second time.
    assert [line for line, status in own if status >= 400] == ["POST /sources"]
    assert {status for step, (_, status, *_) in zip(STEPS, alone, strict=True) if "other_" in str(step)} == {
        200,
        400,
        404,
    }


def test_steps_cover_every_operation():
    taken = {re.sub(r"\{\w+\}", "{id}", step[0]).partition("?")[0] for step in STEPS}
    # The stream has no end, and an image belongs to nobody until a draft names it.
    assert {f"{operation.method} {operation.path}" for operation in OPERATIONS} - taken == {
        "GET /events",
        "POST /images",
    }
