"""The current entries of a source, fetched once and not stored."""

from typing import TYPE_CHECKING

from textual import getters, on
from textual.app import ComposeResult

from copydesk.errors import CopydeskError
from copydesk.model.source import Source
from copydesk.tui.cells import safe_line
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.layout import paragraph
from copydesk.tui.modals.over import Dialog
from copydesk.tui.naming import key_label
from copydesk.tui.pages.source import test_fetch_page
from copydesk.tui.source_messages import SourceRefused, SourceTested
from copydesk.tui.styles import stylesheet_path
from copydesk.tui.widgets.ink import ROLE_CLASSES
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from copydesk.desk import Desk


class SourceTestDialog(Dialog[None], inherit_bindings=False):
    """A page of titles over the screen."""

    CSS_PATH = stylesheet_path("sources.tcss")
    COMPONENT_CLASSES = set(ROLE_CLASSES)
    WHERE = (KeyContext.PAGE, KeyContext.SOURCE_TEST)
    BINDINGS = bindings(KeyContext.SOURCE_TEST)

    app = getters.app(DeskApp)

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source = source

    def compose(self) -> ComposeResult:
        yield Page([paragraph("Reading it …", "accent")], id="trial")

    def on_mount(self) -> None:
        """Fetch the source."""
        self.query_one(Page).set_title(f"{safe_line(self._source.name)} · {key_label('trial.close')} closes")
        self.app.run_desk_task(self._test)

    async def _test(self, desk: "Desk") -> None:
        try:
            self.post_message(SourceTested(await desk.sources.test(self._source.id)))
        except CopydeskError as error:
            self.post_message(SourceRefused(str(error)))

    @on(SourceTested)
    def _show_entries(self, message: SourceTested) -> None:
        self.query_one(Page).show(
            [*test_fetch_page(message.result), paragraph(), paragraph("Nothing was stored.", "dim")]
        )

    @on(SourceRefused)
    def _show_error(self, message: SourceRefused) -> None:
        self.query_one(Page).show([paragraph(safe_line(message.reason), "bad")])

    def action_close(self) -> None:
        self.close(None)
