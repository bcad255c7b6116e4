"""What kept calls would have got under other rules: judged by the judge that judges them live."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from aipm_core import Json, PluginContext
from aipm_policy.api import Decision, Inquiry
from aipm_policy.config import PolicyConfig, Rule
from aipm_policy.defaults import ShippedRule
from aipm_policy.engine import PolicyEngine
from aipm_policy.kept_calls import MOST, KeptCall, calls_since
from aipm_policy.rules import Rulebook
from aipm_policy.suggestions import grouped, suggested

_ASK = Decision.REQUIRE_USER_CONFIRMATION
_LONGEST_SHOWN = 200
_DAY = 86_400.0


class Rehearsal:
    """Tries rules on the calls of a project."""

    def __init__(
        self,
        ctx: PluginContext[PolicyConfig],
        engine: PolicyEngine,
        shipped: Sequence[ShippedRule],
    ) -> None:
        self._ctx = ctx
        self._engine = engine
        self._shipped = shipped

    async def rehearse(self, project_id: str, rules: Sequence[Rule] | None, days: float) -> Json:
        """Return what the calls of the last days would have got; without rules: under today's."""
        since = self._ctx.clock() - days * _DAY
        rulebook = Rulebook(self._ctx.config.rules if rules is None else rules, self._shipped)
        calls = await calls_since(self._ctx.store, self._ctx.gateway, project_id, since)
        judged = [(call, *await self._judged(rulebook, call)) for call in calls if call.inquiry]
        after = Counter(decision for _, decision, _ in judged)
        before = Counter(call.decision for call, _, _ in judged)
        asked = [call.inquiry for call, decision, _ in judged if decision is _ASK and call.inquiry]
        return {
            "days": days,
            "calls": len(judged),
            "not_judged": len(calls) - len(judged),
            "cut": len(calls) == MOST,
            "before": _counts(before),
            "after": _counts(after),
            "questions_per_day_before": round(before[_ASK] / days, 2),
            "questions_per_day": round(after[_ASK] / days, 2),
            "changed": grouped(
                (call.tool, _what(call.inquiry), call.decision.value, decision.value, rule)
                for call, decision, rule in judged
                if decision is not call.decision
            ),
            "asking": _asking([rule for _, decision, rule in judged if decision is _ASK]),
            "suggestions": suggested(asked, rulebook),
        }

    async def _judged(self, rulebook: Rulebook, call: KeptCall) -> tuple[Decision, str]:
        assert call.inquiry is not None  # noqa: S101 - only such are judged  # nosec B101
        verdict = await self._engine.judge(rulebook, call.inquiry)
        return verdict.decision, verdict.rule


def _counts(found: Counter[Decision]) -> dict[str, int]:
    return {decision.value: found[decision] for decision in Decision}


def _asking(rules: Sequence[str]) -> list[Json]:
    return [{"rule": rule, "questions": times} for rule, times in Counter(rules).most_common(20)]


def _what(call: Inquiry | None) -> str:
    """Say in short what a call would do."""
    args = call.args if call else {}
    told = next((args[name] for name in ("command", "path", "url", "query") if name in args), "")
    text = told if isinstance(told, str) else " ".join(map(str, told)) if told else ""
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
