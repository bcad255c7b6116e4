"""Who needs which kind of session now: the question of every process supervisor."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aipm_core import PluginContext, Reader, Session, Tx, iso
from aipm_core.models import Purpose
from aipm_sessions.boards import Work
from aipm_sessions.claims import Claims
from aipm_sessions.config import SessionsConfig
from aipm_sessions.desk import Desk
from aipm_sessions.directory import SqlDirectory, missing

_PURPOSES: tuple[Purpose, ...] = ("task", "chat")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vacancy:
    """A session that should be running and is not, and who is about to start it."""

    agent_id: str
    project_id: str
    purpose: Purpose
    reasons: tuple[str, ...]
    claim_id: str | None = None
    claimed_by: str | None = None
    claimed_until: str | None = None

    @property
    def key(self) -> tuple[str, str, Purpose]:
        """What makes two vacancies the same."""
        return self.project_id, self.agent_id, self.purpose


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a supervisor asks for: to be the only one who starts these sessions, for a while."""

    supervisor: str
    seconds: float
    limit: int | None = None


class Roster:
    """Puts the needs of all plugins together with the sessions and claims there are."""

    def __init__(
        self,
        ctx: PluginContext[SessionsConfig],
        desk: Desk,
        directory: SqlDirectory,
        board: Work,
        claims: Claims,
    ) -> None:
        self._ctx = ctx
        self._desk = desk
        self._directory = directory
        self._board = board
        self.claims = claims

    async def wait(
        self, project_id: str | None, claim: Claim | None, seconds: float
    ) -> list[Vacancy]:
        """List what is vacant, or claim it; wait while nothing is there to be claimed."""
        store = self._ctx.store
        if project_id is not None and await self._directory.project(store, project_id) is None:
            raise missing("project", project_id)

        async def look() -> list[Vacancy] | None:
            found = await self.vacant(store, project_id)
            if all(one.claimed_by for one in found):
                return None
            if claim is None:
                return found
            return await store.write(lambda tx: self._claim(tx, project_id, claim)) or None

        found = await store.wait_until(await self._topics(), look, seconds)
        if found is None and claim is None:
            return await self.vacant(store, project_id)
        return found or []

    async def vacant(self, db: Reader, project_id: str | None = None) -> list[Vacancy]:
        """List every session that is needed and does not run, by project and agent."""
        reasons: dict[tuple[str, str, Purpose], set[str]] = {}
        for need in await self._board.needs(db):
            if project_id in {None, need.project_id}:
                key = (need.project_id, need.agent_id, need.purpose)
                reasons.setdefault(key, set()).add(need.reason)
        found = [
            Vacancy(project_id=p, agent_id=a, purpose=w, reasons=tuple(sorted(why)))
            for (p, a, w), why in sorted(reasons.items())
        ]
        return [await self._with_claim(db, one) for one in found if await self._is_vacant(db, one)]

    async def _claim(self, tx: Tx, project_id: str | None, claim: Claim) -> list[Vacancy]:
        """Take what nobody has claimed. One transaction: two supervisors never get the same."""
        free = [one for one in await self.vacant(tx, project_id) if one.claimed_by is None]
        made = [
            (one, await self.claims.make(tx, one.key, claim.supervisor, claim.seconds))
            for one in free[: claim.limit]
        ]
        until = iso(self._ctx.clock() + claim.seconds)
        return [
            replace(one, claim_id=id_, claimed_by=claim.supervisor, claimed_until=until)
            for one, id_ in made
        ]

    async def _is_vacant(self, db: Reader, one: Vacancy) -> bool:
        agent = await self._directory.agent(db, one.agent_id)
        if agent is None or agent.kind != "ai":
            return False  # nobody starts a person
        live = await self._desk.live(db, one.project_id, one.agent_id)
        return all(info.session.purpose != one.purpose for info in live)

    async def _with_claim(self, db: Reader, one: Vacancy) -> Vacancy:
        row = await self.claims.open_one(db, *one.key)
        if row is None:
            return one
        return replace(one, claimed_by=row["supervisor"], claimed_until=iso(row["expires_at"]))

    async def _topics(self) -> tuple[str, ...]:
        """Listen to everything that wakes a session of any agent, and to sessions that end."""
        topics: set[str] = set()
        for project in await self._directory.projects(self._ctx.store):
            topics.add(f"sessions:{project.id}")
            for agent in await self._directory.members(self._ctx.store, project.id):
                for purpose in _PURPOSES:
                    session = Session(
                        id="", agent_id=agent.id, project_id=project.id, purpose=purpose
                    )
                    for source in self._board.sources(purpose):
                        topics.update(source.topics(session))
        return tuple(topics)
