"""The conversation of a session, kept so that every tool call has exactly one result.

A call and its result are one row: a second result has no place to go, and a missing one is seen.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from aipm_agent_loop.api import AssistantMessage, Image, Message, ToolCall, ToolMessage, UserMessage
from aipm_agent_loop.config import AgentLoopConfig
from aipm_core import CallError, Json, PluginContext, Reader, Row, Tx


class History:
    """Appends messages and reads them back."""

    def __init__(self, ctx: PluginContext[AgentLoopConfig]) -> None:
        self._ctx = ctx

    async def append(
        self, tx: Tx, session_id: str, run_id: str, message: UserMessage | AssistantMessage
    ) -> None:
        """Append what a person or the model said, with the calls the model makes."""
        row = await tx.one(
            "update agent_threads set messages = messages + 1 where session_id = ? "
            "returning messages",
            session_id,
        )
        if row is None:
            raise CallError("no such conversation", code="session_not_found", status=404)
        role = "user" if isinstance(message, UserMessage) else "assistant"
        await tx.run(
            "insert into agent_messages (session_id, number, run_id, role, body, created_at) "
            "values (?, ?, ?, ?, ?, ?)",
            *(session_id, row["messages"], run_id, role, _body(message), self._ctx.now()),
        )
        for place, call in enumerate(getattr(message, "calls", ())):
            await tx.run(
                "insert into agent_calls (id, session_id, message, place, run_id, name, args) "
                "values (?, ?, ?, ?, ?, ?, ?)",
                *(call.id, session_id, row["messages"], place, run_id, call.name),
                json.dumps(call.args),
            )

    async def close_call(self, tx: Tx, result: ToolMessage) -> bool:
        """Write the result of a call; ``False`` if it has one."""
        changed = await tx.run(
            "update agent_calls set status = ?, reply = ? where id = ? and status is null",
            *(result.status, json.dumps(result.reply), result.call_id),
        )
        return changed == 1

    async def open_calls(self, tx: Tx, run_id: str) -> list[ToolCall]:
        """List the calls of a run that have no result."""
        rows = await tx.all(
            "select * from agent_calls where run_id = ? and status is null order by message, place",
            run_id,
        )
        return [_call(row) for row in rows]

    async def read(self, db: Reader, session_id: str) -> tuple[Message, ...]:
        """Return the newest part of a conversation, starting with a person's message."""
        rows = await db.all(
            "select * from (select * from agent_messages where session_id = ? "
            "order by number desc limit ?) newest order by number",
            *(session_id, self._ctx.config.history_messages),
        )
        starts = [place for place, row in enumerate(rows) if row["role"] == "user"]
        kept = rows[starts[0] :] if starts else []
        first = kept[0]["number"] if kept else 0
        calls = await db.all(
            "select * from agent_calls where session_id = ? and message >= ? "
            "order by message, place",
            *(session_id, first),
        )
        return tuple(message for row in kept for message in _messages(row, calls))


def _body(message: UserMessage | AssistantMessage) -> str:
    if isinstance(message, UserMessage):
        images = [asdict(image) for image in message.images]
        return json.dumps({"text": message.text, "images": images})
    return json.dumps({"text": message.text})


def _messages(row: Row, calls: Sequence[Row]) -> list[Message]:
    body = json.loads(row["body"])
    if row["role"] == "user":
        images = tuple(Image(**image) for image in body["images"])
        return [UserMessage(text=body["text"], images=images)]
    own = [call for call in calls if call["message"] == row["number"]]
    said = AssistantMessage(text=body["text"], calls=tuple(map(_call, own)))
    return [said, *map(_result, own)]


def _call(row: Row) -> ToolCall:
    return ToolCall(id=row["id"], name=row["name"], args=json.loads(row["args"]))


def _result(row: Row) -> ToolMessage:
    reply: Json = json.loads(row["reply"]) if row["reply"] is not None else None
    return ToolMessage(
        call_id=row["id"], name=row["name"], status=row["status"] or "cancelled", reply=reply
    )
