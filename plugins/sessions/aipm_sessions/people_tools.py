"""What people call: their projects, the members, tokens, and what waits for an answer."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_core import AnyTool, PluginContext
from aipm_sessions.administration import Administration
from aipm_sessions.agent_fields import CollectedAgentFields
from aipm_sessions.agent_token_tools import AgentTokenTools
from aipm_sessions.agent_tokens import SqlAgentTokens
from aipm_sessions.config import SessionsConfig
from aipm_sessions.decision_tools import DecisionTools
from aipm_sessions.departures import Departures
from aipm_sessions.directory import SqlDirectory
from aipm_sessions.given_by_plugins import CollectedDecisions
from aipm_sessions.listing_tools import ListingTools
from aipm_sessions.login_codes import LoginCodes
from aipm_sessions.member_tools import MemberTools
from aipm_sessions.pauses import ProjectPauses
from aipm_sessions.people_login import PeopleLogin
from aipm_sessions.project_tools import ProjectTools
from aipm_sessions.session_store import SqlSessionStore
from aipm_sessions.token_tools import TokenTools


def people_tools(
    ctx: PluginContext[SessionsConfig],
    administration: Administration,
    sessions: SqlSessionStore,
    directory: SqlDirectory,
    pauses: ProjectPauses,
    fields: CollectedAgentFields,
    decisions: CollectedDecisions,
) -> Iterable[AnyTool]:
    """List the tools."""
    departures = Departures(ctx, administration, sessions, directory)
    yield from MemberTools(ctx, administration, directory, sessions, fields, departures).all()
    yield from ProjectTools(ctx, administration, directory, pauses, departures).all()
    yield from ListingTools(ctx, directory, sessions).all()
    yield from TokenTools(ctx, administration, directory).all()
    yield DecisionTools(ctx, decisions).answer_tool()


def program_tools(
    ctx: PluginContext[SessionsConfig],
    tokens: SqlAgentTokens,
    directory: SqlDirectory,
    logins: PeopleLogin,
) -> Iterable[AnyTool]:
    """List the tools about what programs and browsers log in with."""
    yield from AgentTokenTools(ctx, tokens, directory).all()
    yield from LoginCodes(ctx, logins).all()
