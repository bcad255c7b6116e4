"""The token a request carries, for every route alike."""

from __future__ import annotations

from collections.abc import Iterable


def bearer(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Return the bearer token; ``None`` without the header, ``""`` if it is not one plain token.

    Nobody has the empty token, so what is ambiguous is refused where the token is looked up.
    """
    values = [value for name, value in headers if name == b"authorization"]
    if not values:
        return None
    scheme, _, token = values[0].decode("latin-1").partition(" ")
    plain = len(values) == 1 and scheme.lower() == "bearer"
    return token.strip() if plain else ""
