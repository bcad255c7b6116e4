"""AG-UI threads: a client's own name for one of its person's sessions."""

from __future__ import annotations

from dataclasses import dataclass

from aipm_sessions.api import Agent

from aipm_core import PluginContext, Tx
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.ui_sessions import SqlUiSessions


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread and its latest run: ``place`` is where that run's events begin."""

    id: str
    session_id: str
    run_id: str
    place: int


class Threads:
    """Finds the session behind a thread. Names are a person's own: nobody meets another's."""

    def __init__(self, ctx: PluginContext[UiGatewayConfig], sessions: SqlUiSessions) -> None:
        self._ctx = ctx
        self._sessions = sessions

    async def open(self, person: Agent, thread_id: str, partner: tuple[str, str] | None) -> Thread:
        """Return a person's thread; a new one becomes a session with ``partner``."""

        async def unit(tx: Tx) -> Thread:
            found = await self._find(tx, person, thread_id)
            if found is not None:
                return found
            session_id = await self._session(tx, person, thread_id, partner)
            await tx.run(
                "insert into ui_threads (person_id, thread_id, session_id) values (?, ?, ?) "
                "on conflict (person_id, thread_id) do update set session_id = ?, run_id = ''",
                *(person.id, thread_id, session_id, session_id),
            )
            return Thread(thread_id, session_id, "", 0)

        return await self._ctx.store.write(unit)

    async def _find(self, tx: Tx, person: Agent, thread_id: str) -> Thread | None:
        row = await tx.one(
            "select * from ui_threads where person_id = ? and thread_id = ?", person.id, thread_id
        )
        if row is None or await self._sessions.find(tx, row["session_id"]) is None:
            return None
        return Thread(thread_id, row["session_id"], row["run_id"], row["place"])

    async def _session(
        self, tx: Tx, person: Agent, thread_id: str, partner: tuple[str, str] | None
    ) -> str:
        if thread_id.startswith("uis_"):
            session = await self._sessions.find(tx, thread_id)
            if session is None or session.person_id != person.id:
                raise self._ctx.refuse("session_not_found", 404)
            return session.id
        if partner is None:
            raise self._ctx.refuse("agent_required", 400)
        return (await self._sessions.open(tx, person, *partner)).id

    async def begun(self, tx: Tx, person: Agent, thread: Thread) -> None:
        """Note that a run has begun and where its events begin, so that it can be told again."""
        await tx.run(
            "update ui_threads set run_id = ?, place = ? where person_id = ? and thread_id = ?",
            *(thread.run_id, thread.place, person.id, thread.id),
        )
