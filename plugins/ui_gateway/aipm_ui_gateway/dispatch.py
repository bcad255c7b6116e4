"""Carries out commands, each once, whatever the transport."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import orjson
from aipm_sessions.api import Agent
from pydantic import BaseModel

from aipm_core import CallError, Json, PluginContext, Texts, Tx
from aipm_ui_gateway.api import UiSession
from aipm_ui_gateway.board import COMMAND_TYPES, Commands, Handling
from aipm_ui_gateway.command_payloads import SessionCommand
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.limits import Limits
from aipm_ui_gateway.orders import Checks, Order, id_of
from aipm_ui_gateway.ui_sessions import SqlUiSessions

logger = logging.getLogger(__name__)
Alongside: TypeAlias = Callable[[Tx], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back for one command; ``order`` is missing when the frame was none."""

    reply: Mapping[str, Json]
    status: int = 200
    order: Order | None = None
    repeated: bool = False

    @property
    def done(self) -> bool:
        """Whether the command was carried out, now or before."""
        return bool(self.reply["type"] == "ack")


class Dispatch:
    """Finds the handler of a command and runs it in the transaction that remembers the id."""

    def __init__(
        self,
        ctx: PluginContext[UiGatewayConfig],
        board: Commands,
        sessions: SqlUiSessions,
        limits: Limits,
    ) -> None:
        self._ctx = ctx
        self._board = board
        self._sessions = sessions
        self._limits = limits
        self._checked = Checks(ctx.texts, Texts.load("aipm_core", ctx.locale))

    async def run(
        self,
        person: Agent,
        frame: Json,
        only_session: str | None = None,
        alongside: Alongside | None = None,
    ) -> Answer:
        """Carry out one command; ``only_session`` stands in for a session id that is left out.

        What is done ``alongside`` happens in the same transaction, so with the command or not.
        """
        try:
            self._limits.command(person.id)
            order = self._checked(Order, frame)
            return await self._carry_out(person, order, only_session, alongside)
        except CallError as error:
            return refusal(error, id_of(frame))
        except Exception:
            incident = secrets.token_hex(6)
            logger.exception("a command failed, incident %s", incident)
            broken = self._ctx.refuse("internal_error", 500, incident=incident)
            return refusal(broken, id_of(frame))

    async def _carry_out(
        self, person: Agent, order: Order, only_session: str | None, alongside: Alongside | None
    ) -> Answer:
        handling = self._handling(order.type)
        payload = self._checked(handling.payload_model, order.payload)

        async def unit(tx: Tx) -> Answer:
            known = await self._known(tx, person, order)
            if known is not None:
                return Answer(known, order=order, repeated=True)
            session = await self._session(tx, person, payload, only_session)
            result = await handling.run(tx, person, session, payload)
            ack = {**result, "type": "ack", "id": order.id}
            await self._remember(tx, person, order, ack)
            if alongside is not None:
                await alongside(tx)
            return Answer(ack, order=order)

        try:
            return await self._ctx.store.write(unit)
        except CallError as error:
            if handling.refused is not None:
                await handling.refused(person, payload, error)
            raise

    def _handling(self, type: str) -> Handling:  # noqa: A002 - the name on the wire
        handling = self._board.find(type)
        if handling is not None:
            return handling
        if type in COMMAND_TYPES:
            raise self._ctx.refuse("command_unavailable", 404, type=type)
        raise self._ctx.refuse("unknown_command", 404)

    async def _session(
        self, tx: Tx, person: Agent, payload: BaseModel, only_session: str | None
    ) -> UiSession | None:
        if not isinstance(payload, SessionCommand):
            return None
        session_id = payload.sessionId if payload.sessionId is not None else only_session
        if session_id is None:
            raise self._ctx.refuse("session_required", 400)
        session = await self._sessions.find(tx, session_id)
        if session is None or session.person_id != person.id:
            raise self._ctx.refuse("session_not_found", 404)
        return session

    async def _known(self, tx: Tx, person: Agent, order: Order) -> Mapping[str, Json] | None:
        row = await tx.one(
            "select digest, ack from ui_commands where person_id = ? and id = ?",
            *(person.id, order.id),
        )
        if row is None:
            return None
        if row["digest"] != order.digest():
            raise self._ctx.refuse("command_id_reused", 409)
        ack: Mapping[str, Json] = orjson.loads(row["ack"])
        return ack

    async def _remember(self, tx: Tx, person: Agent, order: Order, ack: Mapping[str, Json]) -> None:
        await tx.run(
            "insert into ui_commands (person_id, id, digest, ack, at) values (?, ?, ?, ?, ?)",
            *(person.id, order.id, order.digest(), orjson.dumps(ack).decode(), self._ctx.clock()),
        )


def refusal(error: CallError, command_id: str | None = None) -> Answer:
    """Put a refusal into the form of an answer."""
    reply = {"type": "error", "id": command_id, "code": error.code, "message": str(error)}
    return Answer(reply, status=error.status)
