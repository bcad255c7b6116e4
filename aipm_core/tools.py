"""Tools: what an agent can call, declared by a pydantic model or by a raw JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from inspect import getdoc, signature
from typing import Any, Generic, TypeAlias, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict

from aipm_core.models import Audience, Json, Request, Session
from aipm_core.store import Store, Unit

A = TypeVar("A")
TABLES = {"agent": "tools", "in_process": "tools", "ui": "people", "native": "tools"}
"""Where a catalogue describes the tools of an audience."""


class Access(Enum):
    """Who may call a tool."""

    ANYONE = "any"
    SESSION = "auth"
    TASK = "task"
    CHAT = "chat"
    MANAGER = "manager"
    PERSON = "person"
    """Every person; what people call (``audience="ui"``) is for ``PERSON`` or ``MANAGER``."""


class Trait(Enum):
    """What rules of other plugins need to know of a tool, so that they need not know its name."""

    TALKS = "talks"
    """It says something to others or reads what they say."""
    WAY_OUT = "way out"
    """It is there for a caller that may do nothing else: to learn why, to report, to leave."""
    OPEN_TO_THE_LEAVING = "open to the leaving"
    """It works for a session whose work is done."""
    KEEPS_NO_RESULT = "keeps no result"
    """Its result is a secret: it is handed over now or never."""
    WAITS = "waits"
    """It waits for work, so it may be called while there must be none."""


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

    async def write(self, store: Store, unit: Unit[Json]) -> Json:
        """Run the unit in which a tool does all it does; what the unit returns is the result.

        With a key (``Request.once``) the answer is remembered in the same transaction.
        """
        if self.request.once is None:
            return await store.write(unit)
        kept = Trait.KEEPS_NO_RESULT not in self.tool.traits
        return await self.request.once.write(self.caller, unit, kept=kept)


@dataclass(frozen=True, kw_only=True)
class Tool(Generic[A]):
    """An operation that agents or people can call.

    ``arguments`` is a pydantic model, or a JSON Schema; then ``run`` gets a plain mapping. Title
    and description may be left out when the plugin's catalogue has them
    (``[tools.<name>] title = …, description = …, args.<argument> = …``; ``[people.<name>]`` for
    what people call).

    ``audience`` says who calls it; a name is taken once for each. ``in_process`` says whether the
    agent inside this server is offered an agents' tool as well. One that needs a session an agent
    has opened itself is not: there it could only fail.
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
    in_process: bool = True
    traits: frozenset[Trait] = frozenset()

    @property
    def takes_token(self) -> bool:
        """Whether a caller may show its session among the arguments; where sessions begin, none."""
        return self.audience != "ui" and Trait.KEEPS_NO_RESULT not in self.traits

    @property
    def words(self) -> str:
        """The table of the plugin's catalogue that describes the tool."""
        return f"{TABLES[self.audience]}.{self.name}"

    @property
    def audiences(self) -> tuple[Audience, ...]:
        """Everybody for whom the tool exists."""
        both = self.audience == "agent" and self.in_process
        return ("agent", "in_process") if both else (self.audience,)


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
    in_process: bool = True,
    traits: Iterable[Trait] = (),
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
        in_process=in_process,
        traits=frozenset(traits),
    )
