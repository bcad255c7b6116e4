"""Reads the markers of a message once, when it is stored."""

from __future__ import annotations

from aipm_file_chat.api import Message

from aipm_core import PluginContext, Tx
from aipm_markers.config import MarkersConfig
from aipm_markers.grammar import GUARDED, Grammar
from aipm_markers.reports import Reports


class Register:
    """Notes what messages permit, and hands reports on."""

    def __init__(
        self, ctx: PluginContext[MarkersConfig], grammar: Grammar, reports: Reports | None
    ) -> None:
        self._ctx = ctx
        self._grammar = grammar
        self._reports = reports

    async def stored(self, tx: Tx, message: Message) -> None:
        """Note what a message permits and carry out what it reports."""
        if self._reports is not None and self._reports.answering:
            return  # our own answer may quote a marker, but nobody asked for anything with it
        for marker in self._grammar.parse(message.content):
            await tx.run(
                "insert into message_markers (message_id, action, project_id, sender_id, "
                "receiver_id, argument, created_at) values (?, ?, ?, ?, ?, ?, ?)",
                *(message.id, marker.action, message.project_id, message.sender_id),
                *(message.receiver_id, marker.argument, message.created_at),
            )
            if marker.action not in GUARDED and self._reports is not None:
                await self._reports.carry_out(tx, message, marker)
