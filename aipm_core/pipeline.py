"""The road of one call: authenticate, gates, find, authorize, validate, run, respond."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hmac import compare_digest
from time import monotonic
from typing import Any, TypeVar

import orjson

from aipm_core.access import refusal_of
from aipm_core.arguments import TOKEN, Parse
from aipm_core.contributions import Authenticator, Authorizer, Gate, Owned, ResponseMiddleware
from aipm_core.deadline import within
from aipm_core.elicitation import InputRequired
from aipm_core.errors import CallError, ReplyReplaced, SessionInvalid, StoreUnavailable
from aipm_core.models import Json, Reply, Request, Session
from aipm_core.texts import Texts
from aipm_core.tools import AnyTool, Call

logger = logging.getLogger(__name__)
LARGEST_RESULT = 4 * 1024 * 1024
_STALE = 0.005  # seconds
T = TypeVar("T")


@dataclass(frozen=True)
class Registered:
    """A tool ready to be called: its owner, its check, the schema agents are shown."""

    plugin: str
    tool: AnyTool
    parse: Parse
    describe: Callable[[], Mapping[str, Json]]

    @cached_property
    def schema(self) -> Mapping[str, Json]:
        """The JSON Schema agents are shown; most commands never ask for it."""
        return self.describe()


class _Broken(Exception):
    """A plugin's function raised, hung or gave garbage: logged, hidden from the caller."""

    def __init__(self, incident: str, code: str = "internal_error", status: int = 500) -> None:
        super().__init__(incident)
        self.incident = incident
        self.code = code
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """Built once from what the plugins gave; keeps nothing between calls."""

    tools: Mapping[str, Registered]
    authenticators: Sequence[Owned[Authenticator]]
    gates: Sequence[Owned[Gate]]
    authorizers: Sequence[Owned[Authorizer]]
    middleware: Sequence[Owned[ResponseMiddleware]]
    texts: Texts
    missing: Callable[[str], CallError]

    async def __call__(self, request: Request) -> Reply:
        """Carry one request to its reply. Never raises for what a plugin did."""
        session: Session | None = None
        try:
            session, invalid = await self._who(request)
            if session is not None:
                await self._pass_gates(request, session)
            reply = await self._answer(request, session, invalid)
        except ReplyReplaced as replaced:
            return Reply(replaced=replaced.text)
        except InputRequired as required:
            # No answer yet: what is told with answers waits for the call that brings one.
            return Reply(question=required.question)
        except CallError as error:
            reply = Reply.failure(error)
        except _Broken as broken:
            reply = self._broken(broken)
        return await self._respond(request, session, reply)

    async def authenticate(self, credential: str) -> Session | None:
        """Ask the authenticators whose session a credential is."""
        for owned in self.authenticators:
            authenticator = owned.record
            session = await self._ask(
                owned.plugin, authenticator, authenticator.resolve(credential)
            )
            if session is not None:
                if not isinstance(session, Session):
                    raise _Broken(_report(owned.plugin, authenticator.name, "gave no Session"))
                return session
        return None

    async def refusal(self, tool: AnyTool, session: Session | None) -> CallError | None:
        """Say why a caller may not use a tool, as far as the arguments play no part in it."""
        call = Call(request=Request(tool=tool.name), tool=tool, session=session)
        if (refused := await self._closed(call)) is not None:
            return refused
        try:
            await self._authorize(call, static=True)
        except CallError as error:
            return error
        except _Broken as broken:
            return self._hidden(broken)
        return None

    async def _who(self, request: Request) -> tuple[Session | None, CallError | None]:
        """Find the caller. A bad token is fatal only to tools that need a session."""
        if request.session is not None:
            return request.session, None
        given = request.arguments.get(TOKEN)
        if given is not None and not isinstance(given, str):
            given = ""
        carried = request.credential
        if given is not None and carried is not None and not _same(given, carried):
            raise CallError(
                self.texts("errors.session_token_mismatch"),
                code="session_token_mismatch",
                status=401,
            )
        credential = carried if given is None else given
        if credential is None:
            return None, None
        session = await self.authenticate(credential)
        if session is None:
            return None, SessionInvalid(self.texts("errors.session_invalid"))
        return session, None

    async def _answer(
        self, request: Request, session: Session | None, invalid: CallError | None
    ) -> Reply:
        registered = self.tools.get(request.tool)
        if registered is None or not _offered(registered.tool, request):
            raise self.missing(request.tool)
        tool = registered.tool
        call = Call(request=request, tool=tool, session=session)
        refused = await self._closed(call)
        if refused is not None:
            raise invalid or refused
        await self._authorize(call, static=True)
        arguments = _parsed(registered, request.arguments)
        # Nobody is asked to confirm a call that could not run anyway.
        asked = monotonic()
        await self._authorize(call, static=False)
        # A person may have taken minutes to confirm: what the gates saw is old by then.
        if session is not None and monotonic() - asked > _STALE:
            await self._pass_gates(request, session)
        if request.started is not None:
            await request.started()
        result = await self._ask(registered.plugin, tool, tool.run(call, arguments))
        return Reply(result=_json(registered, result))

    async def _pass_gates(self, request: Request, session: Session) -> None:
        for gate in self.gates:
            await self._ask(gate.plugin, gate.record, gate.record.check(request, session))

    async def _closed(self, call: Call) -> CallError | None:
        """Say why the tool's access closes it to the caller; ``None`` if it is open.

        An authorizer that refuses for the same reason may know what to do instead: its text wins.
        Another session would not help one that is over, so that is said first.
        """
        refused = refusal_of(call.tool, call.session, self.texts)
        if refused is None or call.session is None:
            return refused
        try:
            await self._authorize(call, static=True)
        except CallError as error:
            first = error.code == refused.code or isinstance(error, SessionInvalid)
            return error if first else refused
        except _Broken:
            return refused
        return refused

    async def _authorize(self, call: Call, *, static: bool) -> None:
        for owned in self.authorizers:
            if owned.record.static is static:
                await self._ask(owned.plugin, owned.record, owned.record.check(call))

    async def _respond(self, request: Request, session: Session | None, reply: Reply) -> Reply:
        for owned in self.middleware:
            try:
                reply = await self._apply(owned, request, session, reply)
            except _Broken as broken:
                if owned.record.on_error == "fail":
                    return self._broken(broken)
        return reply

    async def _apply(
        self,
        owned: Owned[ResponseMiddleware],
        request: Request,
        session: Session | None,
        reply: Reply,
    ) -> Reply:
        step = owned.record
        try:
            changed = await self._ask(owned.plugin, step, step.apply(request, session, reply))
        except (CallError, ReplyReplaced, InputRequired) as error:
            problem = f"raised {error!r}, which only checks before the call may do"
            raise _Broken(_report(owned.plugin, step.name, problem)) from error
        if not isinstance(changed, Reply):
            raise _Broken(_report(owned.plugin, step.name, "gave no Reply"))
        return changed

    async def _ask(
        self,
        plugin: str,
        record: Authenticator | Gate | Authorizer | ResponseMiddleware | AnyTool,
        work: Coroutine[Any, Any, T],
    ) -> T:
        """Await a plugin's function within its deadline; whatever else escapes it is its fault."""
        try:
            return await within(record.deadline, work)
        except (CallError, ReplyReplaced, InputRequired):
            raise
        except TimeoutError:
            problem = f"did not finish within {record.deadline} s"
            raise _Broken(_report(plugin, record.name, problem)) from None
        except StoreUnavailable as error:
            incident = _report(plugin, record.name, f"could not use the store: {error}")
            raise _Broken(incident, "store_unavailable", 503) from error
        except Exception as error:
            raise _Broken(_failed(plugin, record.name)) from error

    def _broken(self, broken: _Broken) -> Reply:
        return Reply.failure(self._hidden(broken))

    def _hidden(self, broken: _Broken) -> CallError:
        """Tell the number under which the log says what went wrong."""
        message = self.texts(f"errors.{broken.code}", incident=broken.incident)
        return CallError(message, code=broken.code, status=broken.status)


def _offered(tool: AnyTool, request: Request) -> bool:
    """Tools made for user interfaces do not exist for agents that call from outside."""
    return tool.audience == "agent" or request.audience == "ui"


def _parsed(registered: Registered, given: Mapping[str, Json]) -> Any:  # noqa: ANN401
    """Return a tool's arguments; a check of the plugin's own may fail like any other code of it."""
    try:
        return registered.parse({key: value for key, value in given.items() if key != TOKEN})
    except CallError:
        raise
    except Exception as error:
        raise _Broken(_failed(registered.plugin, registered.tool.name)) from error


def _json(registered: Registered, result: Json) -> Json:
    """Return a tool's result if it is JSON of a bearable size."""
    try:
        size = len(orjson.dumps(result))
    except TypeError as error:
        problem = f"returned what is not JSON: {error}"
        raise _Broken(_report(registered.plugin, registered.tool.name, problem)) from None
    if size > LARGEST_RESULT:
        problem = f"returned {size} bytes, more than {LARGEST_RESULT}"
        raise _Broken(_report(registered.plugin, registered.tool.name, problem))
    return result


def _report(plugin: str, name: str, problem: str) -> str:
    incident = _incident()
    about = {"plugin": plugin, "incident": incident}
    logger.error("plugin %s: %s %s [%s]", plugin, name, problem, incident, extra=about)
    return incident


def _failed(plugin: str, name: str) -> str:
    """Log the exception that is being handled."""
    incident = _incident()
    about = {"plugin": plugin, "incident": incident}
    logger.exception("plugin %s: %s failed [%s]", plugin, name, incident, extra=about)
    return incident


def _incident() -> str:
    return f"inc_{secrets.token_hex(6)}"


def _same(one: str, other: str) -> bool:
    return compare_digest(one.encode(errors="surrogatepass"), other.encode(errors="surrogatepass"))
