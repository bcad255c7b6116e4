"""Second thoughts of people: a first of two yeses, and a no that says what one would agree to."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from aipm_core import AnyTool, Audience, Json, PluginContext, Tx, new_id
from aipm_policy.api import Confirmation
from aipm_policy.audit import AuditTrail, Entry
from aipm_policy.config import PolicyConfig
from aipm_policy.confirmations import project_topic
from aipm_policy.digest import canonical, digest, shown
from aipm_policy.grants import Scope

_AUDIENCES: tuple[Audience, ...] = ("agent", "in_process", "native")


class SecondThoughts:
    """What an answer can be besides yes and no."""

    def __init__(self, ctx: PluginContext[PolicyConfig], audit: AuditTrail) -> None:
        self._ctx = ctx
        self._audit = audit

    async def first_yes(self, tx: Tx, asked: Confirmation, scope: Scope, by: str) -> bool:
        """Note that one of two people agrees; ``False`` if no further one is needed."""
        if asked.approvers == 1 or asked.status != "pending":
            return False
        if scope != "once":
            raise self._ctx.refuse("scope_needs_one", 400)
        if asked.first_yes_by == by:
            raise self._ctx.refuse("second_person_needed", 409)
        if asked.first_yes_by is not None:
            return False
        await tx.run(
            "update confirmations set first_yes_by = ? where id = ? and status = 'pending'",
            *(by, asked.id),
        )
        tx.wake("confirmations", project_topic(asked.project_id))
        await self._audit.record(tx, _agreed_entry(asked, by))
        return True

    def check_proposal(self, asked: Confirmation, arguments: Mapping[str, Json]) -> str:
        """Return proposed arguments as they are kept; refuse what could not be called."""
        if asked.approvers > 1:
            raise self._ctx.refuse("proposal_needs_one", 409)
        if digest(arguments) == asked.args_digest:
            raise self._ctx.refuse("proposal_is_the_call", 400)
        tool = self._tool(asked.tool)
        if tool is not None and not isinstance(tool.arguments, Mapping):
            try:
                tool.arguments.model_validate(shown(arguments))
            except ValidationError as error:
                raise self._ctx.invalid(error) from None
        return canonical(shown(arguments))

    def _tool(self, name: str) -> AnyTool | None:
        found = (self._ctx.gateway.find_tool(name, audience) for audience in _AUDIENCES)
        return next((tool for tool in found if tool is not None), None)

    async def allow_instead(
        self, tx: Tx, asked: Confirmation, arguments: Mapping[str, Json], by: str
    ) -> None:
        """Allow exactly the proposed call, once, without a further question."""
        now, until = self._ctx.now(), self._ctx.clock() + self._ctx.config.confirmation_seconds
        await tx.run(
            "insert into confirmations (id, session_id, project_id, agent_id, tool, level, "
            "message, args, args_digest, status, created_at, expires_at, answered_at, "
            "answered_by, rule) values (?, ?, ?, ?, ?, ?, ?, ?, ?, 'approved', ?, ?, ?, ?, ?)",
            *(new_id("cnf"), asked.session_id, asked.project_id, asked.agent_id, asked.tool),
            *(asked.level, self._ctx.texts("inbox.proposed", person=by)),
            *(canonical(shown(arguments)), digest(arguments), now, until, now, by),
            f"proposed instead of {asked.id}",
        )


def _agreed_entry(asked: Confirmation, by: str) -> Entry:
    return Entry(
        agent_id=asked.agent_id,
        session_id=asked.session_id,
        project_id=asked.project_id,
        tool=asked.tool,
        args_digest=asked.args_digest,
        rule="two people have to agree",
        decision="REQUIRE_USER_CONFIRMATION",
        outcome="first_yes",
        human_decision="approved",
        human_id=by,
        confirmation_id=asked.id,
    )
