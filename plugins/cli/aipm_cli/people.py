"""People's tools for commands: called in this process, or on a server, with the same answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from pathlib import Path

    from aipm_core import Session
    from aipm_core.host import Runtime

T = TypeVar("T")


class People(Protocol):
    """Somebody who can call what people call."""

    remote: bool
    """Whether the server is another program, perhaps on another machine."""

    async def call(self, tool: str, /, **arguments: Any) -> Any:  # noqa: ANN401
        """Call a tool; return its result, or raise the ``CallError`` it was refused with."""
        ...

    async def wait(self, seconds: float) -> None:
        """Wait until something may have changed, at most so long."""
        ...


def with_people(config: Path | None, work: Callable[[People], Awaitable[T]]) -> T:
    """Run ``work`` as the chosen person, here or on the chosen server."""
    from aipm_cli.command_runtime import with_runtime
    from aipm_cli.target import target

    chosen = target()
    if chosen.server is not None:
        import anyio

        from aipm_cli.remote import RemotePeople

        return anyio.run(work, RemotePeople.reached(chosen.server))

    async def here(runtime: Runtime) -> T:
        person = chosen.person or getattr(runtime.settings, "person", None)
        return await work(LocalPeople(runtime, await _session(runtime, person)))

    return with_runtime(config, here)


async def _session(runtime: Runtime, person_id: str | None) -> Session:
    from aipm_sessions.api import DIRECTORY, operator_session, person_session

    from aipm_core import CallError, ConfigError, Texts

    if person_id is None:
        return operator_session()
    directory = runtime.services.find(DIRECTORY)
    if directory is None:
        raise ConfigError("--as needs the plugin 'sessions', which is switched off")
    person = await directory.agent(runtime.store, person_id)
    say = Texts.load("aipm_sessions", runtime.settings.locale)
    if person is None:
        message = say("cli.nobody_to_act_as", agent=person_id)
        raise CallError(message, code="agent_not_found", status=404)
    if person.kind != "human":
        message = say("cli.only_people_act", agent=person_id)
        raise CallError(message, code="not_a_human", status=403)
    return person_session(person)


def refused(message: str, code: str, status: int) -> Exception:
    """Return the error of a refused call; a tool whose plugin is off is a matter of settings."""
    from aipm_core import CallError, ConfigError

    if code in ("tool_disabled", "tool_not_found"):
        return ConfigError(message)
    return CallError(message, code=code, status=status)


class LocalPeople:
    """Calls in this process, through the same pipeline as every call."""

    remote = False

    def __init__(self, runtime: Runtime, session: Session) -> None:
        self._runtime = runtime
        self._session = session

    async def call(self, tool: str, /, **arguments: Any) -> Any:  # noqa: ANN401
        """Call a tool."""
        from aipm_core import Request

        given = {name: value for name, value in arguments.items() if value is not None}
        request = Request(tool=tool, arguments=given, session=self._session, audience="ui")
        reply = await self._runtime.call(request)
        if reply.error is not None:
            raise refused(reply.error.message, reply.error.code, reply.error.status)
        return reply.result

    async def wait(self, seconds: float) -> None:
        """Wait; what changes is noticed at the next look."""
        import anyio

        await anyio.sleep(seconds)
