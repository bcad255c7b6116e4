"""``python -m tools.mutants [--most N] [--seed N] [--only WORD] [--page]``."""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tools.mutants.page import page
from tools.mutants.reasons import REASONS
from tools.mutants.subjects import SUBJECTS
from tools.mutants.trial import ROOT, Mutant, Outcome, Tree, mutants_of


def main() -> int:
    """Try the mutants, show each survivor as it is found, and write the page if asked."""
    options = _options()
    subjects = {name: tests for name, tests in SUBJECTS.items() if options.only in name}
    trees: SimpleQueue[Tree] = SimpleQueue()
    for number in range(options.jobs):
        trees.put(Tree(ROOT / "build" / "mutants" / str(number)))
    if (broken := _failing_unchanged(trees, subjects)) is not None:
        sys.stderr.write(f"{broken}: its tests fail before anything is changed\n")
        return 1
    found: dict[str, list[Outcome]] = defaultdict(list)

    def tried(mutant: Mutant) -> Outcome:
        tree = trees.get()
        try:
            return tree.judge(mutant, subjects[mutant.module])
        finally:
            trees.put(tree)

    mutants = [one for name in subjects for one in mutants_of(name, options.most, options.seed)]
    with ThreadPoolExecutor(options.jobs) as pool:
        for number, outcome in enumerate(pool.map(tried, mutants), 1):
            found[outcome.mutant.module].append(outcome)
            _tell(outcome, number, len(mutants))
    if options.page:
        text = page(found, REASONS, seed=options.seed)
        Path(ROOT, "docs", "mutants.md").write_text(text, encoding="utf-8")
    unexplained = [one for outcomes in found.values() for one in outcomes if _unexplained(one)]
    return 1 if unexplained else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Break the security modules; do tests notice?")
    parser.add_argument("--most", type=int, default=20, help="mutants a module (default 20)")
    parser.add_argument("--seed", type=int, default=1, help="which mutants are chosen")
    parser.add_argument("--only", default="", help="only modules whose path holds this word")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (default 2)")
    parser.add_argument("--page", action="store_true", help="write docs/mutants.md")
    return parser.parse_args()


def _failing_unchanged(
    trees: SimpleQueue[Tree], subjects: Mapping[str, tuple[str, ...]]
) -> str | None:
    tree = trees.get()
    for tests in dict.fromkeys(subjects.values()):
        if not tree.passes(tests):
            return next(name for name, named in subjects.items() if named == tests)
    trees.put(tree)
    return None


def _unexplained(outcome: Outcome) -> bool:
    mutant = outcome.mutant
    return outcome.survived and f"{mutant.module}: {mutant.after}" not in REASONS


def _tell(outcome: Outcome, number: int, total: int) -> None:
    mutant = outcome.mutant
    if outcome.survived:
        sys.stdout.write(f"SURVIVED {mutant.module}:{mutant.line} [{mutant.operator}]\n")
        sys.stdout.write(f"    {mutant.before}\n    {mutant.after}\n")
    elif sys.stdout.isatty():
        sys.stdout.write(f"{number}/{total} {mutant.module}:{mutant.line}\r")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
