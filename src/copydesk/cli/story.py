"""`copydesk story`: show, merge, split."""

from typing import TYPE_CHECKING

import click

from copydesk.cli.command import group
from copydesk.cli.context import Context, pass_context
from copydesk.cli.ids import STORY
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import format_time, print_table
from copydesk.errors import NotFoundError
from copydesk.model.ids import IdKind
from copydesk.model.item import Item, StoryChange
from copydesk.text.formatting import plural

if TYPE_CHECKING:
    from copydesk.desk import Desk


@group()
def story() -> None:
    """Show the items that tell one event, merge stories and split them.

    A story is given by the id of a draft or of an item. Later runs keep your changes.
    """


@story.command(examples=("copydesk story show 1f9c2a",))
@click.argument("id", type=STORY)
@json_options("id", "source", "published", "state", "title", "url")
@pass_context
def show(context: Context, id: str, *, as_json: bool) -> None:
    """List the items of a story, oldest first."""

    async def load(desk: "Desk") -> tuple[tuple[Item, ...], dict[str, str]]:
        members = await desk.stories.get(await _item_id(desk, id))
        return members, await desk.ids.shorten(IdKind.ITEM, [item.id for item in members])

    members, short_ids = context.run(load)
    if as_json:
        print_json([_summary(item) for item in members])
        return
    rows = [
        (short_ids[item.id], item.source_name, format_time(item.published), item.state, item.entry.title)
        for item in members
    ]
    print_table(rows, empty="", cut=True)


@story.command(examples=("copydesk story merge 1f9c2a 77e0b4",))
@click.argument("id", type=STORY)
@click.argument("other", type=STORY)
@json_options(StoryChange)
@pass_context
def merge(context: Context, id: str, other: str, *, as_json: bool) -> None:
    """Merge the stories of two drafts or items.

    Drafts stay as they are. Items of the merged story that have none are not drafted any more.
    """

    async def work(desk: "Desk") -> StoryChange:
        return await desk.stories.merge(await _item_id(desk, id), await _item_id(desk, other))

    change = context.run(work)
    _print_change(context, change, "merged", f"copydesk story split {' '.join(change.moves)}", as_json=as_json)


@story.command(examples=("copydesk story split 1f9c2a",))
@click.argument("ids", type=STORY, metavar="ID...", nargs=-1, required=True)
@json_options(StoryChange)
@pass_context
def split(context: Context, ids: tuple[str, ...], *, as_json: bool) -> None:
    """Split items off their story into one of their own.

    They are items of one story, as `copydesk story show` lists them. The id of a draft is its item's.
    """

    async def work(desk: "Desk") -> tuple[StoryChange, str]:
        item_ids = [await _item_id(desk, given_id) for given_id in ids]
        members = await desk.stories.get(item_ids[0])
        change = await desk.stories.split(item_ids)
        return change, next(item.id for item in members if item.id not in change.moves)

    change, remaining = context.run(work)
    _print_change(context, change, "split off", f"copydesk story merge {remaining} {ids[0]}", as_json=as_json)


def _summary(item: Item) -> dict[str, object]:
    return {
        "id": item.id,
        "source": item.source_name,
        "published": item.published,
        "state": item.state,
        "title": item.entry.title,
        "url": item.entry.url,
    }


async def _item_id(desk: "Desk", id: str) -> str:
    """Return the item of a draft; `id` itself if it is not a draft's."""
    try:
        return (await desk.drafts.get(id)).item.id
    except NotFoundError:
        return id


def _print_change(context: Context, change: StoryChange, done: str, undo: str, *, as_json: bool) -> None:
    if as_json:
        print_json(change)
        return
    click.echo(f"{plural(len(change.moves), 'item')} {done}.")
    click.echo(context.with_desk_options(f"Undo: {undo}"), err=True)
