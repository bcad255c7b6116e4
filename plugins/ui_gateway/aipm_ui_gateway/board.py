"""Who carries out which command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

from aipm_ui_gateway.api import CommandHandler, RefusalObserver
from aipm_ui_gateway.command_payloads import (
    CancelRun,
    CloseSession,
    OpenSession,
    ProvideConfirmation,
    SubmitUserInput,
)

P = TypeVar("P", bound=BaseModel)
COMMAND_TYPES: dict[str, type[BaseModel]] = {
    "submitUserInput": SubmitUserInput,
    "provideConfirmation": ProvideConfirmation,
    "cancelRun": CancelRun,
    "openSession": OpenSession,
    "closeSession": CloseSession,
}
"""The commands of the contract, whether or not a plugin that carries them out is on."""


@dataclass(frozen=True, slots=True)
class Handling:
    """A command type and what it needs."""

    payload_model: type[BaseModel]
    run: CommandHandler[Any]
    refused: RefusalObserver | None


class Commands:
    """The ``CommandBoard`` service."""

    def __init__(self) -> None:
        self._handlings: dict[str, Handling] = {}

    def handle(
        self,
        type: str,  # noqa: A002 - the name on the wire
        payload_model: type[P],
        run: CommandHandler[P],
        *,
        refused: RefusalObserver | None = None,
    ) -> None:
        """Take over a command type."""
        if type in self._handlings:
            raise ValueError(f"the command {type!r} is handled twice")
        self._handlings[type] = Handling(payload_model, run, refused)

    def find(self, type: str) -> Handling | None:  # noqa: A002 - the name on the wire
        """Return how a command is carried out, if anybody does."""
        return self._handlings.get(type)

    def payloads(self) -> dict[str, type[BaseModel]]:
        """Return what every command carries, by type."""
        return COMMAND_TYPES | {
            name: handling.payload_model for name, handling in self._handlings.items()
        }
