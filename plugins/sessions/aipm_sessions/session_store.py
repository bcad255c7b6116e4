"""Opens, recognises and ends sessions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

import anyio

from aipm_core import (
    Call,
    Json,
    PluginContext,
    Purpose,
    Reader,
    Row,
    Session,
    SessionInvalid,
    Trait,
    Tx,
    background,
    iso,
    new_id,
)
from aipm_sessions.api import Agent, SessionHooks, SessionInfo, SessionObserver, session_topic
from aipm_sessions.config import SessionsConfig
from aipm_sessions.credentials import new_secret, token_hash
from aipm_sessions.last_seen import note_seen
from aipm_sessions.waiting_sessions import seen_waiting

_FLUSH_SECONDS = 2.0  # a touch lost in a crash costs that much of a session's idle time
_LOGOUT_GRACE_SECONDS = 60.0  # in which an agent that reported its work may still log out
_FROM = "select s.*, a.name, a.kind, a.role from sessions s join agents a on a.id = s.agent_id "
_SELECT = f"{_FROM} where s.ended_at is null and "
_BY_TOKEN = f"{_FROM} where s.token_hash = ?"
_FOLLOWED = f"{_SELECT} s.followed = 1 and s.project_id = ? and s.agent_id = ?"
_REPLACED = "replaced"
T = TypeVar("T")


class SqlSessionStore:
    """Sessions of this store. The time of the last call is written in batches, not per call."""

    def __init__(self, ctx: PluginContext[SessionsConfig]) -> None:
        self._ctx = ctx
        self._config = ctx.config
        self._touched: dict[str, float] = {}

    async def resolve(self, token: str) -> Session | None:
        """Return whose session a token is; the answer keeps the session alive."""
        row = await self._ctx.store.one(_BY_TOKEN, token_hash(token))
        if row is None or self._expired(row):
            return None
        if row["ended_at"] is None:
            self.touch(row["id"])
        elif row["end_reason"] == _REPLACED:
            raise self._invalid(row)
        elif not self._may_still_leave(row):
            return None
        return _session(row)

    def touch(self, session_id: str) -> None:
        """Keep a session alive that is used."""
        self._touched[session_id] = self._ctx.clock()

    async def admit(self, call: Call) -> None:
        """Leave nothing but the way out to a session whose work is done."""
        leaving = Trait.OPEN_TO_THE_LEAVING in call.tool.traits
        if call.session is not None and call.session.over and not leaving:
            raise SessionInvalid(self._ctx.texts("errors.session_over"))

    async def purpose_for(self, tx: Tx, agent_id: str, project_id: str) -> Purpose:
        """Choose a purpose for an agent that named none."""
        for observer in self._observers():
            if observer.purpose_for is None:
                continue
            if (purpose := await observer.purpose_for(tx, agent_id, project_id)) is not None:
                return purpose
        return "chat"

    async def open(
        self, tx: Tx, agent: Agent, project_id: str, purpose: Purpose
    ) -> tuple[Session, str]:
        """Open a session; return it and its token."""
        session, token, _ = await self.open_with_extras(tx, agent, project_id, purpose)
        return session, token

    async def open_with_extras(
        self, tx: Tx, agent: Agent, project_id: str, purpose: Purpose
    ) -> tuple[Session, str, Mapping[str, Json]]:
        """Open a session; also return what the observers add to the reply."""
        await self._make_room(tx, agent.id, project_id, purpose)
        token, now = new_secret("aipm_st_"), self._ctx.clock()
        session = Session(
            id=new_id("ses"),
            agent_id=agent.id,
            project_id=project_id,
            purpose=purpose,
            role=agent.role,
            kind=agent.kind,
            agent_name=agent.name,
        )
        await tx.run(
            "insert into sessions (id, token_hash, agent_id, project_id, purpose, created_at, "
            "last_seen, ends_at) values (?, ?, ?, ?, ?, ?, ?, ?)",
            *(session.id, token_hash(token), agent.id, project_id, purpose),
            *(self._ctx.now(), now, now + self._config.hard_seconds),
        )
        extras: dict[str, Json] = {}
        for observer in self._observers():
            if observer.opened is not None:
                extras |= await observer.opened(tx, session)
        tx.wake(f"sessions:{project_id}")
        return session, token, extras

    async def _make_room(self, tx: Tx, agent_id: str, project_id: str, purpose: Purpose) -> None:
        """End the oldest sessions, so that with one more there are not too many."""
        rows = await tx.all(
            f"{_SELECT} s.agent_id = ? and s.project_id = ? and s.purpose = ? "
            "order by s.created_at desc, s.id",
            *(agent_id, project_id, purpose),
        )
        for row in rows[self._config.max_sessions - 1 :]:
            await self.close(tx, row["id"], "expired" if self._expired(row) else _REPLACED)

    async def close(self, tx: Tx, session_id: str, reason: str = "expired") -> bool:
        """End a session and tell the observers."""
        row = await tx.one(_SELECT + "s.id = ?", session_id)
        if row is None:
            return False
        await tx.run(
            "update sessions set ended_at = ?, end_reason = ? where id = ?",
            *(self._ctx.now(), reason, session_id),
        )
        for observer in self._observers():
            if observer.closed is not None:
                await observer.closed(tx, _session(row), reason)
        tx.wake(f"sessions:{row['project_id']}", session_topic(session_id))
        return True

    async def find(self, db: Reader, session_id: str) -> SessionInfo | None:
        """Find a session that has not ended."""
        row = await db.one(_SELECT + "s.id = ?", session_id)
        return None if row is None or self._expired(row) else self._info(row)

    async def live(
        self, db: Reader, project_id: str | None = None, agent_id: str | None = None
    ) -> list[SessionInfo]:
        """List sessions that have not ended, newest first, of one project or agent if named."""
        named = {"s.project_id = ?": project_id, "s.agent_id = ?": agent_id}
        terms = [term for term, value in named.items() if value is not None]
        rows = await db.all(
            _SELECT + " and ".join([*terms, "1 = 1"]) + " order by s.created_at desc limit 1000",
            *(value for value in named.values() if value is not None),
        )
        return [self._info(row) for row in rows if not self._expired(row)]

    async def check_open(self, tx: Tx, session: Session) -> None:
        """Raise ``SessionInvalid`` if a session has ended since its call began."""
        if await self.find(tx, session.id) is None:
            raise self._invalid(await tx.one(f"{_FROM} where s.id = ?", session.id))

    async def follow(self, tx: Tx, session_id: str) -> None:
        """Note that somebody follows a session; nothing happens if there is no such session."""
        await tx.run("update sessions set followed = 1 where id = ? and followed = 0", session_id)

    async def followed(self, db: Reader, project_id: str, agent_id: str) -> list[Session]:
        """List an agent's sessions that somebody follows."""
        rows = await db.all(_FOLLOWED, project_id, agent_id)
        return [_session(row) for row in rows if not self._expired(row)]

    async def check_handed_in(self, call: Call) -> None:
        """Refuse the calls that code inside the process makes for a session that has ended.

        Whoever comes with a credential is looked up by it, before the call and after every wait.
        """
        if call.request.session is not None and call.caller.purpose != "ui":
            await self.check_going_on(self._ctx.store, call.caller)

    async def check_going_on(self, db: Reader, session: Session) -> None:
        """Raise ``SessionInvalid`` if a call of a session may not go on."""
        row = await db.one("select * from sessions where id = ?", session.id)
        if await self._has_ended(db, session, row):
            raise self._invalid(row)

    async def _has_ended(self, db: Reader, session: Session, row: Row | None) -> bool:
        if row is None:
            keepers = self._ctx.given(SessionHooks.aipm_session_keepers)
            return any([await keeper.record.has_ended(db, session.id) for keeper in keepers])
        leaving = session.over and self._may_still_leave(row)
        return self._expired(row) or (row["ended_at"] is not None and not leaving)

    async def wait(
        self,
        session: Session,
        topics: Sequence[str],
        look: Callable[[], Awaitable[T | None]],
        seconds: float,
    ) -> T | None:
        """Wait for a session; its end ends the wait at once."""
        store = self._ctx.store

        async def look_while_open() -> T | None:
            await self.check_going_on(store, session)
            return await look()

        every = (*topics, session_topic(session.id))
        async with seen_waiting(session, self._observers()):
            found = await store.wait_until(every, look_while_open, seconds)
        await self.check_going_on(store, session)
        return found

    def is_silent(self, info: SessionInfo) -> bool:
        """Return whether a session has not called for so long that its agent may be dead."""
        return self._ctx.clock() >= info.last_seen + self._config.silent_seconds

    def _observers(self) -> Iterable[SessionObserver]:
        return (owned.record for owned in self._ctx.given(SessionHooks.aipm_session_observers))

    def seen(self, session_id: str) -> None:
        """Note that a session is alive."""
        self._touched[session_id] = self._ctx.clock()

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Write touches and end expired sessions while the runtime lives."""
        async with background(sessions_upkeep=self._upkeep):
            yield
        await self._flush()

    async def _upkeep(self) -> None:
        while True:
            await anyio.sleep(min(_FLUSH_SECONDS, self._config.idle_seconds / 4))
            await self._flush()
            await self._sweep()

    async def _flush(self) -> None:
        touched, self._touched = self._touched, {}
        if not touched:
            return

        async def write(tx: Tx) -> None:
            for session_id, moment in touched.items():
                await note_seen(tx, session_id, moment)

        await self._ctx.store.write(write)

    async def _sweep(self) -> None:
        """End what has expired, so that observers learn of it."""
        now = self._ctx.clock()
        rows = await self._ctx.store.all(
            "select id from sessions where ended_at is null and (ends_at <= ? or last_seen <= ?) "
            "limit 200",
            *(now, now - self._config.idle_seconds),
        )
        for row in rows:
            if row["id"] not in self._touched:
                await self._ctx.store.write(partial(self.close, session_id=row["id"]))

    def _invalid(self, row: Row | None) -> SessionInvalid:
        """Return why a session can do nothing any more."""
        if row is None or row["end_reason"] != _REPLACED:
            return SessionInvalid(self._ctx.texts("errors.session_invalid"))
        most = self._config.max_sessions
        return SessionInvalid(self._ctx.texts("errors.session_replaced", most=most))

    def _expired(self, row: Row) -> bool:
        now = self._ctx.clock()
        return bool(now >= row["ends_at"] or now >= self._last(row) + self._config.idle_seconds)

    def _may_still_leave(self, row: Row) -> bool:
        """Return whether a session that has ended did so by reporting its work, just now."""
        since = iso(self._ctx.clock() - _LOGOUT_GRACE_SECONDS)
        return bool(row["end_reason"] == "completed" and row["ended_at"] > since)

    def _last(self, row: Row) -> float:
        return max(float(row["last_seen"]), self._touched.get(row["id"], 0.0))

    def _info(self, row: Row) -> SessionInfo:
        return SessionInfo(
            session=_session(row), created_at=row["created_at"], last_seen=self._last(row)
        )


def _session(row: Row) -> Session:
    return Session(
        id=row["id"],
        agent_id=row["agent_id"],
        project_id=row["project_id"],
        purpose=row["purpose"],
        role=row["role"],
        kind=row["kind"],
        agent_name=row["name"],
        over=row["ended_at"] is not None,
    )
