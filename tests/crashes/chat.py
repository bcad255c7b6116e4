"""Crashes in messages, conversations and delegations."""

from functools import partial
from typing import Any, ClassVar

from tests.crashes.case import Case, Upkeep
from tests.sent_messages import ids_in


class SendMessage(Case):
    paths = ("aipm_file_chat.sending:Sending.send",)

    def act(self) -> Any:
        self.agent("b")
        key = {"idempotency_key": self.name}
        return self.call("a", "send_message", target_agent_id=self.id("b"), content="hi", **key)

    def look(self) -> Any:
        return self.stage.one("select count(*) from messages where sender_id = ?", self.id("a"))

    def check(self) -> None:
        """Both files have the line, once, and the receiver is told."""
        sent = [self.stage.one("select id from messages where sender_id = ?", self.id("a"))]
        for letter in "ab":
            file = partial(ids_in, self.stage.install.root, self.id(letter))
            self.stage.wait_for(file, sent)
        read = self.result("b", "get_pending_messages")["pending_messages"]
        assert [one["id"] for one in read] == sent


class Broadcast(SendMessage):
    paths = ("aipm_core.tools:Call.write",)
    repeatable = False

    def act(self) -> Any:
        self.agent("b")
        return self.call("a", "broadcast_message", target_agent_ids=[self.id("b")], content="hi")


class RespondChat(SendMessage):
    paths = ("aipm_file_chat.sending:Sending.send",)
    repeatable = False

    def prepare(self) -> None:
        self.agent("a")
        self.result("b", "send_message", target_agent_id=self.id("a"), content="hello?")
        self.result("a", "get_pending_messages")

    def act(self) -> Any:
        return self.call("a", "respond_chat", content="hi")

    def check(self) -> None:
        read = self.result("b", "get_pending_messages")["pending_messages"]
        assert [one["content"] for one in read] == ["hi"]


class ReadMessages(Case):
    paths = ("aipm_file_chat.reading:Reading.get_pending_messages",)

    def prepare(self) -> None:
        self.agent("b")
        self.result("a", "send_message", target_agent_id=self.id("b"), content="hi")

    def act(self) -> Any:
        return self.call("b", "get_pending_messages")

    def look(self) -> Any:
        query = "select read_at is not null from messages where sender_id = ?"
        return self.stage.one(query, self.id("a"))


class HumanReads(Case):
    paths = ("aipm_file_chat.history:History.read_by",)

    def prepare(self) -> None:
        self.human_says("a", "are you there?")
        self.result("a", "respond_chat", content="yes")

    def act(self) -> Any:
        return self.stage.http("GET", f"/api/projects/p/agents/{self.id('a')}/chat/messages")

    def look(self) -> Any:
        query = "select read_at is not null from messages where sender_id = ?"
        return self.stage.one(query, self.id("a"))


class FilesSettle(Upkeep):
    """The first write after a message is upkeep's: it takes the line out of the outbox."""

    paths = ("aipm_file_chat.projection:Projection._settle",)
    done = (1, 0)

    def act(self) -> Any:
        self.agent("b")
        return self.call("a", "send_message", target_agent_id=self.id("b"), content="hi")

    def prepare(self) -> None:
        self.agent("a")
        self.agent("b")
        self.stage.wait_for(lambda: self.stage.one("select count(*) from chat_outbox"), 0)

    def look(self) -> Any:
        mine = "from messages where sender_id = ?"
        waiting = f"select count(*) from chat_outbox where seq in (select seq {mine})"
        return (
            self.stage.one(f"select count(*) {mine}", self.id("a")),
            self.stage.one(waiting, self.id("a")),
        )

    def judge(self, moment: str, before: Any, answer: Any) -> None:
        assert self.look() == (1, 1 if moment == "inside" else 0)

    def check(self) -> None:
        sent = [self.stage.one("select id from messages where sender_id = ?", self.id("a"))]
        assert ids_in(self.stage.install.root, self.id("b")) == sent


class SearchIndex(FilesSettle):
    paths = ("aipm_file_chat.search:MessageSearch.index",)
    done = (1, 1)

    def look(self) -> Any:
        mine = "from messages where sender_id = ?"
        indexed = f"select count(*) from messages_search_docsize where id in (select seq {mine})"
        return (
            self.stage.one(f"select count(*) {mine}", self.id("a")),
            self.stage.one(indexed, self.id("a")),
        )

    def judge(self, moment: str, before: Any, answer: Any) -> None:
        assert self.look() == (1, 0 if moment == "inside" else 1)

    def check(self) -> None:
        """The index was not left in a state of its own."""


class Conversing(Case):
    """Begin a conversation, as many turns as a case needs."""

    repeatable = False

    def begin(self) -> str:
        self.agent("b")
        hello = {"participant_agent_id": self.id("b"), "initial_message": "1"}
        opened: str = self.result("a", "start_conversation", **hello)["conversation_id"]
        return opened

    def look(self) -> Any:
        return self.stage.all(
            "select c.state, c.turns, (select count(*) from messages m where "
            "m.conversation_id = c.id) from conversations c where initiator_id = ?",
            self.id("a"),
        )


class StartConversation(Conversing):
    paths = ("aipm_conversations.tools:ConversationTools._write",)
    done = (("pending", 1, 1),)
    repeatable = True
    refusals = frozenset({"conversation_already_exists"})

    def act(self) -> Any:
        self.agent("b")
        hello = {"participant_agent_id": self.id("b"), "initial_message": "1"}
        return self.call("a", "start_conversation", **hello)


class AnswerConversation(Conversing):
    paths = ("aipm_conversations.tools:ConversationTools._write",)
    done: ClassVar[Any] = (("active", 2, 2),)

    def prepare(self) -> None:
        self.talk = self.begin()

    def act(self) -> Any:
        talk = {"conversation_id": self.talk, "content": "2"}
        return self.call("b", "respond_conversation_message", **talk)


class EndConversation(AnswerConversation):
    done = (("ended", 1, 1),)
    repeatable = True
    refusals = frozenset({"conversation_not_active"})

    def act(self) -> Any:
        return self.call("a", "end_conversation", conversation_id=self.talk)


class Attend(AnswerConversation):
    """Being offered a conversation makes it that session's."""

    paths = ("aipm_conversations.work:Invitations.look",)
    repeatable = True
    done: ClassVar[Any] = 1

    def act(self) -> Any:
        return self.call("b", "get_next_action", timeout_seconds=1)

    def look(self) -> Any:
        query = "select session_id is not null from conversation_sides where agent_id = ?"
        return self.stage.one(query, self.id("b"))


class HearOfTheEnd(AnswerConversation):
    paths = ("aipm_conversations.work:EndNotices.look",)
    repeatable = True
    done: ClassVar[Any] = 1

    def prepare(self) -> None:
        super().prepare()
        self.result("b", "get_pending_messages")
        self.result("a", "end_conversation", conversation_id=self.talk)

    def act(self) -> Any:
        return self.call("b", "get_next_action", timeout_seconds=1)

    def look(self) -> Any:
        query = "select told_at is not null from conversation_sides where agent_id = ?"
        return self.stage.one(query, self.id("b"))


class ConversationTimesOut(Upkeep, Conversing):
    paths = ("aipm_conversations.timeouts:Timeouts._sweep",)
    done = (("expired", 1, 1),)
    ended_because = "timeout"

    def prepare(self) -> None:
        self.talk = self.begin()

    def act(self) -> Any:
        self.stage.change("update conversations set due_at = 1 where id = ?", self.talk)

    def check(self) -> None:
        query = "select end_reason from conversations where id = ?"
        assert self.stage.one(query, self.talk) == self.ended_because


class ConversationLosesASide(ConversationTimesOut):
    paths = ("aipm_conversations.timeouts:Timeouts._sweep#2",)
    done = (("ended", 1, 1),)
    ended_because = "session_lost"

    def act(self) -> Any:
        self.stage.change(
            "update conversation_sides set lost_at = 1 where agent_id = ?", self.id("b")
        )


class Delegate(Case):
    paths = ("aipm_delegation.tools:DelegationTools.delegate_to_chat_session",)
    repeatable = False
    done = (("pending", 0),)

    def act(self) -> Any:
        self.agent("b")
        asked = {"target_agent_id": self.id("b"), "purpose": "ask"}
        return self.call("a", "delegate_to_chat_session", as_="task", **asked)

    def look(self) -> Any:
        query = "select status, attempts from chat_delegations where agent_id = ?"
        return self.stage.all(query, self.id("a"))

    def check(self) -> None:
        """The chat session finds it."""
        [taken] = self.result("a", "get_pending_messages")["pending_delegations"]
        assert taken["purpose"] == "ask"


class ReportDelegation(Delegate):
    paths = ("aipm_delegation.tools:DelegationTools.report_delegation_completed",)
    repeatable = True
    done = (("completed", 1),)
    refusals = frozenset({"delegation_already_processed"})

    def prepare(self) -> None:
        self.agent("b")
        asked = {"target_agent_id": self.id("b"), "purpose": "ask"}
        self.result("a", "delegate_to_chat_session", as_="task", **asked)
        [taken] = self.result("a", "get_pending_messages")["pending_delegations"]
        self.delegation = taken["delegation_id"]

    def act(self) -> Any:
        told = {"delegation_id": self.delegation, "result": "done"}
        return self.call("a", "report_delegation_completed", **told)

    def check(self) -> None:
        """The task session is told once."""
        heard = self.result("a", "get_notifications", as_="task")["notifications"]
        assert [one["type"] for one in heard] == ["delegation_completed"]


class DelegationTakenBack(Upkeep, ReportDelegation):
    paths = ("aipm_delegation.leases:Leases._upkeep",)
    done = (("pending", 1),)

    def act(self) -> Any:
        """The chat session falls silent, and its lease is over."""
        self.stage.stop()  # what the server knows of the session's last call is on disk
        self.stage.change(
            "update sessions set last_seen = last_seen - 1000 where agent_id = ?", self.id("a")
        )
        self.stage.change(
            "update chat_delegations set leased_until = 1 where id = ?", self.delegation
        )
        self.stage.start_to_crash()

    def check(self) -> None:
        [taken] = self.result("a", "get_pending_messages")["pending_delegations"]
        assert taken["delegation_id"] == self.delegation
