"""What a run waits for, as the server sees it: a person's yes, or something to do."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_policy.api import Confirmation, ConfirmationObserver

from aipm_core import PluginContext, Session, Tx
from aipm_runner.config import RunnerConfig
from aipm_runner.runs import RUNS_CHANGED, Runs, run_topic

_OF_SESSION = "select id, state from runs where session_id = ? and ended_at is null"
_ASKED = (
    "update runs set questions = questions + 1, state = 'waiting', waits_for = 'confirmation', "
    "since = ?, evidence = 'call', evidence_at = ? where id = ?"
)
_ANSWERED = "update runs set questions = questions - 1 where id = ? and questions > 0"
_GOES_ON = (
    "update runs set state = 'running', waits_for = null, since = ?, evidence = ?, evidence_at = ? "
    "where id = ? and state = 'waiting' and waits_for = ? and questions = 0"
)
_NOTHING_TO_DO = (
    "update runs set state = 'waiting', waits_for = 'answer', since = ?, evidence = 'call', "
    "evidence_at = ? where id = ? and state = 'running'"
)


class RunWaits:
    """Notes in the transaction that makes a run wait that it does."""

    def __init__(self, ctx: PluginContext[RunnerConfig], runs: Runs) -> None:
        self._ctx = ctx
        self._runs = runs

    def observers(self) -> Iterable[ConfirmationObserver]:
        """Return what hears of questions to people."""
        yield ConfirmationObserver(name="runs", asked=self._asked, resolved=self._resolved)

    async def _asked(self, tx: Tx, question: Confirmation) -> None:
        if (run_id := await self._run(tx, question.session_id)) is not None:
            now = self._ctx.now()
            await tx.run(_ASKED, now, now, run_id)
            tx.wake(run_topic(run_id), RUNS_CHANGED)

    async def _resolved(self, tx: Tx, question: Confirmation) -> None:
        if (run_id := await self._run(tx, question.session_id)) is not None:
            now = self._ctx.now()
            await tx.run(_ANSWERED, run_id)
            await tx.run(_GOES_ON, now, "person", now, run_id, "confirmation")
            tx.wake(run_topic(run_id), RUNS_CHANGED)

    async def waiting(self, session: Session, begun: bool) -> None:
        """Note that the session of a run waits for something to do, or waits no more."""
        if await self._runs.reader.one(_OF_SESSION, session.id) is None:
            return

        async def unit(tx: Tx) -> None:
            if (run_id := await self._run(tx, session.id)) is None:
                return
            now = self._ctx.now()
            if begun:
                await tx.run(_NOTHING_TO_DO, now, now, run_id)
            else:
                await tx.run(_GOES_ON, now, "call", now, run_id, "answer")
            tx.wake(run_topic(run_id), RUNS_CHANGED)

        await self._runs.write(unit)

    async def _run(self, tx: Tx, session_id: str) -> str | None:
        row = await tx.one(_OF_SESSION, session_id)
        return row["id"] if row else None
