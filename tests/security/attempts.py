"""What each tool is called with: always what would work for its rightful caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import httpx
from aipm_runner.api import NATIVE_TOOLS

from tests.security.attacked_team import AttackedTeam
from tests.security.principals import Principals

Given: TypeAlias = dict[str, Any]
PRIVATE = "between-ann-and-her-partners"
PROJECT = "known-in-project-p-only"
SAID = "what the caller says"
TASK_TOOLS = frozenset(
    {
        "create_task",
        "update_task_status",
        "report_completed",
        "delegate_to_chat_session",
        "get_task_conversations",
    }
)


class Attempts:
    """Makes the arguments of a tool for its rightful caller, who is ``owner``."""

    def __init__(self, team: AttackedTeam, principals: Principals) -> None:
        self._cast = team
        self._principals = principals
        self._made: dict[tuple[str, str], Given] = {}

    def arguments(self, tool: str, owner: str, *, anew: bool) -> Given:
        """Return arguments that would do; whatever they name is there, ``anew`` still unused."""
        key = (tool, owner)
        if anew or key not in self._made:
            make = _MAKERS.get(tool)
            self._made[key] = dict(_PLAIN[tool]) if make is None else make(self, owner)
        return dict(self._made[key])

    def _chat(self, owner: str) -> Any:
        return self._principals.session(owner, "chat")

    def _task(self, owner: str) -> Any:
        return self._principals.session(owner, "task")

    def login(self, owner: str) -> Given:
        key = self._cast.passkeys[owner]
        return {"agent_id": owner, "passkey": key, "project_id": "p", "purpose": "chat"}

    def own_task(self, owner: str) -> str:
        made = self._task(owner).result("create_task", title=PROJECT)
        return str(made["task"]["id"])

    def subtask(self, owner: str) -> Given:
        return {"title": f"{PROJECT} below", "parent_task_id": self.own_task(owner)}

    def move(self, owner: str) -> Given:
        return {"task_id": self.own_task(owner), "status": "todo"}

    def message(self, owner: str, content: str = PRIVATE) -> str:
        sent = self._chat("bob").result("send_message", target_agent_id=owner, content=content)
        return str(sent["message_id"])

    def _read(self, owner: str) -> None:
        """Let the owner's session read everything: only then it can act on it."""
        while self._chat(owner).result("get_pending_messages")["has_more"]:
            pass

    def _person_says(self, owner: str, content: str) -> None:
        """Let somebody speak who has authority over every task of the project."""
        url = f"{self._cast.server.url}/api/projects/p/agents/{owner}/chat/messages"
        headers = {"authorization": f"Bearer {self._cast.tokens['mia']}"}
        sent = httpx.post(url, json={"content": content}, headers=headers)
        assert sent.status_code == 201, sent.text

    def answer(self, owner: str) -> Given:
        message_id = self.message(owner)
        self._read(owner)
        return {"content": SAID, "message_id": message_id}

    def listing(self, owner: str) -> Given:
        self.own_task(owner)
        return {"assignee_id": owner}

    def pending(self, owner: str) -> Given:
        self.message(owner)
        return {}

    def conversation(self, owner: str) -> Given:
        """Open a conversation anew, so that its turns are never used up."""
        self.no_conversation(owner)
        made = self._chat(owner).result(
            "start_conversation", participant_agent_id="bob", initial_message=PRIVATE
        )
        return {"conversation_id": made["conversation_id"]}

    def no_conversation(self, owner: str) -> Given:
        given = {"participant_agent_id": "bob", "initial_message": PRIVATE}
        for agent in (owner, "mona"):
            found = self._chat(agent).call("start_conversation", **given)
            if "error" in found:  # one that stands, and its id is told
                name = found["error"]["message"].partition("conversation_id: ")[2].split("、")[0]
            else:
                name = found["result"]["conversation_id"]
            self._chat(agent).result("end_conversation", conversation_id=name)
        return given

    def turn(self, owner: str) -> Given:
        return {**self.conversation(owner), "content": SAID}

    def delegation(self, owner: str) -> Given:
        made = self._task(owner).result(
            "delegate_to_chat_session", target_agent_id="bob", purpose=PRIVATE
        )
        self._read(owner)
        return {"delegation_id": made["delegation_id"], "result": SAID}

    def wish_of(self, owner: str, content: str) -> None:
        """Let a message ask the owner for something, and the owner read it."""
        self.message(owner, content)
        self._read(owner)

    def request(self, owner: str) -> Given:
        self.wish_of(owner, f"@@タスク作成: {PRIVATE}")
        return {"title": PROJECT}

    def notice(self, owner: str) -> Given:
        self.wish_of(owner, f"@@タスク通知: {PRIVATE}")
        return {"message": SAID}

    def adjustment(self, owner: str) -> Given:
        task_id = self.own_task(owner)
        self._person_says(owner, f"@@タスク調整: {PRIVATE}")
        self._read(owner)
        return {"task_id": task_id, "title": f"{PROJECT} again"}

    def wish(self, owner: str) -> Given:
        """Let a worker ask for a task that only its boss may approve."""
        made = self._task("ann").result("request_task", title=PROJECT)
        assert made["approval_status"] == "pending_approval"
        return {"task_id": made["task_id"]}


_PLAIN: Mapping[str, Given] = {
    "help": {},
    "logout": {},
    "get_next_action": {"timeout_seconds": 0},
    "get_my_task": {},
    "report_completed": {"result": "success"},
    "get_notifications": {"mark_as_read": False},
    "send_message": {"target_agent_id": "bob", "content": SAID},
    "broadcast_message": {"target_agent_ids": ["bob"], "content": SAID},
    "delegate_to_chat_session": {"target_agent_id": "bob", "purpose": SAID},
    "get_task_conversations": {},
    "file:list": {},
    "file:read": {"path": "x"},
    "shell:execute": {"command": "true"},
    **{f"native:{name}": {"command": "true"} for name in NATIVE_TOOLS},
}
_MAKERS: Mapping[str, Callable[[Attempts, str], Given]] = {
    "authenticate": Attempts.login,
    "list_tasks": Attempts.listing,
    "create_task": Attempts.subtask,
    "update_task_status": Attempts.move,
    "request_task": Attempts.request,
    "approve_task_request": Attempts.wish,
    "reject_task_request": Attempts.wish,
    "notify_task_session": Attempts.notice,
    "update_task_from_chat": Attempts.adjustment,
    "respond_chat": Attempts.answer,
    "get_pending_messages": Attempts.pending,
    "start_conversation": Attempts.no_conversation,
    "send_conversation_message": Attempts.turn,
    "respond_conversation_message": Attempts.turn,
    "end_conversation": Attempts.conversation,
    "report_delegation_completed": Attempts.delegation,
}
