"""One write, what leads to it, and what the store says of it before and after."""

from typing import Any, ClassVar

from tests.crashes.crash_server import HUMAN, CrashServer, Gone
from tests.write_paths import WritePath

MOMENTS = ("inside", "committed", "told")


class Case:
    """A call to a tool; for other ways to write see the subclasses."""

    paths: ClassVar[tuple[str, ...]]
    kind: ClassVar[str] = "call"
    done: ClassVar[Any] = 1
    repeatable: ClassVar[bool] = True
    """Whether the contract lets a caller repeat the call without knowing what became of it."""
    refusals: ClassVar[frozenset[str]] = frozenset()
    """How a repetition may be refused when the call had been carried out."""

    def __init__(self, stage: CrashServer, number: int, path: WritePath) -> None:
        self.stage = stage
        self.name = f"case{number}"
        self.number = number
        self.path = path
        self.moment = ""
        self._tokens: dict[tuple[str, str], str] = {}

    def prepare(self) -> None:
        """Lead up to it, with a server that lives."""

    def act(self) -> Any:
        """Do what ends in the write; return the answer."""
        raise NotImplementedError

    def look(self) -> Any:
        """Say what the store knows of it."""
        raise NotImplementedError

    def check(self) -> None:
        """Look whether those concerned can go on."""

    def agent(self, letter: str, purpose: str = "chat") -> str:
        """Return the token of an agent of this case's own: a (below m), b, m (a manager)."""
        name = self.id(letter)
        if (name, purpose) not in self._tokens:
            if not self.stage.one("select 1 from agents where id = ?", name):
                self._add(letter, name)
            self._tokens[name, purpose] = self.stage.log_in(name, purpose)
        return self._tokens[name, purpose]

    def _add(self, letter: str, name: str) -> None:
        if letter == "a":
            manager = self.id("m")
            if not self.stage.one("select 1 from agents where id = ?", manager):
                self._add("m", manager)
            self.stage.new_agent(name, parent=manager)
        elif letter == "m":
            self.stage.new_agent(name, parent=HUMAN, role="manager")
        else:
            self.stage.new_agent(name)

    def id(self, letter: str) -> str:
        """Return the id of such an agent."""
        return f"{letter}{self.number}"

    def call(self, letter: str, tool: str, *, as_: str = "chat", **arguments: Any) -> Any:
        """Call a tool as one of them."""
        return self.stage.call(self.agent(letter, as_), tool, **arguments)

    def result(self, letter: str, tool: str, *, as_: str = "chat", **arguments: Any) -> Any:
        """Call a tool that must succeed."""
        envelope = self.call(letter, tool, as_=as_, **arguments)
        assert "result" in envelope, envelope
        return envelope["result"]

    def human_says(self, letter: str, text: str) -> None:
        """Write to one of them as the human, and have it read."""
        self.agent(letter)
        address = f"/api/projects/p/agents/{self.id(letter)}/chat/messages"
        answer = self.stage.http("POST", address, {"content": text})
        assert "error" not in answer, answer
        self.result(letter, "get_pending_messages")

    def survive(self, moment: str) -> None:
        """Die there, start again, and find everything as it should be."""
        self.moment = moment
        self.prepare()
        before = self.look()
        assert before != self.done, before
        self.stage.arm(self.path, moment, self.kind)
        answer = self._act()
        self.await_crash(answer)
        self.stage.disarm()
        self.judge(moment, before, answer)
        assert self.stage.server  # somebody starts it again: that is all a person does
        self.recover(done=moment != "inside")
        assert self.look() == self.done, f"{self.look()} in the end, not {self.done}"
        self.check()

    def _act(self) -> Any:
        try:
            return self.act()
        except Gone:
            return None

    def await_crash(self, answer: Any) -> None:
        """Wait until whoever writes is dead."""
        self.stage.await_crash()

    def judge(self, moment: str, before: Any, answer: Any) -> None:
        """Compare what is stored with what was answered."""
        found = self.look()
        if moment == "inside":
            assert found == before, f"half-written: {found}"
        else:
            assert found == self.done, f"lost or doubled: {found}"
        assert self.acknowledged(answer) == (moment == "told"), answer

    def acknowledged(self, answer: Any) -> bool:
        """Return whether the caller got an answer, which must be a good one."""
        assert answer is None or "error" not in answer, answer
        return answer is not None

    def recover(self, *, done: bool) -> None:
        """Do what a caller does who got no answer."""
        if done and not self.repeatable:
            return
        answer = self.act()
        if "error" in answer:
            assert done, answer
            assert answer["error"]["code"] in self.refusals, answer


class Command(Case):
    """A command a person gives; the process that dies is its own."""

    kind = "command"
    exits: ClassVar[frozenset[int]] = frozenset()
    """How a repetition may end when the command had been carried out."""

    def await_crash(self, answer: Any) -> None:
        assert answer.returncode == -9, answer

    def acknowledged(self, answer: Any) -> bool:
        return bool(answer.stdout.strip())

    def recover(self, *, done: bool) -> None:
        if done and not self.repeatable:
            return
        code = self.act().returncode
        assert code == 0 or (done and code in self.exits), code


class Upkeep(Case):
    """What the server does by itself, and so must do again by itself."""

    kind = "upkeep"

    def act(self) -> Any:
        """Nothing has to be done; a server must run."""
        return self.stage.server

    def acknowledged(self, answer: Any) -> bool:
        """Nobody waits for an answer."""
        raise NotImplementedError

    def judge(self, moment: str, before: Any, answer: Any) -> None:
        found = self.look()
        wanted = before if moment == "inside" else self.done
        assert found == wanted, f"{found}, not {wanted}"

    def recover(self, *, done: bool) -> None:
        assert self.stage.server
        self.stage.wait_for(self.look, self.done)
