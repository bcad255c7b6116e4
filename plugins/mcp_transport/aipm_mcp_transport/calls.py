"""From a ``tools/call`` to the runtime's reply, the same for every front."""

from __future__ import annotations

from collections.abc import Mapping

from aipm_sessions.api import AgentTokens

from aipm_core import Access, Gateway, Json, Progress, Reply, Request, Session
from aipm_mcp_transport.asking import Elicit

# Gemini CLI adds this to every call of every tool; our schemas admit nothing unknown.
CLIENT_KEYS = frozenset({"wait_for_previous"})


class ToolCalls:
    """Calls the tools that are offered to agents."""

    def __init__(self, gateway: Gateway, tokens: AgentTokens | None = None) -> None:
        self._gateway = gateway
        self._tokens = tokens
        self._offered = frozenset(tool.name for tool in gateway.catalog())

    async def run(
        self,
        name: str,
        arguments: Mapping[str, Json],
        credential: str | None,
        progress: Progress | None = None,
        elicit: Elicit | None = None,
    ) -> Reply:
        """Carry one call through the runtime."""
        request = Request(
            tool=name,
            arguments=self._own(name, arguments),
            credential=credential,
            session=await self._session(name, arguments, credential),
            progress=progress,
            elicit=elicit,
        )
        return await self._gateway.call(request)

    async def _session(
        self, name: str, arguments: Mapping[str, Json], credential: str | None
    ) -> Session | None:
        """Return the session that an agent's own token stands for; every other token has one.

        Whoever also names a session as an argument has named two, which the runtime refuses.
        """
        tokens = self._tokens
        if tokens is None or credential is None or not credential.startswith(tokens.prefix):
            return None
        tool = self._gateway.find_tool(name)
        if "session_token" in arguments or tool is None or tool.access is Access.ANYONE:
            return None
        return await tokens.session_of(credential)

    def _own(self, name: str, arguments: Mapping[str, Json]) -> Mapping[str, Json]:
        """Leave out what a client added, unless the tool really has such an argument."""
        if CLIENT_KEYS.isdisjoint(arguments) or name not in self._offered:
            return arguments
        added = CLIENT_KEYS - self._gateway.schema(name).get("properties", {}).keys()
        return {key: value for key, value in arguments.items() if key not in added}


def credential_of(text: str | None) -> str | None:
    """Return a token a transport carried; a place nobody filled in (``${NAME}``) is none."""
    token = (text or "").strip()
    return None if not token or token.startswith("$") else token
