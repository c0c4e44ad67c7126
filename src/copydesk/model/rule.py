"""Rules made from the reasons of rejections. Nothing makes one without the user's consent."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from copydesk.model.serialization import Struct
from copydesk.model.validation import FieldReader, Id

MAX_TERM_LENGTH = 100
MAX_RULES = 200

Term = Annotated[str, Meta(min_length=1, max_length=MAX_TERM_LENGTH, pattern=r"\S")]


class RuleKind(StrEnum):
    """The effect of a rule."""

    EXCLUDE = "exclude"
    """Items with the words are filtered out, as with `pipeline.exclude`."""
    AVOID = "avoid"
    """The words must not appear in drafts, as with the voice's `avoid`."""


class Rule(Struct, frozen=True):
    """A rule of the user."""

    id: str
    kind: RuleKind
    term: str
    """A word or phrase."""
    reason: str
    """The reason of the rejection that it was made from; "" if it was made without one."""
    draft_id: str | None
    """The draft that was rejected; null if there is none, or it was deleted."""
    enabled: bool
    created_at: datetime
    updated_at: datetime


class NewRule(Struct, frozen=True, forbid_unknown_fields=True):
    """A rule to make."""

    kind: RuleKind
    term: Term
    draft_id: Id | None = None
    """The rejected draft whose reason led to it."""


class ChangeRule(Struct, frozen=True, forbid_unknown_fields=True):
    """A change of a rule; null leaves a field as it is."""

    kind: RuleKind | None = None
    term: Term | None = None
    enabled: bool | None = None


class RuleSuggestion(Struct, frozen=True):
    """A rule that the reason of a rejection may mean. It takes effect only if the user makes it."""

    kind: RuleKind
    term: str
    reason: str
    draft_id: str


def validate_new_rule(request: NewRule | Mapping[str, object]) -> NewRule:
    """Return the validated rule. Raise InvalidError with every invalid field."""
    reader = FieldReader(NewRule, request)
    reader.require("kind", "term")
    kind, term = reader.choice("kind", RuleKind), _read_term(reader)
    draft_id = reader.line("draftId", 100)
    reader.raise_if_invalid()
    assert kind is not None
    assert term is not None
    return NewRule(kind=kind, term=term, draft_id=draft_id)


def validate_rule_change(request: ChangeRule | Mapping[str, object]) -> ChangeRule:
    """Return the validated change. Raise InvalidError with every invalid field."""
    reader = FieldReader(ChangeRule, request)
    kind, term = reader.choice("kind", RuleKind), _read_term(reader)
    enabled = reader.flag("enabled") if reader.has("enabled") else None
    reader.raise_if_invalid()
    return ChangeRule(kind=kind, term=term, enabled=enabled)


def _read_term(reader: FieldReader) -> str | None:
    term = reader.line("term", MAX_TERM_LENGTH)
    if term is not None and len(term) > 1 and term.startswith("/") and term.endswith("/"):
        reader.add_problem("term", "is a word or phrase; put expressions into the settings")
    return term
