"""Crashes around what people must agree to, and in the record of decisions."""

import json
import threading
from contextlib import suppress
from http.client import HTTPConnection
from typing import Any, ClassVar
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from mcp import Client
from mcp_types import ElicitRequestParams, ElicitResult

from tests.crashes.case import Case, Command, Upkeep
from tests.crashes.crash_server import HUMAN, Gone


class Denied(Case):
    """A refusal is on disk before the caller hears of it."""

    paths = ("aipm_policy.audit:AuditTrail.write",)
    repeatable = False

    def prepare(self) -> None:
        self.agent("d")

    def act(self) -> Any:
        answer = self.call("d", "list_tasks")
        assert answer["error"]["code"] == "denied_by_policy", answer
        return {"refused": True}

    def look(self) -> Any:
        return self.stage.one(
            "select count(*) from policy_audit where entry like ?", f'%"{self.id("d")}"%'
        )


class PermissionNoted(Upkeep):
    """Plain permissions are noted soon after: a crash takes the last moment of them, not more."""

    paths = ("aipm_policy.audit:AuditTrail._flush",)

    def prepare(self) -> None:
        self.agent("a", "task")

    def act(self) -> Any:
        return self.call("a", "create_task", as_="task", title=self.name)

    def look(self) -> Any:
        return self.stage.one(
            "select count(*) from policy_audit where entry like ?", f'%"{self.id("a")}"%'
        )

    def recover(self, *, done: bool) -> None:
        if not done:
            assert "result" in self.act()
        super().recover(done=done)


class Question(Case):
    """An agent may not broadcast unless a person says yes. One yes is one broadcast."""

    kind = "upkeep"
    done: ClassVar[Any] = 1

    def prepare(self) -> None:
        self.agent("b")
        self.agent("q")

    def ask(self) -> Any:
        said: Any = {"content": self.name, "target_agent_ids": [self.id("b")]}
        return self.call("q", "broadcast_message", **said)

    def act(self) -> Any:
        """Ask in a thread, and say yes as soon as the question is there."""
        answers: list[Any] = []

        def asking() -> None:
            with suppress(Gone):
                answers.append(self.ask())

        thread = threading.Thread(target=asking)
        thread.start()
        while thread.is_alive():
            if (asked := self.open_question()) is not None:
                with suppress(Gone):
                    self.agree(asked)
            thread.join(0.05)
        return answers[0] if answers else None

    def agree(self, asked: str) -> None:
        payload = {"confirmationId": asked, "approved": True}
        order = {"id": f"yes-{asked}", "type": "provideConfirmation", "payload": payload}
        self.stage.http("POST", "/commands", order)

    def open_question(self) -> Any:
        query = "select id from confirmations where agent_id = ? and status = 'pending'"
        return self.stage.one(query, self.id("q"))

    def states(self) -> tuple[tuple[Any, ...], ...]:
        """Return what became of every question so far."""
        query = "select status, used_at is not null from confirmations where agent_id = ?"
        return self.stage.all(query, self.id("q"))

    def look(self) -> Any:
        return self.stage.one("select count(*) from messages where content = ?", self.name)

    expected: ClassVar[dict[str, tuple[tuple[tuple[str, int], ...], ...]]]

    def judge(self, moment: str, before: Any, answer: Any) -> None:
        assert self.states() in self.expected[moment], self.states()
        assert self.look() in ((0, 1) if moment == "told" else (0,))
        assert moment == "told" or answer is None, answer

    def recover(self, *, done: bool) -> None:
        """Look first, as an agent does that may not repeat blindly."""
        if self.look() == 0:
            answer = self.act()
            assert "result" in answer, answer


class Asked(Question):
    paths = ("aipm_policy.authorizer:PolicyAuthorizer._asked",)
    expected: ClassVar = {
        "inside": ((),),
        "committed": ((("pending", 0),),),
        "told": (
            (("pending", 0),),
            (("approved", 0),),
            (("approved", 1),),
        ),
    }


class Used(Question):
    """A yes that was spent on a call nobody heard of again is gone; a person is asked anew."""

    paths = ("aipm_policy.authorizer:PolicyAuthorizer._use",)
    expected: ClassVar = {
        "inside": ((("approved", 0),),),
        "committed": ((("approved", 1),),),
        "told": ((("approved", 1),),),
    }


class AskedAtTheClient(Question):
    """The question goes to the agent's own client, whose person says yes."""

    paths = ("aipm_policy.elicitation:ClientConfirmations._ask",)
    expected: ClassVar = {
        "inside": ((("pending", 0),),),
        "committed": ((("approved", 0),),),
        "told": (
            (("approved", 0),),
            (("approved", 1),),
        ),
    }

    def act(self) -> Any:
        return anyio.run(self._converse, self.agent("q"), self.stage.server.mcp)

    async def _converse(self, token: str, mcp: str) -> Any:
        async def person(context: Any, params: ElicitRequestParams) -> ElicitResult:
            return ElicitResult(action="accept", content={"approved": True})

        said = {"content": self.name, "target_agent_ids": [self.id("b")], "session_token": token}
        try:
            async with Client(mcp, elicitation_callback=person) as client:
                return (await client.call_tool("broadcast_message", said)).structured_content
        except Exception:  # noqa: BLE001 - the server is gone
            return None


class Withdrawn(Question):
    """A caller that leaves takes its question along; if that is lost, the question times out."""

    paths = ("aipm_policy.authorizer:PolicyAuthorizer._confirm",)
    done = "closed"

    def act(self) -> Any:
        connection = HTTPConnection(urlsplit(self.stage.server.mcp).netloc)
        said = {"content": self.name, "target_agent_ids": [self.id("b")]}
        arguments = {**said, "session_token": self.agent("q")}
        body = {"name": "broadcast_message", "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": body}
        head = {"content-type": "application/json"}
        head["accept"] = "application/json, text/event-stream"
        connection.request("POST", "/mcp", json.dumps(message), head)
        self.stage.wait_for(lambda: self.open_question() is not None, wanted=True)
        connection.close()

    def look(self) -> Any:
        state = self.states()
        return "closed" if state and state[0][0] != "pending" else "open"

    def judge(self, moment: str, before: Any, answer: Any) -> None:
        assert self.states() == (("pending" if moment == "inside" else "cancelled", 0),)

    def recover(self, *, done: bool) -> None:
        assert self.stage.server
        self.stage.change(  # time passes
            "update confirmations set expires_at = 1 where agent_id = ? and status = 'pending'",
            self.id("q"),
        )
        self.stage.stop()
        assert self.stage.server
        self.stage.wait_for(self.look, "closed")


class TimedOut(Withdrawn):
    paths = ("aipm_policy.authorizer:PolicyAuthorizer._answer_to",)

    def act(self) -> Any:
        return self.ask()

    def judge(self, moment: str, before: Any, answer: Any) -> None:
        assert self.states() == (("pending" if moment == "inside" else "expired", 0),)


class ApprovedAtTheCommandLine(Command):
    """The process of the command dies; the call that waits in the server does not."""

    paths = ("aipm_policy.answers:Answers.answer_with_more",)
    done = "approved"
    exits = frozenset({3, 4})

    def prepare(self) -> None:
        self.question = Asked(self.stage, self.number, self.path)
        self.question.prepare()
        self.answers: list[Any] = []
        self.thread = threading.Thread(target=self._ask)
        self.thread.start()
        self.stage.wait_for(lambda: self.question.open_question() is not None, wanted=True)
        self.asked = self.question.open_question()

    def _ask(self) -> None:
        self.answers.append(self.question.ask())

    def act(self) -> Any:
        return self.stage.command("approve", self.asked)

    def look(self) -> Any:
        return self.stage.one("select status from confirmations where id = ?", self.asked)

    def check(self) -> None:
        self.thread.join(30)
        assert "result" in self.answers[0], self.answers


class QuestionsSwept(Upkeep):
    paths = ("aipm_policy.plugin:Policy._sweep",)
    done = "expired"

    def prepare(self) -> None:
        self.stage.stop()
        self.stage.change(
            "insert into confirmations (id, session_id, project_id, agent_id, tool, args, "
            "args_digest, level, message, status, created_at, expires_at) "
            "values (?, 'gone', 'p', ?, 'x', '{}', '', 'INFO', '', 'pending', '', 1)",
            *(f"cnf_{self.name}", HUMAN),
        )

    def act(self) -> Any:
        self.stage.start_to_crash()

    def look(self) -> Any:
        query = "select status from confirmations where id = ?"
        return self.stage.one(query, f"cnf_{self.name}")
