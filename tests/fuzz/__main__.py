"""``python -m tests.fuzz markers --runs 1000000``: fuzz one target by hand."""

import argparse
import tempfile
from pathlib import Path

from tests.fuzz.engines import by_coverage, by_mutation, has_atheris, observed
from tests.fuzz.loading import corpus_of, load, names


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", help=f"{', '.join(names())}, or a file with a TARGET")
    parser.add_argument("--runs", type=int, default=100_000, help="how many inputs")
    parser.add_argument("--seed", type=int, default=1, help="0 takes another one each time")
    parser.add_argument("--engine", choices=("atheris", "mutation"), help="default: the best here")
    parser.add_argument("--place", type=Path, help="where finds and broken promises are kept")
    parser.add_argument("--input", type=Path, help="check one kept input instead")
    given = parser.parse_args()
    engine = given.engine or ("atheris" if has_atheris() and not given.input else "mutation")
    with observed(engine):
        target = load(given.target)
    if given.input:
        target.take(given.input.read_bytes())
        return
    place = given.place or Path(tempfile.mkdtemp(prefix="aipm-fuzz-"))
    place.mkdir(parents=True, exist_ok=True)
    run = by_coverage if engine == "atheris" else by_mutation
    known = [file.read_bytes() for file in corpus_of(given.target)]
    run(target, known, given.runs, given.seed, place)


if __name__ == "__main__":
    main()
