"""Rules made from the reasons of rejections: suggest, make, change, switch off, delete."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from copydesk.desk.context import DeskContext
from copydesk.desk.operation import operation
from copydesk.desk.permissions import needs
from copydesk.errors import ConflictError, NotFoundError
from copydesk.model.draft import Status
from copydesk.model.rule import (
    MAX_RULES,
    ChangeRule,
    NewRule,
    Rule,
    RuleSuggestion,
    validate_new_rule,
    validate_rule_change,
)
from copydesk.model.token import Scope
from copydesk.model.validation import MAX_ID_LENGTH
from copydesk.store import draft_queries, items, rules
from copydesk.store.database import Transaction
from copydesk.store.ids import new_id

_LIST_HINT = "List all rules: `copydesk rule list`."


class Rules:
    """Operations on the user's rules. None is ever made but by `add`."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @operation
    async def list(self) -> tuple[Rule, ...]:
        """Return the rules, newest first."""
        return await self._ctx.read(rules.list_all)

    @operation
    async def suggest(self, draft_id: str) -> tuple[RuleSuggestion, ...]:
        """Return rules that the reason of the draft's rejection may mean. Nothing is stored.

        Raise NotFoundError for an unknown draft, ConflictError if it was not rejected with a reason.
        """
        return await self._ctx.read(_suggest, draft_id)

    @needs(Scope.REVIEW)
    @operation
    async def add(self, request: NewRule | Mapping[str, object]) -> Rule:
        """Make a rule and return it. Items that it excludes are left out from the next run on.

        Raise InvalidError with every invalid field, NotFoundError for an unknown draft, ConflictError if there is such
        a rule already, or MAX_RULES of them.
        """
        return await self._ctx.write_durable(_add, validate_new_rule(request), self._ctx.clock())

    @needs(Scope.REVIEW)
    @operation
    async def change(self, rule_id: str, request: ChangeRule | Mapping[str, object]) -> Rule:
        """Change a rule, switch it off or on. Raise InvalidError, NotFoundError, or ConflictError as `add` does."""
        return await self._ctx.write_durable(_change, rule_id, validate_rule_change(request), self._ctx.clock())

    @needs(Scope.REVIEW)
    @operation
    async def remove(self, rule_id: str) -> None:
        """Delete a rule. Raise NotFoundError."""
        if not await self._ctx.write_durable(rules.remove, rule_id):
            raise _not_found(rule_id)


def _suggest(conn: Transaction, user_id: str, draft_id: str) -> tuple[RuleSuggestion, ...]:
    from copydesk.ranking.reasons import suggest_terms  # noqa: PLC0415 - not for the console's first rows

    draft = draft_queries.load(conn, user_id, draft_id)
    if draft.status is not Status.REJECTED or not draft.rejection_feedback:
        raise ConflictError("The draft was not rejected with a reason.", current_status=draft.status)
    item = items.get(conn, user_id, draft.item_id)
    text = f"{item.entry.title}\n{item.entry.summary}\n{item.entry.text}" if item else ""
    existing = {(rule.kind, rule.term) for rule in rules.list_all(conn, user_id)}
    return tuple(
        RuleSuggestion(kind=kind, term=term, reason=draft.rejection_feedback, draft_id=draft.id)
        for kind, term in suggest_terms(draft.rejection_feedback, text, draft.text)
        if (kind, term) not in existing
    )


def _add(conn: Transaction, user_id: str, new: NewRule, now: datetime) -> Rule:
    existing = rules.list_all(conn, user_id)
    if len(existing) >= MAX_RULES:
        raise ConflictError(f"There are {MAX_RULES} rules, the most allowed.", hint="Delete one first.")
    draft = draft_queries.load(conn, user_id, new.draft_id) if new.draft_id else None
    rule = Rule(
        id=new_id(now),
        kind=new.kind,
        term=new.term,
        reason=(draft.rejection_feedback or "") if draft else "",
        draft_id=new.draft_id,
        enabled=True,
        created_at=now,
        updated_at=now,
    )
    _check_unique(rule, existing)
    rules.add(conn, user_id, rule)
    return rule


def _change(conn: Transaction, user_id: str, rule_id: str, request: ChangeRule, now: datetime) -> Rule:
    rule = rules.get(conn, user_id, rule_id)
    if rule is None:
        raise _not_found(rule_id)
    given = {name: value for name, value in msgspec.structs.asdict(request).items() if value is not None}
    changed = msgspec.structs.replace(rule, **given, updated_at=now)
    _check_unique(changed, rules.list_all(conn, user_id))
    rules.save(conn, user_id, changed)
    return changed


def _check_unique(rule: Rule, existing: tuple[Rule, ...]) -> None:
    if any(other.id != rule.id and (other.kind, other.term) == (rule.kind, rule.term) for other in existing):
        raise ConflictError(f"There is already a rule for “{rule.term}”.", hint=_LIST_HINT)


def _not_found(rule_id: str) -> NotFoundError:
    return NotFoundError(f"No rule {rule_id[:MAX_ID_LENGTH]!r}.", hint=_LIST_HINT)
