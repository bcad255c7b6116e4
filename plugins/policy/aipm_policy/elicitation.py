"""Asking the person who sits at the agent's own program, beside all other ways to answer."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Coroutine
from typing import Any

from aipm_mcp_transport.api import Elicit, Elicited, InputRequired, Question

from aipm_core import Call, CallError, Json, PluginContext, Tx, visible
from aipm_policy.api import Confirmation, Verdict
from aipm_policy.config import PolicyConfig
from aipm_policy.confirmations import SqlConfirmations, confirmation_of, warning_of
from aipm_policy.digest import digest, shown
from aipm_policy.levels import level_for

logger = logging.getLogger(__name__)
# No name of an agent holds a colon: nobody is taken for the person at somebody's client.
BY = "elicitation:{agent}"
_MAX_ARGUMENT_CHARACTERS = 4000


class ClientConfirmations:
    """Puts an open confirmation to the caller's user. The record decides, not the channel."""

    def __init__(self, ctx: PluginContext[PolicyConfig], confirmations: SqlConfirmations) -> None:
        self._ctx = ctx
        self._confirmations = confirmations

    def way_to(self, call: Call, verdict: Verdict) -> Elicit | None:
        """Return the way to the caller's user, if there is one and setting and rule admit it.

        The answer comes over the agent's own connection, and an agent can be its own client: it
        proves so little that it counts for calls of the lowest level only.
        """
        admitted = self._ctx.config.elicitation and verdict.elicitation
        return call.request.elicit if admitted and _harmless(call, verdict) else None

    def state_of(self, call: Call, verdict: Verdict) -> str | None:
        """Return the confirmation a repeated call claims to continue."""
        way = self.way_to(call, verdict)
        return way.state if way else None

    async def resumed(self, call: Call, state: str) -> Confirmation | None:
        """Find the confirmation a repeated call belongs to; ``None`` if it is about another call.

        Unknown, foreign and altered look alike. One that is used up or withdrawn is over.
        """
        row = await self._ctx.store.one(
            "select * from confirmations "
            "where id = ? and session_id = ? and tool = ? and args_digest = ?",
            *(state, call.caller.id, call.tool.name, digest(call.request.arguments)),
        )
        if row is None:
            return None
        if row["used_at"] is not None or row["status"] == "cancelled":
            raise self._ctx.refuse("confirmation_already_answered", 409, status=row["status"])
        if row["status"] == "approved" and row["expires_at"] <= self._ctx.clock():
            raise self._ctx.refuse("confirmation_expired", 403)
        return confirmation_of(row)

    async def answer(
        self,
        call: Call,
        verdict: Verdict,
        asked: Confirmation,
        elsewhere: Coroutine[Any, Any, Confirmation],
    ) -> Confirmation:
        """Await the answer from ``elsewhere`` while the caller's user is asked as well."""
        way = self.way_to(call, verdict)
        # A rule that is milder today does not make a question visible that was put as more.
        if way is None or asked.status != "pending" or asked.level != "INFO":
            return await elsewhere
        waiting = asyncio.create_task(elsewhere)
        asking = asyncio.create_task(self._ask(way, call, verdict, asked))
        try:
            await asyncio.wait((waiting, asking), return_when=asyncio.FIRST_COMPLETED)
            if asking.done() and not waiting.done():
                asking.result()
            return await waiting
        finally:
            for task in (waiting, asking):
                task.cancel()
            await asyncio.gather(waiting, asking, return_exceptions=True)

    async def _ask(self, way: Elicit, call: Call, verdict: Verdict, asked: Confirmation) -> None:
        question = self._question(call, verdict, asked)
        try:
            elicited = await way.ask(question)
        except InputRequired:
            raise
        except Exception:
            logger.warning("the client of %s could not ask its user", asked.id, exc_info=True)
            return
        approved = _approval(elicited)
        if approved is not None:
            await self._ctx.store.write(lambda tx: self._settle(tx, asked, elicited, approved))

    async def _settle(
        self, tx: Tx, asked: Confirmation, elicited: Elicited, approved: bool
    ) -> None:
        if self._ctx.clock() >= asked.expires_at:
            return
        said = "declined" if elicited.action == "decline" else "answered_no"
        await self._confirmations.resolve(
            tx,
            asked.id,
            "approved" if approved else "denied",
            by=BY.format(agent=asked.agent_id),
            reason=None if approved else self._ctx.texts(f"elicitation.{said}"),
        )

    def _question(self, call: Call, verdict: Verdict, asked: Confirmation) -> Question:
        texts = self._ctx.texts
        message = texts(
            "elicitation.message",
            level=asked.level,
            warning=visible(warning_of(texts, call, verdict)),
            tool=call.tool.name,
            args=_readable(shown(call.request.arguments)),
        )
        approved = {"type": "boolean", "title": texts("elicitation.approved"), "default": False}
        schema = {"type": "object", "properties": {"approved": approved}, "required": ["approved"]}
        return Question(message=message, schema=schema, state=asked.id)

    def not_found(self) -> CallError:
        """Make the refusal of an answer to somebody else's question."""
        return self._ctx.refuse("confirmation_not_found", 404)


def _harmless(call: Call, verdict: Verdict) -> bool:
    return level_for(call.tool, verdict) == "INFO"


def _approval(elicited: Elicited) -> bool | None:
    """Return yes or no; whoever looked away, or sent something else, has not answered."""
    if elicited.action == "decline":
        return False
    approved = elicited.content.get("approved") if elicited.action == "accept" else None
    return approved if isinstance(approved, bool) else None


def _readable(arguments: Json) -> str:
    text = visible(json.dumps(arguments, ensure_ascii=False))
    cut = len(text) - _MAX_ARGUMENT_CHARACTERS
    return text if cut <= 0 else f"{text[:_MAX_ARGUMENT_CHARACTERS]}… (+{cut})"
