"""The front of the kernel: everything a plugin needs, and nothing else."""

# fmt: off
# isort: off
from aipm_core.background_work import background
from aipm_core.clock import Clock, iso, steady_clock, system_clock
from aipm_core.deadline import within
from aipm_core.engine import Engine
from aipm_core.errors import (
    AipmError, AuthenticationRequired, CallError, ConfigError, InvalidArguments,
    PermissionDenied, PluginError, ReplyGiven, ReplyReplaced, SessionInvalid, StartupError,
    StoreError, StoreUnavailable, ToolNotFound, TooOld,
)
from aipm_core.events import EventLog
from aipm_core.hookspecs import hookimpl, hookspec
from aipm_core.ids import new_id
from aipm_core.incidents import new_incident
from aipm_core.models import (
    Audience, Event, Failure, Json, Kind, Once, Progress, Purpose, Reply, Request, Role,
    Session, StoredEvent,
)
from aipm_core.pipeline.arguments import TOKEN_ARGUMENT, explain
from aipm_core.plugin import (
    NoConfig, Plugin, PluginClass, PluginConfig, PluginContext, ServiceKey, Services,
)
from aipm_core.records import (
    Authenticator, Authorizer, CallWrapper, Carry, EventSink, Gateway, Lifespan, Owned, Phase,
    ResponseMiddleware, ServeMode, Stage, Transport,
)
from aipm_core.redaction import SECRET, redact
from aipm_core.store import Dialect, Migration, Reader, Row, Store, Turn, Tx, Unit, WakeNote
from aipm_core.texts import LOCALES, Locale, Texts, quoted, visible
from aipm_core.tools import Access, AnyTool, Arguments, Call, NoArguments, Tool, Trait, tool

__all__ = [
    "LOCALES", "SECRET", "TOKEN_ARGUMENT", "Access", "AipmError", "AnyTool", "Arguments",
    "Audience", "AuthenticationRequired", "Authenticator", "Authorizer", "Call", "CallError",
    "CallWrapper", "Carry", "Clock", "ConfigError", "Dialect", "Engine", "Event", "EventLog",
    "EventSink", "Failure", "Gateway", "InvalidArguments", "Json", "Kind", "Lifespan", "Locale",
    "Migration", "NoArguments", "NoConfig", "Once", "Owned", "PermissionDenied", "Phase", "Plugin",
    "PluginClass", "PluginConfig", "PluginContext", "PluginError", "Progress", "Purpose", "Reader",
    "Reply", "ReplyGiven", "ReplyReplaced", "Request", "ResponseMiddleware", "Role", "Row",
    "ServeMode", "ServiceKey", "Services", "Session", "SessionInvalid", "Stage", "StartupError",
    "Store", "StoreError", "StoreUnavailable", "StoredEvent", "Texts", "TooOld", "Tool",
    "ToolNotFound", "Trait", "Transport", "Turn", "Tx", "Unit", "WakeNote", "background", "explain",
    "hookimpl", "hookspec", "iso", "new_id", "new_incident", "quoted", "redact", "steady_clock",
    "system_clock", "tool", "visible", "within",
]
# fmt: on
