"""What managers do with the members of their projects, and people with agents' sessions."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from aipm_core import (
    Access,
    AnyTool,
    Arguments,
    Call,
    InvalidArguments,
    Json,
    Kind,
    PluginContext,
    Reader,
    Role,
    Trait,
    Tx,
    quoted,
    tool,
)
from aipm_sessions.administration import Administration, NewAgent
from aipm_sessions.agent_fields import CollectedAgentFields
from aipm_sessions.api import Agent, is_name, is_operator, members_topic
from aipm_sessions.authority import Authority
from aipm_sessions.config import SessionsConfig
from aipm_sessions.departures import Departures
from aipm_sessions.directory import SqlDirectory
from aipm_sessions.session_store import SqlSessionStore
from aipm_sessions.shown import agent_shown

ID = Field(max_length=64)


class Member(Arguments):
    """An agent or a person of a project."""

    project_id: str = ID
    agent_id: str = ID


class ProgramFields(Arguments):
    """What is run for an agent; plugins keep it. ``null`` empties a field."""

    program: str | None = Field(default=None, max_length=64)
    model: str | None = Field(default=None, max_length=200)
    system_prompt: str | None = Field(default=None, max_length=20_000)
    role_text: str | None = Field(default=None, max_length=4000)
    workspace: str | None = Field(default=None, max_length=20)
    max_budget_usd: float | None = None

    def kept_by_plugins(self) -> dict[str, Json]:
        """Return the fields that were given, empty ones as such."""
        given = ProgramFields.model_fields.keys() & self.model_fields_set
        values: dict[str, Json] = {name: getattr(self, name) or None for name in sorted(given)}
        return values | ({"program": values["program"] or ""} if "program" in values else {})


class AddAgent(Member, ProgramFields):
    """Arguments of ``add_agent``."""

    name: str | None = Field(default=None, max_length=200, pattern=r"\S")
    type: Kind = "ai"
    role: Role = "worker"
    parent_id: str | None = None


class EditAgent(Member, ProgramFields):
    """Arguments of ``edit_agent``; what is left out stays."""

    name: str | None = Field(default=None, max_length=200, pattern=r"\S")
    role: Role | None = None
    parent_id: str | None = None


class OneAgent(Arguments):
    """Arguments of ``remove_agent``."""

    agent_id: str = ID


class EndSession(Arguments):
    """Arguments of ``end_session``."""

    project_id: str = ID
    session_id: str = ID


class MemberTools:
    """Who belongs to a project, and what they are there."""

    def __init__(
        self,
        ctx: PluginContext[SessionsConfig],
        administration: Administration,
        directory: SqlDirectory,
        sessions: SqlSessionStore,
        fields: CollectedAgentFields,
        departures: Departures,
    ) -> None:
        self._ctx = ctx
        self._fields = fields
        self._administration = administration
        self._directory = directory
        self._sessions = sessions
        self._departures = departures
        self._authority = Authority(ctx, directory)

    def all(self) -> Iterable[AnyTool]:
        """Return the tools."""
        manager, secret = Access.MANAGER, (Trait.KEEPS_NO_RESULT,)
        yield tool(self.add_agent, access=manager, audience="ui", traits=secret)
        yield tool(self.rekey_agent, access=manager, audience="ui", traits=secret, destructive=True)
        yield tool(self.edit_agent, access=manager, audience="ui", idempotent=True)
        yield tool(self.assign_agent, access=manager, audience="ui", idempotent=True)
        yield tool(self.unassign_agent, access=manager, audience="ui", destructive=True)
        yield tool(self.remove_agent, access=manager, audience="ui", destructive=True)
        yield tool(self.end_session, access=Access.PERSON, audience="ui", destructive=True)

    async def add_agent(self, call: Call, args: AddAgent) -> Json:
        """Add an agent or a person to a project; the passkey is shown once."""
        if not is_name(args.agent_id):
            raise InvalidArguments(self._ctx.texts("errors.not_a_name", field="agent_id"))
        more = self._checked(args)
        passkey, stored = await self._administration.new_passkey(args.agent_id)

        async def unit(tx: Tx) -> Json:
            if args.parent_id is not None:
                await self._superior(tx, call, args.parent_id, args.project_id)
            new = NewAgent(
                id=args.agent_id,
                project_id=args.project_id,
                name=args.name or args.agent_id,
                kind=args.type,
                role=args.role,
                parent=args.parent_id,
                passkey_hash=stored,
            )
            made = await self._administration.insert_agent(tx, new)
            await self._fields.change(tx, made.id, more)
            return {"agent": await self._shown(tx, made), "passkey": passkey}

        return await call.write(self._ctx.store, unit)

    async def edit_agent(self, call: Call, args: EditAgent) -> Json:
        """Change what a member is called, may do and is run with."""
        more = self._checked(args)
        if not (args.name or args.role or args.parent_id or more):
            raise InvalidArguments(self._ctx.texts("errors.nothing_to_change"))

        async def unit(tx: Tx) -> Json:
            agent = await self._authority.member(tx, args.agent_id, args.project_id)
            await self._authority.check_governs(tx, call.caller, agent.id)
            if args.parent_id is not None:
                await self._check_parent(tx, call, agent, args)
            await tx.run(
                "update agents set name = ?, role = ?, parent_id = ? where id = ?",
                *(args.name or agent.name, args.role or agent.role),
                *(args.parent_id or agent.parent_id, agent.id),
            )
            await self._fields.change(tx, agent.id, more)
            for project_id in await self._directory.projects_of(tx, agent.id):
                tx.wake(members_topic(project_id))
            return {"agent": await self._shown(tx, agent)}

        return await call.write(self._ctx.store, unit)

    async def rekey_agent(self, call: Call, args: Member) -> Json:
        """Give a member a new passkey, shown once; the old one, its sessions and tokens end."""
        passkey, stored = await self._administration.new_passkey(args.agent_id)

        async def unit(tx: Tx) -> Json:
            agent = await self._authority.member(tx, args.agent_id, args.project_id)
            await self._authority.check_governs(tx, call.caller, agent.id)
            await self._administration.change_passkey(tx, agent.id, stored)
            return {"agent_id": agent.id, "passkey": passkey}

        return await call.write(self._ctx.store, unit)

    async def assign_agent(self, call: Call, args: Member) -> Json:
        """Put an agent of one project of the manager's into another one."""

        async def unit(tx: Tx) -> Json:
            agent = await self._authority.known(tx, call.caller, args.agent_id)
            await self._administration.join(tx, agent.id, args.project_id)
            return {"agent": await self._shown(tx, agent)}

        return await call.write(self._ctx.store, unit)

    async def unassign_agent(self, call: Call, args: Member) -> Json:
        """Take a member out of a project: its sessions there end, its open tasks are nobody's."""

        async def unit(tx: Tx) -> Json:
            agent = await self._authority.member(tx, args.agent_id, args.project_id)
            by = self._not_oneself(call, agent)
            await self._departures.leave(tx, agent.id, args.project_id, by)
            return {"agent": await self._shown(tx, agent)}

        return await call.write(self._ctx.store, unit)

    async def remove_agent(self, call: Call, args: OneAgent) -> Json:
        """Remove an agent or a person from everything, for good."""

        async def unit(tx: Tx) -> Json:
            agent = await self._authority.known(tx, call.caller, args.agent_id)
            await self._authority.check_governs(tx, call.caller, agent.id)
            await self._departures.remove_agent(tx, agent.id, self._not_oneself(call, agent))
            return {"agent_id": agent.id}

        return await call.write(self._ctx.store, unit)

    def _not_oneself(self, call: Call, agent: Agent) -> str:
        """Return who calls; a manager who left could not come back."""
        if agent.id == call.caller.agent_id:
            raise self._ctx.refuse("cannot_remove_oneself", 409)
        return call.caller.agent_id

    async def end_session(self, call: Call, args: EndSession) -> Json:
        """End an agent's session; its next call is refused."""

        async def unit(tx: Tx) -> Json:
            info = await self._sessions.find(tx, args.session_id)
            if info is None or info.session.project_id != args.project_id:
                raise self._ctx.refuse("session_not_found", 404, session=quoted(args.session_id))
            await self._sessions.close(tx, args.session_id, "revoked")
            return {"session_id": args.session_id, "agent_id": info.session.agent_id}

        return await call.write(self._ctx.store, unit)

    def _checked(self, args: ProgramFields) -> dict[str, Json]:
        more = args.kept_by_plugins()
        self._fields.check(more)
        return more

    async def _superior(self, db: Reader, call: Call, agent_id: str, project_id: str) -> Agent:
        """Find who is to stand above a member: one of the project; for the operator, anybody."""
        if is_operator(call.caller):
            return await self._authority.known(db, call.caller, agent_id)
        return await self._authority.member(db, agent_id, project_id)

    async def _check_parent(self, db: Reader, call: Call, agent: Agent, args: EditAgent) -> None:
        parent = await self._superior(db, call, args.parent_id or "", args.project_id)
        if parent.id == agent.id or await self._directory.is_ancestor(db, agent.id, parent.id):
            raise self._ctx.refuse("parent_circle", 409, agent=agent.id, parent=parent.id)

    async def _shown(self, db: Reader, agent: Agent) -> dict[str, Json]:
        now = await self._directory.agent(db, agent.id) or agent
        return agent_shown(now, await self._directory.projects_of(db, agent.id))
