"""Shows events in a terminal. Nothing an agent says can act on the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping

from aipm_cli.api import json_line

from aipm_core import Json, visible


class Renderer:
    """Shows events to a person, or as one JSON object a line to a machine."""

    def __init__(self, agent_id: str, *, as_json: bool) -> None:
        self._agent_id = agent_id
        self._as_json = as_json
        self._streaming: str | None = None

    def show(self, frame: Mapping[str, Json]) -> None:
        """Show one event."""
        if self._as_json:
            _write(json_line(frame) + "\n")
            return
        draw = _DRAWN.get(frame["type"])
        if draw is not None:
            draw(self, frame.get("payload", {}))

    def tell(self, text: str) -> None:
        """Say something of our own."""
        if not self._as_json:
            begun, self._streaming = self._streaming is not None, None
            _write(f"\n{text}\n" if begun else f"{text}\n")

    def ask(self, text: str) -> None:
        """Leave the cursor behind a question."""
        if not self._as_json:
            _write(f"{text} ")

    def _message(self, payload: Json) -> None:
        if self._streaming is not None and self._streaming == payload.get("messageId"):
            _write("\n")
        else:
            self._quoted(self._agent_id, payload["content"])
        self._streaming = None

    def _delta(self, payload: Json) -> None:
        if self._streaming != payload["messageId"]:
            self._streaming = payload["messageId"]
            _write(f"{visible(self._agent_id)} │ ")
        _write(visible(payload["delta"]).replace("\n", "\n│ "))

    def _question(self, payload: Json) -> None:
        warning = payload["security_warning"]
        self._quoted(f"[{warning['level']}]", warning["message"])
        self._quoted(payload["toolName"], json.dumps(payload["args"], ensure_ascii=False, indent=1))

    def _resolved(self, payload: Json) -> None:
        self._quoted("confirmation", f"{payload['status']} {payload.get('reason') or ''}".strip())

    def _error(self, payload: Json) -> None:
        self._quoted("error", f"{payload['code']}: {payload['message']}")

    def _news(self, payload: Json) -> None:
        self._quoted("everybody", payload["content"])

    def _state(self, payload: Json) -> None:
        if payload["state"] == "executing_tool":
            self.tell("…")

    def _quoted(self, who: str, text: str) -> None:
        """Mark every line as somebody else's, or text could look like one of our questions."""
        shown = visible(text).replace("\n", "\n│ ")
        _write(f"{visible(who)} │ {shown}\n")


_DRAWN: Mapping[str, Callable[[Renderer, Json], None]] = {
    "onNewMessage": Renderer._message,  # noqa: SLF001 - the table belongs to the class
    "onMessageDelta": Renderer._delta,  # noqa: SLF001
    "onToolCallRequest": Renderer._question,  # noqa: SLF001
    "onConfirmationResolved": Renderer._resolved,  # noqa: SLF001
    "onError": Renderer._error,  # noqa: SLF001
    "onSystemMessage": Renderer._news,  # noqa: SLF001
    "onAgentStateChange": Renderer._state,  # noqa: SLF001
}


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
