"""The current entries of a source, fetched once and not stored."""

from typing import TYPE_CHECKING

from textual import getters, on
from textual.app import ComposeResult

from copydesk.errors import CopydeskError
from copydesk.model.source import Source
from copydesk.tui.cells import cell
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keys import Where, bindings
from copydesk.tui.layout import plain
from copydesk.tui.modals.over import Over
from copydesk.tui.naming import key
from copydesk.tui.pages.source import trial_page
from copydesk.tui.source_messages import SourceRefused, SourceTested
from copydesk.tui.styles import sheet
from copydesk.tui.widgets.ink import INK
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from copydesk.desk import Desk


class SourceTrial(Over[None], inherit_bindings=False):
    """A page of titles over the screen."""

    CSS_PATH = sheet("sources.tcss")
    COMPONENT_CLASSES = set(INK)
    WHERE = (Where.PAGE, Where.TRIAL)
    BINDINGS = bindings(Where.TRIAL)

    app = getters.app(DeskApp)

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source = source

    def compose(self) -> ComposeResult:
        yield Page([plain("Reading it …", "accent")], id="trial")

    def on_mount(self) -> None:
        """Fetch the source."""
        self.query_one(Page).set_title(f"{cell(self._source.name)} · {key('trial.close')} closes")
        self.app.ask(self._test)

    async def _test(self, desk: "Desk") -> None:
        try:
            self.post_message(SourceTested(await desk.sources.test(self._source.id)))
        except CopydeskError as error:
            self.post_message(SourceRefused(str(error)))

    @on(SourceTested)
    def _show_entries(self, message: SourceTested) -> None:
        self.query_one(Page).show([*trial_page(message.result), plain(), plain("Nothing was stored.", "dim")])

    @on(SourceRefused)
    def _show_error(self, message: SourceRefused) -> None:
        self.query_one(Page).show([plain(cell(message.why), "bad")])

    def action_close(self) -> None:
        self.close(None)
