"""How people come in, and how what they do happens once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from aipm_core import CallError, Json, Once, Reply, ServiceKey, Tx
from aipm_sessions.api.members import Agent


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonLogin:
    """A person who has logged in; the token is handed over now or never."""

    person: Agent
    token: str
    expires_in: int


class PeopleLogins(Protocol):
    """Logs people in and out. Whatever is wrong gets one answer: ``invalid_credentials``."""

    async def with_passkey(self, agent_id: str, passkey: str) -> PersonLogin:
        """Log in with an id and a passkey."""
        ...

    async def with_code(self, code: str, address: str) -> PersonLogin:
        """Log in with a one-time code; failures are counted for the address they come from."""
        ...

    async def end(self, token: str) -> None:
        """Make a token worthless."""
        ...

    async def new_code(self, person_id: str | None) -> tuple[str, Agent]:
        """Make a one-time code for a person, the only one there is if none is named."""
        ...


Alongside: TypeAlias = Callable[[Tx], Awaitable[None]]


class RememberedCall(Once, Protocol):
    """One call under a key of its person; ``repeated`` says that it had been made before."""

    repeated: bool

    async def settle(self, reply: Reply) -> None:
        """Remember the answer of a tool that did not write through ``Call.write``."""
        ...


class PersonCalls(Protocol):
    """What people called under keys of their own: command ids, ``Idempotency-Key``."""

    def once(
        self,
        key: str,
        tool: str,
        arguments: Json,
        conflict: CallError,
        alongside: Alongside | None = None,
    ) -> RememberedCall:
        """Return the memory of one call; ``conflict`` is raised if the key was another call's.

        What is done ``alongside`` happens in the transaction of the call, so with it or not.
        """
        ...

    async def forget(self, tx: Tx, before: float) -> int:
        """Forget some calls of before a moment; return how many."""
        ...


PEOPLE_LOGINS = ServiceKey[PeopleLogins]("sessions.people_logins")
PERSON_CALLS = ServiceKey[PersonCalls]("sessions.person_calls")
