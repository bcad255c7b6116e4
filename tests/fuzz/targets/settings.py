"""``aipm.toml`` and the environment: accepted and usable, or refused in one sentence."""

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from aipm_cli import discovery
from aipm_cli.settings import Settings
from aipm_cli.settings_file import parse, table_of
from aipm_cli.table_check import checked
from hypothesis import strategies as st

from aipm_core.clock import iso
from aipm_core.errors import ConfigError, StartupError
from aipm_core.plugin import PluginClass
from tests.fuzz.target import Target

FILE = Path("/nowhere/aipm.toml")
TOP = {"person", "data_dir", "locale", "server", "store", "log", "telemetry", "plugins"}


class Given(NamedTuple):
    """A file and an environment; in the bytes, lines that begin with AIPM_ are the latter."""

    text: str
    environ: Mapping[str, str]


def read(data: bytes) -> Given:
    lines = data.decode("utf-8", errors="replace").split("\n")
    ours = [line for line in lines if line.startswith("AIPM_")]
    pairs = (line.partition("=") for line in ours)
    return Given(
        "\n".join(line for line in lines if line not in ours),
        {name: value for name, _, value in pairs},
    )


@cache
def plugins() -> tuple[Sequence[discovery.Found], Mapping[str, PluginClass]]:
    found = discovery.installed()
    everything = Settings(data_dir=Path("/nowhere"))
    return found, discovery.load(discovery.choose(found, everything), everything)


def parse_all(given: Given) -> tuple[Settings, dict[str, Any]]:
    """Read settings as a start does: the file, the choice of plugins, each plugin's own table."""
    settings = parse(table_of(given.text, str(FILE)), given.environ, FILE)
    found, classes = plugins()
    discovery.choose(found, settings)
    models = {name: plugin.config_model for name, plugin in classes.items()}
    return settings, {
        name: checked(model, dict(settings.of(name).own()), f"[plugins.{name}]")
        for name, model in models.items()
    }


def check(given: Given) -> None:
    try:
        settings, tables = parse_all(given)
    except StartupError as error:
        assert isinstance(error, ConfigError) or "plugin" in str(error)
        assert str(error).strip()
        return
    assert settings.data_dir.is_absolute()
    kept = settings.model_dump(mode="json")
    assert set(kept) == TOP
    assert parse(kept, {}, FILE) == settings
    for name, table in tables.items():
        check_usable(table.model_dump())
        assert checked(type(table), table.model_dump(), name) == table


def check_usable(value: Any) -> None:
    """Every number must survive what numbers of settings are used for."""
    if isinstance(value, Mapping):
        for inner in value.values():
            check_usable(inner)
    elif isinstance(value, int | float):
        assert math.isfinite(value)
        assert json.loads(json.dumps(int(value))) in range(-(2**63), 2**63)
        assert len(iso(1.7e9 + value * 86_400)) == len(iso(1.7e9 - value * 86_400)) == 24


def parse_quietly(given: Given) -> object:
    try:
        return parse_all(given)
    except StartupError:
        return None


KEYS = (
    "host",
    "port",
    "enabled",
    "optional",
    "keep_days",
    "idle_seconds",
    "commands",
    "rules",
    "x",
)
VALUES = (
    *('"a"', "1", "-1", "0", "true", "inf", "nan", "1e300", "1e400", "9" * 30, '"inf"', "[]", "{}"),
    *(
        "[1, 2]",
        "{ a = 1 }",
        "1979-05-27",
        "0x1F",
        "1_000",
        '"\\u0000"',
        "[" * 40,
        "'x'",
        '"127.0.0.1"',
    ),
)
TABLES = ("server", "store", "log", "telemetry", "plugins.sessions", "plugins.policy", "plugins.x")
LINES = st.one_of(
    st.builds("{} = {}".format, st.sampled_from(KEYS), st.sampled_from(VALUES)),
    st.builds("[{}]".format, st.sampled_from(TABLES)),
    st.builds(
        "AIPM_{}__{}={}".format,
        st.sampled_from(("SERVER", "LOG", "PLUGINS__SESSIONS", "LOCALE", "")),
        st.sampled_from([key.upper() for key in KEYS]),
        st.sampled_from(VALUES) | st.text(max_size=5),
    ),
    st.text(max_size=12),
)
TARGET = Target[Given](
    read=read,
    check=check,
    values=st.lists(LINES, max_size=8).map(lambda lines: read("\n".join(lines).encode())),
    parse=parse_quietly,
    grown={
        "keys": lambda size: Given("".join(f"k{n} = 1\n" for n in range(size // 10)), {}),
        "brackets": lambda size: Given("a = " + "[" * size, {}),
        "digits": lambda size: Given("[server]\nport = " + "9" * size, {}),
        "one long key": lambda size: Given("h" * size + " = 1", {}),
        "a deep name": lambda size: Given("", {"AIPM_SERVER" + "__A" * (size // 3): "1"}),
        "a long value": lambda size: Given("", {"AIPM_SERVER__PORT": "[" * size}),
    },
    words=tuple(
        piece.encode() for piece in (*KEYS, *VALUES, *TABLES, "AIPM_SERVER__PORT=", "\n[", "]\n")
    ),
    longest=300,
)
