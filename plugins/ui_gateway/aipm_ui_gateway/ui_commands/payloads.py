"""What each command carries. The names are those on the wire."""
# ruff: noqa: N815

from __future__ import annotations

import base64
import binascii
from typing import Literal, LiteralString, Self

from pydantic import BaseModel, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from aipm_core import Arguments

IMAGES = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
"""The images that are taken, and how each begins."""


class CommandPayload(Arguments):
    """Base of every payload: exact types, no unknown names."""


class SessionCommand(CommandPayload):
    """A command to one session; on a connection with a single session the id may be left out."""

    sessionId: str | None = None


class Attachment(CommandPayload):
    """A picture that goes with the input. ``mimeType`` is found out when it is left out."""

    type: str
    data: str
    mimeType: str | None = None

    @field_validator("type")
    @classmethod
    def _known(cls, value: str) -> str:
        if value != "image":
            raise refused_argument("unsupported_type", "only images are taken")
        return value

    @model_validator(mode="after")
    def _decodes(self) -> Self:
        self.content()
        if self.mimeType not in (None, *IMAGES):
            raise refused_argument("unsupported_type", "only images are taken")
        return self

    def content(self) -> bytes:
        """Return the picture itself."""
        try:
            content = base64.b64decode(self.data, validate=True)
        except (binascii.Error, ValueError):
            content = b""
        if not content:
            raise refused_argument("invalid_attachment", "data is not base64")
        return content

    def mime_type(self) -> str:
        """Return the given type, or the one the first bytes tell."""
        if self.mimeType is not None:
            return self.mimeType
        start = self.content()[:16]
        found = (name for name, magic in IMAGES.items() if start.startswith(magic))
        return next(found, "application/octet-stream")


class SubmitUserInput(SessionCommand):
    """Something a person says to the agent of a session."""

    text: str
    attachments: list[Attachment] = Field(default_factory=list, max_length=16)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.text.strip() and not self.attachments:
            raise refused_argument("content_empty", "text is blank")
        return self


class ProvideConfirmation(CommandPayload):
    """A person's answer to ``onToolCallRequest``."""

    confirmationId: str
    approved: bool
    reason: str | None = None
    scope: Literal["once", "session", "always"] = "once"


class CancelRun(SessionCommand):
    """Stop what the agent of a session is doing."""


class CloseSession(SessionCommand):
    """End a session for good."""


class OpenSession(CommandPayload):
    """Start a session with an agent, or attach to one."""

    projectId: str | None = None
    agentId: str | None = None
    sessionId: str | None = None
    lastSeq: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        new = self.projectId is not None and self.agentId is not None
        either = self.projectId is not None or self.agentId is not None
        if (new == (self.sessionId is not None)) or (either and not new):
            raise PydanticCustomError(
                "choice", "give projectId and agentId, or sessionId with an optional lastSeq"
            )
        if new and self.lastSeq is not None:
            raise PydanticCustomError("new_session", "a new session has no lastSeq")
        return self


def refused_argument(code: LiteralString, message: LiteralString) -> PydanticCustomError:
    """Refuse a value under a code of its own."""
    return PydanticCustomError(code, message, {"code": code})


COMMAND_TYPES: dict[str, type[BaseModel]] = {
    "submitUserInput": SubmitUserInput,
    "provideConfirmation": ProvideConfirmation,
    "cancelRun": CancelRun,
    "openSession": OpenSession,
    "closeSession": CloseSession,
}
"""The commands of the contract, whether or not a plugin that carries them out is on."""
