"""The protocols of agents' programs, from the program's side, for a program that only plays one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

Json: TypeAlias = Any
RESETS_AT = 4_000_000_000


class Wire:
    """Lines of JSON on standard input and output."""

    def __init__(self) -> None:
        self._numbers = 100
        self.resumed = ""
        """The conversation it goes on with, if it was told to and still has it."""

    def begin(self, asked: str | None) -> bool:
        """Remember a conversation in the home; return whether one that is asked for is known."""
        kept = Path(os.environ["HOME"]) / "conversation"
        known = bool(asked) and kept.exists() and kept.read_text(encoding="utf-8") == asked
        self.resumed = asked if asked and known else ""
        kept.write_text("s1", encoding="utf-8")
        kept.chmod(0o600)
        return known

    def number(self) -> int:
        """Return a new number for a request."""
        self._numbers += 1
        return self._numbers

    def send(self, **message: Json) -> None:
        """Write a message."""
        self.raw(json.dumps(message))

    def raw(self, line: str) -> None:
        """Write a line, whatever it is."""
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def wait(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Read until a message fits; end with the input."""
        for line in sys.stdin:
            message: dict[str, Any] = json.loads(line)
            if fits(message):
                return message
        sys.exit(0)

    def rest(self) -> None:
        """Do nothing more until the input ends."""
        self.wait(lambda _: False)


class Claude(Wire):
    """``stream-json`` with control requests."""

    errors: ClassVar[dict[str, Json]] = {
        "quota": {"api_error_status": 429},
        "not_logged_in": {"api_error_status": 401},
        "network": {"api_error_status": 529},
        "model_unavailable": {"api_error_status": 404},
        "context_full": {"api_error_status": 413},
    }

    def open(self) -> None:
        """Answer the handshake and read the prompt; without a conversation to resume, give up."""
        found = [word for word in sys.argv if word.startswith("--resume=")]
        if found and not self.begin(found[0].removeprefix("--resume=")):
            sys.exit("No conversation found")
        self.begin(self.resumed)
        asked = self.wait(lambda m: m.get("type") == "control_request")
        done = {"subtype": "success", "request_id": asked["request_id"], "response": {}}
        self.send(type="control_response", response=done)
        self.wait(lambda m: m.get("type") == "user")
        self.send(type="system", subtype="init", session_id="s1", mcp_servers=[], tools=[])

    def say(self, text: str, message: str = "m1") -> None:
        """Say something; the same message twice counts its tokens once."""
        content = [{"type": "text", "text": text}]
        usage = {"input_tokens": 60, "output_tokens": 40}
        said = {"id": message, "role": "assistant", "content": content, "usage": usage}
        self.send(type="assistant", message=said)

    def ask(self, tool: str, command: str) -> bool:
        """Ask whether a tool may be used."""
        number = f"r{self.number()}"
        request = {"subtype": "can_use_tool", "tool_name": tool, "input": {"command": command}}
        self.send(type="control_request", request_id=number, request=request)
        reply = self.wait(lambda m: m.get("response", {}).get("request_id") == number)
        return bool(reply["response"].get("response", {}).get("behavior") == "allow")

    def limit(self, until: float = RESETS_AT) -> None:
        """Say until when the account is used up."""
        told = {"status": "rejected", "resetsAt": until}
        self.send(type="rate_limit_event", rate_limit_info=told)

    def end(self, kind: str = "ok") -> None:
        """End the turn."""
        how = {"subtype": "success", "is_error": kind != "ok", "result": f"the end: {kind}"}
        self.send(type="result", total_cost_usd=0.5, **{**how, **self.errors.get(kind, {})})


class Codex(Wire):
    """The app server."""

    errors: ClassVar[dict[str, Json]] = {
        "quota": "usageLimitExceeded",
        "not_logged_in": "unauthorized",
        "network": {"responseStreamConnectionFailed": {"httpStatusCode": None}},
        "model_unavailable": {"responseTooManyFailedAttempts": {"httpStatusCode": 404}},
        "context_full": "contextWindowExceeded",
    }

    def open(self) -> None:
        """Answer until a turn is started."""
        self.answer("initialize", {"userAgent": "fake"})
        opened = self.wait(lambda m: str(m.get("method")).startswith("thread/"))
        known = self.begin(opened["params"].get("threadId"))
        if opened["method"] == "thread/resume" and not known:
            self.send(id=opened["id"], error={"code": -32600, "message": "has an active writer"})
            opened = self.wait(lambda m: m.get("method") == "thread/start")
        self.send(id=opened["id"], result={"thread": {"id": "s1"}})
        self.answer("turn/start", {"turn": {"id": "t1"}})

    def answer(self, method: str, result: Json) -> None:
        """Wait for a request and answer it."""
        asked = self.wait(lambda m: m.get("method") == method)
        self.send(id=asked["id"], result=result)

    def say(self, text: str, message: str = "m1") -> None:
        """Say something; the sum of tokens is told again with each message."""
        self.send(method="item/completed", params={"item": {"type": "agentMessage", "text": text}})
        usage = {"total": {"totalTokens": 100}, "last": {"totalTokens": 100}}
        self.send(method="thread/tokenUsage/updated", params={"tokenUsage": usage})

    def ask(self, tool: str, command: str) -> bool:
        """Ask whether a tool may be used; what is no command is a kind nobody knows."""
        number = self.number()
        kind = "commandExecution" if tool == "Bash" else "newThing"
        params = {"command": f"/bin/bash -lc '{command}'", "itemId": "i1"}
        self.send(method=f"item/{kind}/requestApproval", id=number, params=params)
        reply = self.wait(lambda m: m.get("id") == number and "method" not in m)
        return bool(reply.get("result", {}).get("decision") == "accept")

    def limit(self, until: float = RESETS_AT) -> None:
        """Say until when the account is used up."""
        limits = {"primary": {"usedPercent": 100, "resetsAt": until}}
        self.send(method="account/rateLimits/updated", params={"rateLimits": limits})

    def end(self, kind: str = "ok") -> None:
        """End the turn."""
        turn: dict[str, Any] = {"id": "t1", "status": "completed" if kind == "ok" else "failed"}
        if kind != "ok":
            info = self.errors.get(kind, "other")
            turn["error"] = {"message": f"the end: {kind}", "codexErrorInfo": info}
        self.send(method="turn/completed", params={"turn": turn})


class Acp(Wire):
    """The Agent Client Protocol."""

    errors: ClassVar[dict[str, Json]] = {
        "quota": {"code": -32603, "data": {"errorKind": "rate_limit"}},
        "not_logged_in": {"code": -32000},
        "network": {"code": 529},
        "model_unavailable": {"code": 404},
    }

    def __init__(self) -> None:
        super().__init__()
        self._prompt: Json = 0

    def open(self) -> None:
        """Answer until there is a prompt."""
        able = {"loadSession": True, "mcpCapabilities": {"http": True}}
        self.answer("initialize", {"protocolVersion": 1, "agentCapabilities": able})
        opened = self.wait(lambda m: m.get("method") in ("session/new", "session/load"))
        known = self.begin(opened["params"].get("sessionId"))
        if opened["method"] == "session/load" and not known:
            self.send(id=opened["id"], error={"code": -32602, "message": "no such session"})
            opened = self.wait(lambda m: m.get("method") == "session/new")
        modes = {"availableModes": [{"id": "default"}, {"id": "auto"}], "currentModeId": "auto"}
        self.send(id=opened["id"], result={"sessionId": "s1", "modes": modes})
        self.prompted()

    def prompted(self) -> None:
        """Wait for a prompt; a mode may be set before."""
        while True:
            asked = self.wait(lambda m: "method" in m and "id" in m)
            if asked["method"] == "session/prompt":
                self._prompt = asked["id"]
                return
            Path("mode").write_text(asked["params"]["modeId"], encoding="utf-8")
            self.send(id=asked["id"], result={})

    def rest(self) -> None:
        """Take further prompts until the input ends, and do nothing about them."""
        while True:
            asked = self.wait(lambda m: m.get("method") == "session/prompt")
            Path("told").write_text(json.dumps(asked["params"]["prompt"]), encoding="utf-8")
            self.send(id=asked["id"], result={"stopReason": "end_turn"})

    def answer(self, method: str, result: Json) -> None:
        """Wait for a request and answer it."""
        asked = self.wait(lambda m: m.get("method") == method)
        self.send(id=asked["id"], result=result)

    def say(self, text: str, message: str = "m1") -> None:
        """Say something."""
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        self.send(method="session/update", params={"sessionId": "s1", "update": update})

    def ask(self, tool: str, command: str) -> bool:
        """Ask whether a tool may be used."""
        number, kind = self.number(), "execute" if tool == "Bash" else "other"
        call = {"toolCallId": "c1", "title": command, "kind": kind}
        names = ("allow_always", "allow_once", "reject_once")
        options = [{"optionId": name, "kind": name, "name": name} for name in names]
        params = {"sessionId": "s1", "toolCall": call, "options": options}
        self.send(method="session/request_permission", id=number, params=params)
        reply = self.wait(lambda m: m.get("id") == number and "method" not in m)
        return bool(reply.get("result", {}).get("outcome", {}).get("optionId") == "allow_once")

    def limit(self, until: float = RESETS_AT) -> None:
        """Say nothing: the protocol has no word for it."""

    def end(self, kind: str = "ok") -> None:
        """Answer the prompt."""
        if kind in self.errors:
            error = {"message": f"the end: {kind}", **self.errors[kind]}
            self.send(id=self._prompt, error=error)
            return
        reason = {"ok": "end_turn", "context_full": "max_tokens"}.get(kind, "refusal")
        self.send(id=self._prompt, result={"stopReason": reason, "usage": {"totalTokens": 100}})


Program: TypeAlias = Claude | Codex | Acp
PROTOCOLS: dict[str, type[Program]] = {"stream-json": Claude, "app-server": Codex, "acp": Acp}
