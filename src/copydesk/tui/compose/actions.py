"""Compose a draft: restore the autosaved form, autosave while typing, then create the draft."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from copydesk.editor import UnsavedText
from copydesk.errors import FieldError, InvalidError
from copydesk.model.draft import ImageSource, Status
from copydesk.model.requests import CreatedDrafts, CreationMode
from copydesk.text.formatting import format_relative
from copydesk.tui import labels
from copydesk.tui.compose.dialog import (
    APPROVE,
    REVIEW,
    ComposeDialog,
    ComposeSession,
    ComposeState,
    ImageInput,
    build_request,
    dump_state,
    parse_images,
    parse_state,
)
from copydesk.tui.compose.unsaved import COMPOSE_SCREEN, NEW_DRAFT_NAME, composed_texts
from copydesk.tui.dialogs.autosaved_form import AutosavedText
from copydesk.tui.review.screen import ReviewScreen
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.sources.form_state import split_list

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.tui.desk_app import DeskApp


def open_compose(app: "DeskApp") -> None:
    """Compose a new draft, or continue one that was typed but not created."""
    # The base screen, not the top one: that may be the command palette, which is about to close.
    app.run_desk_task(partial(_open, app, app.screen_stack[0]), hold_keys=Hold.SCREEN)


async def _open(app: "DeskApp", base: Screen[Any], desk: "Desk") -> None:
    autosave = AutosavedText(composed_texts(desk), NEW_DRAFT_NAME)
    saved = await autosave.load()
    platforms = tuple(dict.fromkeys(account.details.platform for account in await desk.accounts.list()))
    # Installed once and kept, because its form takes longer to build than a key may take.
    if not app.is_screen_installed(COMPOSE_SCREEN):
        app.install_screen(ComposeDialog(), COMPOSE_SCREEN)
    screen = app.get_screen(COMPOSE_SCREEN)
    assert isinstance(screen, ComposeDialog)
    if app.push_if_current(base, screen):
        screen.start(_session(app, desk, autosave, saved, platforms))


def _session(
    app: "DeskApp", desk: "Desk", autosave: AutosavedText, saved: UnsavedText | None, platforms: Sequence[str]
) -> ComposeSession:
    async def save(composed: ComposeState) -> None:
        await autosave.save(dump_state(composed))

    notice = labels.restored_draft(format_relative(saved.saved_at, app.clock())) if saved else ""
    return ComposeSession(
        initial=parse_state(saved.text) if saved else ComposeState(),
        save=save,
        create=partial(_create, app, desk),
        discard=autosave.delete,
        notice=notice,
        platforms=platforms,
    )


async def _create(app: "DeskApp", desk: "Desk", composed: ComposeState) -> None:
    """Create the draft. Raise CopydeskError."""
    platforms = await _parse_platforms(desk, split_list(composed.platforms))
    # Files are stored first: a draft must not refer to an image that could not be read.
    images = [await _store_image(desk, image) for image in parse_images(composed)]
    request = build_request(composed) | {"targetPlatforms": platforms, "images": images}
    created = await desk.drafts.create(request)
    if created.mode is CreationMode.GENERATE:
        app.notify(labels.drafts_generating(len(created.drafts)))
        # Generating takes long: the dialog closes, and keys are not held.
        app.run_desk_task(partial(_generate, app, created), name="generate")
    else:
        app.run_desk_task(partial(_apply_next_step, app, created.drafts[0].id, composed.then), hold_keys=Hold.RESULT)


async def _parse_platforms(desk: "Desk", names: Sequence[str]) -> list[str]:
    """Return the platforms or accounts with the platform as it is stored. Raise InvalidError with all unknown ones."""
    from copydesk.desk.catalog import known_platforms, normalize_platform  # noqa: PLC0415 - not for the first paint

    known = known_platforms(await desk.accounts.list())
    parsed = [normalize_platform(name, known) for name in names]
    problem = f"takes one of {', '.join(known)}"
    unknown = [FieldError(f"targetPlatforms[{n}]", problem) for n, platform in enumerate(parsed) if platform is None]
    if unknown:
        raise InvalidError(*unknown)
    return [platform for platform in parsed if platform is not None]


async def _store_image(desk: "Desk", image: ImageInput) -> dict[str, object]:
    """Return the image as the desk expects it; an image file is stored first."""
    url = image.location if image.is_url else await desk.drafts.images.save(image.path)
    return {"url": url, "source": ImageSource.UPLOAD, "alt": image.alt or None}


async def _generate(app: "DeskApp", created: CreatedDrafts, desk: "Desk") -> None:
    """Generate the requested drafts now and report the result."""
    ids = [draft.id for draft in created.drafts]
    await desk.generation.finish(ids)
    drafts = [await desk.drafts.get(draft_id) for draft_id in ids]
    failed = [draft for draft in drafts if draft.status is Status.GENERATION_FAILED]
    if failed:
        app.notify(labels.drafts_not_generated(len(failed), failed[0].last_error), severity="warning")
    else:
        review = _review_screen(app)
        if review is not None:
            review.queue_pane.announce(ids[0])
        app.notify(labels.drafts_generated(len(drafts), in_review=review is not None))


async def _apply_next_step(app: "DeskApp", draft_id: str, next_step: str, desk: "Desk") -> None:
    """Approve and schedule the new draft as requested; show it even if that fails."""
    try:
        result = await _approve_and_schedule(desk, draft_id, next_step)
    finally:
        # Also if approving failed: the draft exists, and the error is shown by the caller.
        if review := _review_screen(app):
            review.show_draft(draft_id)
    app.notify(labels.draft_created(result, in_review=review is not None))


async def _approve_and_schedule(desk: "Desk", draft_id: str, next_step: str) -> str:
    """Apply the requested next step and describe it."""
    if next_step == REVIEW:
        return ""
    await desk.drafts.approve(draft_id)
    if next_step == APPROVE:
        return labels.CREATED_APPROVED
    draft = await desk.schedule.schedule_next(draft_id)
    assert draft.scheduled_at is not None
    (formatted,) = await desk.schedule.format_times(draft.scheduled_at, short=True)
    return labels.created_scheduled(formatted)


def _review_screen(app: "DeskApp") -> ReviewScreen | None:
    """Return the review screen if it is the base screen."""
    base = app.screen_stack[0]
    return base if isinstance(base, ReviewScreen) else None
