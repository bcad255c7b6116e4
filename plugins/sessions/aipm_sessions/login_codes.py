"""A code that opens the page logged in, for whoever has a token already."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_core import Access, AnyTool, Call, Json, NoArguments, PluginContext, Trait, Tx, tool
from aipm_sessions.api import is_operator
from aipm_sessions.config import SessionsConfig
from aipm_sessions.people_login import PeopleLogin


class LoginCodes:
    """Everybody gets codes of their own only; the operator one for the only person there is."""

    def __init__(self, ctx: PluginContext[SessionsConfig], logins: PeopleLogin) -> None:
        self._ctx = ctx
        self._logins = logins

    def all(self) -> Iterable[AnyTool]:
        """Return the tool."""
        secret = (Trait.KEEPS_NO_RESULT,)
        yield tool(self.create_login_code, access=Access.PERSON, audience="ui", traits=secret)

    async def create_login_code(self, call: Call, args: NoArguments) -> Json:
        """Make a code that works once, within five minutes."""
        who = None if is_operator(call.caller) else call.caller.agent_id

        async def unit(tx: Tx) -> Json:
            code, person = await self._logins.insert_code(tx, who)
            return {"code": code, "person_id": person.id}

        return await call.write(self._ctx.store, unit)
