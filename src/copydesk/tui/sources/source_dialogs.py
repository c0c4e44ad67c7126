"""Dialogs of a source: its form, and a test fetch that shows its current entries and stores nothing.

A new source is fetched once, to show its entries, before it is saved.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from copydesk.desk.catalog import DEFAULT_TYPE, SOURCE_TYPES, get_source_type, guess_source_type
from copydesk.errors import CopydeskError, InvalidError
from copydesk.model.source import MAX_NAME_LENGTH, Source, SourceConfig
from copydesk.text import clean
from copydesk.tui import labels
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.dialogs.base import Dialog, PageDialog
from copydesk.tui.dialogs.prompt import discard_with_consent
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.layout import Block, paragraph
from copydesk.tui.runtime.desk_tasks import DeskTask
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.sources.form_state import (
    SourceFields,
    SourceLocation,
    build_update,
    field_label,
    fields_of,
    refused_fields,
    select_settings,
)
from copydesk.tui.sources.messages import LocationTested, SourceRefused, SourceSaved, SourceTested
from copydesk.tui.sources.pages import test_fetch_page
from copydesk.tui.terminal.cells import safe_line
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.widgets.inputs import Choice, SafeInput, describe_refusal, focus_refused, label_line
from copydesk.tui.widgets.key_hints import KeyHintText, key_hint
from copydesk.tui.widgets.lines import set_title
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.sources.service import CandidateTest


MAX_FIELD_LENGTH = 4000
"""Characters of a field."""


class SourceDialog(Dialog[Source | None], inherit_bindings=False):
    """Fields, a line with the next step, and the entries found.

    Returns the saved source, or None if the form is left.
    """

    CSS_PATH = stylesheet_path("sources.tcss")
    WHERE = (KeyContext.SOURCE_FORM,)
    BINDINGS = bindings(KeyContext.SOURCE_FORM)
    NEW_FIELDS: ClassVar = ("url", "name")
    EDIT_FIELDS: ClassVar = ("name", "url", "weight", "interval", "include", "exclude", "tags", "images")

    app = getters.app(DeskApp)

    def __init__(self, source: Source | None = None) -> None:
        super().__init__()
        self._source = source
        self._initial = fields_of(source) if source else SourceFields(SourceLocation(DEFAULT_TYPE, ""), "")
        self._type_is_set = source is not None
        """True if the user chose the type; until then it is guessed from the address."""
        self._tested: tuple[SourceLocation, CandidateTest] | None = None
        self._busy = False
        self._test_task: DeskTask | None = None

    def compose(self) -> ComposeResult:
        title = labels.source_edit_title(clean(self._source.name)) if self._source else labels.SOURCE_NEW
        # A low terminal scrolls to the field that has the focus.
        with VerticalScroll(id="form", can_focus=False):
            yield Static(Content(title), classes="-question")
            yield from self._fields()
            yield KeyHintText(id="next")
            yield Page(id="found")

    def _fields(self) -> Iterable[Widget]:
        values = self._initial._asdict() | {"url": self._initial.location.url}
        for name in self.EDIT_FIELDS if self._source else self.NEW_FIELDS:
            line = SafeInput(
                values[name],
                placeholder=labels.SOURCE_PLACEHOLDERS[name],
                id=name,
                max_length=MAX_FIELD_LENGTH,
                select_on_focus=False,
            )
            yield Horizontal(label_line(labels.SOURCE_FIELDS[name]), line, id=f"{name}-line")
            if name == "url" and self._source is None:
                types = {info.name: info.label for info in SOURCE_TYPES.values()}
                choice = Choice(types, self._initial.location.type, id="type")
                yield Horizontal(label_line(labels.SOURCE_FIELDS["type"]), choice)
            if name == "url":
                yield from self._type_settings()

    def _type_settings(self) -> Iterable[Widget]:
        """Yield a line for each setting that only some source types have; those of other types are hidden."""
        values = dict(self._initial.location.settings)
        fields = {field.name: field for info in SOURCE_TYPES.values() for field in info.form_fields}
        for field in fields.values():
            line = SafeInput(
                values.get(field.name, ""),
                placeholder=field.hint,
                id=f"setting-{field.name}",
                name=field.name,
                max_length=MAX_FIELD_LENGTH,
                select_on_focus=False,
                classes="-setting",
            )
            yield Horizontal(
                label_line(field.label),
                line,
                id=f"setting-{field.name}-line",
                classes="-setting-line",
                name=field.name,
            )

    def on_mount(self) -> None:
        self._update_setting_lines()
        self._hide_outdated_result()
        self._show_next_step()
        self.query_one(Input).focus()

    @property
    def _form(self) -> SourceFields:
        texts = {str(line.id): line.value.strip() for line in self.query(Input) if not line.has_class("-setting")}
        settings = {str(line.name): line.value.strip() for line in self.query("Input.-setting").results(Input)}
        location = SourceLocation(self._type, texts.pop("url"), select_settings(self._type, settings))
        return self._initial._replace(location=location, **texts)

    @property
    def _type(self) -> str:
        return self._source.type if self._source else self.query_one(Choice).value

    @on(Input.Changed)
    def _follow_typing(self, event: Input.Changed) -> None:
        # Guess the type from the address until the user chooses one.
        if event.input.id == "url" and not self._type_is_set:
            self.query_one(Choice).value = guess_source_type(event.value.strip()).name
        self._update_setting_lines()
        self._hide_outdated_result()
        self._show_next_step()

    @on(Choice.Changed)
    def _follow_type(self) -> None:
        self._type_is_set = True
        self._update_setting_lines()
        self._hide_outdated_result()
        self._show_next_step()

    def _hide_outdated_result(self) -> None:
        """Hide the entries if they were found at another address than the one typed now."""
        if self._tested is None or self._tested[0] != self._form.location:
            self.query_one("#found").display = False

    def _update_setting_lines(self) -> None:
        names = {field.name for field in get_source_type(self._type).form_fields}
        for line in self.query(".-setting-line"):
            line.display = line.name in names

    def _show_next_step(self) -> None:
        form, leave_link = self._form, key_hint("source_form.leave", labels.SOURCE_FORM_CANCEL)
        if self._busy:
            self._set_step(labels.SOURCE_FETCHING, role="accent")
        elif not form.location.url:
            self._set_step(labels.source_url_missing(get_source_type(self._type).hosts), leave_link)
        elif self._is_tested(form.location):
            self._set_step(key_hint("source_form.go_on", labels.SOURCE_FORM_SAVE), leave_link, role="good")
        elif self._tested is not None and self._tested[0] == form.location:
            retry_link = key_hint("source_form.go_on", labels.SOURCE_FORM_RETRY)
            save_link = key_hint("source_form.save", labels.SOURCE_FORM_SAVE_UNTESTED)
            self._set_step(retry_link, save_link, leave_link, role="warn")
        else:
            self._set_step(key_hint("source_form.go_on", labels.SOURCE_FORM_TEST), leave_link)

    def _set_step(self, *parts: str | Content, role: str = "dim") -> None:
        line = self.query_one("#next", KeyHintText)
        line.set_classes(f"-{role}")
        line.update(Content(labels.SEPARATOR).join(Content.assemble(part) for part in parts))

    def _is_tested(self, location: SourceLocation) -> bool:
        """Return True if this location was read successfully, now or when the source was saved."""
        if self._source is not None and location == self._initial.location:
            return True
        return self._tested is not None and self._tested[0] == location and self._tested[1].ok

    @on(Input.Submitted)
    def action_go_on(self) -> None:
        """Test an address that was not tested yet; otherwise save."""
        location = self._form.location
        if not location.url:
            self._set_step(labels.source_url_missing(get_source_type(self._type).hosts), role="warn")
        if self._busy or not location.url or self.app.desk is None:
            return
        if self._is_tested(location):
            self.action_save()
            return
        self._busy = True
        self._show_next_step()
        self._test_task = self.app.run_desk_task(lambda desk: self._test(desk, location), on_finished=self._clear_busy)

    def action_preview(self) -> None:
        """Show what the entered filters and weight would have done in the last 30 days. Nothing is saved."""
        source = self._source
        if source is None:
            self.app.notify(labels.PREVIEW_SAVED_SOURCES, severity="warning")
            return
        try:
            update = build_update(source, self._form, self._form.location.url)
        except InvalidError as error:
            self._report_error(error)
            return
        config = update.get("config") or msgspec.to_builtins(source.config or SourceConfig())
        request = {"sourceId": source.id, "sourceConfig": config}
        self.app.run_desk_task(lambda desk: self._preview(desk, request), hold_keys=Hold.SCREEN)

    async def _preview(self, desk: "Desk", request: Any) -> None:
        from copydesk.tui.ranking_pages import ranking_preview_page  # noqa: PLC0415 - as above

        try:
            found = await desk.ranking.preview(request)
        except CopydeskError as error:
            self._report_error(error)
        else:
            self.app.push_if_current(self, PageDialog(labels.RANKING_PREVIEW_TITLE, ranking_preview_page(found)))

    def _clear_busy(self) -> None:
        self._busy = False

    async def _test(self, desk: "Desk", location: SourceLocation) -> None:
        try:
            request = {"type": location.type, "url": location.url, "config": location.config}
            result = await desk.sources.test_candidate(request)
        except Exception as error:
            self._report_error(error)
        else:
            self.post_message(LocationTested(location, result))

    def _report_error(self, error: Exception) -> None:
        """Show the error in the form; re-raise one that is not a CopydeskError, so that it is reported as a bug."""
        if not isinstance(error, CopydeskError):
            self.post_message(SourceRefused(labels.UNEXPECTED_ERROR))
            raise error
        self.post_message(SourceRefused(describe_refusal(error, field_label), refused_fields(error)))

    @on(LocationTested)
    def _show_tested(self, message: LocationTested) -> None:
        """Show the entries, unless another address was typed while they were fetched."""
        self._tested = (message.location, message.result)
        if message.location == self._form.location:
            self._show_result(test_fetch_page(message.result))
            if message.result.title:
                self.query_one("#name", Input).placeholder = safe_line(message.result.title)
        self._show_next_step()

    @on(SourceRefused)
    def _show_error(self, message: SourceRefused) -> None:
        self._show_next_step()
        self._show_result([paragraph(safe_line(message.reason), "bad")])
        focus_refused([line for line in self.query(Input) if {line.id, line.name} & {*message.fields}])

    def _show_result(self, blocks: Sequence[Block]) -> None:
        page = self.query_one("#found", Page)
        page.display = True
        page.show(blocks)

    def action_save(self) -> None:
        """Save the source, tested or not."""
        form = self._form
        if form.location.url and not self._busy and self.app.desk is not None:
            # No task to cancel: saving is not interrupted by leaving.
            self._busy, self._test_task = True, None
            self.app.run_desk_task(
                lambda desk: self._save(desk, form), hold_keys=Hold.FORM, on_finished=self._clear_busy
            )

    async def _save(self, desk: "Desk", form: SourceFields) -> None:
        try:
            saved = await self._update(desk, self._source, form) if self._source else await self._create(desk, form)
        except Exception as error:
            self._report_error(error)
        else:
            self.post_message(SourceSaved(saved))

    async def _create(self, desk: "Desk", form: SourceFields) -> Source:
        location = form.location
        # The test may have found the feed's own address behind that of a web page.
        found = self._tested[1] if self._tested and self._tested[0] == location else None
        url, title = (found.url, found.title) if found else (location.url, "")
        request = {"type": location.type, "url": url, "name": form.name or None, "config": location.config}
        return await desk.sources.create(request, test=False, title=clean(title).strip()[:MAX_NAME_LENGTH])

    async def _update(self, desk: "Desk", source: Source, form: SourceFields) -> Source:
        url = self._tested[1].url if self._tested and self._tested[0] == form.location else form.location.url
        changed_fields = build_update(source, form, url)
        return await desk.sources.update(source.id, changed_fields, test=False) if changed_fields else source

    @on(SourceSaved)
    def _close_saved(self, message: SourceSaved) -> None:
        self.close(message.source)

    @property
    def has_changes(self) -> bool:
        """Return True if something was typed."""
        return self._form != self._initial

    def action_leave(self) -> None:
        """Leave, and stop a test that is running."""
        if self._busy and self._test_task is None:
            self._set_step(labels.SAVING, role="accent")
            return
        discard_with_consent(self, self._leave)

    def _leave(self) -> None:
        if self._test_task is not None:
            self._test_task.cancel()
        self.close(None)

    def action_next_field(self) -> None:
        self.focus_next()

    def action_previous_field(self) -> None:
        self.focus_previous()


class SourceTestDialog(Dialog[None], inherit_bindings=False):
    """A page of titles over the screen."""

    CSS_PATH = stylesheet_path("sources.tcss")
    WHERE = (KeyContext.PAGE, KeyContext.SOURCE_TEST)
    BINDINGS = bindings(KeyContext.SOURCE_TEST)

    app = getters.app(DeskApp)

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source = source

    def compose(self) -> ComposeResult:
        yield Page([paragraph(labels.SOURCE_FETCHING, "accent")], id="trial")

    def on_mount(self) -> None:
        """Fetch the source."""
        set_title(self.query_one(Page), labels.close_hint(safe_line(self._source.name), "trial.close"))
        self.app.run_desk_task(self._test)

    async def _test(self, desk: "Desk") -> None:
        try:
            self.post_message(SourceTested(await desk.sources.test(self._source.id)))
        except CopydeskError as error:
            self.post_message(SourceRefused(str(error)))

    @on(SourceTested)
    def _show_entries(self, message: SourceTested) -> None:
        self.query_one(Page).show(
            [*test_fetch_page(message.result), paragraph(), paragraph(labels.SOURCE_TEST_NOT_SAVED, "dim")]
        )

    @on(SourceRefused)
    def _show_error(self, message: SourceRefused) -> None:
        self.query_one(Page).show([paragraph(safe_line(message.reason), "bad")])

    def action_close(self) -> None:
        self.close(None)
