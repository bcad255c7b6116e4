"""Tools: what an agent can call, declared by a pydantic model or by a raw JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from enum import Enum
from inspect import getdoc, signature
from typing import Any, Generic, TypeAlias, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict

from aipm_core.models import Audience, Json, Request, Session

A = TypeVar("A")


class Access(Enum):
    """Who may call a tool."""

    ANYONE = "any"
    SESSION = "auth"
    TASK = "task"
    CHAT = "chat"
    MANAGER = "manager"


class Arguments(BaseModel):
    """Base of a tool's arguments: exact types, no unknown names. Built when first used."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class NoArguments(Arguments):
    """For tools that take nothing but the session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request whose caller and tool are known."""

    request: Request
    tool: Tool[Any]
    session: Session | None

    @property
    def caller(self) -> Session:
        """The session of a call that was let through with one."""
        if self.session is None:
            raise RuntimeError(f"{self.tool.name} is open to callers without a session")
        return self.session


@dataclass(frozen=True, kw_only=True)
class Tool(Generic[A]):
    """An operation agents (or user interfaces) can call.

    ``arguments`` is a pydantic model, or a JSON Schema; then ``run`` gets a plain mapping. Title
    and description may be left out when the plugin's catalogue has them
    (``[tools.<name>] title = …, description = …, args.<argument> = …``).
    """

    name: str
    run: Callable[[Call, A], Coroutine[Any, Any, Json]]
    access: Access
    arguments: type[BaseModel] | Mapping[str, Json] = NoArguments
    title: str = ""
    description: str = ""
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    deadline: float = 30.0
    audience: Audience = "agent"


AnyTool: TypeAlias = Tool[Any]


def tool(
    run: Callable[[Call, A], Coroutine[Any, Any, Json]],
    *,
    access: Access,
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    deadline: float = 30.0,
    audience: Audience = "agent",
) -> Tool[A]:
    """Make a tool of a method: its name, its docstring, the type of its second parameter."""
    _, arguments = signature(run).parameters
    return Tool(
        name=getattr(run, "__name__", ""),
        description=getdoc(run) or "",
        arguments=get_type_hints(run)[arguments],
        run=run,
        access=access,
        read_only=read_only,
        destructive=destructive,
        idempotent=idempotent,
        deadline=deadline,
        audience=audience,
    )
