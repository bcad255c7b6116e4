"""The boards on which other plugins meet: work, standing instructions, decisions."""

from __future__ import annotations

from aipm_core import CallError, Reader
from aipm_core.models import Purpose
from aipm_sessions.api import Decision, DecisionSource, Need, WorkSource


class Work:
    """The ``WorkBoard`` service."""

    def __init__(self) -> None:
        self._sources: list[WorkSource] = []

    def add(self, source: WorkSource) -> None:
        """Take in a source."""
        self._sources.append(source)
        self._sources.sort(key=lambda one: one.rank)

    def sources(self, purpose: Purpose) -> list[WorkSource]:
        """Return the sources for sessions of one purpose, by rank."""
        return [source for source in self._sources if source.purpose == purpose]

    async def needs(self, db: Reader) -> list[Need]:
        """Return every need of every source."""
        return [need for source in self._sources for need in await source.needs(db)]


class StandingTexts:
    """The ``Guidance`` service."""

    def __init__(self) -> None:
        self._texts: dict[Purpose, list[str]] = {"task": [], "chat": []}

    def add(self, purpose: Purpose, text: str) -> None:
        """Add a text for sessions of one purpose."""
        self._texts[purpose].append(text)

    def text(self, purpose: Purpose) -> str:
        """Return all texts for a purpose."""
        return "\n\n".join(self._texts[purpose])


class Decisions:
    """The ``DecisionBoard`` service."""

    def __init__(self) -> None:
        self._sources: list[DecisionSource] = []

    def add(self, source: DecisionSource) -> None:
        """Take in a source."""
        self._sources.append(source)

    async def pending(self, db: Reader, project_id: str | None = None) -> list[Decision]:
        """List what waits, oldest first."""
        found = [d for source in self._sources for d in await source.pending(db, project_id)]
        return sorted(found, key=lambda decision: decision.created_at)

    async def answer(
        self, decision_id: str, *, approved: bool, by: str, reason: str | None = None
    ) -> None:
        """Answer a decision, wherever it comes from."""
        for source in self._sources:
            if await source.answer(decision_id, approved=approved, by=by, reason=reason):
                return
        raise CallError(
            f"nothing waits for an answer under {decision_id!r}; `aipm inbox` lists what does",
            code="decision_not_found",
            status=404,
        )
