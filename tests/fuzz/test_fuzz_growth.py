"""No parser takes more than its share of time: four times the text, about four times the work.

Compared are amounts of CPU time of one process with each other, so a busy machine changes nothing.
"""

import gc
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.fuzz.loading import load, names

SIZE, FACTOR = 64 * 1024, 4
NOTHING = 0.2  # seconds of CPU: whatever grows with the square of the text is far beyond here
CASES = [(name, growth) for name in names() for growth in load(name).grown]


def cost(work: Callable[[], object]) -> float:
    best = float("inf")
    gc.disable()  # it runs now and then, and not because of this text
    try:
        for _ in range(3):
            start = time.process_time()
            work()
            best = min(best, time.process_time() - start)
            if best < NOTHING:
                break
    finally:
        gc.enable()
    return best


@pytest.mark.parametrize(("name", "growth"), CASES)
def test_work_grows_no_faster_than_text(name: str, growth: str) -> None:
    target = load(name)
    parse: Callable[[Any], object] = target.parse or target.check
    small, large = (target.grown[growth](size) for size in (SIZE, SIZE * FACTOR))
    parse(target.grown[growth](16))  # what is built at first use is not counted
    of_large = cost(lambda: parse(large))
    if of_large > NOTHING:
        assert of_large / cost(lambda: parse(small)) < FACTOR**1.5
