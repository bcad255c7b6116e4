"""Sessions that should be running and are not: the question of every process supervisor."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace

import anyio

from aipm_core import Json, PluginContext, Purpose, Reader, Session, Tx, iso
from aipm_sessions.api import Need, Waiting, project_topic
from aipm_sessions.claims import Claims
from aipm_sessions.config import SessionsConfig
from aipm_sessions.directory import SqlDirectory, missing
from aipm_sessions.given_by_plugins import CollectedWork
from aipm_sessions.session_store import SqlSessionStore

_PURPOSES: tuple[Purpose, ...] = ("task", "chat")


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingSession:
    """A session that should be running and is not, and who is about to start it."""

    agent_id: str
    project_id: str
    purpose: Purpose
    reasons: tuple[str, ...]
    claim_id: str | None = None
    claimed_by: str | None = None
    claimed_until: str | None = None
    state: Mapping[str, Json] = field(default_factory=dict)
    """What becomes of it, as whoever starts agents says."""

    @property
    def key(self) -> tuple[str, str, Purpose]:
        """Identity of a missing session: project, agent, purpose."""
        return self.project_id, self.agent_id, self.purpose


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a supervisor asks for: to be the only one who starts these sessions, for a while."""

    supervisor: str
    seconds: float
    limit: int | None = None


class SqlMissingSessions:
    """Puts the needs of all plugins together with the sessions and claims there are."""

    def __init__(
        self,
        ctx: PluginContext[SessionsConfig],
        sessions: SqlSessionStore,
        directory: SqlDirectory,
        work: CollectedWork,
        claims: Claims,
    ) -> None:
        self._ctx = ctx
        self._sessions = sessions
        self._directory = directory
        self._work = work
        self.claims = claims

    async def wait(
        self, project_id: str | None, claim: Claim | None, seconds: float
    ) -> list[MissingSession]:
        """List what is missing, or claim it; wait while nothing is there to be claimed."""
        store = self._ctx.store
        await self.check(project_id)

        async def look() -> list[MissingSession] | None:
            found = await self.list_missing(store, project_id)
            if all(one.claimed_by for one in found):
                return None
            if claim is None:
                return found
            return await store.write(lambda tx: self._claim(tx, project_id, claim)) or None

        found = await store.wait_until(await self.topics(), look, seconds)
        if found is None and claim is None:
            return await self.list_missing(store, project_id)
        return found or []

    async def check(self, project_id: str | None) -> None:
        """Refuse a project that does not exist: it would be waited for without end."""
        if project_id and await self._directory.project(self._ctx.store, project_id) is None:
            raise missing("project", project_id)

    async def follow(self, project_id: str | None, seconds: float) -> AsyncIterator[MissingSession]:
        """Yield what is missing, each as it arises; what was gone in between arises again."""
        store, known = self._ctx.store, set[tuple[object, ...]]()
        deadline = anyio.current_time() + seconds

        async def look() -> list[MissingSession] | None:
            nonlocal known
            found = await self.list_missing(store, project_id)
            new = [one for one in found if (*one.key, one.reasons) not in known]
            known = {(*one.key, one.reasons) for one in found}
            return new or None

        while (left := deadline - anyio.current_time()) > 0:
            for one in await store.wait_until(await self.topics(), look, left) or ():
                yield one

    async def waits(self, project_id: str | None) -> list[Waiting]:
        """List what there is to do that nobody is needed for yet, and why."""
        found = await self._work.waits(self._ctx.store)
        return [one for one in found if project_id in (None, one.project_id)]

    async def list_missing(self, db: Reader, project_id: str | None = None) -> list[MissingSession]:
        """List every session that is needed and does not run, by project and agent."""
        reasons: dict[tuple[str, str, Purpose], set[str]] = {}
        first: dict[tuple[str, str, Purpose], Need] = {}
        for need in await self._work.needs(db):
            if project_id in {None, need.project_id}:
                key = (need.project_id, need.agent_id, need.purpose)
                reasons.setdefault(key, set()).add(need.reason)
                first.setdefault(key, need)
        found = [
            MissingSession(project_id=p, agent_id=a, purpose=w, reasons=tuple(sorted(why)))
            for (p, a, w), why in sorted(reasons.items())
        ]
        return [
            replace(
                await self._with_claim(db, one), state=await self._work.state(db, first[one.key])
            )
            for one in found
            if await self._is_missing(db, one)
        ]

    async def missing(self, db: Reader) -> list[Need]:
        """Return one need for each session that neither runs nor is claimed."""
        open_ = {one.key for one in await self.list_missing(db) if one.claimed_by is None}
        found: dict[tuple[str, str, Purpose], Need] = {}
        for need in await self._work.needs(db):
            key = (need.project_id, need.agent_id, need.purpose)
            if key in open_:
                found.setdefault(key, need)
        return list(found.values())

    async def _claim(self, tx: Tx, project_id: str | None, claim: Claim) -> list[MissingSession]:
        """Take what nobody has claimed. One transaction: two supervisors never get the same.

        What was claimed longest ago comes first, so that a session that cannot be started does not
        keep others from being tried.
        """
        free = [
            (await self.claims.turn(tx, *one.key), number, one)
            for number, one in enumerate(await self.list_missing(tx, project_id))
            if one.claimed_by is None
        ]
        made: list[tuple[MissingSession, str]] = []
        for _, _, one in sorted(free, key=lambda found: found[:2]):
            if len(made) != claim.limit and await self._taken(tx, one):
                made.append(
                    (one, await self.claims.make(tx, one.key, claim.supervisor, claim.seconds))
                )
        until = iso(self._ctx.clock() + claim.seconds)
        return [
            replace(one, claim_id=id_, claimed_by=claim.supervisor, claimed_until=until)
            for one, id_ in made
        ]

    async def _taken(self, tx: Tx, one: MissingSession) -> bool:
        """Let an agent have what it is needed for; nobody is started for what others have got."""
        for need in await self._work.needs(tx):
            if (need.project_id, need.agent_id, need.purpose) == one.key:
                return await self._work.take(tx, need) is not None
        return False

    async def _is_missing(self, db: Reader, one: MissingSession) -> bool:
        agent = await self._directory.agent(db, one.agent_id)
        if agent is None or agent.kind != "ai":
            return False  # nobody starts a person
        live = await self._sessions.live(db, one.project_id, one.agent_id)
        return all(
            info.session.purpose != one.purpose or self._sessions.is_silent(info) for info in live
        )

    async def _with_claim(self, db: Reader, one: MissingSession) -> MissingSession:
        row = await self.claims.open_one(db, *one.key)
        if row is None:
            return one
        return replace(one, claimed_by=row["supervisor"], claimed_until=iso(row["expires_at"]))

    async def topics(self) -> tuple[str, ...]:
        """Listen to everything that wakes a session of any agent, and to sessions that end."""
        topics: set[str] = set()
        for project in await self._directory.projects(self._ctx.store):
            topics |= {f"sessions:{project.id}", project_topic(project.id)}
            for agent in await self._directory.members(self._ctx.store, project.id):
                for purpose in _PURPOSES:
                    session = Session(
                        id="", agent_id=agent.id, project_id=project.id, purpose=purpose
                    )
                    for source in self._work.sources(purpose):
                        topics.update(source.topics(session))
        return tuple(topics)
