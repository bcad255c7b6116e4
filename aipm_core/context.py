"""What a plugin is handed when it is built. Nothing else of the core is reachable."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeAlias

from pydantic import BaseModel, ConfigDict
from typing_extensions import TypeVar

from aipm_core.clock import Clock, iso
from aipm_core.contributions import Gateway
from aipm_core.errors import CallError
from aipm_core.events import EventLog
from aipm_core.meter import Meter
from aipm_core.services import ServiceBoard, ServiceKey
from aipm_core.store import Store
from aipm_core.texts import Locale, Texts


class PluginConfig(BaseModel):
    """Base of a plugin's settings: exact names, and defaults that are safe."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoConfig(PluginConfig):
    """For plugins without settings: any key is a mistake."""


C = TypeVar("C", bound=BaseModel, default=NoConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginContext(Generic[C]):
    """A plugin's own settings and texts, and what all plugins share.

    ``store``, ``events`` and ``gateway`` answer once the runtime is open: in tools, lifespans and
    event sinks, not in a plugin's constructor.
    """

    name: str
    config: C
    texts: Texts
    locale: Locale
    store: Store
    events: EventLog
    services: ServiceBoard
    gateway: Gateway
    meter: Meter
    clock: Clock
    data_dir: Path
    home: Path = Path()
    """The directory of the settings file: relative paths in settings start here."""

    def now(self) -> str:
        """Return the present moment as it is stored and shown."""
        return iso(self.clock())

    def refuse(self, code: str, status: int, /, **values: object) -> CallError:
        """Make the error ``code`` with the text ``errors.<code>`` of the plugin's catalogue."""
        return CallError(self.texts(f"errors.{code}", **values), code=code, status=status)


class Plugin(Generic[C]):
    """Base of every plugin; an entry point names a subclass.

    Subclasses add hook implementations and override only what they need.
    """

    config_model: ClassVar[type[BaseModel]] = NoConfig
    provides: ClassVar[tuple[ServiceKey[Any], ...]] = ()
    """Services the constructor offers."""
    requires: ClassVar[tuple[ServiceKey[Any], ...]] = ()
    """Services without which the plugin cannot start."""
    uses: ClassVar[tuple[ServiceKey[Any], ...]] = ()
    """Services the plugin takes up when their plugin is on."""
    offers: ClassVar[tuple[str, ...]] = ()
    """Names of the tools, so that a call to a switched-off plugin gets ``tool_disabled``."""

    def __init__(self, ctx: PluginContext[C]) -> None:
        self.ctx = ctx


PluginClass: TypeAlias = type[Plugin[Any]]
