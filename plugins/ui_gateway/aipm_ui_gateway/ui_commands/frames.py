"""One command on its way in, as it stands on the wire."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from aipm_core import Json

_LONGEST_ID = 128  # characters


class CommandFrame(BaseModel):
    """A command: what to do, and the id under which it is done once."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    id: str = Field(min_length=1, max_length=_LONGEST_ID)
    type: str = Field(min_length=1, max_length=64)
    payload: dict[str, Any] = Field(default_factory=dict)


def id_of(frame: Json) -> str | None:
    """Return the id to answer under, as far as the frame has one."""
    found = frame.get("id") if isinstance(frame, dict) else None
    return found if isinstance(found, str) and len(found) <= _LONGEST_ID else None
