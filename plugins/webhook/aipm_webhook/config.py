"""Settings of the webhook."""

from __future__ import annotations

from typing import Literal, Self, TypeAlias
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from aipm_core import PluginConfig

Kind: TypeAlias = Literal["confirmation_asked", "task_blocked", "run_failed"]
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_SHORTEST_SECRET = 16


class WebhookConfig(PluginConfig):
    """Where what happened is sent to; nowhere, unless there is an address."""

    url: str = ""
    """Where to send to: https, or http on this machine. Empty: nothing is sent."""
    secret: SecretStr = SecretStr("")
    """Signs what is sent; 16 characters at least. Better given as AIPM_PLUGINS__WEBHOOK__SECRET."""
    kinds: tuple[Kind, ...] = ("confirmation_asked", "task_blocked", "run_failed")
    """What is told."""
    keep_days: float = Field(default=3.0, gt=0)
    """How long it is tried to send something."""

    @field_validator("url")
    @classmethod
    def _safe(cls, url: str) -> str:
        if not url:
            return url
        parts = urlsplit(url)
        local = parts.scheme == "http" and parts.hostname in _LOOPBACK
        if not parts.hostname or not (parts.scheme == "https" or local):
            raise ValueError("must be an https address, or http on this machine")
        if parts.username or parts.password:
            raise ValueError("must not hold a name or a password: they would be in logs")
        return url

    @model_validator(mode="after")
    def _signed(self) -> Self:
        if self.url and len(self.secret.get_secret_value()) < _SHORTEST_SECRET:
            raise ValueError(f"secret must have {_SHORTEST_SECRET} characters where there is a url")
        return self
