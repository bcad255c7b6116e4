"""Asks the rules and every policy of other plugins, and takes the most restrictive answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from aipm_core import AnyTool, Json, Owned, PluginContext, PluginError, Session
from aipm_policy.api import Decision, Inquiry, PolicyCheck, PolicyHooks, Verdict
from aipm_policy.config import PolicyConfig
from aipm_policy.levels import height, level_for
from aipm_policy.made_rules import MadeRules
from aipm_policy.rules import Rulebook, is_default

logger = logging.getLogger(__name__)
POLICY_ERROR: Final = "policy_error"
_SEVERITY = {decision: place for place, decision in enumerate(Decision)}


class PolicyEngine:
    """The ``Policies`` service. A policy that raises, hangs or talks nonsense denies."""

    def __init__(
        self, ctx: PluginContext[PolicyConfig], rulebook: Rulebook, made: MadeRules
    ) -> None:
        self._ctx = ctx
        self._rulebook = rulebook
        self._made = made

    def check_names(self) -> None:
        """Refuse two policies of one name: the log and the audit could not tell them apart."""
        known: set[str] = set()
        for policy in self._policies():
            name = policy.record.name
            if name in known:
                raise PluginError(policy.plugin, f"policy {name!r} is added twice")
            known.add(name)

    def _policies(self) -> tuple[Owned[PolicyCheck], ...]:
        return self._ctx.given(PolicyHooks.aipm_policies)

    async def check_permission(
        self,
        tool: AnyTool,
        args: Mapping[str, Json],
        principal: str | None,
        session: Session | None,
    ) -> Verdict:
        """Return the most restrictive verdict."""
        inquiry = Inquiry(
            tool=tool,
            args=args,
            principal=principal,
            session=session,
            workplace=await self.workplace(tool, session),
            at=self._ctx.clock(),
        )
        return await self.judge(self._rulebook, inquiry)

    async def judge(self, rulebook: Rulebook, inquiry: Inquiry) -> Verdict:
        """Return the most restrictive verdict of these rules and of all policies.

        Rules that people made only allow, and only what nothing but a default asks about; so they
        are looked up where a default asks.
        """
        verdict = await self._judge(rulebook, inquiry)
        asks = verdict.decision is Decision.REQUIRE_USER_CONFIRMATION
        if asks and is_default(verdict) and inquiry.session is not None:
            made = await self._made.valid(inquiry.session.project_id)
            if made:
                verdict = await self._judge(rulebook.with_made(made), inquiry)
        return replace(verdict, inquiry=inquiry)

    async def _judge(self, rulebook: Rulebook, inquiry: Inquiry) -> Verdict:
        verdicts = rulebook.verdicts(inquiry)
        if policies := self._policies():
            verdicts += await self._ask_all(policies, inquiry)
        return _strictest(verdicts, inquiry.tool)

    async def workplace(self, tool: AnyTool, session: Session | None) -> str | None:
        """Return where the program of a session works; what cannot be found out is unknown."""
        if session is None or tool.audience != "native":
            return None
        for owned in self._ctx.given(PolicyHooks.aipm_workplaces):
            try:
                async with asyncio.timeout(self._ctx.config.check_seconds):
                    found = await owned.record.find(session)
            except Exception:
                logger.exception(
                    "workplaces %s of plugin %s failed", owned.record.name, owned.plugin
                )
                continue
            if isinstance(found, str) and found.startswith("/"):
                return found
        return None

    async def _ask_all(
        self, policies: tuple[Owned[PolicyCheck], ...], inquiry: Inquiry
    ) -> list[Verdict]:
        tasks = [asyncio.create_task(_ask(policy, inquiry)) for policy in policies]
        try:
            await asyncio.wait(tasks, timeout=self._ctx.config.check_seconds)
            answers = [
                task.result() if task.done() else _failed(policy, "did not answer in time")
                for policy, task in zip(policies, tasks, strict=True)
            ]
        finally:
            # Not awaited: a policy that ignores its cancellation must not hold up the answer.
            for task in tasks:
                task.cancel()
        return [answer for answer in answers if answer is not None]


async def _ask(policy: Owned[PolicyCheck], inquiry: Inquiry) -> Verdict | None:
    try:
        answer = await policy.record.check(inquiry)
    except Exception:
        logger.exception("policy %s of plugin %s failed", policy.record.name, policy.plugin)
        return _denial(policy)
    if answer is None:
        return None
    if not isinstance(answer, Verdict) or not isinstance(answer.decision, Decision):
        return _failed(policy, f"answered {type(answer).__name__}, which is no verdict")
    return answer


def _failed(policy: Owned[PolicyCheck], problem: str) -> Verdict:
    logger.error("policy %s of plugin %s %s", policy.record.name, policy.plugin, problem)
    return _denial(policy)


def _denial(policy: Owned[PolicyCheck]) -> Verdict:
    return Verdict(decision=Decision.DENY, rule=f"{POLICY_ERROR}: {policy.record.name}")


def _strictest(verdicts: list[Verdict], tool: AnyTool) -> Verdict:
    """Return the most restrictive verdict, with the most people and the least time of its like."""
    chosen = max(verdicts, key=partial(_restriction, tool))
    alike = [one for one in verdicts if one.decision is chosen.decision]
    times = [one.seconds for one in alike if one.seconds is not None]
    approvers = max(one.approvers for one in alike)
    return replace(
        chosen,
        approvers=approvers,
        seconds=min(times, default=None),
        elicitation=chosen.elicitation and approvers == 1,
    )


def _restriction(tool: AnyTool, verdict: Verdict) -> tuple[int, int, bool]:
    level = level_for(tool, verdict)
    return _SEVERITY[verdict.decision], height(level), not verdict.elicitation
