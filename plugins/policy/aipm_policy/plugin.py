"""Policy: every tool call is allowed, denied, or confirmed by a person first."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager

import anyio
from aipm_notifications.api import INBOX
from aipm_operations.api import Retention
from aipm_sessions.api import DIRECTORY, SESSIONS, DecisionSource, SessionObserver
from aipm_ui_gateway.api import UiSessionObserver
from aipm_views.api import ActivitySource, InboxSource, ViewFields

from aipm_core import (
    AnyTool,
    Authorizer,
    Lifespan,
    Migration,
    Plugin,
    PluginContext,
    ServiceKey,
    Stage,
    background,
    hookimpl,
)
from aipm_policy.answer_notes import AnswerNotes
from aipm_policy.answers import Answers
from aipm_policy.api import CONFIRMATIONS, POLICIES, PolicyHooks
from aipm_policy.audit import AuditTrail
from aipm_policy.audit_check import AuditCheck
from aipm_policy.authorizer import PolicyAuthorizer
from aipm_policy.config import PolicyConfig
from aipm_policy.confirmations import SqlConfirmations
from aipm_policy.defaults import shipped_rules
from aipm_policy.endings import SessionEnds, UiSessionEnds
from aipm_policy.engine import PolicyEngine
from aipm_policy.grants import Grants
from aipm_policy.made_rules import MadeRules
from aipm_policy.retention import retention_rules
from aipm_policy.rules import Rulebook
from aipm_policy.second_thoughts import SecondThoughts
from aipm_policy.tables import MIGRATIONS
from aipm_policy.views import ConfirmationViews

AUDIT = ServiceKey[AuditCheck]("policy.audit")
GRANTS = ServiceKey[Grants]("policy.grants")
_SWEEP_SECONDS = 30.0
_DEADLINE_MARGIN_SECONDS = 30.0  # for the writes around a wait


class Policy(Plugin[PolicyConfig]):
    """Decides, asks people, remembers."""

    config_model = PolicyConfig
    hooks = PolicyHooks
    provides = (POLICIES, CONFIRMATIONS, AUDIT, GRANTS)
    requires = (DIRECTORY, SESSIONS)
    uses = (INBOX,)

    def __init__(self, ctx: PluginContext[PolicyConfig]) -> None:
        super().__init__(ctx)
        directory, sessions = ctx.services.use(DIRECTORY), ctx.services.use(SESSIONS)
        shipped = shipped_rules(ctx.config, ctx.texts)
        made = MadeRules(ctx)
        self._engine = engine = PolicyEngine(ctx, Rulebook(ctx.config.rules, shipped), made)
        self._rehearsed = shipped, made
        grants = Grants(ctx)
        self._audit = AuditTrail(ctx)
        self._confirmations = SqlConfirmations(ctx, self._audit, sessions)
        self._ends = SessionEnds(self._confirmations)
        self._ui_ends = UiSessionEnds(self._confirmations)
        self._authorizer = PolicyAuthorizer(
            ctx, engine, self._confirmations, grants, self._audit, directory, sessions
        )
        self._answers = Answers(
            ctx,
            self._confirmations,
            grants,
            self._audit,
            directory,
            AnswerNotes(ctx),
            SecondThoughts(ctx, self._audit),
        )
        ctx.services.provide(POLICIES, engine)
        ctx.services.provide(CONFIRMATIONS, self._confirmations)
        audit_check = AuditCheck(ctx)
        self._overseen = grants, audit_check, shipped, made
        ctx.services.provide(AUDIT, audit_check)
        ctx.services.provide(GRANTS, grants)

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own confirmations, grants and the audit trail."""
        return MIGRATIONS

    @hookimpl
    def aipm_retention(self) -> Iterable[Retention]:
        """Forget what was decided long ago."""
        return retention_rules(self.ctx)

    @hookimpl
    def aipm_session_observers(self) -> Iterable[SessionObserver]:
        """Withdraw the questions of a session that ends."""
        yield SessionObserver(name="confirmations", closed=self._ends.closed)

    @hookimpl(optionalhook=True)
    def aipm_ui_session_observers(self) -> Iterable[UiSessionObserver]:
        """Withdraw the questions of a person's session that ends."""
        yield UiSessionObserver(name="confirmations", closed=self._ui_ends.closed)

    @hookimpl
    def aipm_people_tools(self) -> Iterable[AnyTool]:
        """Take people's answers, and show them what holds and what was decided."""
        from aipm_policy.oversight_tools import OversightTools
        from aipm_policy.people_tools import PeoplesTools
        from aipm_policy.rehearsal import Rehearsal
        from aipm_policy.rehearsal_tools import RehearsalTools

        yield from PeoplesTools(self._answers).all()
        yield from OversightTools(self.ctx, *self._overseen).all()
        shipped, made = self._rehearsed
        yield from RehearsalTools(self.ctx, Rehearsal(self.ctx, self._engine, shipped), made).all()

    @hookimpl
    def aipm_decisions(self) -> Iterable[DecisionSource]:
        """Ask people to confirm calls."""
        answers = self._answers
        yield DecisionSource(
            name="confirmations",
            pending=answers.pending,
            answer=answers.answer,
            answer_with_more=answers.answer_with_more,
        )

    @hookimpl(optionalhook=True)
    def aipm_inbox_items(self) -> Iterable[InboxSource]:
        """Wait for people who may answer."""
        yield ConfirmationViews(self.ctx).inbox()

    @hookimpl(optionalhook=True)
    def aipm_view_fields(self) -> Iterable[ViewFields]:
        """Return which sessions wait for an answer."""
        yield ConfirmationViews(self.ctx).waiting_sessions()

    @hookimpl(optionalhook=True)
    def aipm_activity(self) -> Iterable[ActivitySource]:
        """Tell what was asked and answered."""
        yield ConfirmationViews(self.ctx).activity()

    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        """Stand before every tool, with time for a person to think."""
        self._engine.check_names()
        config = self.ctx.config
        own = (rule.confirmation_seconds or 0 for rule in config.rules)
        patience = max((config.confirmation_seconds, *own))
        yield Authorizer(
            name="policy",
            check=self._authorizer.check,
            stage=Stage.CONSENT,
            deadline=config.check_seconds + patience + _DEADLINE_MARGIN_SECONDS,
        )

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Write the audit trail, and end questions that nobody waits for."""
        yield Lifespan(name="policy_audit", open=self._audit.lifespan)
        yield Lifespan(name="policy_upkeep", open=self._upkeep)

    @asynccontextmanager
    async def _upkeep(self) -> AsyncGenerator[None]:
        async with background(policy_upkeep=self._sweep):
            yield

    async def _sweep(self) -> None:
        while True:
            due = await self._confirmations.due_in()
            if due is not None and due <= 0:
                await self.ctx.store.write(self._confirmations.expire)
                continue
            await anyio.sleep(_SWEEP_SECONDS if due is None else min(due, _SWEEP_SECONDS))
