"""What delegations give a chat session to do."""

from __future__ import annotations

from collections.abc import Mapping

from aipm_conversations.api import Conversations, Origin
from aipm_file_chat.api import Chat
from aipm_sessions.api import Need, SessionStore

from aipm_core import Json, PluginContext, Reader, Session, Tx
from aipm_delegation.config import DelegationConfig
from aipm_delegation.delegation_store import Delegation, DelegationStore, topic
from aipm_delegation.transcripts import transcripts


class DelegationWork:
    """Shows pending delegations, hands them out, and binds conversations to them.

    That makes a ``WorkSource``, ``PendingFields`` and a ``TaskResolver`` of three other plugins.
    """

    name = "process_delegation"

    def __init__(
        self,
        ctx: PluginContext[DelegationConfig],
        delegation_store: DelegationStore,
        sessions: SessionStore,
        conversations: Conversations | None,
        chat: Chat | None,
    ) -> None:
        self._ctx = ctx
        self._delegation_store = delegation_store
        self._sessions = sessions
        self._conversations = conversations
        self._chat = chat

    def topics(self, session: Session) -> tuple[str, ...]:
        """Wake for this agent's delegations."""
        return (topic(session.project_id, session.agent_id),)

    async def look(self, session: Session) -> Mapping[str, Json] | None:
        """Show the oldest one; ``get_pending_messages`` hands it out."""
        waiting = await self._delegation_store.pending(self._ctx.store, session, 1)
        if not waiting:
            return None
        return {
            "action": self.name,
            **_shown(waiting[0]),
            "instruction": self._ctx.texts("instructions.process_delegation"),
        }

    async def needs(self, db: Reader) -> list[Need]:
        """List who has a delegation waiting."""
        rows = await db.all(
            "select distinct project_id, agent_id from chat_delegations "
            "where status = 'pending' order by project_id, agent_id"
        )
        return [
            Need(
                agent_id=row["agent_id"],
                project_id=row["project_id"],
                purpose="chat",
                reason=self.name,
            )
            for row in rows
        ]

    async def fields(self, tx: Tx, session: Session) -> Mapping[str, Json]:
        """Hand out what waits, in the transaction that reads the messages."""
        shown: list[Json] = []
        await self._sessions.check_open(tx, session)
        for delegation in await self._delegation_store.pending(tx, session):
            await self._delegation_store.take(tx, delegation, session)
            shown.append({**_shown(delegation), **await self._earlier(tx, delegation)})
        return {"pending_delegations": shown}

    async def origin_of(self, tx: Tx, session: Session, participant_id: str) -> Origin | None:
        """Bind a conversation to the delegation that asks for it."""
        asked = await self._delegation_store.open_towards(tx, session, participant_id)
        if not asked:
            return None
        return Origin(task_id=asked[0].task_id, delegation_id=asked[0].id)

    async def _earlier(self, tx: Tx, delegation: Delegation) -> dict[str, Json]:
        """Tell a second session what the first one did: it remembers nothing."""
        if self._conversations is None or delegation.attempts == 0:
            return {}
        held = await self._conversations.of_delegation(tx, delegation.id)
        if not held:
            return {}
        return {"conversations": await transcripts(tx, held, self._chat)}


def _shown(delegation: Delegation) -> dict[str, Json]:
    return {
        "delegation_id": delegation.id,
        "target_agent_id": delegation.target_agent_id,
        "purpose": delegation.purpose,
        "context": delegation.context,
    }
