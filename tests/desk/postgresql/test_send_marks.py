"""Tests for the marks of posts where users write at the same time."""

import asyncio
import time
from pathlib import Path

import msgspec

from copydesk.desk.publishing.send_marks import FILE_NAME, SendMark, SendMarks
from desk_fixtures import NOW
from desks_fixtures import open_desks_at


async def test_marks_of_two_users_are_both_stored(tmp_path: Path, monkeypatch) -> None:
    write_file = SendMarks._write_file

    def write_slowly(self: SendMarks, content) -> None:
        time.sleep(0.2)
        write_file(self, content)

    async with open_desks_at(tmp_path) as desks:
        contexts = [(await desks.get(user))._context for user in (desks.owner, await desks.users.add("anna"))]
        monkeypatch.setattr(SendMarks, "_write_file", write_slowly)
        marks = [SendMark(at=NOW, delivery_id=ctx.user.name) for ctx in contexts]

        async def record(ctx, mark: SendMark) -> None:
            await ctx.write(lambda conn, _user_id: SendMarks(ctx).record(conn, mark))

        await asyncio.gather(*map(record, contexts, marks))
        stored = msgspec.json.decode((tmp_path / FILE_NAME).read_bytes())["desks"][desks.owner.id]

    assert sorted(mark["deliveryId"] for mark in stored) == ["anna", "owner"]
