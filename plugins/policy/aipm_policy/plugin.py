"""Policy: every tool call is allowed, denied, or confirmed by a person first."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager

import anyio
from aipm_notifications.api import INBOX
from aipm_sessions.api import DECISIONS, DIRECTORY
from aipm_ui_gateway.api import COMMANDS, ProvideConfirmation

from aipm_core import (
    Authorizer,
    Lifespan,
    Migration,
    Plugin,
    PluginContext,
    ServiceKey,
    Tx,
    background,
    hookimpl,
)
from aipm_policy.answers import Answers
from aipm_policy.api import CONFIRMATIONS, POLICIES
from aipm_policy.audit import AuditTrail
from aipm_policy.config import PolicyConfig
from aipm_policy.confirmations import Questions
from aipm_policy.doorkeeper import Doorkeeper
from aipm_policy.engine import Engine
from aipm_policy.grants import Grants
from aipm_policy.rules import Rulebook
from aipm_policy.tables import MIGRATIONS
from aipm_policy.verification import AuditFile

AUDIT = ServiceKey[AuditFile]("policy.audit")
GRANTS = ServiceKey[Grants]("policy.grants")
_SWEEP = 30.0
_SLACK = 30.0  # seconds for the writes around a wait


class Policy(Plugin[PolicyConfig]):
    """Decides, asks people, remembers."""

    config_model = PolicyConfig
    provides = (POLICIES, CONFIRMATIONS, AUDIT, GRANTS)
    requires = (DIRECTORY,)
    uses = (DECISIONS, COMMANDS, INBOX)

    def __init__(self, ctx: PluginContext[PolicyConfig]) -> None:
        super().__init__(ctx)
        directory = ctx.services.use(DIRECTORY)
        engine = Engine(Rulebook(ctx.config.rules), ctx.config.check_seconds)
        grants = Grants(ctx)
        self._questions = Questions(ctx)
        self._audit = AuditTrail(ctx)
        self._doorkeeper = Doorkeeper(ctx, engine, self._questions, grants, self._audit, directory)
        answers = Answers(ctx, self._questions, grants, self._audit, directory)
        ctx.services.provide(POLICIES, engine)
        ctx.services.provide(CONFIRMATIONS, self._questions)
        ctx.services.provide(AUDIT, AuditFile(ctx))
        ctx.services.provide(GRANTS, grants)
        if (decisions := ctx.services.find(DECISIONS)) is not None:
            decisions.add(answers)
        if (commands := ctx.services.find(COMMANDS)) is not None:
            commands.handle(
                "provideConfirmation",
                ProvideConfirmation,
                answers.provide,
                refused=answers.refused,
            )

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own confirmations, grants and the audit trail."""
        return MIGRATIONS

    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        """Stand before every tool, with time for a person to think."""
        config = self.ctx.config
        yield Authorizer(
            name="policy",
            check=self._doorkeeper.check,
            deadline=config.check_seconds + config.confirmation_seconds + _SLACK,
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
            if await self._questions.due() or await self._audit.due():
                await self.ctx.store.write(self._clean)
            await anyio.sleep(_SWEEP)

    async def _clean(self, tx: Tx) -> None:
        await self._questions.expire(tx)
        await self._audit.forget_old(tx)
