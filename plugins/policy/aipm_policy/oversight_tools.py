"""What people look at: rules and permissions as they stand, and the record of decisions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Annotated

from aipm_sessions.api import DIRECTORY, is_operator
from pydantic import Field

from aipm_core import Access, AnyTool, Arguments, Call, Json, PluginContext, Tx, tool
from aipm_policy.api import PolicyHooks
from aipm_policy.audit_check import HEAD, AuditCheck
from aipm_policy.config import PolicyConfig
from aipm_policy.defaults import ShippedRule
from aipm_policy.grants import Grants
from aipm_policy.made_rules import MadeRules

_ID = Field(max_length=64)
_VERIFY_SECONDS = 120.0  # a year of decisions is read and hashed
_Seq = Annotated[int, Field(ge=1)]


class OfProject(Arguments):
    """Arguments of ``list_rules``."""

    project_id: str = _ID


class OfProjects(Arguments):
    """A project, or all that the caller may look into."""

    project_id: str | None = Field(default=None, max_length=64)


class RevokeGrant(OfProjects):
    """Arguments of ``revoke_grant``."""

    grant_id: str = _ID


class VerifyAudit(Arguments):
    """Arguments of ``verify_audit``."""

    expect: str | None = Field(default=None, pattern=f"^{HEAD}$")


class ListAudit(OfProjects):
    """Arguments of ``list_audit``."""

    before: _Seq | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 200


class OversightTools:
    """Whoever may answer may also see what was allowed, and take it back."""

    def __init__(
        self,
        ctx: PluginContext[PolicyConfig],
        grants: Grants,
        audit: AuditCheck,
        shipped: Sequence[ShippedRule],
        made: MadeRules,
    ) -> None:
        self._ctx = ctx
        self._made = made
        self._shipped = shipped
        self._grants = grants
        self._audit = audit
        self._directory = ctx.services.use(DIRECTORY)

    def all(self) -> Iterable[AnyTool]:
        """Return the tools."""
        person, manager = Access.PERSON, Access.MANAGER
        yield tool(self.list_rules, access=person, audience="ui", read_only=True)
        yield tool(self.list_grants, access=person, audience="ui", read_only=True)
        yield tool(self.revoke_grant, access=person, audience="ui", destructive=True)
        yield tool(self.list_audit, access=manager, audience="ui", read_only=True)
        yield tool(
            self.verify_audit,
            access=manager,
            audience="ui",
            read_only=True,
            deadline=_VERIFY_SECONDS,
        )

    async def list_rules(self, call: Call, args: OfProject) -> Json:
        """Return the rules that can concern a project, and how long answers hold."""
        config = self._ctx.config
        numbered = enumerate(config.rules, start=1)
        rules = [
            {"number": number, **rule.model_dump(mode="json")}
            for number, rule in numbered
            if rule.project is None or fnmatchcase(args.project_id, rule.project)
        ]
        policies = self._ctx.given(PolicyHooks.aipm_policies)
        return {
            "rules": rules,
            "made": await self._made.listed(args.project_id),
            "defaults": [rule.model_dump(mode="json") for rule in self._shipped],
            "policies": [{"plugin": one.plugin, "name": one.record.name} for one in policies],
            "confirmation_seconds": config.confirmation_seconds,
            "session_hours": config.session_hours,
            "always_days": config.always_days,
        }

    async def list_grants(self, call: Call, args: OfProjects) -> Json:
        """Return what people allowed in advance."""
        return {"grants": await self._grants.valid(await self._projects(call, args))}

    async def revoke_grant(self, call: Call, args: RevokeGrant) -> Json:
        """Take a permission back; the next such call asks again."""
        projects = await self._projects(call, args)

        async def unit(tx: Tx) -> Json:
            if not await self._grants.take_back(tx, args.grant_id, projects):
                raise self._ctx.refuse("grant_not_found", 404)
            return {"grant_id": args.grant_id}

        return await call.write(self._ctx.store, unit)

    async def list_audit(self, call: Call, args: ListAudit) -> Json:
        """Return the newest decisions about calls in a project, newest first."""
        projects = await self._projects(call, args)
        found = await self._audit.of_projects(projects, args.before, args.limit)
        return {"entries": found, "has_more": len(found) == args.limit}

    async def verify_audit(self, call: Call, args: VerifyAudit) -> Json:
        """Check that no entry of the audit trail was edited, removed or added by hand."""
        report = await self._audit.verify(args.expect)
        return {
            "ok": report.ok,
            "entries": report.entries,
            "head": report.head,
            "problem": report.problem,
            "outdated": report.outdated,
            "verified_at": self._ctx.now(),
        }

    async def _projects(self, call: Call, args: OfProjects) -> Sequence[str] | None:
        """Return the projects a question is about; for the operator everything, named or not."""
        if args.project_id is not None:
            return (args.project_id,)
        if is_operator(call.caller):
            return None
        return await self._directory.reach(self._ctx.store, call.caller)
