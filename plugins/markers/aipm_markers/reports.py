"""The commands the server answers itself: the state of the tasks, blocked, done.

A marker is only text. What gives it force is who sent it: authority over the task, as the tasks
plugin knows it. To a person it is never more than text, for nobody speaks in a person's name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from aipm_file_chat.api import Chat, Message
from aipm_sessions.api import Agent, Directory
from aipm_tasks.api import Task, TaskService, TaskStatus

from aipm_core import CallError, PluginContext, Tx, quoted
from aipm_markers.config import MarkersConfig
from aipm_markers.grammar import Marker

_MOST_SHOWN = 20


class Reports:
    """Carries out a report and answers it in the agent's name, in the sender's transaction."""

    def __init__(
        self,
        ctx: PluginContext[MarkersConfig],
        chat: Chat,
        directory: Directory,
        tasks: TaskService,
    ) -> None:
        self._texts = ctx.texts
        self._chat = chat
        self._directory = directory
        self._tasks = tasks
        self._answering = ContextVar("answering", default=False)

    @property
    def answering(self) -> bool:
        """Return whether the message being stored is an answer of ours."""
        return self._answering.get()

    async def carry_out(self, tx: Tx, message: Message, marker: Marker) -> None:
        """Do what a report says if its sender may, and tell the sender what became of it."""
        sender = await self._directory.agent(tx, message.sender_id)
        receiver = await self._directory.agent(tx, message.receiver_id)
        if sender is None or receiver is None or receiver.kind != "ai":
            return
        if marker.action == "task_status":
            answer = await self._state(tx, message, sender)
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

    async def _state(self, tx: Tx, message: Message, sender: Agent) -> str:
        above = await self._directory.is_ancestor(tx, sender.id, message.receiver_id)
        if sender.kind != "human" and not above:
            return self._texts("reports.not_allowed", agent=message.receiver_id)
        tasks = await self._tasks.open_of(tx, message.receiver_id, message.project_id)
        lines = [
            self._texts("reports.task", status=task.status, title=quoted(task.title), id=task.id)
            for task in tasks[:_MOST_SHOWN]
        ]
        head = self._texts("reports.tasks", agent=message.receiver_id, count=len(tasks))
        return "\n".join([head, *lines])

    async def _move(self, tx: Tx, message: Message, status: TaskStatus, reason: str | None) -> str:
        task = await self._task(tx, message)
        if task is None:
            return self._texts("reports.no_task", agent=message.receiver_id)
        try:
            await self._tasks.check_authority(tx, message.sender_id, task)
            await self._tasks.change_status(
                tx, task.id, status, actor_id=message.sender_id, reason=reason
            )
        except CallError as error:
            return self._texts("reports.refused", title=quoted(task.title), reason=str(error))
        return self._texts("reports.moved", title=quoted(task.title), id=task.id, status=status)

    async def _task(self, tx: Tx, message: Message) -> Task | None:
        """Find the agent's task that is meant: the related one, or the only one in progress."""
        open_ones = await self._tasks.open_of(tx, message.receiver_id, message.project_id)
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
