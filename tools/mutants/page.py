"""``docs/mutants.md``: what was tried, what the tests noticed, and what they did not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tools.mutants.trial import Outcome

_HEAD = """\
# Mutants
A test suite is worth what it notices. `make mutants` breaks the modules that security rests on, one
small change at a time, and runs the tests of that module against each: a comparison turned round, a
refusal not raised, a check not awaited, a condition of SQL that always holds
([cosmic-ray](https://github.com/sixty-north/cosmic-ray) and `tools/mutants/operators.py`). A change
that no test notices *survives*, and is either a missing test or a change that makes no difference.

`make mutants MOST=40 SEED=2` tries other ones; `ONLY=policy` names modules. The last run:

"""


def page(
    outcomes: Mapping[str, Sequence[Outcome]], reasons: Mapping[str, str], *, seed: int
) -> str:
    """Return the page: a row a module, then every survivor with the reason why it lives."""
    rows = [_row(module, found) for module, found in outcomes.items()]
    total = [one for found in outcomes.values() for one in found]
    alive = [one for one in total if one.survived]
    table = "\n".join(["| module | mutants | noticed | survived |", "|---|--:|--:|--:|", *rows])
    summary = f"\n\nIn all {len(total)} mutants (seed {seed}), {len(total) - len(alive)} noticed.\n"
    return _HEAD + table + summary + _survivors(alive, reasons)


def _row(module: str, found: Sequence[Outcome]) -> str:
    alive = sum(one.survived for one in found)
    return f"| `{module}` | {len(found)} | {len(found) - alive} | {alive} |"


def _survivors(alive: Sequence[Outcome], reasons: Mapping[str, str]) -> str:
    if not alive:
        return ""
    lines = ["", "## Survivors", "| where | the change | why no test notices |", "|---|---|---|"]
    for one in alive:
        mutant = one.mutant
        change = f"`{_cell(mutant.before)}` → `{_cell(mutant.after)}`"
        why = reasons.get(f"{mutant.module}: {mutant.after}", "not looked at yet")
        lines.append(f"| `{mutant.module}` | {change} | {why} |")
    return "\n".join(lines) + "\n"


def _cell(code: str) -> str:
    return code.replace("|", "\\|").replace("`", "'")
