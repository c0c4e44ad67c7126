"""Reviewers who act at random on the drafts of one queue, and remember what they did and typed.

Run as a script, one of them works in a process of its own.
"""

import asyncio
import json
import random
import sys
from itertools import count
from pathlib import Path

from copydesk.errors import ConflictError
from desk_fixtures import open_desk_at

DECISIONS = ("approve", "reject", "unapprove")
CONTESTED = 100
"""Drafts on which every reviewer acts often."""


class RefusedError(Exception):
    """The request was refused because of the draft's state."""


class Desk:
    """A reviewer at a console."""

    def __init__(self, desk) -> None:
        self._drafts = desk.drafts

    async def change(self, draft_id, **fields):
        """Edit or decide; return the version that this made."""
        return (await self._drafts.change(draft_id, fields)).version

    async def start_edit(self, draft_id, take_over):
        return (await self._drafts.activity.start_edit(draft_id, take_over=take_over)).id

    async def type(self, draft_id, lease, text):
        await self._drafts.activity.renew_edit(draft_id, lease, text)

    async def comment(self, draft_id, text):
        await self._drafts.comments.add(draft_id, text)

    async def countersign(self, draft_id):
        await self._drafts.activity.countersign(draft_id)


class Client:
    """A reviewer whose program sends requests."""

    def __init__(self, client) -> None:
        self._client = client

    async def _send(self, method, path, body=None):
        response = await self._client.request(method, f"/drafts/{path}", json=body)
        if response.status_code == 409:
            raise RefusedError
        assert response.is_success, response.text
        return response.json()

    async def change(self, draft_id, **fields):
        return (await self._send("PATCH", draft_id, fields))["version"]

    async def start_edit(self, draft_id, take_over):
        return (await self._send("POST", f"{draft_id}/edit", {"takeOver": take_over}))["id"]

    async def type(self, draft_id, lease, text):
        await self._send("PUT", f"{draft_id}/edit", {"leaseId": lease, "text": text})

    async def comment(self, draft_id, text):
        await self._send("POST", f"{draft_id}/comments", {"text": text})

    async def countersign(self, draft_id):
        await self._send("POST", f"{draft_id}/approvals")


class Reviewer:
    """Acts at random, and remembers what was done and typed."""

    def __init__(self, name, actor, ids, seed) -> None:
        self.name = name
        self._actor = actor
        self.ids = ids
        self._rng = random.Random(seed)
        self._numbers = count()
        self._leases = {}
        self.typed = {}
        """The last text by draft and lease, unless it was saved."""
        self.changes = []
        """(draft, version, action or text)"""
        self.countersigned = []
        self.comments = []
        self.refusals = 0

    async def act(self, steps):
        for _ in range(steps):
            # Half of the time one of a few drafts, so that reviewers of a long queue meet.
            draft_id = self._rng.choice(self.ids[:CONTESTED] if self._rng.random() < 0.5 else self.ids)
            try:
                await self._step(draft_id)
            except (ConflictError, RefusedError):
                self.refusals += 1

    async def _step(self, draft_id):
        choice = self._rng.random()
        if choice < 0.35:
            action = self._rng.choice(DECISIONS)
            self.changes.append((draft_id, await self._actor.change(draft_id, action=action), action))
        elif choice < 0.4:
            await self._actor.countersign(draft_id)
            self.countersigned.append(draft_id)
        elif choice < 0.45:
            text = self._new_text("says")
            await self._actor.comment(draft_id, text)
            self.comments.append((draft_id, self.name, text))
        elif draft_id not in self._leases or choice < 0.6:
            self._leases[draft_id] = await self._actor.start_edit(draft_id, self._rng.random() < 0.5)
        elif choice < 0.85:
            text = self._new_text("typed")
            # Before it is sent: it must not be lost even if it is refused.
            self.typed[draft_id, self._leases[draft_id]] = text
            await self._actor.type(draft_id, self._leases[draft_id], text)
        else:
            lease = self._leases[draft_id]
            text = self.typed.get((draft_id, lease)) or self._new_text("saved")
            self.changes.append((draft_id, await self._actor.change(draft_id, text=text), text))
            self.typed.pop((draft_id, lease), None)
            del self._leases[draft_id]

    def _new_text(self, what):
        return f"{self.name} {what} {next(self._numbers)}."

    def record(self):
        """Return what was done, as it is passed between processes."""
        typed = [(*key, text) for key, text in self.typed.items()]
        done = {"changes": self.changes, "countersigned": self.countersigned, "comments": self.comments}
        return done | {"typed": typed, "refusals": self.refusals}

    def add_record(self, record):
        """Take over what a reviewer of the same name did in another process."""
        self.changes += [tuple(change) for change in record["changes"]]
        self.countersigned += record["countersigned"]
        self.comments += [tuple(comment) for comment in record["comments"]]
        self.typed |= {(draft_id, lease): text for draft_id, lease, text in record["typed"]}
        self.refusals += record["refusals"]


async def _act(home, database_url, name, seed, steps, ids):
    overrides = {"database__url": database_url} if database_url else {}
    async with open_desk_at(Path(home), console__reviewer=name, **overrides) as desk:
        reviewer = Reviewer(name, Desk(desk), ids, int(seed))
        print("ready", flush=True)
        await reviewer.act(int(steps))
    print(json.dumps(reviewer.record()))


if __name__ == "__main__":
    asyncio.run(_act(*sys.argv[1:], json.loads(sys.stdin.readline())))
