"""aipm's public face: everything a plugin needs, and nothing else.

Names are imported on first use: ``aipm --help`` must not pay for pydantic and pluggy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aipm_core.clock import iso
    from aipm_core.context import NoConfig, Plugin, PluginConfig, PluginContext
    from aipm_core.contributions import (
        Authenticator,
        Authorizer,
        EventSink,
        Finding,
        Gate,
        Gateway,
        HealthCheck,
        Lifespan,
        Phase,
        ResponseMiddleware,
        Route,
        Runs,
        Transport,
    )
    from aipm_core.errors import (
        AipmError,
        AuthenticationRequired,
        CallError,
        ConfigError,
        InvalidArguments,
        PermissionDenied,
        ReplyReplaced,
        SessionInvalid,
        StartupError,
        ToolNotFound,
        TooOld,
    )
    from aipm_core.hookspecs import hookimpl
    from aipm_core.ids import check_name, is_name, new_id
    from aipm_core.models import Event, Failure, Json, Reply, Request, Session, StoredEvent
    from aipm_core.services import ServiceKey
    from aipm_core.store import Migration, Reader, Row, Store, Tx
    from aipm_core.texts import Texts
    from aipm_core.tools import Access, AnyTool, Arguments, Call, NoArguments, Tool, tool
    from aipm_core.upkeep import background

_HOMES = {
    "upkeep": ("background",),
    "clock": ("iso",),
    "context": ("NoConfig", "Plugin", "PluginConfig", "PluginContext"),
    "contributions": (
        "Authenticator",
        "Authorizer",
        "EventSink",
        "Finding",
        "Gate",
        "Gateway",
        "HealthCheck",
        "Lifespan",
        "Phase",
        "ResponseMiddleware",
        "Route",
        "Runs",
        "Transport",
    ),
    "errors": (
        "AipmError",
        "AuthenticationRequired",
        "CallError",
        "ConfigError",
        "InvalidArguments",
        "PermissionDenied",
        "ReplyReplaced",
        "SessionInvalid",
        "StartupError",
        "TooOld",
        "ToolNotFound",
    ),
    "hookspecs": ("hookimpl",),
    "ids": ("check_name", "is_name", "new_id"),
    "models": ("Event", "Failure", "Json", "Reply", "Request", "Session", "StoredEvent"),
    "services": ("ServiceKey",),
    "store": ("Migration", "Reader", "Row", "Store", "Tx"),
    "texts": ("Texts",),
    "tools": ("Access", "AnyTool", "Arguments", "Call", "NoArguments", "Tool", "tool"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Access",
    "AipmError",
    "AnyTool",
    "Arguments",
    "AuthenticationRequired",
    "Authenticator",
    "Authorizer",
    "Call",
    "CallError",
    "ConfigError",
    "Event",
    "EventSink",
    "Failure",
    "Finding",
    "Gate",
    "Gateway",
    "HealthCheck",
    "InvalidArguments",
    "Json",
    "Lifespan",
    "Migration",
    "NoArguments",
    "NoConfig",
    "PermissionDenied",
    "Phase",
    "Plugin",
    "PluginConfig",
    "PluginContext",
    "Reader",
    "Reply",
    "ReplyReplaced",
    "Request",
    "ResponseMiddleware",
    "Route",
    "Row",
    "Runs",
    "ServiceKey",
    "Session",
    "SessionInvalid",
    "StartupError",
    "Store",
    "StoredEvent",
    "Texts",
    "TooOld",
    "Tool",
    "ToolNotFound",
    "Transport",
    "Tx",
    "background",
    "check_name",
    "hookimpl",
    "is_name",
    "iso",
    "new_id",
    "tool",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'aipm_core' has no attribute {name!r}")
    value = getattr(import_module(f"aipm_core.{home}"), name)
    globals()[name] = value
    return value
