"""A plugin, what it is handed when it is built, and the services by which plugins meet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, ValidationError
from typing_extensions import TypeVar

from aipm_core.clock import Clock, iso
from aipm_core.errors import CallError, PluginError
from aipm_core.events import EventLog
from aipm_core.records import Gateway, Owned
from aipm_core.store import Store
from aipm_core.texts import Locale, Texts


class PluginConfig(BaseModel):
    """Base of a plugin's settings: exact names, and defaults that are safe."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class NoConfig(PluginConfig):
    """For plugins without settings: any key is a mistake."""


C = TypeVar("C", bound=BaseModel, default=NoConfig)
R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True)
class ServiceKey(Generic[T]):
    """Names a service and its type."""

    name: str


class Services:
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


class Named(Protocol):
    """A record that is known by its name."""

    @property
    def name(self) -> str:
        """Return the name."""


class Given:
    """What plugins gave to the hooks that other plugins own. Filled once, when all are built."""

    def __init__(self) -> None:
        self._by_hook: Mapping[str, tuple[Owned[Any], ...]] | None = None

    def fill(self, by_hook: Mapping[str, tuple[Owned[Any], ...]]) -> None:
        """Take in what was given, by hook."""
        self._by_hook = by_hook

    def to(self, hook: str) -> tuple[Owned[Any], ...]:
        """Return what was given to a hook, in build order; nothing while nobody owns it."""
        if self._by_hook is None:
            raise RuntimeError(f"{hook} has not been asked yet: wait until all plugins are built")
        return self._by_hook.get(hook, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginContext(Generic[C]):
    """A plugin's own settings and texts, and what all plugins share.

    ``store``, ``events`` and ``gateway`` answer once the runtime is open: in tools, lifespans and
    event sinks, not while plugins are being built.
    """

    name: str
    config: C
    texts: Texts
    locale: Locale
    store: Store
    events: EventLog
    services: Services
    gateway: Gateway
    clock: Clock
    steady: Clock
    """Counts seconds as the machine does; nobody can set it."""
    data_dir: Path
    home: Path = Path()
    """The directory of the settings file: relative paths in settings start here."""
    invalid: Callable[[ValidationError], CallError] = field(repr=False)
    """Makes the error of a value from outside that does not fit its model."""
    contributions: Given = field(default_factory=Given, repr=False)
    """Read it through :meth:`given`."""

    def given(self, hook: Callable[[Any], Iterable[R]]) -> tuple[Owned[R], ...]:
        """Return what plugins gave to a hook this plugin owns, in build order, with its giver.

        Like ``store`` it answers once all plugins are built.
        """
        return self.contributions.to(hook.__name__)

    def check_names(self, *hooks: Callable[[Any], Iterable[Named]]) -> None:
        """Refuse a name given twice to a hook this plugin owns. Call it when a lifespan opens.

        Whoever takes a name of the owner is at fault, though it may have been built before.
        """
        for hook in hooks:
            names: set[str] = set()
            for owned in sorted(self.given(hook), key=lambda owned: owned.plugin != self.name):
                if owned.record.name in names:
                    problem = f"{hook.__name__}: {owned.record.name!r} is given twice"
                    raise PluginError(owned.plugin, problem)
                names.add(owned.record.name)

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

    aipm_api: ClassVar[int] = 1
    """The version of the public API that the plugin is written for."""
    config_model: ClassVar[type[BaseModel]] = NoConfig
    provides: ClassVar[tuple[ServiceKey[Any], ...]] = ()
    """Services the constructor offers."""
    requires: ClassVar[tuple[ServiceKey[Any], ...]] = ()
    """Services without which the plugin cannot start."""
    uses: ClassVar[tuple[ServiceKey[Any], ...]] = ()
    """Services the plugin takes up when their plugin is on."""
    replaces: ClassVar[tuple[str, ...]] = ()
    """Plugins in whose place this one stands: they are off while it is on."""
    hooks: ClassVar[type | None] = None
    """A class of hookspecs that this plugin owns, for other plugins to implement."""
    own_section: ClassVar[bool] = False
    """Whether the settings stand at the top of the file, as the section of ``config_model``,
    instead of under ``[plugins.NAME]``: for parts that every installation has."""

    def __init__(self, ctx: PluginContext[C]) -> None:
        self.ctx = ctx

    def check_given(self) -> None:
        """Refuse what others gave to this plugin's hooks, once all plugins are built."""


PluginClass: TypeAlias = type[Plugin[Any]]
