"""Sessions: who is calling, for which project, and what for."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_operations.api import HealthCheck, Retention
from aipm_views.api import ActivitySource, View

from aipm_core import (
    Access,
    AnyTool,
    Authenticator,
    Authorizer,
    Lifespan,
    Migration,
    Plugin,
    PluginContext,
    ServiceKey,
    Stage,
    Trait,
    hookimpl,
    tool,
)
from aipm_sessions.administration import Administration
from aipm_sessions.agent_fields import CollectedAgentFields
from aipm_sessions.agent_tokens import SqlAgentTokens
from aipm_sessions.api import (
    AGENT_TOKENS,
    DECISIONS,
    DIRECTORY,
    INSTRUCTIONS,
    MISSING_SESSIONS,
    PEOPLE,
    PEOPLE_LOGINS,
    PERSON_CALLS,
    SESSIONS,
    WORK,
    SessionHooks,
    SessionObserver,
)
from aipm_sessions.attempts import LoginAttempts
from aipm_sessions.claims import Claims
from aipm_sessions.config import SessionsConfig
from aipm_sessions.credentials import PasskeyChecker
from aipm_sessions.directory import SqlDirectory
from aipm_sessions.given_by_plugins import CollectedDecisions, CollectedInstructions, CollectedWork
from aipm_sessions.help_tool import HelpTool
from aipm_sessions.login import Login
from aipm_sessions.membership import Membership
from aipm_sessions.missing_sessions import SqlMissingSessions
from aipm_sessions.passkey_seals import PasskeySeals
from aipm_sessions.passkeys import Passkeys
from aipm_sessions.pauses import ProjectPauses
from aipm_sessions.people_login import PeopleLogin
from aipm_sessions.person_calls import SqlPersonCalls
from aipm_sessions.project_directories import ProjectDirectories
from aipm_sessions.retention import RetentionRules
from aipm_sessions.session_store import SqlSessionStore
from aipm_sessions.tables import MIGRATIONS
from aipm_sessions.ui_tokens import UiTokens
from aipm_sessions.views import MemberViews, SessionViews

ADMINISTRATION = ServiceKey[Administration]("sessions.administration")
WORK_CLAIMS = ServiceKey[SqlMissingSessions]("sessions.work_claims")
AGENT_FIELDS = ServiceKey[CollectedAgentFields]("sessions.agent_fields")
PAUSES = ServiceKey[ProjectPauses]("sessions.pauses")


class Sessions(Plugin[SessionsConfig]):
    """Hands out session tokens and recognises them."""

    config_model = SessionsConfig
    hooks = SessionHooks
    provides = (
        *(DIRECTORY, SESSIONS, PEOPLE, WORK, INSTRUCTIONS, DECISIONS),
        *(PEOPLE_LOGINS, PERSON_CALLS, ADMINISTRATION, WORK_CLAIMS),
        *(MISSING_SESSIONS, PAUSES, AGENT_FIELDS, AGENT_TOKENS),
    )

    def __init__(self, ctx: PluginContext[SessionsConfig]) -> None:
        super().__init__(ctx)
        directory, checker, seals = SqlDirectory(), PasskeyChecker(), PasskeySeals(ctx)
        passkeys, attempts = Passkeys(ctx, checker, seals), LoginAttempts(ctx)
        self._sessions = SqlSessionStore(ctx)
        self._login = Login(ctx, self._sessions, directory, passkeys, attempts)
        logins = PeopleLogin(ctx, directory, passkeys, attempts)
        ctx.services.provide(PEOPLE_LOGINS, logins)
        ctx.services.provide(PERSON_CALLS, SqlPersonCalls(ctx))
        self._membership = Membership(ctx, directory)
        self._help = HelpTool(ctx)
        ctx.services.provide(DIRECTORY, directory)
        ctx.services.provide(SESSIONS, self._sessions)
        self._people = UiTokens(ctx, directory)
        ctx.services.provide(PEOPLE, self._people)
        work, self._claims = CollectedWork(ctx), Claims(ctx, self._sessions)
        ctx.services.provide(WORK, work)
        missing_sessions = SqlMissingSessions(ctx, self._sessions, directory, work, self._claims)
        ctx.services.provide(WORK_CLAIMS, missing_sessions)
        ctx.services.provide(MISSING_SESSIONS, missing_sessions)
        ctx.services.provide(INSTRUCTIONS, CollectedInstructions(ctx))
        self._decisions = CollectedDecisions(ctx)
        ctx.services.provide(DECISIONS, self._decisions)
        self._project_directories = ProjectDirectories(ctx, directory)
        administration = Administration(
            ctx, self._sessions, directory, checker, seals, self._project_directories
        )
        ctx.services.provide(ADMINISTRATION, administration)
        fields, self._pauses = CollectedAgentFields(ctx, directory), ProjectPauses(ctx, directory)
        ctx.services.provide(PAUSES, self._pauses)
        ctx.services.provide(AGENT_FIELDS, fields)
        self._directory, self._administration, self._fields = directory, administration, fields
        self._logins, self._tokens = logins, SqlAgentTokens(ctx, self._sessions, directory)
        ctx.services.provide(AGENT_TOKENS, self._tokens)

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own projects, agents, sessions and tokens."""
        return MIGRATIONS

    @hookimpl
    def aipm_retention(self) -> Iterable[Retention]:
        """Forget sessions, tokens and claims that ended long ago."""
        return RetentionRules(self.ctx).records()

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        """Offer agents the way in, the way out and the guide."""
        leaving = (Trait.OPEN_TO_THE_LEAVING, Trait.WAY_OUT)
        yield tool(
            self._login.authenticate,
            access=Access.ANYONE,
            in_process=False,
            traits=(Trait.OPEN_TO_THE_LEAVING, Trait.KEEPS_NO_RESULT),
        )
        yield tool(
            self._login.logout,
            access=Access.SESSION,
            idempotent=True,
            in_process=False,
            traits=leaving,
        )
        yield tool(self._help.help, access=Access.ANYONE, read_only=True, traits=leaving)

    @hookimpl
    def aipm_people_tools(self) -> Iterable[AnyTool]:
        """Offer people their projects, members, tokens and decisions."""
        from aipm_sessions.people_tools import people_tools, program_tools

        yield from people_tools(
            self.ctx,
            self._administration,
            self._sessions,
            self._directory,
            self._pauses,
            self._fields,
            self._decisions,
        )
        yield from program_tools(self.ctx, self._tokens, self._directory, self._logins)

    @hookimpl
    def aipm_authenticators(self) -> Iterable[Authenticator]:
        """Recognise the tokens handed out."""
        yield Authenticator(name="session_token", resolve=self._sessions.resolve)
        yield Authenticator(name="ui_token", resolve=self._people.resolve, audience="ui")

    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        """Close tools to sessions whose work is done, paused projects, and people elsewhere."""
        yield Authorizer(name="project_paused", check=self._pauses.check, stage=Stage.GATE)
        yield Authorizer(
            name="session_ended", check=self._sessions.check_handed_in, stage=Stage.GATE
        )
        yield Authorizer(name="session_over", check=self._sessions.admit, stage=Stage.RIGHTS)
        yield Authorizer(name="membership", check=self._membership.check, stage=Stage.RIGHTS)

    @hookimpl
    def aipm_session_observers(self) -> Iterable[SessionObserver]:
        """Note which claim a session came from."""
        yield SessionObserver(name="work_claims", opened=self._claims.opened)

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Keep sessions alive that are used, and end those that are not."""
        yield Lifespan(name="session_upkeep", open=self._sessions.lifespan)

    @hookimpl(optionalhook=True)
    def aipm_views(self) -> Iterable[View]:
        """Show the project, its members, and who is at work."""
        yield from MemberViews().views()
        yield from SessionViews().views()

    @hookimpl(optionalhook=True)
    def aipm_activity(self) -> Iterable[ActivitySource]:
        """Tell of sessions that open and end."""
        yield SessionViews().activity()

    @hookimpl
    def aipm_health_checks(self) -> Iterable[HealthCheck]:
        """Look for projects that share a directory."""
        yield HealthCheck(name="project_directories", check=self._project_directories.examine)
