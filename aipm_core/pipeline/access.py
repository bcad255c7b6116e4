"""Who may call which tool. No plugin can loosen this; authorizers can only tighten it."""

from __future__ import annotations

from aipm_core.errors import AuthenticationRequired, CallError, PermissionDenied, SessionInvalid
from aipm_core.models import Session
from aipm_core.texts import Texts
from aipm_core.tools import Access, AnyTool


def refusal_of(tool: AnyTool, session: Session | None, texts: Texts) -> CallError | None:
    """Say why a caller may not use a tool; ``None`` if its session fits.

    What is for people is never an agent's, nor the other way round, whatever the access says.
    """
    if session is not None and (session.purpose == "ui") != (tool.audience == "ui"):
        return SessionInvalid(texts("errors.session_invalid"))
    if tool.access is Access.ANYONE:
        return None
    if session is None:
        if tool.audience == "ui":
            return AuthenticationRequired(texts("errors.person_required", tool=tool.name))
        return AuthenticationRequired(texts("errors.authentication_required", tool=tool.name))
    code: str | None = None
    if tool.access in (Access.TASK, Access.CHAT) and session.purpose != tool.access.value:
        code = f"{tool.access.value}_session_required"
    if tool.access is Access.MANAGER and session.role != "manager":
        code = "manager_required"
    if code is None:
        return None
    text = texts(f"errors.{code}", tool=tool.name, purpose=session.purpose)
    return PermissionDenied(text, code=code)
