"""Our events in the words of AG-UI. Imported only when an AG-UI client comes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ag_ui import core as ag

from aipm_core import Json, new_id

Frame = Mapping[str, Any]
_ANSWER = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["approved"],
}


class Translation:
    """One run: frames of a session in, AG-UI events out. ``over`` says that the run has ended."""

    def __init__(self, given: ag.RunAgentInput, known_calls: frozenset[str]) -> None:
        self._thread_id, self._run_id = given.thread_id, given.run_id
        self._messages: list[Any] = list(given.messages)
        self._calls = set(known_calls)
        self._open_message: str | None = None
        self._interrupts: list[ag.Interrupt] = []
        self._state = "waiting_for_input"
        self._problem: ag.RunErrorEvent | None = None
        self.over = False

    def started(self) -> list[ag.BaseEvent]:
        """Return how every run begins."""
        started = ag.RunStartedEvent(
            thread_id=self._thread_id, run_id=self._run_id, protocol_version="1.0"
        )
        return [started, ag.StateSnapshotEvent(snapshot=self._snapshot())]

    def failed(self, code: str, message: str) -> list[ag.BaseEvent]:
        """End the run with an error."""
        self.over = True
        return [ag.RunErrorEvent(code=code, message=message)]

    def interrupted(self) -> list[ag.BaseEvent]:
        """End the run with the questions that are open, if there are any."""
        if not self._interrupts:
            return []
        self.over = True
        outcome = ag.RunFinishedInterruptOutcome(interrupts=self._interrupts)
        return [
            ag.StateSnapshotEvent(snapshot=self._snapshot()),
            ag.MessagesSnapshotEvent(messages=self._messages),
            self._finished(outcome),
        ]

    @property
    def asking(self) -> bool:
        """Whether a question is open."""
        return bool(self._interrupts)

    def of(self, frame: Frame) -> list[ag.BaseEvent]:
        """Translate one frame."""
        translate = _TRANSLATED.get(frame["type"])
        if translate is not None:
            return list(translate(self, frame.get("payload", frame)))
        if frame["type"] in {"session_closed", "server_stopping", "resync_required"}:
            return self.failed(frame["type"], frame["type"])
        name = "aipm.system" if frame["scope"] == "system" else f"aipm.{frame['type']}"
        payload = {k: v for k, v in frame["payload"].items() if k != "sessionId"}
        return [ag.CustomEvent(name=name, value=payload)]

    def _changed(self, payload: Json) -> Iterator[ag.BaseEvent]:
        self._state = payload["state"]
        operation = {"op": "replace", "path": "/aipm/agentState", "value": self._state}
        yield ag.StateDeltaEvent.model_validate({"delta": [operation]})
        if self._state == "error" or (self._state == "waiting_for_input" and self._problem):
            self.over = True
            yield self._problem or ag.RunErrorEvent(code="error", message="the agent failed")
        elif self._state == "waiting_for_input":
            self.over = True
            yield self._finished(ag.RunFinishedSuccessOutcome())

    def _delta(self, payload: Json) -> Iterator[ag.BaseEvent]:
        message_id = payload["messageId"]
        if self._open_message != message_id:
            self._open_message = message_id
            yield ag.TextMessageStartEvent(message_id=message_id, role="assistant")
        if payload["delta"]:
            yield ag.TextMessageContentEvent(message_id=message_id, delta=payload["delta"])

    def _message(self, payload: Json) -> Iterator[ag.BaseEvent]:
        message_id = payload.get("messageId") or new_id("msg")
        if self._open_message != message_id:
            yield from self._delta({"messageId": message_id, "delta": payload["content"]})
        about = {"aipm": {"format": payload["format"], "metadata": payload["metadata"]}}
        yield ag.TextMessageEndEvent(message_id=message_id, metadata=about)
        self._open_message = None
        self._messages.append(ag.AssistantMessage(id=message_id, content=payload["content"]))

    def _asked(self, payload: Json) -> Iterator[ag.BaseEvent]:
        call_id = payload.get("toolCallId") or payload["confirmationId"]
        arguments = json.dumps(payload["args"], ensure_ascii=False)
        yield from self._called(call_id, payload["toolName"], arguments)
        warning = payload["security_warning"]
        self._interrupts.append(
            ag.Interrupt(
                id=payload["confirmationId"],
                reason="tool_call",
                message=warning["message"],
                tool_call_id=call_id,
                expires_at=payload["expiresAt"],
                response_schema=_ANSWER,
                metadata={"aipm": {"security_warning": warning}},
            )
        )

    def _called(self, call_id: str, name: str, arguments: str) -> Iterator[ag.BaseEvent]:
        self._calls.add(call_id)
        yield ag.ToolCallStartEvent(tool_call_id=call_id, tool_call_name=name)
        yield ag.ToolCallArgsEvent(tool_call_id=call_id, delta=arguments)
        yield ag.ToolCallEndEvent(tool_call_id=call_id)
        function = ag.FunctionCall(name=name, arguments=arguments)
        call = ag.ToolCall(id=call_id, function=function)
        self._messages.append(ag.AssistantMessage(id=new_id("msg"), tool_calls=[call]))

    def _result(self, payload: Json) -> Iterator[ag.BaseEvent]:
        call_id = payload.get("toolCallId") or new_id("call")
        if call_id not in self._calls:
            yield from self._called(call_id, payload["toolName"], "{}")
        told = {k: payload[k] for k in ("status", "result", "error") if k in payload}
        content, message_id = json.dumps(told, ensure_ascii=False), new_id("msg")
        yield ag.ToolCallResultEvent(
            message_id=message_id, tool_call_id=call_id, content=content, role="tool"
        )
        self._messages.append(ag.ToolMessage(id=message_id, tool_call_id=call_id, content=content))

    def _resolved(self, payload: Json) -> Iterator[ag.BaseEvent]:
        left = [i for i in self._interrupts if i.id != payload["confirmationId"]]
        self._interrupts = left
        value = {k: v for k, v in payload.items() if k != "sessionId"}
        yield ag.CustomEvent(name="aipm.onConfirmationResolved", value=value)

    def _failed(self, payload: Json) -> Iterator[ag.BaseEvent]:
        self._problem = ag.RunErrorEvent(code=payload["code"], message=payload["message"])
        yield from ()

    def _snapshot(self) -> Json:
        return {"aipm": {"agentState": self._state}}

    def _finished(self, outcome: Any) -> ag.BaseEvent:  # noqa: ANN401
        return ag.RunFinishedEvent(thread_id=self._thread_id, run_id=self._run_id, outcome=outcome)


_TRANSLATED: Mapping[str, Callable[[Translation, Json], Iterator[ag.BaseEvent]]] = {
    "onAgentStateChange": Translation._changed,  # noqa: SLF001 - the table belongs to the class
    "onMessageDelta": Translation._delta,  # noqa: SLF001
    "onNewMessage": Translation._message,  # noqa: SLF001
    "onToolCallRequest": Translation._asked,  # noqa: SLF001
    "onToolCallResult": Translation._result,  # noqa: SLF001
    "onConfirmationResolved": Translation._resolved,  # noqa: SLF001
    "onError": Translation._failed,  # noqa: SLF001
}
