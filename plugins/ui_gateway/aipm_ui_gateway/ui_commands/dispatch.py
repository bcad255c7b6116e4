"""Turns command frames into calls of people's tools, and replies into acks and errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aipm_sessions.api import PERSON_CALLS, Agent, Alongside, person_session
from pydantic import ValidationError

from aipm_core import CallError, Failure, Json, PluginContext, Request
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.limits import Limits
from aipm_ui_gateway.ui_commands.frames import CommandFrame, id_of
from aipm_ui_gateway.ui_commands.payloads import COMMAND_TYPES, SessionCommand


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back for one command; ``command`` is missing when the frame was none."""

    reply: Mapping[str, Json]
    status: int = 200
    command: CommandFrame | None = None
    repeated: bool = False

    @property
    def done(self) -> bool:
        """Whether the command was carried out, now or before."""
        return bool(self.reply["type"] == "ack")


class Dispatch:
    """The adapter between frames and the pipeline, which does everything else."""

    def __init__(self, ctx: PluginContext[UiGatewayConfig], limits: Limits) -> None:
        self._ctx = ctx
        self._limits = limits
        self._calls = ctx.services.use(PERSON_CALLS)

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
            command = CommandFrame.model_validate(frame)
        except ValidationError as error:
            return self._unreadable(person, frame, error)
        return await self._carry_out(person, command, only_session, alongside)

    def _unreadable(self, person: Agent, frame: Json, error: ValidationError) -> Answer:
        """Refuse what is no command; it counts like one, or a flood of it would be free."""
        try:
            self._limits.command(person.id)
        except CallError as too_many:
            return refusal(too_many, id_of(frame))
        return refusal(self._ctx.invalid(error), id_of(frame))

    async def _carry_out(
        self,
        person: Agent,
        command: CommandFrame,
        only_session: str | None,
        alongside: Alongside | None,
    ) -> Answer:
        conflict = self._ctx.refuse("command_id_reused", 409)
        once = self._calls.once(command.id, command.type, command.payload, conflict, alongside)
        request = Request(
            tool=command.type,
            arguments=self._arguments(command, only_session),
            session=person_session(person),
            audience="ui",
            once=once,
        )
        reply = await self._ctx.gateway.call(request)
        if reply.error is not None:
            return refusal(self._refused(command, reply.error), command.id)
        ack = {**reply.result, "type": "ack", "id": command.id}
        return Answer(ack, command=command, repeated=once.repeated)

    def _arguments(self, command: CommandFrame, only_session: str | None) -> dict[str, Json]:
        tool = self._ctx.gateway.find_tool(command.type, "ui")
        model = tool.arguments if tool is not None else None
        of_session = isinstance(model, type) and issubclass(model, SessionCommand)
        if of_session and only_session is not None and command.payload.get("sessionId") is None:
            return {**command.payload, "sessionId": only_session}
        return command.payload

    def _refused(self, command: CommandFrame, error: Failure) -> CallError:
        """Return the refusal of a call in the words of commands."""
        if error.code not in ("tool_not_found", "tool_disabled"):
            return CallError(error.message, code=error.code, status=error.status)
        if command.type in COMMAND_TYPES:
            return self._ctx.refuse("command_unavailable", 404, type=command.type)
        return self._ctx.refuse("unknown_command", 404)


def refusal(error: CallError, command_id: str | None = None) -> Answer:
    """Put a refusal into the form of an answer."""
    reply = {"type": "error", "id": command_id, "code": error.code, "message": str(error)}
    return Answer(reply, status=error.status)
