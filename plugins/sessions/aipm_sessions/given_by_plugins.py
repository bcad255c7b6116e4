"""What other plugins gave to the hooks of this one: work, standing instructions, decisions."""

from __future__ import annotations

from aipm_core import CallError, Json, PluginContext, Purpose, Reader, Tx, quoted
from aipm_sessions.api import (
    DecisionSource,
    Need,
    PendingDecision,
    SessionHooks,
    Waiting,
    WorkSource,
)
from aipm_sessions.config import SessionsConfig


class CollectedWork:
    """The ``WorkList`` service."""

    def __init__(self, ctx: PluginContext[SessionsConfig]) -> None:
        self._ctx = ctx

    def sources(self, purpose: Purpose) -> list[WorkSource]:
        """Return the sources for sessions of one purpose, by rank."""
        return [source for source in self._all() if source.purpose == purpose]

    async def needs(self, db: Reader) -> list[Need]:
        """Return every need of every source, but none of a paused project."""
        rows = await db.all("select project_id from project_pauses")
        paused = {row["project_id"] for row in rows}
        needs = [need for source in self._all() for need in await source.needs(db)]
        return [need for need in needs if need.project_id not in paused]

    async def waits(self, db: Reader) -> list[Waiting]:
        """Return what there is to do that nobody is needed for yet, and why."""
        found = [
            Waiting(
                project_id=row["project_id"],
                cause="project_paused",
                text=self._ctx.texts("waits.project_paused", project=row["project_id"]),
            )
            for row in await db.all("select project_id from project_pauses order by project_id")
        ]
        for source in self._all():
            if source.waits is not None:
                found += await source.waits(db)
        return found

    async def state(self, db: Reader, need: Need) -> dict[str, Json]:
        """Return what becomes of a need, as whoever starts agents says."""
        found: dict[str, Json] = {}
        for owned in self._ctx.given(SessionHooks.aipm_need_states):
            found.update(await owned.record.read(db, need))
        return found

    async def take(self, tx: Tx, need: Need) -> Need | None:
        """Let an agent have the work it is about to be started for; nothing if it is gone."""
        taken: Need | None = need
        for source in self.sources(need.purpose):
            if taken is not None and source.take is not None:
                taken = await source.take(tx, taken)
        return taken

    def _all(self) -> list[WorkSource]:
        given = self._ctx.given(SessionHooks.aipm_work_sources)
        return sorted((owned.record for owned in given), key=lambda source: source.rank)


class CollectedInstructions:
    """The ``Instructions`` service."""

    def __init__(self, ctx: PluginContext[SessionsConfig]) -> None:
        self._ctx = ctx

    def text(self, purpose: Purpose) -> str:
        """Return all texts for a purpose."""
        given = self._ctx.given(SessionHooks.aipm_instructions)
        return "\n\n".join(one.record.text for one in given if one.record.purpose == purpose)


class CollectedDecisions:
    """The ``Decisions`` service."""

    def __init__(self, ctx: PluginContext[SessionsConfig]) -> None:
        self._ctx = ctx

    async def pending(self, db: Reader, project_id: str | None = None) -> list[PendingDecision]:
        """List what waits, oldest first."""
        sources = self._ctx.given(SessionHooks.aipm_decisions)
        found = [one for owned in sources for one in await owned.record.pending(db, project_id)]
        return sorted(found, key=lambda decision: decision.created_at)

    async def answer(
        self,
        decision_id: str,
        *,
        approved: bool,
        by: str,
        reason: str | None = None,
        note: str | None = None,
        scope: str = "once",
    ) -> None:
        """Answer a decision, wherever it comes from."""
        for owned in self._ctx.given(SessionHooks.aipm_decisions):
            source, given = owned.record, {"approved": approved, "by": by}
            if source.answer_with_more is not None:
                more = {"reason": reason, "note": note, "scope": scope}
                taken = await source.answer_with_more(decision_id, **given, **more)  # type: ignore[arg-type]
            elif scope != "once" and await self._is_of(source, decision_id):
                raise self._ctx.refuse("once_only", 400, item=quoted(decision_id))
            else:
                taken = await source.answer(decision_id, **given, reason=reason or note)  # type: ignore[arg-type]
            if taken:
                return
        raise CallError(
            f"nothing waits for an answer under {decision_id!r}; `aipm inbox` lists what does",
            code="decision_not_found",
            status=404,
        )

    async def _is_of(self, source: DecisionSource, decision_id: str) -> bool:
        waiting = await source.pending(self._ctx.store, None)
        return any(decision.id == decision_id for decision in waiting)
