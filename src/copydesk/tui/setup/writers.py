"""The writers of the setup screen: their rows and page, and the actions that add, test, choose and remove them."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from textual.content import Content

from copydesk.errors import CopydeskError
from copydesk.model.writer import (
    MAX_MODEL_LENGTH,
    MAX_URL_LENGTH,
    MAX_WRITER_NAME_LENGTH,
    OFFLINE,
    WireProtocol,
    WriterInfo,
    Writers,
)
from copydesk.text.formatting import format_cost, format_relative
from copydesk.tui import labels
from copydesk.tui.layout import Block, Table, paragraph
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.terminal.cells import fit, safe_line

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.tui.desk_screen import DeskScreen

MAX_KEY_LENGTH = 4_000


def writer_row(writer: WriterInfo, now: datetime, width: int) -> Content:
    """Return the writer's row in `width` cells: its place in the order, its name, and its last test."""
    role = "bad" if writer.error else "good" if writer.position else "dim"
    sign = f"{writer.position}" if writer.position else " "
    state = labels.writer_state(writer, format_relative(writer.tested_at, now) if writer.tested_at else "")
    room = max(width - len(state) - 4, 8)
    line = Content.assemble(
        (f"{sign} ", role), fit(safe_line(writer.name), room), "  ", (state, "bad" if writer.error else "dim")
    )
    return line.truncate(width, ellipsis=True)


def endpoint_blocks(writer: WriterInfo, writers: Writers, now: datetime) -> list[Block]:
    """Return the facts of a language model, and what language models cost this month."""
    endpoint = writer.endpoint
    assert endpoint is not None
    tested = labels.ACCOUNT_NOT_TESTED
    if writer.tested_at:
        tested = f"{labels.format_date_time(writer.tested_at, now)}, {format_relative(writer.tested_at, now)}"
    rows = [
        (labels.FIELD_MODEL, safe_line(endpoint.model)),
        (labels.FIELD_SERVER, safe_line(endpoint.base_url)),
        (labels.FIELD_PROTOCOL, endpoint.protocol.value),
        (labels.FIELD_STRUCTURED, endpoint.structured.value),
        (labels.FIELD_KEY, labels.KEY_STORED if endpoint.has_key else labels.KEY_MISSING),
        (labels.FIELD_PRICE, labels.PRICE_KNOWN if writer.has_price else labels.PRICE_UNKNOWN),
        (labels.FIELD_TESTED, tested),
        (labels.FIELD_SPENDING, labels.spending(writers.spending, writers.monthly_budget, format_cost)),
    ]
    blocks: list[Block] = [paragraph(safe_line(writer.error), "bad"), paragraph()] if writer.error else []
    return [*blocks, Table([(Content.styled(name, "dim"), Content(value)) for name, value in rows])]


class WriterActions:
    """The actions on the writer under the cursor."""

    def __init__(self, screen: "DeskScreen") -> None:
        self._screen = screen
        self._app = screen.app

    def add(self, on_added: Callable[[str], None]) -> None:
        """Open the form that adds a language model and tries it; call `on_added` with its name."""
        from copydesk.tui.dialogs.fields import Field, FieldsDialog  # noqa: PLC0415 - not needed for the first paint

        fields = [
            Field(
                "name",
                labels.FIELD_NAME,
                labels.WRITER_NAME_PLACEHOLDER,
                max_length=MAX_WRITER_NAME_LENGTH,
                required=True,
            ),
            Field("model", labels.FIELD_MODEL, labels.MODEL_PLACEHOLDER, max_length=MAX_MODEL_LENGTH, required=True),
            Field(
                "protocol",
                labels.FIELD_PROTOCOL,
                labels.PROTOCOL_PLACEHOLDER,
                suggestions=[protocol.value for protocol in WireProtocol],
            ),
            Field("baseUrl", labels.FIELD_SERVER, labels.ENDPOINT_PLACEHOLDER, max_length=MAX_URL_LENGTH),
            Field("key", labels.FIELD_KEY, labels.KEY_PLACEHOLDER, max_length=MAX_KEY_LENGTH, secret=True),
        ]
        hint, submit = labels.ACCOUNT_FIELDS_HINT, partial(_add_and_test, on_added)
        dialog = FieldsDialog(labels.WRITER_FORM_TITLE, fields, submit, hint=hint, effect=labels.ADD_AND_TEST)
        self._app.push_screen(dialog, self._report)

    def test(self, writer: WriterInfo | None) -> None:
        """Let the model write a post about an invented text."""
        if writer is not None:
            self._app.notify(labels.account_testing(writer.name))
            self._app.run_desk_task(partial(self._test, writer.name))

    async def _test(self, name: str, desk: "Desk") -> None:
        try:
            result = await desk.writers.test(name)
        except CopydeskError as error:
            self._app.notify(labels.account_failed(name, str(error)), severity="error")
        else:
            self._app.notify(labels.writer_works(result, format_cost(result.cost)))
        # Also after a failure, which is stored with the writer and shown in its row.
        self._app.call_later(self._screen.refresh_data)

    def use(self, writer: WriterInfo | None) -> None:
        """Let the writer be asked first, and the offline writer if it writes no draft."""
        if writer is not None:
            names = [writer.name] if writer.name == OFFLINE else [writer.name, OFFLINE]
            self._app.enqueue_write(partial(self._use, names), hold_keys=Hold.RESULT)

    async def _use(self, names: list[str], desk: "Desk") -> None:
        await desk.writers.use(names)
        self._app.notify(labels.writers_chosen(names))
        self._screen.refresh_for_keys()

    def remove(self, writer: WriterInfo | None) -> None:
        """Remove the model and its key, after a confirmation."""
        from copydesk.tui.dialogs.prompt import ConfirmDialog  # noqa: PLC0415 - as above

        if writer is not None:
            dialog = ConfirmDialog(labels.remove_writer_prompt(writer.name), yes=labels.REMOVE_WRITER)
            self._app.push_screen(dialog, partial(self._remove_if_confirmed, writer.name))

    def _remove_if_confirmed(self, name: str, yes: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
        if yes:
            self._app.enqueue_write(partial(self._remove, name), hold_keys=Hold.RESULT)

    async def _remove(self, name: str, desk: "Desk") -> None:
        await desk.writers.remove(name)
        self._app.notify(labels.writer_removed(name))
        self._screen.refresh_for_keys()

    def _report(self, message: str | None) -> None:
        if message:
            self._app.notify(message)
        # The writer may have been added although its test failed.
        self._screen.refresh_data()


async def _add_and_test(on_added: Callable[[str], None], desk: "Desk", values: Mapping[str, str]) -> str:
    """Add the language model of the form and try it. After a failed test it stays, to be tested or replaced."""
    fields = {name: value for name, value in values.items() if value and name != "key"}
    added = await desk.writers.add(fields, values.get("key", ""))
    on_added(added.name)
    try:
        result = await desk.writers.test(added.name)
    except CopydeskError as error:
        raise CopydeskError(labels.writer_test_failed(added.name, error.message), hint=error.hint) from None
    return labels.writer_added(result, format_cost(result.cost))
