"""Settings of the log: ``[log]``."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

Level: TypeAlias = Literal["debug", "info", "warning", "error"]
Form: TypeAlias = Literal["text", "json"]


class LogSettings(BaseModel):
    """What is told on stderr, and in which form."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    level: Level = "warning"
    """The least that is told."""
    format: Form = "text"
    """Lines for people, or JSON lines for machines."""
