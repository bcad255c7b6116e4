"""The end of a session takes its open questions along, in the same transaction."""

from __future__ import annotations

from aipm_ui_gateway.api import UiSession

from aipm_core import Session, Tx
from aipm_policy.confirmations import SqlConfirmations


class SessionEnds:
    """Observes the sessions of agents."""

    def __init__(self, confirmations: SqlConfirmations) -> None:
        self._confirmations = confirmations

    async def closed(self, tx: Tx, session: Session, reason: str) -> None:
        """Withdraw what nobody is left to ask about."""
        await self._confirmations.withdraw(tx, session.id, f"the session ended: {reason}")


class UiSessionEnds:
    """Observes the sessions of people with agents."""

    def __init__(self, confirmations: SqlConfirmations) -> None:
        self._confirmations = confirmations

    async def closed(self, tx: Tx, session: UiSession) -> None:
        """Withdraw what nobody is left to ask about."""
        await self._confirmations.withdraw(tx, session.id, "the session ended: closed")
