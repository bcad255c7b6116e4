"""Every error aipm raises on purpose.

``StartupError`` and its kinds refuse to start: one sentence, exit 2. ``CallError`` and its kinds
refuse one call and become an error reply, as ``StoreUnavailable`` does.
"""

from __future__ import annotations

from typing import Any, ClassVar

from aipm_core.redaction import redact


class AipmError(Exception):
    """Base of all errors aipm raises on purpose."""


class StartupError(AipmError):
    """The program refuses to start, and says why in one sentence."""

    exit_code: ClassVar[int] = 2


class ConfigError(StartupError):
    """The settings are wrong."""


class PluginError(StartupError):
    """A plugin cannot be used."""

    def __init__(self, plugin: str, reason: str) -> None:
        super().__init__(f"plugin {plugin!r}: {reason}")
        self.plugin = plugin
        self.reason = reason


class StoreError(StartupError):
    """The data directory or the database cannot be used."""


class CallError(AipmError):
    """One call is refused. ``code`` and ``status`` are stable and go on the wire.

    Who gives a token where an id belongs is not told it again: refusals end up in transcripts.
    """

    def __init__(self, message: str, *, code: str, status: int) -> None:
        super().__init__(redact(message))
        self.code = code
        self.status = status


class AuthenticationRequired(CallError):
    """The tool needs a session and the call brought none."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="authentication_required", status=401)


class SessionInvalid(CallError):
    """The token is unknown, expired, revoked or logged out: one answer for all."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="session_invalid", status=401)


class PermissionDenied(CallError):
    """The caller may not do this."""

    def __init__(self, message: str, *, code: str = "permission_denied", status: int = 403) -> None:
        super().__init__(message, code=code, status=status)


class ToolNotFound(CallError):
    """No plugin offers the tool."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="tool_not_found", status=404)


class InvalidArguments(CallError):
    """The arguments do not fit the tool's schema."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="invalid_arguments", status=400)


class StoreUnavailable(AipmError):
    """The store cannot be read or written right now; what was being written is not."""


class ReplyGiven(AipmError):
    """Raised by a check: the call ends here, with this reply as it is and nothing added to it."""

    def __init__(self, reply: Any) -> None:  # noqa: ANN401 - a Reply, which knows these errors
        super().__init__("the call ends here")
        self.reply = reply


class ReplyReplaced(AipmError):
    """Raised by a gate: the caller gets ``text`` and nothing else."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class TooOld(AipmError):
    """The wanted place in the event log has been swept away: the reader must start anew."""
