"""For which task a conversation is held, as other plugins say."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from aipm_conversations.api import CONVERSATIONS, Origin, TaskResolver
from aipm_conversations.plugin import Conversations
from aipm_file_chat.plugin import FileChat
from aipm_sessions.testing import team

from aipm_core import Plugin, Session, Tx, hookimpl
from aipm_core.errors import PluginError


class Before(Plugin):
    """Knows the tasks of talks with bob; built before the conversations are."""

    partner, name = "bob", "of_bob"

    @hookimpl
    def aipm_conversation_tasks(self) -> Iterable[TaskResolver]:
        yield TaskResolver(name=self.name, origin_of=self.origin_of)

    async def origin_of(self, tx: Tx, session: Session, participant_id: str) -> Origin | None:
        return Origin(task_id=f"tsk_{self.name}") if participant_id == self.partner else None


class Zealous(Before):
    """Knows those of talks with cat; built after the conversations are."""

    partner, name = "cat", "of_cat"


class Namesake(Before):
    """Takes the name of another."""


async def test_the_first_who_knows_the_task_is_believed(tmp_path: Path) -> None:
    async with team(FileChat, Conversations, Zealous, Before, root=tmp_path) as made:
        await made.add("ann", "bob", "cat", "dan")
        ann = await made.session("ann")
        found = made.aipm.runtime.services.use(CONVERSATIONS)
        bound: dict[str, str | None] = {}
        for partner in ("bob", "cat", "dan"):
            first = {"participant_agent_id": partner, "initial_message": "りんご"}
            await ann.does("start_conversation", **first)
            held = await found.open_between(made.aipm.runtime.store, "p", "ann", partner)
            assert held is not None
            bound[partner] = held.task_id
        assert bound == {"bob": "tsk_of_bob", "cat": "tsk_of_cat", "dan": None}


async def test_a_name_is_given_once(tmp_path: Path) -> None:
    problem = "plugin 'namesake': aipm_conversation_tasks: 'of_bob' is given twice"
    with pytest.raises(PluginError, match=problem):
        async with team(FileChat, Conversations, Before, Namesake, root=tmp_path):
            pass
