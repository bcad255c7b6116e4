"""The headers of a POST that matter to the protocol, read in one pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from aipm_mcp_transport.calls import credential_of

_KEPT = frozenset(
    {
        b"accept",
        b"authorization",
        b"content-type",
        b"mcp-method",
        b"mcp-name",
        b"mcp-protocol-version",
        b"mcp-session-id",
    }
)
_NONE: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True)
class Head:
    """What a client said about its message."""

    fields: dict[bytes, bytes]
    doubled: frozenset[bytes]

    @classmethod
    def read(cls, headers: Iterable[tuple[bytes, bytes]]) -> Head:
        """Keep the fields that matter; one that comes twice has no meaning we would trust."""
        kept = [(name, value) for name, value in headers if name in _KEPT]
        fields = dict(kept)
        if len(fields) == len(kept):
            return cls(fields, doubled=_NONE)
        names = [name for name, _ in kept]
        return cls(fields, doubled=frozenset(name for name in fields if names.count(name) > 1))

    def text(self, name: bytes) -> str | None:
        """Return a field as text."""
        value = self.fields.get(name)
        return None if value is None else value.decode("latin-1")

    @property
    def session(self) -> str | None:
        """The legacy session."""
        return self.text(b"mcp-session-id")

    @property
    def credential(self) -> str | None:
        """The session token of a bearer header; of two such headers the one nobody has."""
        if b"authorization" in self.doubled:
            return ""
        value = self.text(b"authorization")
        if value is None:
            return None
        scheme, _, token = value.partition(" ")
        return credential_of(token) if scheme.lower() == "bearer" else None

    @property
    def is_json(self) -> bool:
        """Whether the body is declared to be JSON."""
        return _is_json(self.fields.get(b"content-type", b""))

    @property
    def takes_streams(self) -> bool:
        """Whether the client takes both kinds of answer, as the protocol asks it to."""
        return _takes_streams(self.fields.get(b"accept", b""))


# A client sends the same header with every message.
@lru_cache(maxsize=64)
def _is_json(value: bytes) -> bool:
    return _media_types(value) == {"application/json"}


@lru_cache(maxsize=64)
def _takes_streams(value: bytes) -> bool:
    accepted = _media_types(value)
    return "*/*" in accepted or (
        not accepted.isdisjoint({"application/json", "application/*"})
        and not accepted.isdisjoint({"text/event-stream", "text/*"})
    )


def _media_types(value: bytes) -> set[str]:
    parts = value.decode("latin-1").lower().split(",")
    return {part.partition(";")[0].strip() for part in parts}
