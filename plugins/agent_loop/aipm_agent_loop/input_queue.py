"""What people say, queued per session until its worker takes it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict

from aipm_ui_gateway.api import Attachment, CancelRun, SubmitUserInput, UiSession, UiSessions

from aipm_agent_loop.api import Image
from aipm_agent_loop.config import AgentLoopConfig
from aipm_core import Access, AnyTool, Call, Json, PluginContext, Tool, Tx, redact

INPUTS = "agent_loop:inputs"
_MAGIC = {
    "image/png": (b"\x89PNG\r\n\x1a\n", b""),
    "image/jpeg": (b"\xff\xd8\xff", b""),
    "image/gif": (b"GIF8", b""),
    "image/webp": (b"RIFF", b"WEBP"),
}


def cancel_topic(session_id: str) -> str:
    """Name what wakes a run that should stop."""
    return f"agent_loop:cancel:{session_id}"


class InputQueue:
    """The commands ``submitUserInput`` and ``cancelRun``, and what a session's end means."""

    def __init__(self, ctx: PluginContext[AgentLoopConfig], sessions: UiSessions) -> None:
        self._ctx = ctx
        self._sessions = sessions
        self.used = False
        """Whether this process takes commands: only then it also does the work."""

    def tools(self) -> Iterable[AnyTool]:
        """Return the two commands as people's tools."""
        yield Tool(
            name="submitUserInput",
            run=self.submit,
            arguments=SubmitUserInput,
            access=Access.PERSON,
            audience="ui",
        )
        yield Tool(
            name="cancelRun",
            run=self.cancel,
            arguments=CancelRun,
            access=Access.PERSON,
            audience="ui",
            idempotent=True,
        )

    async def submit(self, call: Call, payload: SubmitUserInput) -> Json:
        """Queue one input."""

        async def unit(tx: Tx) -> Json:
            session = await self._sessions.of_person(tx, call.caller.agent_id, payload.sessionId)
            return await self._queue(tx, session, payload)

        return await call.write(self._ctx.store, unit)

    async def _queue(self, tx: Tx, session: UiSession, payload: SubmitUserInput) -> Json:
        if len(payload.text) > self._ctx.config.max_text:
            raise self._ctx.refuse("payload_too_large", 413, limit=self._ctx.config.max_text)
        images = self._images(payload.attachments)
        row = await tx.one(
            "insert into agent_threads (session_id, inputs) values (?, 1) on conflict (session_id) "
            "do update set inputs = agent_threads.inputs + 1 returning inputs",
            session.id,
        )
        number = int(row["inputs"]) if row else 1
        await self._check_room(tx, session.id)
        await tx.run(
            "insert into agent_inputs (session_id, number, text, images, status, created_at) "
            "values (?, ?, ?, ?, 'queued', ?)",
            *(session.id, number, redact(payload.text), images, self._ctx.now()),
        )
        self.used = True
        tx.wake(INPUTS)
        return {"inputNumber": number}

    async def _check_room(self, tx: Tx, session_id: str) -> None:
        row = await tx.one(
            "select count(*) as n from agent_inputs where session_id = ? and status = 'queued'",
            session_id,
        )
        if row is not None and row["n"] >= self._ctx.config.max_queued:
            raise self._ctx.refuse("too_many_inputs", 429)

    def _images(self, attachments: list[Attachment]) -> str:
        config = self._ctx.config
        if len(attachments) > config.max_images:
            raise self._ctx.refuse("payload_too_large", 413, limit=config.max_images)
        images: list[dict[str, str]] = []
        for attachment in attachments:
            content, mime_type = attachment.content(), attachment.mime_type()
            if len(content) > config.max_image_bytes:
                raise self._ctx.refuse("payload_too_large", 413, limit=config.max_image_bytes)
            start, middle = _MAGIC.get(mime_type, (None, b""))
            if start is None or not content.startswith(start) or middle not in content[:16]:
                raise self._ctx.refuse("invalid_attachment", 400)
            images.append(asdict(Image(mime_type=mime_type, data=attachment.data)))
        return json.dumps(images)

    async def cancel(self, call: Call, payload: CancelRun) -> Json:
        """Ask the run of a session to stop."""

        async def unit(tx: Tx) -> Json:
            session = await self._sessions.of_person(tx, call.caller.agent_id, payload.sessionId)
            return {"cancelled": await _request_cancel(tx, session.id)}

        return await call.write(self._ctx.store, unit)

    async def closed(self, tx: Tx, session: UiSession) -> None:
        """End the run of a session that is over, and drop its queue."""
        await tx.run(
            "update agent_inputs set status = 'dropped' where session_id = ? and status = 'queued'",
            session.id,
        )
        await _request_cancel(tx, session.id)


async def _request_cancel(tx: Tx, session_id: str) -> bool:
    changed = await tx.run(
        "update agent_runs set cancel_requested = 1 where session_id = ? and status = 'running' "
        "and cancel_requested = 0",
        session_id,
    )
    tx.wake(cancel_topic(session_id))
    return changed == 1
