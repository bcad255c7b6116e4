"""``python -m tests.on_postgres …``: pytest, with PostgreSQL under every store the tests open."""

import asyncio
import os
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest
from aipm_devkit.program import Install
from aipm_store import engines
from aipm_store.keeping import KeptEngine

from tests.postgres import database, server

_ADDRESS = "TEST_POSTGRES"
_own_environment = Install.env
_own_make_store = engines.make_store


def main() -> int:
    """Start a server and run pytest with this module as a plugin."""
    with server() as running:
        pytest_with_us = [sys.executable, "-m", "pytest", "-p", "tests.on_postgres"]
        environ = {**os.environ, _ADDRESS: running.address}
        return subprocess.run([*pytest_with_us, *sys.argv[1:]], env=environ).returncode


# They open the database file themselves, or ask how SQLite does something.
_SQLITE_ONLY = (
    "agent_loop/tests/test_agent_crash.py",
    "agent_loop/tests/test_agent_turns.py::test_input_during_a_turn_is_queued_in_order",
    "delegation/tests/test_delegation.py::test_the_table_has_the_columns_of_the_design",
    "file_chat/tests/test_chat_crashes.py",
    "markers/tests/test_markers.py::test_several_markers_in_one_message_open_each_their_tool",
    "notifications/tests/test_notifications.py::test_the_checks_use_their_indexes",
    "notifications/tests/test_notifications.py::test_a_pause_from_before_the_state_had_a_table_holds",
    "notifications/tests/test_notify_command.py",
    "policy/tests/test_confirmations.py::test_a_grant_of_an_older_version_counts_as_the_lowest",
    "policy/tests/test_elicitation.py",
    "policy/tests/test_policy_audit.py",
    "policy/tests/test_policy_program.py",
    "policy/tests/test_policy_retention.py::test_a_cut_from_before_cuts_were_noted",
    "tasks/tests/test_task_commands.py::test_a_person_empties_the_inbox",
    "tests/test_retention_page.py::test_every_table_has_a_stated_life",
    # Reads wait here, so a stop may come before a follower has looked for the first time.
    "tests/test_events.py::test_followers_end_when_the_program_stops",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = [one for one in items if not any(name in one.nodeid for name in _SQLITE_ONLY)]


def pytest_configure(config: pytest.Config) -> None:
    setattr(engines, "make_store", _make_store)  # noqa: B010 - not an export
    setattr(Install, "env", _environment)  # noqa: B010


def _make_store(url: str, data_dir: Path, connections: int = engines.CONNECTIONS) -> KeptEngine:
    return _own_make_store(_address(data_dir) if url == "sqlite" else url, data_dir, connections)


def _environment(install: Install) -> dict[str, str]:
    settings = tomllib.loads((install.root / "aipm.toml").read_text()) if _settled(install) else {}
    address = _address(install.root / settings.get("data_dir", ".aipm-data"))
    return {"AIPM_STORE__URL": address, **_own_environment(install)}


def _settled(install: Install) -> bool:
    return (install.root / "aipm.toml").exists()


def _address(data_dir: Path) -> str:
    """Ask on a thread of its own: the caller may be inside an event loop or outside of any."""
    found: list[str] = []

    def ask() -> None:
        found.append(asyncio.run(database(os.environ[_ADDRESS], data_dir.resolve())))

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join()
    return found[0]


if __name__ == "__main__":
    sys.exit(main())
