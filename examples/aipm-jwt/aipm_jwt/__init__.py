"""Lets agents in with a token their company signed (JWT, HS256), instead of a passkey."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterable
from typing import Any

from aipm_sessions.api import DIRECTORY
from pydantic import SecretStr

from aipm_core import (
    Authenticator,
    Plugin,
    PluginConfig,
    Purpose,
    Session,
    SessionInvalid,
    hookimpl,
)

_PARTS = 3


class JwtConfig(PluginConfig):
    """Settings of ``[plugins.jwt]``."""

    key: SecretStr = SecretStr("")
    """What tokens are signed with, 32 characters at least; without one nobody gets in."""
    audience: str = "aipm"


class Jwt(Plugin[JwtConfig]):
    """Reads ``sub`` as the agent, ``project`` as its project, ``purpose`` as what it does."""

    aipm_api = 1
    config_model = JwtConfig
    requires = (DIRECTORY,)

    @hookimpl
    def aipm_authenticators(self) -> Iterable[Authenticator]:
        if len(self.ctx.config.key.get_secret_value()) >= 32:
            yield Authenticator(name="jwt", resolve=self._resolve)

    async def _resolve(self, credential: str) -> Session | None:
        if credential.count(".") != _PARTS - 1:
            return None  # not ours: another authenticator may know it
        claims = self._claims(credential)
        if claims is None or claims.get("aud") != self.ctx.config.audience:
            raise self._invalid()
        if not isinstance(claims.get("exp"), int | float) or claims["exp"] <= self.ctx.clock():
            raise self._invalid()
        agent, project = str(claims.get("sub", "")), str(claims.get("project", ""))
        directory, store = self.ctx.services.use(DIRECTORY), self.ctx.store
        if not await directory.is_member(store, agent, project):
            raise self._invalid()
        purpose: Purpose = "chat" if claims.get("purpose") == "chat" else "task"
        name = f"jwt_{hashlib.sha256(credential.encode()).hexdigest()[:24]}"
        return Session(id=name, agent_id=agent, project_id=project, purpose=purpose)

    def _claims(self, credential: str) -> dict[str, Any] | None:
        """Return what a token says, if it is signed with our key and by our method."""
        signed, _, signature = credential.rpartition(".")
        key = self.ctx.config.key.get_secret_value().encode()
        wanted = hmac.new(key, signed.encode(), hashlib.sha256).digest()
        try:
            header, claims = (json.loads(_decoded(part)) for part in signed.split("."))
            right = hmac.compare_digest(_decoded(signature), wanted)
        except ValueError:
            return None
        whole = isinstance(header, dict) and isinstance(claims, dict)
        return claims if whole and right and header.get("alg") == "HS256" else None

    def _invalid(self) -> SessionInvalid:
        return SessionInvalid(self.ctx.texts("errors.jwt_invalid"))


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
