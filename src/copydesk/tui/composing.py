"""Composing a draft: what was typed before is offered, what is typed is kept, and the desk makes the draft of it."""

from functools import partial
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from copydesk.editor import Typed, TypedTexts
from copydesk.errors import CopydeskError
from copydesk.model.change import ChangeDraft, Created, Mode
from copydesk.model.draft import Action, ImageSource, Status
from copydesk.tui.compose_entry import (
    APPROVE,
    REVIEW,
    Composed,
    GivenPicture,
    ToCompose,
    asked,
    kept,
    pictures_of,
    read,
)
from copydesk.tui.kept_text import KeptText
from copydesk.tui.modals.compose import ComposeScreen
from copydesk.tui.naming import key
from copydesk.tui.screens.review_showing import ShowsDraft
from copydesk.tui.words import ago, plural

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.tui.desk_app import DeskApp

COMPOSE = "compose"
"""The name of the one screen to compose on."""
FOLDER = "composed"
NEW = "new"
"""What it is kept as: it has no id yet."""
_IN_REVIEW = "it waits in Review, key {}"


def compose(app: "DeskApp") -> None:
    """Compose a draft, or go on with what was typed and not made."""
    # Not what is on top: that may be the list of commands, which goes away.
    app.ask(partial(_begin, app, app.screen_stack[0]), opens=True)


async def _begin(app: "DeskApp", below: Screen[Any], desk: "Desk") -> None:
    text = KeptText(TypedTexts(desk.settings.data_home / FOLDER), NEW)
    typed = await text.find()
    if not app.is_screen_installed(COMPOSE):
        app.install_screen(ComposeScreen(), COMPOSE)
    screen = app.get_screen(COMPOSE)
    assert isinstance(screen, ComposeScreen)
    if app.open_over(below, screen):
        screen.begin(_to_compose(app, desk, text, typed))


def _to_compose(app: "DeskApp", desk: "Desk", text: KeptText, typed: Typed | None) -> ToCompose:
    async def keep(composed: Composed) -> None:
        await text.keep(kept(composed))

    notice = f"You typed this {ago(typed.at, app.clock())}, and no draft was made of it." if typed else ""
    return ToCompose(
        begun=read(typed.text) if typed else Composed(),
        keep=keep,
        make=partial(_make, app, desk),
        forget=text.forget,
        notice=notice,
    )


async def _make(app: "DeskApp", desk: "Desk", composed: Composed) -> str:
    """Make the draft; why not, or nothing."""
    try:
        images = [await _image(desk, picture) for picture in pictures_of(composed)]
        made = await desk.drafts.create({**asked(composed), "images": images})
    except CopydeskError as error:
        return str(error)
    if made.mode is Mode.GENERATE:
        app.notify(f"{plural(len(made.drafts), 'draft')} will be written.")
        app.ask(partial(_write, app, made))
    else:
        app.ask(partial(_go_on, app, made.drafts[0].id, composed.then), keys_wait=True)
    return ""


async def _image(desk: "Desk", picture: GivenPicture) -> dict[str, object]:
    """A picture as the desk takes it; one in a file is kept before."""
    url = picture.place if picture.is_address else await desk.drafts.keep_picture(picture.path)
    return {"url": url, "source": ImageSource.UPLOAD, "alt": picture.alt or None}


async def _write(app: "DeskApp", made: Created, desk: "Desk") -> None:
    """Have it written now, and say what came of it."""
    ids = [draft.id for draft in made.drafts]
    await desk.generation.finish(ids)
    drafts = [await desk.drafts.get(draft_id) for draft_id in ids]
    failed = [draft for draft in drafts if draft.status is Status.GENERATION_FAILED]
    if failed:
        app.notify(f"{plural(len(failed), 'draft')} could not be written: {failed[0].last_error}", severity="warning")
    else:
        shows = (
            f"{key('review.refresh')} shows what is new" if _queue(app) else _IN_REVIEW.format(key("console.review"))
        )
        app.notify(f"{plural(len(drafts), 'draft')} written; {shows}.")


async def _go_on(app: "DeskApp", draft_id: str, then: str, desk: "Desk") -> None:
    """Approve it and give it a time, where that was asked for; it is made and shown, whatever becomes of that."""
    try:
        done = await _then(desk, draft_id, then)
    finally:
        if queue := _queue(app):
            queue.show_draft(draft_id)
    where = "the cursor is on it" if queue else _IN_REVIEW.format(key("console.review"))
    app.notify(f"The draft is made{done}; {where}.")


async def _then(desk: "Desk", draft_id: str, then: str) -> str:
    """Do with it what was asked for; what that was."""
    if then == REVIEW:
        return ""
    await desk.drafts.change(draft_id, ChangeDraft(action=Action.APPROVE))
    if then == APPROVE:
        return " and approved"
    changed = await desk.schedule.next_for(draft_id)
    assert changed.scheduled_at is not None
    (shown,) = await desk.schedule.shown(changed.scheduled_at)
    return f", and goes out {shown}"


def _queue(app: "DeskApp") -> ShowsDraft | None:
    """The review, where that is the screen below."""
    below = app.screen_stack[0]
    return below if isinstance(below, ShowsDraft) else None
