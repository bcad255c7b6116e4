"""The road of one call: who, gates, tool, rights, arguments, state, consent, run, respond."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from hmac import compare_digest
from time import monotonic
from typing import Any, TypeVar, cast

from aipm_core.deadline import Overrun, within
from aipm_core.errors import (
    CallError,
    ReplyGiven,
    ReplyReplaced,
    SessionInvalid,
    StoreUnavailable,
    ToolNotFound,
)
from aipm_core.incidents import Broken, report
from aipm_core.models import Audience, Json, Reply, Request, Session
from aipm_core.pipeline.access import refusal_of
from aipm_core.pipeline.arguments import TOKEN_ARGUMENT
from aipm_core.pipeline.registered import Registered
from aipm_core.records import Authenticator, Authorizer, Owned, ResponseMiddleware, Stage
from aipm_core.texts import Texts
from aipm_core.tools import Access, AnyTool, Call, Tool

_STALE = 0.005  # seconds
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """Built once from what the plugins gave; keeps nothing between calls."""

    tools: Mapping[Audience, Mapping[str, Registered]]
    authenticators: Sequence[Owned[Authenticator]]
    authorizers: Mapping[Stage, Sequence[Owned[Authorizer]]]
    middleware: Sequence[Owned[ResponseMiddleware]]
    texts: Texts
    missing: Callable[[Request], CallError]

    async def __call__(self, request: Request) -> Reply:
        """Carry one request to its reply. Never raises for what a plugin did."""
        session: Session | None = None
        given = deepcopy(dict(request.arguments))  # what runs: no caller and no check can change it
        request = replace(request, arguments=deepcopy(given))
        try:
            session, invalid = await self._who(request)
            await self._pass_gates(request, session)
            reply = await self._answer(request, given, session, invalid)
        except ReplyReplaced as replaced:
            return Reply(replaced=replaced.text)
        except ReplyGiven as given:
            # No answer yet: what is told with answers waits for the call that brings one.
            return cast("Reply", given.reply)
        except CallError as error:
            if isinstance(error, SessionInvalid):
                session = None  # one that is over is told that, and nothing that came meanwhile
            reply = Reply.failure(error)
        except Broken as broken:
            reply = Reply.failure(self._hidden(broken))
        return await self._respond(request, session, reply)

    async def authenticate(self, credential: str, audience: Audience) -> Session | None:
        """Say whose session a credential is; ``None`` if it is nobody's, or nobody's any more."""
        try:
            return await self._recognise(credential, audience)
        except SessionInvalid:
            return None

    async def knows(self, credential: str) -> bool:
        """Return whether a credential is anybody's; where the answer fails, it is not."""
        for owned in self.authenticators:
            try:
                found = await within(owned.record.deadline, owned.record.resolve(credential))
            except StoreUnavailable:
                raise
            except Exception:  # noqa: BLE001 - logged there
                report(owned.plugin, owned.record.name)
                continue
            if isinstance(found, Session):
                return True
        return False

    async def _recognise(self, credential: str, audience: Audience) -> Session | None:
        """Ask the authenticators, one of which may know why a session is no longer valid."""
        for owned in self.authenticators:
            if owned.record.audience != audience:
                continue
            session = await self._ask(owned, owned.record.resolve, credential)
            if session is not None:
                if not isinstance(session, Session):
                    raise Broken(report(owned.plugin, owned.record.name, "gave no Session"))
                return session
        return None

    async def refusal(self, tool: AnyTool, session: Session | None) -> CallError | None:
        """Say why a caller may not use a tool, as far as the arguments play no part in it."""
        request = Request(tool=tool.name, audience=tool.audience)
        call = Call(request=request, tool=tool, session=session)
        if (refused := await self._closed(call)) is not None:
            return refused
        try:
            await self._authorize(call, Stage.RIGHTS)
        except CallError as error:
            return error
        except Broken as broken:
            return self._hidden(broken)
        return None

    async def _who(self, request: Request) -> tuple[Session | None, CallError | None]:
        """Find the caller. A bad token is fatal only to tools that need a session."""
        if request.session is not None:
            return request.session, None
        given = request.arguments.get(TOKEN_ARGUMENT)
        if given is not None and not isinstance(given, str):
            given = ""
        carried = request.credential
        if given is not None and carried is not None and not _same(given, carried):
            text = self.texts("errors.session_token_mismatch")
            raise CallError(text, code="session_token_mismatch", status=401)
        credential = carried if given is None else given
        if credential is None:
            return None, None
        try:
            session = await self._recognise(credential, request.audience)
        except SessionInvalid as invalid:
            return None, invalid
        if session is None:
            return None, SessionInvalid(self.texts("errors.session_invalid"))
        return session, None

    async def _answer(
        self,
        request: Request,
        given: Mapping[str, Json],
        session: Session | None,
        invalid: CallError | None,
    ) -> Reply:
        registered = self.tools[request.audience].get(request.tool)
        if registered is None:
            raise self.missing(request)
        tool = registered.tool
        call = Call(request=request, tool=tool, session=session)
        await self._admit(call, invalid)
        arguments = registered.arguments(given)
        if request.once is not None and session is not None:
            whose = Owned(registered.plugin, tool)
            earlier = await self._ask(whose, request.once.recall, session)
            if earlier is not None:
                return earlier
        began = monotonic()
        await self._authorize(call, Stage.STATE)
        asked = monotonic()
        await self._authorize(call, Stage.CONSENT)
        if (now := monotonic()) - began > _STALE:
            call = await self._checked_again(call, state=now - asked > _STALE)
        if request.started is not None:
            await request.started()
        return await self._run(registered, call, arguments)

    async def _run(self, registered: Registered, call: Call, arguments: object) -> Reply:
        whose = Owned(registered.plugin, registered.tool)
        try:
            result = await self._ask(whose, registered.tool.run, call, arguments)
            return Reply(result=registered.result(result), ran=True)
        except SessionInvalid:
            raise
        except CallError as error:
            return Reply.failure(error, ran=True)
        except Broken as broken:
            return Reply.failure(self._hidden(broken), ran=True)

    async def _checked_again(self, call: Call, *, state: bool) -> Call:
        """Look again at what was seen at the start: a person may have taken minutes to confirm."""
        session, invalid = await self._who(call.request)
        if invalid is not None and call.session is not None:
            raise invalid
        await self._pass_gates(call.request, session)
        call = replace(call, session=session)
        await self._admit(call, invalid)
        if state:
            await self._authorize(call, Stage.STATE)
        return call

    async def _admit(self, call: Call, invalid: CallError | None) -> None:
        if (refused := await self._closed(call)) is not None:
            raise invalid or refused
        await self._authorize(call, Stage.RIGHTS)

    async def _pass_gates(self, request: Request, session: Session | None) -> None:
        if session is None or not self.authorizers[Stage.GATE]:
            return
        registered = self.tools[request.audience].get(request.tool)
        tool = registered.tool if registered else _unknown(request.tool)
        await self._authorize(Call(request=request, tool=tool, session=session), Stage.GATE)

    async def _closed(self, call: Call) -> CallError | None:
        """Say why the tool's access closes it to the caller; ``None`` if it is open.

        An authorizer that refuses for the same reason may know what to do instead: its text wins.
        Another session would not help one that is over, so that is said first.
        """
        refused = refusal_of(call.tool, call.session, self.texts)
        if refused is None or call.session is None:
            return refused
        try:
            await self._authorize(call, Stage.RIGHTS)
        except CallError as error:
            first = error.code == refused.code or isinstance(error, SessionInvalid)
            return error if first else refused
        except Broken:
            return refused
        return refused

    async def _authorize(self, call: Call, stage: Stage) -> None:
        for owned in self.authorizers[stage]:
            await self._ask(owned, owned.record.check, call)

    async def _respond(self, request: Request, session: Session | None, reply: Reply) -> Reply:
        for owned in self.middleware:
            try:
                reply = await self._apply(owned, request, session, reply)
            except Broken as broken:
                if owned.record.on_error == "fail":
                    return Reply.failure(self._hidden(broken))
        return reply

    async def _apply(self, owned: Owned[ResponseMiddleware], *seen: object) -> Reply:
        step = owned.record
        try:
            changed = await self._ask(owned, step.apply, *seen)
        except (CallError, ReplyReplaced, ReplyGiven) as error:
            problem = f"raised {error!r}, which only checks before the call may do"
            raise Broken(report(owned.plugin, step.name, problem)) from error
        if not isinstance(changed, Reply):
            raise Broken(report(owned.plugin, step.name, "gave no Reply"))
        return changed

    async def _ask(
        self, owned: Owned[Any], function: Callable[..., Coroutine[Any, Any, T]], *values: object
    ) -> T:
        """Await a plugin's function within its deadline; whatever else escapes it is its fault."""
        plugin, record = owned.plugin, owned.record
        try:
            return await within(record.deadline, function(*values))
        except (CallError, ReplyReplaced, ReplyGiven):
            raise
        except Overrun as error:
            raise Broken(report(plugin, record.name, str(error))) from None
        except StoreUnavailable as error:
            incident = report(plugin, record.name, f"could not use the store: {error}")
            raise Broken(incident, "store_unavailable", 503) from error
        except Exception as error:
            raise Broken(report(plugin, record.name)) from error

    def _hidden(self, broken: Broken) -> CallError:
        """Tell the number under which the log says what went wrong."""
        message = self.texts(f"errors.{broken.code}", incident=broken.incident)
        return CallError(message, code=broken.code, status=broken.status)


def _unknown(name: str) -> AnyTool:
    """Return what stands for a tool that does not exist, at a gate."""

    async def run(call: Call, arguments: object) -> Json:
        raise ToolNotFound(name)

    return Tool(name=name, run=run, access=Access.ANYONE)


def _same(one: str, other: str) -> bool:
    return compare_digest(one.encode(errors="surrogatepass"), other.encode(errors="surrogatepass"))
