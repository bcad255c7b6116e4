"""What a person sees while it runs: one bar over all questions, and what is running now."""

from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)


class Bar:
    """A bar on the terminal; a line per question where there is no terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("[bold]{task.fields[question]}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", style="dim"),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task("", total=None, question="prepare")
        self._reached = 0

    def __enter__(self) -> "Bar":
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def plan(self, steps: int) -> None:
        """Say how many steps there are in all."""
        self._progress.update(self._task, total=steps, completed=0)

    def begin(self, question: str, steps: int) -> None:
        """Go on to a question; ``steps`` is where the bar stands when it ends."""
        self._reached += steps
        self._progress.update(self._task, question=question)
        if not self._console.is_terminal:
            self._console.print(f"… {question}")

    def finish(self) -> None:
        """A question is done, whatever became of its steps."""
        self._progress.update(self._task, completed=self._reached)

    def show(self, what: str) -> None:
        """Say what runs now."""
        self._progress.update(self._task, description=what)

    def advance(self) -> None:
        """One step is done."""
        self._progress.advance(self._task)

    def tell(self, line: str) -> None:
        """Print a line above the bar."""
        self._console.print(line)
