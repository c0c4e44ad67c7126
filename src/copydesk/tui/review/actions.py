"""The actions of the review: decisions on drafts, undo, and views of a draft's history and changes.

Text typed into a prompt when the console exits is autosaved and offered there the next time.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from copydesk.editor import Autosave, user_autosave
from copydesk.errors import ConflictError
from copydesk.model.draft import Action, ImageSource, Status
from copydesk.model.requests import ChangeDraft
from copydesk.model.transitions import EventKind
from copydesk.text import clean, clean_lines
from copydesk.text.formatting import plural
from copydesk.tui import labels
from copydesk.tui.browser import is_link
from copydesk.tui.desk_screen import DeskScreen
from copydesk.tui.review.action_runner import ActionRunner, OnSuccess
from copydesk.tui.review.edit_actions import EditActions
from copydesk.tui.review.local_changes import LocalChanges
from copydesk.tui.review.marks import Selection
from copydesk.tui.review.presence import Presence
from copydesk.tui.review.preview_pane import PreviewPane
from copydesk.tui.review.publish_actions import PublishActions
from copydesk.tui.review.queue_pane import QueuePane
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.undo_stack import UndoStep

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import Draft, ListedDraft
    from copydesk.model.item import StoryChange


PROMPT_FOLDER = "answers"


class PromptAutosave:
    """One autosaved line per kind of prompt."""

    def __init__(self) -> None:
        self._lines: dict[str, str] = {}
        self._autosave: Autosave | None = None
        self._write_lock = asyncio.Lock()
        self._typed_names: set[str] = set()
        """The prompts into which something was typed in this session."""

    def attach(self, desk: "Desk") -> None:
        """Set the folder, which a prompt needs even before `load` has found anything."""
        self._autosave = self._autosave or user_autosave(desk, PROMPT_FOLDER)

    async def load(self, desk: "Desk") -> Sequence[str]:
        """Load the lines of earlier sessions; return the names of their prompts."""
        self.attach(desk)
        assert self._autosave is not None
        saved = await asyncio.to_thread(self._autosave.list_all)
        unchanged = [line for line in saved if line.draft_id not in self._typed_names]
        loaded = {line.draft_id: clean(line.text) for line in unchanged if line.text.strip()}
        # A text whose action failed meanwhile is newer.
        self._lines = loaded | self._lines
        return tuple(loaded)

    def offer(self, name: str, text: str) -> None:
        """Offer a text again whose action failed; its file stays until the prompt is answered or cancelled."""
        self._lines[name] = clean(text)

    def suggestions(self, name: str) -> tuple[str, ...]:
        """Return the line of an earlier session, if any."""
        return (self._lines[name],) if name in self._lines else ()

    def autosave_for(self, name: str) -> Callable[[str], Awaitable[None]]:
        """Return a function that autosaves the prompt's text; it raises OSError."""

        async def save(text: str) -> None:
            self._typed_names.add(name)
            async with self._write_lock:
                if self._autosave is None:
                    return
                if text.strip():
                    await asyncio.to_thread(self._autosave.save, name, 0, text)
                else:
                    # A text that was cleared must not be offered again.
                    await asyncio.to_thread(self._autosave.delete, name)

        return save

    def withdraw(self, name: str) -> None:
        """Offer the prompt's earlier text no more: an answer has succeeded."""
        self._lines.pop(name, None)

    async def delete(self, name: str) -> None:
        """Delete the prompt's autosaved line: it was answered or cancelled."""
        async with self._write_lock:
            if self._autosave is not None:
                await asyncio.to_thread(self._autosave.delete, name)


class InspectActions:
    """Actions that change nothing."""

    def __init__(self, runner: ActionRunner) -> None:
        self._screen = runner.screen
        self.app = runner.app
        self._pane = runner.pane

    def history(self) -> None:
        """Show the draft's history."""
        if draft := self._pane.current_or_notify():
            self.app.run_desk_task(lambda desk: self._history(desk, draft.id), hold_keys=Hold.SCREEN)

    async def _history(self, desk: "Desk", draft_id: str) -> None:
        from copydesk.tui.dialogs.base import PageDialog  # noqa: PLC0415 - for those who read it
        from copydesk.tui.review.pages import history_page  # noqa: PLC0415

        history = await desk.drafts.describe_history(draft_id)
        self.app.push_if_current(self._screen, PageDialog(labels.HISTORY_TITLE, history_page(history, draft_id)))

    def decision_stats(self) -> None:
        """Show how fast the user decides, and how often a decision was undone soon after."""
        self.app.run_desk_task(self._decision_stats, hold_keys=Hold.SCREEN)

    async def _decision_stats(self, desk: "Desk") -> None:
        from copydesk.tui.dialogs.base import PageDialog  # noqa: PLC0415 - for those who read it
        from copydesk.tui.review.pages import decision_stats_page  # noqa: PLC0415

        recorded = desk.settings.console.record_decision_times
        page = decision_stats_page(await desk.drafts.decision_stats(), recorded=recorded)
        self.app.push_if_current(self._screen, PageDialog(labels.DECISIONS_TITLE, page))

    def why(self) -> None:
        """Ask for an address, and show why that item has no draft."""
        from copydesk.tui.dialogs.prompt import PromptDialog  # noqa: PLC0415 - imported when first used

        def on_answer(url: str | None) -> None:
            if url and url.strip():
                self.app.run_desk_task(lambda desk: self._why(desk, url), hold_keys=Hold.SCREEN)

        self.app.push_if_current(self._screen, PromptDialog(labels.WHY_PROMPT), on_answer)

    async def _why(self, desk: "Desk", url: str) -> None:
        from copydesk.tui.dialogs.base import PageDialog  # noqa: PLC0415 - for those who read it
        from copydesk.tui.ranking_pages import explanation_page  # noqa: PLC0415 - as above

        found = await desk.ranking.why(url)
        self.app.push_if_current(self._screen, PageDialog(labels.WHY_TITLE, explanation_page(found)))

    def prompt(self) -> None:
        """Show what a language model was asked for the draft."""
        if draft := self._pane.current_or_notify():
            self.app.run_desk_task(lambda desk: self._prompt(desk, draft.id), hold_keys=Hold.SCREEN)

    async def _prompt(self, desk: "Desk", draft_id: str) -> None:
        requests = await desk.writers.requests(draft_id)
        if not requests:
            self.app.notify(labels.PROMPT_EMPTY)
            return
        from copydesk.tui.dialogs.base import PageDialog  # noqa: PLC0415 - for those who read it
        from copydesk.tui.review.pages import prompt_page  # noqa: PLC0415

        self.app.push_if_current(self._screen, PageDialog(labels.PROMPT_TITLE, prompt_page(requests)))

    def diff(self) -> None:
        """Show the difference to the next version, else to the previous one, else what the user has edited."""
        if draft := self._pane.current_or_notify():
            self.app.run_desk_task(lambda desk: self._difference(desk, draft), hold_keys=Hold.SCREEN)

    async def _difference(self, desk: "Desk", draft: "ListedDraft") -> None:
        from copydesk.tui.dialogs.base import PageDialog  # noqa: PLC0415 - for those who read it
        from copydesk.tui.review.pages import diff_page  # noqa: PLC0415

        versions = await self._versions(desk, draft)
        if versions is not None:
            difference = await desk.drafts.compare(*versions)
        else:
            try:
                difference = await desk.drafts.compare_edit(draft.id)
            except ConflictError as error:
                name = labels.draft_name(draft.text)
                raise ConflictError(labels.no_other_version(name), hint=labels.regenerate_hint()) from error
        self.app.push_if_current(
            self._screen, PageDialog(labels.CHANGES_TITLE, diff_page(difference), labels.draft_name(draft.text))
        )

    async def _versions(self, desk: "Desk", draft: "ListedDraft") -> tuple[str, str] | None:
        """Return the ids of the versions to compare, the older one first; None if the draft has only one version."""
        newer = [
            version.id
            for version in await desk.drafts.list_versions(draft.id)
            if version.regenerated_from_id == draft.id
        ]
        if newer:
            return draft.id, newer[-1]
        if draft.regenerated_from_id is not None:
            return draft.regenerated_from_id, draft.id
        return None

    def copy_text(self) -> None:
        """Copy the draft's text to the clipboard, without invisible characters."""
        if draft := self._pane.current_or_notify():
            self.app.copy_to_clipboard(clean_lines(draft.text))
            self.app.notify_latest(labels.copied_text(labels.draft_name(draft.text)))

    def copy_link(self) -> None:
        """Copy the link of the draft's source item to the clipboard."""
        if draft := self._pane.current_or_notify():
            self.app.run_desk_task(lambda desk: self._copy_link(desk, draft))

    async def _copy_link(self, desk: "Desk", draft: "ListedDraft") -> None:
        url = (await desk.drafts.item(draft.item_id)).entry.url
        if url is None or not is_link(url):
            raise ConflictError(labels.SOURCE_WITHOUT_LINK)
        self.app.copy_to_clipboard(url)
        self.app.notify_latest(labels.copied_link(url))


class RuleActions:
    """Make rules of the reasons of rejections, each with the user's consent."""

    def __init__(self, runner: ActionRunner) -> None:
        self._screen = runner.screen
        self._pane = runner.pane
        self.app = runner.app

    def make_rule(self) -> None:
        """Propose a rule in a form; nothing is made unless it is saved."""
        if draft := self._pane.current_or_notify():
            self.app.run_desk_task(lambda desk: self._propose(desk, draft), hold_keys=Hold.SCREEN)

    async def _propose(self, desk: "Desk", draft: "ListedDraft") -> None:
        from copydesk.model.rule import RuleKind  # noqa: PLC0415 - imported when first used
        from copydesk.tui.dialogs.fields import Field, FieldsDialog  # noqa: PLC0415 - as above

        try:
            suggestions = await desk.rules.suggest(draft.id)
        except ConflictError as error:
            raise ConflictError(labels.rule_without_reason()) from error
        # The row may be older than the rejection.
        reason = (await desk.drafts.get(draft.id)).rejection_feedback or ""
        kind, term = (suggestions[0].kind, suggestions[0].term) if suggestions else (RuleKind.EXCLUDE, "")
        fields = (
            Field("term", labels.FIELD_TERM, value=term, suggestions=[found.term for found in suggestions]),
            Field("kind", labels.FIELD_KIND, value=kind, suggestions=list(RuleKind)),
        )

        async def submit(desk: "Desk", values: Mapping[str, str]) -> str:
            return labels.rule_made((await desk.rules.add({**values, "draftId": draft.id})).term)

        hint = labels.rule_hint(reason)
        dialog = FieldsDialog(labels.RULE_FROM_REASON, fields, submit, hint=hint, effect=labels.MAKE_RULE)
        self.app.push_if_current(self._screen, dialog, self._notify)

    def _notify(self, message: str | None) -> None:
        if message:
            self.app.notify(message)


class StoryActions:
    """Merge and split the stories that drafts were written from. The drafts stay as they are."""

    def __init__(self, runner: ActionRunner) -> None:
        self._runner = runner
        self.app = runner.app

    def merge(self) -> None:
        """Merge the stories of the marked drafts."""
        selection = self._runner.pane.selection()
        if selection is None:
            return
        if selection.draft is not None or selection.number < 2:
            self.app.notify(labels.stories_to_mark(), severity="warning")
        else:
            selection.on_start()
            self.app.enqueue_write(lambda desk: self._merge(desk, selection), hold_keys=Hold.RESULT)

    async def _merge(self, desk: "Desk", selection: Selection) -> None:
        assert selection.resolve is not None
        changes: list[StoryChange] = []
        at = 0
        try:
            at = (await desk.drafts.history_position()).newest
            drafts = await desk.drafts.views.by_ids(tuple((await selection.resolve(desk)).ids))
            item_ids = list(dict.fromkeys(draft.item_id for draft in drafts))
            for item_id in item_ids[1:]:
                if item_id not in {item.id for item in await desk.stories.get(item_ids[0])}:
                    # One by one: if one fails, undo covers those before it.
                    changes.append(await desk.stories.merge(item_ids[0], item_id))  # noqa: PERF401 - as above
        except BaseException:
            self._runner.screen.call_later(selection.on_finish, None)
            raise
        finally:
            if changes:
                self._record(labels.MERGE_NAME, changes, at)
        self.app.notify(labels.stories_merged(len(changes) + 1) if changes else labels.SAME_STORY)

    def split(self) -> None:
        """Make the item of the draft under the cursor a story of its own."""
        if draft := self._runner.pane.current_or_notify():
            self.app.enqueue_write(lambda desk: self._split(desk, draft), hold_keys=Hold.RESULT)

    async def _split(self, desk: "Desk", draft: "ListedDraft") -> None:
        at = (await desk.drafts.history_position()).newest
        change = await desk.stories.split([draft.item_id])
        self._record(labels.SPLIT_NAME, [change], at)
        self.app.notify(labels.story_split(labels.draft_name(draft.text)))

    def _record(self, name: str, changes: "Sequence[StoryChange]", at: int) -> None:
        """Let the next undo undo these changes, and a redo after that apply them again."""
        applied = list(changes)

        async def reverse(desk: "Desk") -> None:
            applied[:] = [await desk.stories.undo(change) for change in reversed(applied)]

        self._runner.undo_stack.record(UndoStep(name, reverse, reverse), at)


class ReviewActions:
    """All actions of the review screen: decisions here, the others in objects of their own."""

    def __init__(self, screen: DeskScreen, pane: QueuePane, preview_pane: PreviewPane, changes: LocalChanges) -> None:
        self.runner = ActionRunner(screen, pane, changes)
        self.publishing = PublishActions(self.runner)
        self.editing = EditActions(self.runner)
        self.inspecting = InspectActions(self.runner)
        self.stories = StoryActions(self.runner)
        self.rules = RuleActions(self.runner)
        self.presence = Presence(screen, preview_pane)
        self.app = screen.app
        self.prompt_autosave = PromptAutosave()
        self.reasons: tuple[str, ...] = ()
        """Recently used reasons for rejecting a draft."""

    def load(self) -> None:
        """Load what the first keys need, and offer texts that were typed and not saved."""
        self.app.run_desk_task(self._load_reasons)
        self.app.run_desk_task(self._load_autosaved_answers)
        self.editing.offer_autosaved()
        self.app.offer_unsaved_draft()
        self.presence.start()

    async def _load_autosaved_answers(self, desk: "Desk") -> None:
        for name in await self.prompt_autosave.load(desk):
            self.app.notify(labels.unused_answer(name), severity="warning")

    async def _load_reasons(self, desk: "Desk") -> None:
        self.reasons = await desk.drafts.rejection_reasons()

    def approve(self) -> None:
        """Approve the selection; then warn about anything that would block posting it."""
        self.runner.approve(self.publishing.check_blockers)

    def comment(self) -> None:
        """Show the comments on the draft under the cursor."""
        if draft := self.runner.pane.current_or_notify():
            self.app.run_desk_task(lambda desk: self._show_comments(desk, draft), hold_keys=Hold.SCREEN)

    async def _show_comments(self, desk: "Desk", draft: "ListedDraft") -> None:
        from copydesk.tui.review.comments import CommentsDialog  # noqa: PLC0415 - imported when first used

        reviewed = await desk.drafts.activity.overview(draft.id)
        self.app.push_if_current(self.runner.screen, CommentsDialog(draft, reviewed))

    def archive(self) -> None:
        """Archive the selection."""
        self.runner.apply(ChangeDraft(action=Action.ARCHIVE))

    def unapprove(self) -> None:
        """Return approved drafts of the selection to review."""
        self.runner.apply(ChangeDraft(action=Action.UNAPPROVE))

    def reject(self) -> None:
        """Prompt for a reason and reject the selection."""
        self._prompt(
            "review.reject",
            labels.reject_prompt,
            Action.REJECT,
            suggestions=self.reasons,
            then=lambda _: self.app.run_desk_task(self._load_reasons),
        )

    def regenerate(self) -> None:
        """Prompt for instructions and have new versions of the selection generated."""
        self._prompt(
            "review.regenerate",
            labels.regenerate_prompt,
            Action.REGENERATE,
            suggestions=labels.REGENERATE_SUGGESTIONS,
            then=self._generate_versions,
        )

    def _prompt(
        self,
        key_id: str,
        format_prompt: Callable[[int], str],
        action: Action,
        *,
        suggestions: Sequence[str] = (),
        then: OnSuccess | None = None,
    ) -> None:
        from copydesk.tui.dialogs.prompt import PromptDialog  # noqa: PLC0415 - imported when first used

        def ask(selection: Selection, number: int, skipped: str) -> None:
            if self.app.desk is not None:
                self.prompt_autosave.attach(self.app.desk)
            # Unsaved text first, then recent answers, without duplicates.
            options = tuple(dict.fromkeys((*self.prompt_autosave.suggestions(action), *suggestions)))
            autosave = self.prompt_autosave.autosave_for(action)
            hint = labels.draft_name(selection.draft.text) if selection.draft else skipped
            dialog = PromptDialog(format_prompt(number), hint=hint, suggestions=options, autosave=autosave)
            self.app.push_if_current(self.runner.screen, dialog, lambda text: on_answer(selection, text))

        def on_answer(selection: Selection, text: str | None) -> None:
            if text is None:
                self._forget_answer(action)
                return
            feedback = text.strip()

            def on_success(ids: Sequence[str]) -> None:
                self.prompt_autosave.withdraw(action)
                self._forget_answer(action)
                if then is not None:
                    then(ids)

            def on_failure() -> None:
                if feedback:
                    self.prompt_autosave.offer(action, feedback)
                    self.app.notify(labels.typed_text_kept(key_id))

            self.runner.apply(
                ChangeDraft(action=action, feedback=feedback or None),
                target=selection,
                on_success=on_success,
                on_failure=on_failure,
            )

        self.runner.ask_if_possible(key_id, (action,), ask)

    def _forget_answer(self, action: Action) -> None:
        self.app.run_desk_task(lambda _: self._delete_answer(action))

    async def _delete_answer(self, action: Action) -> None:
        try:
            await self.prompt_autosave.delete(action)
        except OSError as error:
            self.app.warn_not_deleted(error)

    def attach_image(self) -> None:
        """Attach the image proposed for the draft under the cursor; if there is none, remove that of its source."""
        if draft := self.runner.pane.current_or_notify():
            self.app.enqueue_write(lambda desk: self._attach_image(desk, draft.id), hold_keys=Hold.RESULT)

    async def _attach_image(self, desk: "Desk", draft_id: str) -> None:
        # The row may be older than the last press of the key.
        draft = await desk.drafts.get(draft_id)
        name = labels.draft_name(draft.text)
        if draft.proposed_images:
            changed = await desk.drafts.images.attach(draft_id, {})
            self.app.notify_latest(labels.image_attached(name, changed.images[-1].agency))
            return
        position = next(
            (number for number, image in enumerate(draft.images, 1) if image.source is ImageSource.OG), None
        )
        if position is None:
            raise ConflictError(labels.NO_PROPOSED_IMAGE)
        await desk.drafts.images.describe(draft_id, None, position=position)
        self.app.notify_latest(labels.image_removed(name))

    def _generate_versions(self, ids: Sequence[str]) -> None:
        self.app.run_desk_task(lambda desk: self._wait_for_versions(desk, ids), name="generate")

    async def _wait_for_versions(self, desk: "Desk", ids: Sequence[str]) -> None:
        """Generate the new versions and notify when they are available."""
        await self.runner.pane.finish_texts(desk, ids)
        new_versions, failed = [], []
        for draft_id in ids:
            draft = await desk.drafts.get(draft_id)
            if draft.status is Status.GENERATION_FAILED:
                failed.append(draft)
                continue
            versions = await desk.drafts.list_versions(draft_id)
            new_versions += [version for version in versions if version.regenerated_from_id == draft_id][-1:]
        if failed:
            await self._notify_failed(desk, failed)
        if new_versions:
            newest = new_versions[-1]
            self.runner.pane.announce(newest.id)
            name = labels.draft_name(newest.text)
            self.app.notify(labels.new_versions(len(new_versions), name, in_review=self._in_review))

    async def _notify_failed(self, desk: "Desk", failed: Sequence["Draft"]) -> None:
        """Notify that drafts could not be regenerated, with the key for undo if it is these that it restores."""
        # The key also undoes a change that is still being written.
        await self.app.desk_tasks.wait_for_writes()
        undo = await self.runner.undo_stack.next_draft_undo(desk)
        restored = undo.draft_ids if undo and undo.action == Action.REGENERATE and self._in_review else ()
        for is_next_undo in (False, True):
            group = [draft for draft in failed if (draft.id in restored) is is_next_undo]
            if not group:
                continue
            drafts = labels.draft_name(group[0].text) if len(group) == 1 else plural(len(group), "draft")
            errors = Counter(draft.last_error or "" for draft in group)
            message = labels.regeneration_failed(drafts, errors, count=len(group), is_next_undo=is_next_undo)
            self.app.notify(message, severity="error")

    @property
    def _in_review(self) -> bool:
        return self.app.screen_stack[0] is self.runner.screen

    def undo(self) -> None:
        """Undo the last change."""
        self.runner.undo_or_redo(EventKind.UNDO)

    def redo(self) -> None:
        """Redo the last undone change."""
        self.runner.undo_or_redo(EventKind.REDO)
