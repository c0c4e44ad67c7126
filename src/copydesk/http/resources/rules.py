"""Rules made from the reasons of rejections."""

from copydesk.http.call import Call
from copydesk.http.operations import Operations
from copydesk.http.resources.sources import Deleted
from copydesk.model.rule import ChangeRule, NewRule, Rule, RuleSuggestion
from copydesk.model.token import Scope

operations = Operations("Rules")


@operations.add("GET", "/rules", scope=Scope.READ, response=tuple[Rule, ...])
async def list_rules(call: Call) -> tuple[Rule, ...]:
    """List the rules, newest first."""
    return await call.desk.rules.list()


@operations.add("GET", "/drafts/{id}/rules", scope=Scope.READ, response=tuple[RuleSuggestion, ...], errors=(404, 409))
async def suggest_rules(call: Call) -> tuple[RuleSuggestion, ...]:
    """Suggest rules from the reason for which the draft was rejected. None is added."""
    return await call.desk.rules.suggest(call.id)


@operations.add(
    "POST",
    "/rules",
    scope=Scope.REVIEW,
    body=NewRule,
    response=Rule,
    status=201,
    errors=(404, 409),
    example={"kind": "exclude", "term": "giveaway"},
)
async def create_rule(call: Call) -> Rule:
    """Add a rule. It applies from the next run, draft and check on."""
    return await call.desk.rules.add(call.body)


@operations.add(
    "PATCH",
    "/rules/{id}",
    scope=Scope.REVIEW,
    body=ChangeRule,
    response=Rule,
    errors=(404, 409),
    example={"enabled": False},
)
async def change_rule(call: Call) -> Rule:
    """Change a rule, or switch it on or off."""
    return await call.desk.rules.change(call.id, call.body)


@operations.add("DELETE", "/rules/{id}", scope=Scope.REVIEW, response=Deleted, errors=(404,))
async def delete_rule(call: Call) -> Deleted:
    """Delete a rule."""
    await call.desk.rules.remove(call.id)
    return Deleted(ok=True)
