"""What other plugins may know of runs, and how they add programs that can be run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from aipm_core import Json, Purpose, Tx, hookspec

State: TypeAlias = Literal[
    "claimed", "preparing", "starting", "running", "waiting", "ending", "ended"
]
Evidence: TypeAlias = Literal["stream", "call", "exit", "lease", "person"]
EndReason: TypeAlias = Literal[
    "ok",
    "stopped_by_person",
    "runner_stopped",
    "runner_lost",
    "config_missing",
    "program_missing",
    "directory_missing",
    "worktree_failed",
    "process_failed",
    "process_died",
    "hung_after_result",
    "no_progress",
    "handshake_timeout",
    "not_logged_in",
    "model_unavailable",
    "quota",
    "budget",
    "turn_limit",
    "context_full",
    "network",
    "resume_refused",
    "disk_full",
    "unknown",
]

NATIVE_TOOLS = (
    *("Bash", "Read", "Search", "Edit", "Write", "Delete", "Move"),
    *("WebFetch", "WebSearch", "Agent", "Plan"),
)
"""What the programs' own tools are called in rules, one name for all programs: ``native:Bash``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStart:
    """What an adapter is told of a run that is about to start.

    ``token`` opens this server's tools at ``mcp_url``. ``command`` and ``script`` are what the
    settings say of the program. ``environment`` is what it gets in any case. ``home`` is a private
    directory for the files of this run. ``resume`` is the program's own name for an earlier
    conversation that is to go on.
    """

    run_id: str
    agent_id: str
    project_id: str
    purpose: Purpose
    task_id: str | None
    prompt: str
    system_prompt: str
    model: str | None
    mcp_url: str
    token: str = field(repr=False)
    directory: Path
    command: tuple[str, ...]
    script: Path | None
    environment: Mapping[str, str] = field(repr=False)
    home: Path = Path()
    resume: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How a program is started: its words, what it reads first, and its whole environment.

    ``files`` are written below the run's home before it starts, readable for nobody else: what
    must not be seen on a command line or in an environment.
    """

    words: tuple[str, ...]
    stdin: bytes = field(default=b"", repr=False)
    environment: Mapping[str, str] = field(repr=False)
    files: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRead:
    """What a line of output means: a text for the log, and the sums of the run so far.

    ``limit_until`` (seconds since the epoch) says that the program's account is used up until then.
    ``tool`` says that the program has begun to use a tool of its own, or that it has ended: a tool
    may be silent for long.
    """

    text: str
    tokens: int | None = None
    cost_usd: float | None = None
    limit_until: float | None = None
    tool: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Whether a program may use a tool of its own; ``text`` tells the agent why not."""

    allowed: bool
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd:
    """How a turn of a program ended, by its own last word."""

    reason: EndReason = "ok"
    detail: str | None = None
    cancelled: bool = False
    """Whether it ended early, because a call was refused or it was told to stop."""


class ProgramError(Exception):
    """A program cannot go on: it refuses to start, to resume, or does not answer."""

    def __init__(self, reason: EndReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Client(Protocol):
    """The runner, as the driver of a program sees it."""

    def send(self, message: Mapping[str, Json]) -> None:
        """Write one line of JSON to the program's standard input."""

    def update(self, text: str) -> None:
        """Add to the log what the program says or does."""

    def usage(self, key: str, *, tokens: int | None = None, cost_usd: float | None = None) -> None:
        """Note what a message has used; the same key again replaces what was noted."""

    def limit(self, until: float) -> None:
        """Note until when the program's account is used up."""

    def remember(self, session: str) -> None:
        """Note the program's own name for the conversation, by which it can be resumed."""

    async def ask(self, tool: str, arguments: Mapping[str, Json]) -> Answer:
        """Return whether the program may use one of ``NATIVE_TOOLS`` now. It may take minutes."""
        ...


class Driver(Protocol):
    """Speaks with one program in its own protocol. The words are those of ACP."""

    async def start(self) -> None:
        """Do what comes before the first prompt; raises ``ProgramError``."""

    async def prompt(self, text: str) -> TurnEnd:
        """Give the program a prompt; return how the turn ended. The first end counts."""
        ...

    async def cancel(self) -> None:
        """Tell the program to end its turn."""

    def read(self, line: str) -> None:
        """Take in a line of its output, whatever it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What an adapter's program can do."""

    guard: bool = False
    """It asks before each use of its own tools, and waits for the answer."""
    reason: bool = False
    """The agent is told in the same turn why a call was refused."""
    interrupt: bool = False
    """A turn can be ended without ending the program."""
    resume: bool = False
    """A conversation can go on in a new process."""
    cost: bool = False
    """It says what it costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerAdapter:
    """A kind of program that can be run.

    ``launch`` says how it is started; it raises ``ValueError`` with one sentence when the settings
    do not suffice. ``read`` makes sense of a line of its output. An adapter with ``bare`` needs
    nothing from the settings, so that an agent's program may be its name.

    With ``drive`` the program is spoken with instead of being handed a prompt and left alone, and
    it gets a home of its own. ``variables`` names what its kind takes from the environment,
    ``login_files`` where its login is below a person's home; the settings allow its use.
    """

    name: str
    launch: Callable[[RunStart], Launch]
    read: Callable[[str], LineRead] | None = None
    bare: bool = False
    drive: Callable[[RunStart, Client], Driver] | None = None
    abilities: Abilities = Abilities()
    variables: tuple[str, ...] = ()
    login_files: tuple[str, ...] = ()
    protocol: Literal["", "stream-json", "app-server", "acp"] = ""
    """What it speaks, if that is one of these; the kit then plays such a program to it."""


def speak_acp(start: RunStart, client: Client) -> Driver:
    """Return a driver for a program that speaks ACP, the Agent Client Protocol."""
    from aipm_runner.drivers.acp import AcpDriver

    return AcpDriver(start, client)


def private_environment(start: RunStart) -> dict[str, str]:
    """Return the environment of a program that is spoken with: a home of its own, and no token.

    Everything in a program's environment reaches the shells it starts.
    """
    name, mail = start.agent_id, f"{start.agent_id}@aipm.invalid"
    return {
        **{k: v for k, v in start.environment.items() if not k.startswith("AIPM_")},
        "HOME": str(start.home),
        "TMPDIR": str(start.home / "tmp"),
        "XDG_CONFIG_HOME": str(start.home / ".config"),
        "XDG_DATA_HOME": str(start.home / ".local/share"),
        "XDG_STATE_HOME": str(start.home / ".local/state"),
        "XDG_CACHE_HOME": str(start.home / ".cache"),
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": mail,
        "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": mail,
        "AIPM_RUN_ID": start.run_id,
        "AIPM_AGENT_ID": start.agent_id,
        "AIPM_PROJECT_ID": start.project_id,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """How a run ended."""

    run_id: str
    agent_id: str
    project_id: str
    purpose: Purpose
    task_id: str | None
    reason: EndReason


@dataclass(frozen=True, slots=True, kw_only=True)
class RunObserver:
    """A say when a run has ended, inside the transaction that ends it."""

    name: str
    ended: Callable[[Tx, RunEnd], Awaitable[None]]


class RunnerHooks:
    """The hooks of this plugin."""

    @hookspec
    def aipm_run_observers(self) -> Iterable[RunObserver]:
        """What happens in the same transaction when a run has ended."""
        return ()

    @hookspec
    def aipm_runner_adapters(self) -> Iterable[RunnerAdapter]:
        """Kinds of programs that agents can be. A name is given once."""
        return ()
