"""The options of commands that list pages: `--limit`, `--cursor` and `--all`."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import click

from copydesk.model.page import Page

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., Any])
MAX_LIMIT = 100


class Paging(NamedTuple):
    """The pages to list."""

    limit: int
    cursor: str | None
    all: bool


def with_paging(limit: int) -> Callable[[Command], Callable[..., None]]:
    """Return a decorator that adds the options; the command gets them as `paging`. `limit` is the default."""

    def decorate(command: Command) -> Callable[..., None]:
        @click.option(
            "--limit", type=click.IntRange(1, MAX_LIMIT), default=limit, show_default=True, help="Entries per page."
        )
        @click.option("--cursor", help="The nextCursor of the previous page.")
        @click.option("--all", "every_page", is_flag=True, help="List all pages.")
        @wraps(command)
        def wrapper(*args: Any, limit: int, cursor: str | None, every_page: bool, **kwargs: Any) -> None:
            command(*args, paging=Paging(limit, cursor, every_page), **kwargs)

        return wrapper

    return decorate


async def load_pages(paging: Paging, load: Callable[[int, str | None], Awaitable[Page[T]]]) -> Page[T]:
    """Return the page, or all pages from there on as one."""
    if not paging.all:
        return await load(paging.limit, paging.cursor)
    page = await load(MAX_LIMIT, paging.cursor)
    items = list(page.items)
    while page.next_cursor is not None:
        page = await load(MAX_LIMIT, page.next_cursor)
        items += page.items
    return Page(items=tuple(items))


def print_next_cursor(page: Page[Any]) -> None:
    """Print how to list the next page, if there is one. On stderr, so that a pipe receives rows only."""
    if page.next_cursor:
        click.echo(f"More: --cursor {page.next_cursor}", err=True)
