"""One command on its way in: read from a frame, told apart from a repetition by its digest."""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aipm_core import CallError, InvalidArguments, Json, Texts
from aipm_core.arguments import explain
from aipm_ui_gateway.command_payloads import REFUSALS

M = TypeVar("M", bound=BaseModel)
_LONGEST_ID = 128


class Order(BaseModel):
    """A command as it stands on the wire."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    id: str = Field(min_length=1, max_length=_LONGEST_ID)
    type: str = Field(min_length=1, max_length=64)
    payload: dict[str, Any] = Field(default_factory=dict)

    def digest(self) -> str:
        """Return what tells this command from another one under the same id."""
        text = json.dumps([self.type, self.payload], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def id_of(frame: Json) -> str | None:
    """Return the id to answer under, as far as the frame has one."""
    found = frame.get("id") if isinstance(frame, dict) else None
    return found if isinstance(found, str) and len(found) <= _LONGEST_ID else None


class Checks:
    """Checks what comes in; refusals name the field and never repeat its content."""

    def __init__(self, own: Texts, core: Texts) -> None:
        self._own = own
        self._core = core

    def __call__(self, model: type[M], value: Json) -> M:
        """Validate ``value``."""
        try:
            return model.model_validate(value)
        except ValidationError as error:
            raise self._refusal(error) from None

    def _refusal(self, error: ValidationError) -> CallError:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        text = self._own.find(f"arguments.{first['type']}")
        if text is None:
            return InvalidArguments(explain(error, self._core))
        message = ": ".join(filter(None, (".".join(map(str, first["loc"])), text)))
        if first["type"] in REFUSALS:
            return CallError(message, code=first["type"], status=400)
        return InvalidArguments(message)
