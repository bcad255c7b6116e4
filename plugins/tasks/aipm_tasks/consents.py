"""Who lets a chat session touch tasks: the ``ConsentDesk`` service."""

from __future__ import annotations

from aipm_core import Session, Tx
from aipm_tasks.api import Consent


class Consents:
    """Asks every plugin that wants a say."""

    def __init__(self) -> None:
        self._asked: list[Consent] = []

    def ask(self, consent: Consent) -> None:
        """Ask this plugin from now on."""
        self._asked.append(consent)

    async def spend(self, tx: Tx, session: Session, tool: str) -> str | None:
        """Use up the permission for one call; return who asked for it, if anybody knows."""
        found = [await consent.spend(tx, session, tool) for consent in self._asked]
        return next((who for who in found if who is not None), None)
