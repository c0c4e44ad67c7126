"""Review actions: approve, reject, regenerate, archive, undo, redo."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from copydesk.model.change import ChangeDraft
from copydesk.model.draft import Action, Status
from copydesk.model.history import EventKind
from copydesk.tui.deciding.acting import OnSuccess
from copydesk.tui.deciding.editing import EditActions
from copydesk.tui.deciding.looking import InspectActions
from copydesk.tui.deciding.outcomes import draft_name
from copydesk.tui.deciding.sending import APPROVE, PublishActions
from copydesk.tui.deciding.typed_lines import PromptAutosave
from copydesk.tui.naming import key_label
from copydesk.tui.words import plural

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.tui.chosen import Selection
    from copydesk.tui.screens.deciding import DraftActionsScreen


class ReviewActions(PublishActions, EditActions, InspectActions):
    """All actions of the review screen."""

    reasons: tuple[str, ...] = ()
    """Recently used reasons for rejecting a draft."""

    def __init__(self, screen: "DraftActionsScreen") -> None:
        super().__init__(screen)
        self.prompt_autosave = PromptAutosave()

    def load(self) -> None:
        """Load what the first keys need, and offer texts that were typed and not saved."""
        self.app.run_desk_task(self._load_reasons)
        self.app.run_desk_task(self._load_autosaved_answers)
        self.offer_autosaved()

    async def _load_autosaved_answers(self, desk: "Desk") -> None:
        for name in await self.prompt_autosave.load(desk):
            self.app.notify(f"What you typed for {name!r} was not used: it is offered there.", severity="warning")

    async def _load_reasons(self, desk: "Desk") -> None:
        self.reasons = await desk.drafts.rejection_reasons()

    def approve(self) -> None:
        """Approve the selection; then warn about anything that would block posting it."""
        self.apply(APPROVE, on_success=self.check_blockers)

    def archive(self) -> None:
        """Archive the selection."""
        self.apply(ChangeDraft(action=Action.ARCHIVE))

    def reject(self) -> None:
        """Prompt for a reason and reject the selection."""
        self._prompt(
            "Why {be} {what} turned down?",
            Action.REJECT,
            hint="Enter alone: no reason",
            suggestions=self.reasons,
            then=lambda _: self.app.run_desk_task(self._load_reasons),
        )

    def regenerate(self) -> None:
        """Prompt for instructions and have new versions of the selection generated."""
        self._prompt(
            "What is to be changed in {what}?",
            Action.REGENERATE,
            hint="Enter alone: another try",
            then=self._generate_versions,
        )

    def _prompt(
        self,
        question: str,
        action: Action,
        *,
        hint: str,
        suggestions: Sequence[str] = (),
        then: OnSuccess | None = None,
    ) -> None:
        from copydesk.tui.modals.ask import PromptDialog  # noqa: PLC0415 - imported when first used

        selection = self.screen.draft_selection()
        if selection is None:
            return

        def on_answer(text: str | None) -> None:
            # Answered or cancelled: there is nothing to restore.
            self.app.run_desk_task(lambda _: self.prompt_autosave.delete(action))
            if text is not None:
                self.apply(ChangeDraft(action=action, feedback=text.strip() or None), target=selection, on_success=then)

        if self.app.desk is not None:
            self.prompt_autosave.attach(self.app.desk)
        # Unsaved text first, then recent answers, without duplicates.
        options = tuple(dict.fromkeys((*self.prompt_autosave.suggestions(action), *suggestions)))
        autosave = self.prompt_autosave.autosave_for(action)
        prompt = question.format(be="is" if selection.number == 1 else "are", what=_name_selection(selection))
        self.app.push_screen(PromptDialog(prompt, hint=hint, suggestions=options, autosave=autosave), on_answer)

    def _generate_versions(self, ids: Sequence[str]) -> None:
        self.app.run_desk_task(lambda desk: self._wait_for_versions(desk, ids), name="regenerate")

    async def _wait_for_versions(self, desk: "Desk", ids: Sequence[str]) -> None:
        """Generate the new versions and notify when they are available."""
        await desk.generation.finish(ids)
        new_versions = []
        for draft_id in ids:
            draft = await desk.drafts.get(draft_id)
            if draft.status is Status.GENERATION_FAILED:
                self.app.notify(f"{draft_name(draft.text)} was not written anew: {draft.last_error}", severity="error")
                continue
            versions = await desk.drafts.list_versions(draft_id)
            new_versions += [version for version in versions if version.regenerated_from_id == draft_id][-1:]
        if new_versions:
            of_drafts = (
                f"of {draft_name(new_versions[-1].text)} is"
                if len(new_versions) == 1
                else f"of {plural(len(new_versions), 'draft')} are"
            )
            noun = "version" if len(new_versions) == 1 else "versions"
            self.app.notify(
                f"The new {noun} {of_drafts} there: {key_label('review.difference')} on it shows what changed."
            )

    def undo(self) -> None:
        """Undo the last change."""
        self.undo_or_redo(EventKind.UNDO)

    def redo(self) -> None:
        """Redo the last undone change."""
        self.undo_or_redo(EventKind.REDO)


def _name_selection(selection: "Selection") -> str:
    return draft_name(selection.draft.text) if selection.draft else plural(selection.number, "draft")
