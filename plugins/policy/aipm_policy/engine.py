"""Asks the rules and every policy of other plugins, and takes the most restrictive answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from aipm_core import AnyTool, Json, Session
from aipm_policy.api import Check, Decision, Inquiry, Verdict
from aipm_policy.rules import Rulebook

logger = logging.getLogger(__name__)
POLICY_ERROR: Final = "policy_error"
_SEVERITY = {decision: place for place, decision in enumerate(Decision)}
_LEVELS = {None: 0, "INFO": 1, "WARN": 2, "CRITICAL": 3}


class Engine:
    """The ``Policies`` service. A policy that raises, hangs or talks nonsense denies."""

    def __init__(self, rulebook: Rulebook, seconds: float) -> None:
        self._rulebook = rulebook
        self._seconds = seconds
        self._checks: dict[str, Check] = {}

    def add(self, name: str, check: Check) -> None:
        """Ask one more policy from now on."""
        if name in self._checks:
            raise ValueError(f"policy {name!r} is added twice")
        self._checks[name] = check

    async def check_permission(
        self,
        tool: AnyTool,
        args: Mapping[str, Json],
        principal: str | None,
        session: Session | None,
    ) -> Verdict:
        """Return the most restrictive verdict."""
        inquiry = Inquiry(tool=tool, args=args, principal=principal, session=session)
        verdicts = self._rulebook.verdicts(inquiry)
        if self._checks:
            verdicts += await self._ask_all(inquiry)
        return max(verdicts, key=_restriction)

    async def _ask_all(self, inquiry: Inquiry) -> list[Verdict]:
        tasks = {
            name: asyncio.create_task(_ask(name, check, inquiry))
            for name, check in self._checks.items()
        }
        try:
            await asyncio.wait(tasks.values(), timeout=self._seconds)
            answers = [
                task.result() if task.done() else _failed(name, "did not answer in time")
                for name, task in tasks.items()
            ]
        finally:
            # Not awaited: a policy that ignores its cancellation must not hold up the answer.
            for task in tasks.values():
                task.cancel()
        return [answer for answer in answers if answer is not None]


async def _ask(name: str, check: Check, inquiry: Inquiry) -> Verdict | None:
    try:
        answer = await check(inquiry)
    except Exception:
        logger.exception("policy %s failed", name)
        return _denial(name)
    if answer is None:
        return None
    if not isinstance(answer, Verdict) or not isinstance(answer.decision, Decision):
        return _failed(name, f"answered {type(answer).__name__}, which is no verdict")
    return answer


def _failed(name: str, problem: str) -> Verdict:
    logger.error("policy %s %s", name, problem)
    return _denial(name)


def _denial(name: str) -> Verdict:
    return Verdict(decision=Decision.DENY, rule=f"{POLICY_ERROR}: {name}")


def _restriction(verdict: Verdict) -> tuple[int, int]:
    return _SEVERITY[verdict.decision], _LEVELS.get(verdict.level, 0)
