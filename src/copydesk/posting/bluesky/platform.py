"""Bluesky as a Platform: a post, or a whole thread, in one request that makes all of it or nothing.

The keys of the records are ours, so a second request makes nothing (the server answers it with 500), and each post is
found again by its key. What is there is compared with the hash that our own content has: nothing else passes for it.
The pictures come with `send`. They are uploaded before the post, as often as that takes: the same bytes are the same
file, and one that no post names is swept away by the server.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import ClassVar

import msgspec

from copydesk.model.draft import Format
from copydesk.model.wire import to_wire
from copydesk.posting.bluesky import records
from copydesk.posting.bluesky.answers import Counted, Done, Found, Uploaded, expected, known, typed, wrong_with
from copydesk.posting.bluesky.answers import figures as figures_of
from copydesk.posting.bluesky.answers import made as made_of
from copydesk.posting.bluesky.records import COLLECTION, Writes
from copydesk.posting.bluesky.session import PASSWORD, REFRESH, Session, Sessions, fault_of
from copydesk.posting.http import Caller
from copydesk.posting.platform import (
    Account,
    Connected,
    Evidence,
    Figures,
    Intent,
    Limits,
    LoginError,
    Made,
    NotSentError,
    Picture,
    Post,
    Problem,
    RefusedPostError,
    Secrets,
    Step,
    Trust,
    UnknownOutcomeError,
    Wanted,
)
from copydesk.posting.site import own_server

MOST_PARTS = 100
"""As many keys as one delivery has; the server would take 200 posts at once."""
MOST_ASKED = 25
"""Posts whose figures are asked for at once (app.bsky.feed.getPosts)."""


class Bluesky:
    """Accounts on bsky.social or on any other PDS, with an app password."""

    name: ClassVar[str] = "bluesky"
    limits: ClassVar[Limits] = Limits(
        formats=frozenset({Format.SHORT, Format.THREAD}),
        pictures=4,
        picture_bytes=2_000_000,
        alt_characters=2000,  # the server has no limit; Bluesky's own app takes so many
    )
    home: ClassVar[str] = "https://bsky.social"
    wants: ClassVar[tuple[Wanted, ...]] = (
        Wanted(name="handle", question="Handle, like me.bsky.social"),
        Wanted(
            name=PASSWORD,
            question="App password (Settings, Privacy and security, App passwords)",
            secret=True,
        ),
    )

    def __init__(self, caller: Caller, secrets: Secrets, *, clock: Callable[[], datetime]) -> None:
        self._caller = caller
        self._sessions = Sessions(caller, secrets, clock)

    def trust(self, account: Account) -> Trust:
        """Keys are honoured for ever."""
        return Trust(keyed=True)

    def problems(self, post: Post, account: Account) -> Sequence[Problem]:
        """Posts that are too long or empty, threads of too many, too many pictures."""
        if post.format not in self.limits.formats:
            return [Problem(message="Bluesky takes no articles.")]
        found = [] if post.parts else [Problem(message="It has no text.")]
        if len(post.parts) > MOST_PARTS:
            found.append(Problem(message=f"It has {len(post.parts)} posts; {MOST_PARTS} go into one thread."))
        if len(post.alts) > self.limits.pictures:
            found.append(Problem(message=f"It has {len(post.alts)} pictures; Bluesky takes {self.limits.pictures}."))
        for place, text in enumerate(post.parts):
            if says := wrong_with(text, may_be_empty=bool(post.alts) and place == 0):
                found.append(Problem(message=says, part=place))
        return found

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """One step for the post or the whole thread. Mentions stay plain text: see `facets`."""
        writes = records.writes_for(post, account.id, seed)
        keys = tuple(each.rkey for each in writes.writes)
        expects = tuple(records.uri_of(account.id, key) for key in keys)
        body = to_wire(writes)
        assert isinstance(body, dict)
        return Intent(steps=(Step(keys=keys, body=body, expects=expects),), at=post.at)

    async def connect(self, server: str, given: Mapping[str, str]) -> Connected:
        """Get in with handle and app password."""
        asked = own_server(server)
        session = await self._sessions.sign_in(asked, typed(given["handle"]), given[PASSWORD].strip())
        account = known(Account(platform=self.name, server=asked, id=session.did, name=""), session)
        return Connected(account=account, secrets={PASSWORD: given[PASSWORD].strip(), REFRESH: session.refresh_jwt})

    async def check(self, account: Account) -> Account:
        """The account with its handle and server as they are now."""
        session = await self._sessions.read(account, "com.atproto.server.getSession", Session)
        if session.did != account.id:
            raise LoginError(f"{account.name} is another account now.", hint="Connect it again.")
        return known(account, session)

    async def send(
        self, account: Account, intent: Intent, made: Sequence[Made], pictures: Sequence[Picture] = ()
    ) -> Made:
        """Upload the pictures, and make all posts at once."""
        step = intent.steps[len(made)]
        writes = msgspec.convert(step.body, Writes)
        planned = records.images_of(writes)
        if len(planned) != len(pictures):
            raise RefusedPostError(f"The post is about {len(planned)} pictures, and {len(pictures)} are at hand.")
        pairs = zip(pictures, planned, strict=True)
        images = [records.image_of(picture, image.alt) for picture, image in pairs]
        for picture in pictures:
            await self._upload(account, picture)
        whole, cids = records.completed(writes, images)
        answer = await self._sessions.ask(account, "POST", "com.atproto.repo.applyWrites", json=to_wire(whole))
        if not answer.good:
            raise self._sessions.wrong(account.server, answer)
        results = answer.read(Done).results
        if [(each.uri, each.cid) for each in results] != list(zip(step.expects, cids, strict=True)):
            raise UnknownOutcomeError("Bluesky says that it made something else than it was asked for.")
        return made_of(account, step)

    async def look_up(self, account: Account, intent: Intent, made: Sequence[Made], since: datetime) -> Made | None:
        """The posts by their keys, all with the content that was sent, or none of them."""
        step = intent.steps[len(made)]
        found = [await self._record(account, key) for key in step.keys]
        there = [each for each in found if each is not None]
        if not there:
            return None
        if len(there) < len(found):
            raise UnknownOutcomeError(
                f"{len(there)} of {len(found)} posts of the thread are there: somebody has deleted the rest.",
                hint="Look at the thread, and mark it as posted or send it again.",
            )
        if [each.cid for each in there] != expected(step, there[0]):
            raise UnknownOutcomeError(
                "There is a post under the key of this one, and it says something else.",
                hint="Look at your profile, and mark it as posted or send it again.",
            )
        return msgspec.structs.replace(made_of(account, step), evidence=Evidence.READ_BACK)

    async def delete(self, account: Account, made: Made) -> None:
        """Take the posts back, the last one first."""
        ours = records.uri_of(account.id, "")
        for uri in reversed(made.ids):
            if not uri.startswith(ours):
                raise RefusedPostError(f"{uri} is no post of {account.name}.")
            asked = {"repo": account.id, "collection": COLLECTION, "rkey": uri.removeprefix(ours)}
            answer = await self._sessions.ask(account, "POST", "com.atproto.repo.deleteRecord", json=asked)
            if not answer.good:
                raise self._sessions.wrong(account.server, answer)

    async def figures(self, account: Account, ids: Sequence[str]) -> Mapping[str, Figures | None]:
        """What Bluesky's index counts, which the account's own server asks; it counts no views and no clicks.

        The index lags behind, and some servers it does not read at all: a post is gone only where its own server
        says so. Of one that the index alone lacks nothing is reported.
        """
        found: dict[str, Figures | None] = dict.fromkeys(ids)
        for start in range(0, len(ids), MOST_ASKED):
            query = [("uris", uri) for uri in ids[start : start + MOST_ASKED]]
            counted = await self._sessions.read(account, "app.bsky.feed.getPosts", Counted, query)
            found.update((each.uri, figures_of(each)) for each in counted.posts if each.uri in found)
        for uri in [uri for uri, figures in found.items() if figures is None]:
            if await self._record(account, uri.rpartition("/")[2]):
                found[uri] = Figures()
        return found

    async def _upload(self, account: Account, picture: Picture) -> None:
        """Give the server a picture; where that fails no post was made."""
        name = "com.atproto.repo.uploadBlob"
        try:
            answer = await self._sessions.ask(
                account, "POST", name, content=picture.content, media_type=picture.media_type
            )
            if answer.good and answer.read(Uploaded).blob == records.blob_of(picture):
                return
        except UnknownOutcomeError as error:
            raise NotSentError(f"A picture was not uploaded: {error.message}") from None
        if answer.good:
            raise NotSentError("A picture was not uploaded: what the server has of it is something else.")
        found = self._sessions.wrong(account.server, answer)
        raise NotSentError(found.message) if isinstance(found, UnknownOutcomeError) else found

    async def _record(self, account: Account, key: str) -> Found | None:
        """What is under a key; None where the server says that there is nothing."""
        asked = {"repo": account.id, "collection": COLLECTION, "rkey": key}
        url = f"{account.server}/xrpc/com.atproto.repo.getRecord"
        try:
            answer = await self._caller.ask("GET", url, params=asked)
            if answer.good:
                return answer.read(Found)
        except UnknownOutcomeError as error:
            raise NotSentError(f"Nobody could look: {error.message}") from None
        if answer.status in (400, 404) and fault_of(answer).error == "RecordNotFound":
            return None
        raise self._sessions.unread(account.server, answer)
