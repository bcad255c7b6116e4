"""Settings as the kernel knows them. Where they come from is the program's business."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

from aipm_core.texts import Locale

M = TypeVar("M", bound=BaseModel)


class BaseSettings(BaseModel):
    """Where data lives, the language, and what plugins are configured with: their defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    data_dir: Path = Path(".aipm-data")
    """Where the database lives, private to you; relative to the settings file."""
    locale: Locale = "ja"
    """The language of the texts agents read."""
    file: Path | None = Field(default=None, exclude=True)

    def config_of(self, plugin: str, model: type[M], *, own_section: bool = False) -> M:
        """Return the configuration of one plugin; ``ConfigError`` if it does not fit its model."""
        return model()
