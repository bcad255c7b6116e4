"""Hides keys and tokens from everybody: in replies, events, views and the log."""

from __future__ import annotations

import re
from collections.abc import Iterable

from aipm_operations.api import Redactor
from pydantic import field_validator

from aipm_core import Plugin, PluginConfig, PluginContext, hookimpl


class ReviewConfig(PluginConfig):
    """Settings of ``[plugins.review]``."""

    patterns: tuple[str, ...] = (
        r"AKIA[0-9A-Z]{16}",
        r"gh[pousr]_[A-Za-z0-9]{36}",
        r"xox[abpr]-[A-Za-z0-9-]{10,}",
    )
    """Regular expressions of what is hidden."""

    @field_validator("patterns")
    @classmethod
    def _can_be_read(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"is no regular expression: {error}") from None
        return patterns


class Review(Plugin[ReviewConfig]):
    """Reads every text once more before anybody sees it."""

    aipm_api = 1
    config_model = ReviewConfig

    def __init__(self, ctx: PluginContext[ReviewConfig]) -> None:
        super().__init__(ctx)
        self._secret = re.compile("|".join(f"(?:{one})" for one in ctx.config.patterns) or r"(?!)")

    @hookimpl
    def aipm_redactors(self) -> Iterable[Redactor]:
        yield Redactor(name="secrets", hide=lambda text: self._secret.sub("[hidden]", text))
