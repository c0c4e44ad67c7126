"""Wait for texts that are generated on request."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from copydesk.cli.show import pluralize
from copydesk.model.change import CreatedDrafts, creation_response
from copydesk.model.draft import Draft, ListedDraft, without_item

if TYPE_CHECKING:
    from copydesk.desk import Desk

NO_WAIT = click.option(
    "--no-wait", is_flag=True, help="Leave the writing to `copydesk daemon`, or to the console while it is open."
)


async def wait_for_new(desk: "Desk", creation: CreatedDrafts) -> tuple[CreatedDrafts, tuple[Draft, ...]]:
    """Wait until new drafts are written; return the updated creation response and the drafts."""
    drafts = await _generate(desk, [draft.id for draft in creation.drafts])
    return creation_response(creation.mode, creation.item_id, drafts), tuple(drafts)


async def wait_for_versions(desk: "Desk", draft_ids: Sequence[str]) -> tuple[Draft, ...]:
    """Wait until new versions of drafts are written; return them, and the old draft where that failed."""
    newest = []
    for draft in await _generate(desk, draft_ids):
        versions = await desk.drafts.list_versions(draft.id)
        newest.append(next((version for version in versions if version.regenerated_from_id == draft.id), draft))
    return tuple(without_item(draft) for draft in newest)


async def _generate(desk: "Desk", draft_ids: Sequence[str]) -> list[ListedDraft]:
    click.echo(f"Writing {pluralize(len(draft_ids), 'draft')}…", err=True)
    await desk.generation.finish(draft_ids)
    return [await desk.drafts.get(draft_id) for draft_id in draft_ids]
