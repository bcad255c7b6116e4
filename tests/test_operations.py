"""Health, numbers, limits and the doctor."""

import json
import secrets
import socket
import sqlite3
from pathlib import Path

import httpx
import pytest
from aipm_devkit.program import Install
from aipm_devkit.testing import CHAT, MANAGER, TASK, running
from aipm_http_server.rate_limit import RateLimit
from aipm_http_server.settings import ServerSettings
from aipm_http_server.systemd import READY, tell
from aipm_operations import health
from aipm_operations.api import METRICS, Finding, HealthCheck, OperationsHooks
from aipm_sessions.plugin import Sessions

from aipm_core import Access, Call, CallError, Plugin, Tool, hookimpl
from aipm_core.models import Request
from aipm_core.texts import Texts


def test_metrics_need_a_token(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    install.run("project", "add", "p")
    install.run("agent", "add", "anna", "--project", "p", "--type", "human")
    token = install.json("token", "create", "--agent", "anna")["token"]
    with install.up() as server:
        url = f"{server.url}/metrics"
        for headers in ({}, {"authorization": "Bearer x"}, {"authorization": f"Basic {token}"}):
            assert httpx.get(url, headers=headers).status_code == 401
        found = httpx.get(url, headers={"authorization": f"Bearer {token}"})
        assert found.status_code == 200
        assert found.headers["content-type"].startswith("text/plain")


async def test_calls_are_counted_by_outcome(tmp_path: Path) -> None:
    async with running(Sessions, data_dir=tmp_path) as aipm:
        await aipm.call("help", None)
        await aipm.call("logout", None)
        text = aipm.runtime.services.use(METRICS).text().decode()
    assert 'aipm_calls_total{outcome="ok"} 1.0' in text
    assert 'aipm_calls_total{outcome="authentication_required"} 1.0' in text


async def test_a_session_may_be_held_to_a_pace(tmp_path: Path) -> None:
    now = [1000.0]
    sections = {"server": ServerSettings(max_calls_per_second=2)}
    async with running(
        Sessions, data_dir=tmp_path, clock=lambda: now[0], sections=sections
    ) as aipm:

        async def codes(count: int, session: object = TASK) -> list[str | None]:
            replies = [
                await aipm.runtime.call(Request(tool="help", session=session))  # type: ignore[arg-type]
                for _ in range(count)
            ]
            return [reply.error.code if reply.error else None for reply in replies]

        assert await codes(4) == [None, None, "rate_limited", "rate_limited"]
        assert await codes(1, CHAT) == [None]
        now[0] += 0.5
        assert await codes(2) == [None, "rate_limited"]
        now[0] -= 86_400  # the clock is put back: nobody is locked out for a day
        assert await codes(1) == ["rate_limited"]
        now[0] += 1
        assert await codes(1) == [None]


def test_doctor_finds_a_healthy_install_healthy(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    rows = {row["name"]: row["status"] for row in install.json("doctor")}
    assert rows["settings"] == rows["data"] == rows["store"] == rows["plugins"] == "ok"


def test_doctor_tells_of_a_damaged_store_and_fails(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    install.run("project", "add", "p")
    database = tmp_path / ".aipm-data" / "aipm.db"
    with sqlite3.connect(database) as connection:
        connection.execute("pragma writable_schema = 1")
        connection.execute("update sqlite_master set rootpage = 3 where name = 'projects'")
    connection.close()
    done = install.run("doctor", check=1)
    assert "damaged" in done.stdout


@pytest.mark.parametrize(
    "arguments", [("doctor", "--rebuild-everything"), ("doctor", "--config", "x")]
)
def test_doctor_refuses_what_it_does_not_know(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = Install.make(tmp_path).run(*arguments, check=2)
    assert done.stderr.count("\n") == 1


async def test_a_pace_remembers_the_sessions_that_called_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("aipm_http_server.buckets._MOST", 2)
    check = RateLimit(1, Texts.load("aipm_http_server", "en"), lambda: 1000.0).authorizer().check
    request, tool = Request(tool="help"), Tool(name="help", run=_nothing, access=Access.ANYONE)
    calls = {s.id: Call(request=request, tool=tool, session=s) for s in (TASK, CHAT, MANAGER)}
    for call in calls.values():
        await check(call)
    with pytest.raises(CallError, match="1"):
        await check(calls[MANAGER.id])
    await check(calls[TASK.id])  # forgotten, so it starts anew


async def _nothing(call: Call, arguments: object) -> None:
    pass


def test_a_supervisor_may_have_a_name_without_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"aipm-test-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(f"\0{name}")
        listener.settimeout(10)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")
        tell(READY)
        assert listener.recv(100) == b"READY=1"


def test_doctor_goes_on_where_the_program_could_not_start(tmp_path: Path) -> None:
    install = Install.make(tmp_path, "data_dir = 'file'\n")
    (tmp_path / "file").touch()
    done = install.run("doctor", "--json", check=1)
    rows = {row["name"]: row for row in json.loads(done.stdout)["data"]}
    assert rows["start"]["status"] == "fail"
    assert "file cannot be used" in rows["start"]["message"]
    assert rows["port"]["status"] in {"ok", "warn"}


class Hypochondriac(Plugin):
    @hookimpl
    def aipm_health_checks(self) -> list[HealthCheck]:
        return [HealthCheck(name="pulse", check=self._check)]

    async def _check(self) -> Finding:
        raise OSError("no stethoscope")


async def test_a_check_that_fails_is_a_finding_of_its_plugin() -> None:
    async with running(Hypochondriac) as aipm:
        (owned,) = [
            owned
            for owned in aipm.runtime.given(OperationsHooks.aipm_health_checks)
            if owned.plugin == "hypochondriac"
        ]
        name, finding = await health.ask(owned)
    assert (name, finding.status) == ("hypochondriac: pulse", "fail")
    assert "no stethoscope" in finding.message
