"""The decisions: approve, reject, regenerate, archive, undo, redo."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from copydesk.model.change import ChangeDraft
from copydesk.model.draft import Action, Status
from copydesk.model.history import EventKind
from copydesk.tui.deciding.acting import Then
from copydesk.tui.deciding.editing import Edits
from copydesk.tui.deciding.looking import Looks
from copydesk.tui.deciding.outcomes import name_of
from copydesk.tui.deciding.sending import APPROVE, Sends
from copydesk.tui.deciding.typed_lines import TypedLines
from copydesk.tui.naming import key
from copydesk.tui.words import plural

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.tui.chosen import Chosen
    from copydesk.tui.screens.deciding import Decides


class Deciding(Sends, Edits, Looks):
    """All that the keys do."""

    reasons: tuple[str, ...] = ()
    """Why drafts were rejected lately."""

    def __init__(self, screen: "Decides") -> None:
        super().__init__(screen)
        self.typed_lines = TypedLines()

    def begin(self) -> None:
        """Read what the first keys need, and say what was left unsaved."""
        self.app.ask(self._read_reasons)
        self.app.ask(self._read_typed)
        self.offer_typed()

    async def _read_typed(self, desk: "Desk") -> None:
        for name in await self.typed_lines.begin(desk):
            self.app.notify(f"What you typed for {name!r} was not used: it is offered there.", severity="warning")

    async def _read_reasons(self, desk: "Desk") -> None:
        self.reasons = await desk.drafts.reasons()

    def approve(self) -> None:
        """Let what is chosen be scheduled or posted; what would stop it later is said behind it."""
        self.act(APPROVE, then=self.look_for_stops)

    def archive(self) -> None:
        """Put what is chosen away."""
        self.act(ChangeDraft(action=Action.ARCHIVE))

    def reject(self) -> None:
        """Ask why, and turn what is chosen down."""
        self._ask(
            "Why {be} {what} turned down?",
            Action.REJECT,
            hint="Enter alone: no reason",
            offered=self.reasons,
            then=lambda _: self.app.ask(self._read_reasons),
        )

    def regenerate(self) -> None:
        """Ask what is to be changed, and let new versions be written."""
        self._ask(
            "What is to be changed in {what}?",
            Action.REGENERATE,
            hint="Enter alone: another try",
            then=self._write_anew,
        )

    def _ask(
        self,
        question: str,
        action: Action,
        *,
        hint: str,
        offered: Sequence[str] = (),
        then: Then | None = None,
    ) -> None:
        from copydesk.tui.modals.ask import LineScreen  # noqa: PLC0415 - for those who are asked

        chosen = self.screen.chosen()
        if chosen is None:
            return

        def answered(words: str | None) -> None:
            self.app.ask(lambda _: self.typed_lines.forget(action))
            if words is not None:
                self.act(ChangeDraft(action=action, feedback=words.strip() or None), on=chosen, then=then)

        if self.app.desk is not None:
            self.typed_lines.open(self.app.desk)
        offers = tuple(dict.fromkeys((*self.typed_lines.offered(action), *offered)))
        keep = self.typed_lines.keep(action)
        asked = question.format(be="is" if chosen.number == 1 else "are", what=_called(chosen))
        self.app.push_screen(LineScreen(asked, hint=hint, offered=offers, keep=keep), answered)

    def _write_anew(self, ids: Sequence[str]) -> None:
        self.app.ask(lambda desk: self._wait_for_versions(desk, ids), name="regenerate")

    async def _wait_for_versions(self, desk: "Desk", ids: Sequence[str]) -> None:
        """Have the new versions written, and say when they are there."""
        await desk.generation.finish(ids)
        news = []
        for draft_id in ids:
            old = await desk.drafts.get(draft_id)
            if old.status is Status.GENERATION_FAILED:
                self.app.notify(f"{name_of(old.text)} was not written anew: {old.last_error}", severity="error")
                continue
            versions = await desk.drafts.versions(draft_id)
            news += [each for each in versions if each.regenerated_from_id == draft_id][-1:]
        if news:
            what = f"of {name_of(news[-1].text)} is" if len(news) == 1 else f"of {plural(len(news), 'draft')} are"
            version = "version" if len(news) == 1 else "versions"
            self.app.notify(f"The new {version} {what} there: {key('review.difference')} on it shows what changed.")

    def undo(self) -> None:
        """Take back the last change."""
        self.step_back(EventKind.UNDO)

    def redo(self) -> None:
        """Do again what was taken back last."""
        self.step_back(EventKind.REDO)


def _called(chosen: "Chosen") -> str:
    return name_of(chosen.draft.text) if chosen.draft else plural(chosen.number, "draft")
