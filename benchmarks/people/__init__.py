"""What people wait for: states, streams and the page, with the figures that are wanted."""

from benchmarks.people import browser, state, streams


def run(*, quick: bool) -> None:
    """Print all numbers."""
    state.run(stored=1_000 if quick else 10_000, samples=3 if quick else 20)
    streams.run(count=50 if quick else 1_000, changes=3 if quick else 20)
    size = {"tasks": 200, "agents": 20} if quick else {"tasks": 2_000, "agents": 200}
    browser.run(**size, changes=5 if quick else 200, loads=1 if quick else 7)
