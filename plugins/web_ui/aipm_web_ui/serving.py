"""``GET /`` and ``GET /ui/<hash>/…``: static, the same for everybody, and without a token."""

from __future__ import annotations

from typing import TypeAlias

from aipm_http_server.api import Receive, Scope, Send, answer

from aipm_web_ui.files import File, Files

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; font-src 'self'; worker-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
Header: TypeAlias = tuple[bytes, bytes]
_SAFE: tuple[Header, ...] = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"vary", b"accept-encoding"),
)
_NEVER = (b"cache-control", b"no-store")
_FOR_A_YEAR = (b"cache-control", b"public, max-age=31536000, immutable")


class Shell:
    """The document. It is never cached, so a new version is seen at the next reload."""

    def __init__(self, files: Files, locale: str) -> None:
        self._file = files.shell(locale)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        await _send(scope, send, self._file, _NEVER)


class Modules:
    """What the shell names. An address with another hash is of another version: not here."""

    def __init__(self, files: Files) -> None:
        self._files = files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a file, or say that there is none."""
        asked = scope["path_params"]
        file = self._files.find(asked["name"]) if asked["version"] == self._files.hash else None
        if file is None:
            await answer(send, 404, "not_found", "there is nothing at this path")
        else:
            await _send(scope, send, file, _FOR_A_YEAR)


async def _send(scope: Scope, send: Send, file: File, cache: Header) -> None:
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept-encoding")
    packed = b"gzip" in accepted
    body = file.packed if packed else file.plain
    headers = [
        (b"content-type", file.kind),
        (b"content-length", str(len(body)).encode()),
        cache,
        *_SAFE,
        *([(b"content-encoding", b"gzip")] if packed else []),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
