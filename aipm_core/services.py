"""How plugins meet: one provides a service under a typed key, others use it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


@dataclass(frozen=True)
class ServiceKey(Generic[T]):
    """Names a service and its type."""

    name: str


class ServiceBoard:
    """Services of one runtime, by key."""

    def __init__(self) -> None:
        self._services: dict[ServiceKey[Any], object] = {}

    def provide(self, key: ServiceKey[T], service: T) -> None:
        """Offer a service. A key is provided once."""
        if key in self._services:
            raise ValueError(f"service {key.name!r} is provided twice")
        self._services[key] = service

    def use(self, key: ServiceKey[T]) -> T:
        """Return a service named in ``requires``."""
        return cast("T", self._services[key])

    def find(self, key: ServiceKey[T]) -> T | None:
        """Return a service named in ``uses``, or ``None`` when its plugin is off."""
        return cast("T | None", self._services.get(key))
