"""Tools for people: try rules on past calls, make one that ends, take it back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field, ValidationError

from aipm_core import Access, AnyTool, Arguments, Call, Json, PluginContext, Tx, tool
from aipm_policy.api import Decision
from aipm_policy.config import PolicyConfig, Rule
from aipm_policy.made_rules import MadeRules
from aipm_policy.rehearsal import Rehearsal

_ID = Field(max_length=64)
_SECONDS = 120.0  # many calls are judged
_MOST_RULES = 500
_Days = Annotated[float, Field(gt=0, le=365)]


class RehearseRules(Arguments):
    """Arguments of ``rehearse_rules``."""

    project_id: str = _ID
    rules: list[dict[str, Json]] | None = Field(default=None, max_length=_MOST_RULES)
    days: _Days = 7.0


class MakeRule(Arguments):
    """Arguments of ``make_rule``."""

    project_id: str = _ID
    tool: str = Field(min_length=1, max_length=200)
    arguments: dict[str, str] = Field(default_factory=dict[str, str], max_length=20)
    agent: str | None = Field(default=None, max_length=200)
    days: _Days = 7.0


class RevokeRule(Arguments):
    """Arguments of ``revoke_rule``."""

    project_id: str = _ID
    rule_id: str = _ID


class RehearsalTools:
    """Managers see what was called and make rules; every person may take one back."""

    def __init__(
        self, ctx: PluginContext[PolicyConfig], rehearsal: Rehearsal, made: MadeRules
    ) -> None:
        self._ctx = ctx
        self._rehearsal = rehearsal
        self._made = made

    def all(self) -> Iterable[AnyTool]:
        """Return the tools."""
        manager, person = Access.MANAGER, Access.PERSON
        yield tool(
            self.rehearse_rules, access=manager, audience="ui", read_only=True, deadline=_SECONDS
        )
        yield tool(self.make_rule, access=manager, audience="ui")
        yield tool(self.revoke_rule, access=person, audience="ui", destructive=True)

    async def rehearse_rules(self, call: Call, args: RehearseRules) -> Json:
        """Return what the calls of a project would have got under other rules."""
        rules = None
        if args.rules is not None:
            rules = [self._rule(place, told) for place, told in enumerate(args.rules, start=1)]
        return await self._rehearsal.rehearse(args.project_id, rules, args.days)

    async def make_rule(self, call: Call, args: MakeRule) -> Json:
        """Allow, for some days, what only a shipped rule asks about."""
        rule = Rule(
            tool=args.tool, decision=Decision.ALLOW, arguments=args.arguments, agent=args.agent
        )

        async def unit(tx: Tx) -> Json:
            by = call.caller.agent_id
            return await self._made.make(tx, args.project_id, rule, by, args.days)

        return await call.write(self._ctx.store, unit)

    async def revoke_rule(self, call: Call, args: RevokeRule) -> Json:
        """Take back a rule that was made; the next such call asks again."""

        async def unit(tx: Tx) -> Json:
            if not await self._made.take_back(tx, args.rule_id, args.project_id):
                raise self._ctx.refuse("rule_not_found", 404)
            return {"rule_id": args.rule_id}

        return await call.write(self._ctx.store, unit)

    def _rule(self, place: int, told: dict[str, Json]) -> Rule:
        try:
            return Rule.model_validate(told)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, (f"rules[{place}]", *first["loc"])))
            raise self._ctx.refuse("bad_rule", 400, where=where, problem=first["msg"]) from None
