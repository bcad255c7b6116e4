"""The commands the server answers itself: the state of the tasks, blocked, done.

A marker is only text. What gives it force is who sent it: a person of the project, or somebody who
stands above the agent. From anybody else it stays text.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from aipm_file_chat.api import Chat, Message
from aipm_sessions.api import Directory
from aipm_tasks.api import Status, Task, TaskDesk

from aipm_core import CallError, PluginContext, Tx
from aipm_markers.config import MarkersConfig
from aipm_markers.grammar import Marker

_MOST_SHOWN = 20
_LONGEST_TITLE = 80


class Reports:
    """Carries out a report and answers it in the agent's name, in the sender's transaction."""

    def __init__(
        self,
        ctx: PluginContext[MarkersConfig],
        chat: Chat,
        directory: Directory,
        desk: TaskDesk,
    ) -> None:
        self._texts = ctx.texts
        self._chat = chat
        self._directory = directory
        self._desk = desk
        self._answering = ContextVar("answering", default=False)

    @property
    def answering(self) -> bool:
        """Say whether the message being stored is an answer of ours."""
        return self._answering.get()

    async def carry_out(self, tx: Tx, message: Message, marker: Marker) -> None:
        """Do what a report says if its sender may, and tell the sender what became of it."""
        if not await self._may(tx, message):
            return
        if marker.action == "task_status":
            answer = await self._state(tx, message)
        elif marker.action == "report_blocked":
            answer = await self._move(tx, message, "blocked", marker.argument or None)
        else:
            answer = await self._move(tx, message, "done", None)
        with self._answer():
            await self._chat.store(
                tx,
                project_id=message.project_id,
                sender_id=message.receiver_id,
                receiver_id=message.sender_id,
                content=answer,
                related_task_id=message.related_task_id,
            )

    async def _may(self, tx: Tx, message: Message) -> bool:
        sender = await self._directory.agent(tx, message.sender_id)
        if sender is not None and sender.kind == "human":
            return await self._directory.is_member(tx, sender.id, message.project_id)
        return await self._directory.stands_above(tx, message.sender_id, message.receiver_id)

    async def _state(self, tx: Tx, message: Message) -> str:
        tasks = await self._desk.open_of(tx, message.receiver_id, message.project_id)
        lines = [
            self._texts("reports.task", status=task.status, title=_short(task), id=task.id)
            for task in tasks[:_MOST_SHOWN]
        ]
        head = self._texts("reports.tasks", agent=message.receiver_id, count=len(tasks))
        return "\n".join([head, *lines])

    async def _move(self, tx: Tx, message: Message, status: Status, reason: str | None) -> str:
        task = await self._task(tx, message)
        if task is None:
            return self._texts("reports.no_task", agent=message.receiver_id)
        try:
            await self._desk.change_status(
                tx, task.id, status, actor_id=message.sender_id, reason=reason
            )
        except CallError as error:
            return self._texts("reports.refused", title=_short(task), reason=str(error))
        return self._texts("reports.moved", title=_short(task), id=task.id, status=status)

    async def _task(self, tx: Tx, message: Message) -> Task | None:
        """Find the agent's task that is meant: the related one, or the only one in progress."""
        open_ones = await self._desk.open_of(tx, message.receiver_id, message.project_id)
        running = [task for task in open_ones if task.status == "in_progress"]
        if message.related_task_id is not None:
            running = [task for task in running if task.id == message.related_task_id]
        return running[0] if len(running) == 1 else None

    @contextmanager
    def _answer(self) -> Iterator[None]:
        """Mark what is stored inside as ours."""
        before = self._answering.set(True)
        try:
            yield
        finally:
            self._answering.reset(before)


def _short(task: Task) -> str:
    title = task.title
    return title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1] + "…"
