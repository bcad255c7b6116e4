"""Crashes while the agent of a user interface works: it closes what was open and goes on."""

import json
from signal import SIGTERM
from typing import Any, ClassVar

from tests.crashes.case import Case
from tests.crashes.crash_server import BOT

_IDLE = (0, 0)


class Turn(Case):
    """One input: a tool, then words piece by piece. ``look``: runs and inputs not finished."""

    kind = "upkeep"
    paths: ClassVar[tuple[str, ...]] = (
        "aipm_agent_loop.response:ResponseStream._send",
        "aipm_agent_loop.response:ResponseStream._say",
        "aipm_agent_loop.response:ResponseStream._keep",
        "aipm_agent_loop.toolbox:Toolbox._call_for",
        "aipm_agent_loop.toolbox:Toolbox._call_for#2",
        "aipm_agent_loop.turn:Turn.play",
        "aipm_agent_loop.turn:Turn._steps",
        "aipm_agent_loop.workers:Workers._take_over",
        "aipm_agent_loop.workers:Workers._next",
    )
    done = (*_IDLE, 1)

    def prepare(self) -> None:
        opening = {"projectId": "p", "agentId": BOT}
        self.session = self.order("open", "openSession", opening)["sessionId"]

    def order(self, about: str, kind: str, payload: dict[str, Any]) -> Any:
        order = {"id": f"{self.name}-{about}", "type": kind, "payload": payload}
        answer = self.stage.http("POST", "/commands", order)
        assert answer["type"] == "ack", answer
        return answer

    def act(self) -> Any:
        return self.order("input", "submitUserInput", {"sessionId": self.session, "text": "go"})

    def look(self) -> Any:
        # In one look: an input that begins between two of them would be in neither.
        (found,) = self.stage.all(
            "select (select count(*) from agent_runs where session_id = ?1 and status = 'running'),"
            " (select count(*) from agent_inputs where session_id = ?1 and status = 'queued'),"
            " (select count(*) from agent_inputs where session_id = ?1)",
            self.session,
        )
        return tuple(found)

    def judge(self, moment: str, before: Any, answer: Any) -> None:
        """Whatever was acknowledged is there; the rest is for the next start to close."""
        assert answer is None or self.look()[2] == self.done[2], "an acknowledged input is lost"

    def recover(self, *, done: bool) -> None:
        self.act()
        self.stage.wait_for(self.look, self.done)

    def check(self) -> None:
        """No event is missing, the input was answered at most once, and the next one is."""
        types = self._told()
        assert types[-1] == "onAgentStateChange"
        assert types.count("onNewMessage") <= self.done[2]
        calls = "select count(*) from agent_calls where session_id = ? and status is null"
        assert self.stage.one(calls, self.session) == 0

    def _told(self) -> list[str]:
        query = "select seq, type, payload from events where stream = ? order by seq"
        events = self.stage.all(query, self.session)
        assert [seq for seq, *_ in events] == list(range(1, len(events) + 1))
        assert json.loads(events[-1][2])["state"] == "waiting_for_input"
        return [kind for _, kind, _ in events]


class SecondTurn(Turn):
    """The second input takes a while: time enough to renew the lease."""

    paths = ("aipm_agent_loop.workers:Workers._renew",)
    done = (*_IDLE, 2)

    def prepare(self) -> None:
        super().prepare()
        super().act()
        self.stage.wait_for(self.look, (*_IDLE, 1))

    def act(self) -> Any:
        return self.order("second", "submitUserInput", {"sessionId": self.session, "text": "on"})


class StoppedInATurn(SecondTurn):
    """Told to stop in the middle of a run, and killed while it tidies up."""

    paths = ("aipm_agent_loop.workers:Workers._work",)

    def act(self) -> Any:
        answer = super().act()
        if self.look()[2] == 2 and not self.stage.resting:
            self.stage.wait_for(lambda: self.look()[0], 1)
            self.stage.server.process.send_signal(SIGTERM)
        return answer

    def await_crash(self, answer: Any) -> None:
        """It was on its way out: after that write it may be faster than its death."""
        self.stage.await_crash(*([0] if self.moment == "told" else []))


class FoundAfterACrash(SecondTurn):
    """Killed in a run, and killed again while the run is closed."""

    paths = ("aipm_agent_loop.workers:Workers._close_left_behind",)

    def prepare(self) -> None:
        super().prepare()
        self.order("second", "submitUserInput", {"sessionId": self.session, "text": "on"})
        self.stage.wait_for(lambda: self.look()[0], 1)
        self.stage.server.process.kill()
        self.stage.stop()

    def act(self) -> Any:
        if self.stage.resting:
            return self.stage.server
        self.stage.start_to_crash()
        return None
