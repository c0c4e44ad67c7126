"""Waiting for texts that are written on request."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from copydesk.cli.show import counted
from copydesk.model.change import Created, created
from copydesk.model.draft import Draft, ListedDraft, plain

if TYPE_CHECKING:
    from copydesk.desk import Desk

NO_WAIT = click.option(
    "--no-wait", is_flag=True, help="Leave the writing to `copydesk daemon`, or to the console while it is open."
)


async def wait_for_new(desk: "Desk", made: Created) -> tuple[Created, tuple[Draft, ...]]:
    """Wait until the texts of new drafts are written; the answer to their creation with what came of it, and they."""
    drafts = await _finish(desk, [draft.id for draft in made.drafts])
    return created(made.mode, made.item_id, drafts), tuple(drafts)


async def wait_for_versions(desk: "Desk", draft_ids: Sequence[str]) -> tuple[Draft, ...]:
    """Wait until new versions of these drafts are written; the new ones, and the old ones where that failed."""
    every = []
    for draft in await _finish(desk, draft_ids):
        versions = await desk.drafts.versions(draft.id)
        every.append(next((each for each in versions if each.regenerated_from_id == draft.id), draft))
    return tuple(plain(draft) for draft in every)


async def _finish(desk: "Desk", draft_ids: Sequence[str]) -> list[ListedDraft]:
    click.echo(f"Writing {counted(len(draft_ids), 'draft')}…", err=True)
    await desk.generation.finish(draft_ids)
    return [await desk.drafts.get(draft_id) for draft_id in draft_ids]
