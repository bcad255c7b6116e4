"""What is in deploy/ says what it should, and the parts that can run here do run."""

import configparser
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import yaml
from aipm_devkit.program import AIPM, Install

DEPLOY = Path(__file__).parent.parent / "deploy"
PORT = "8137"


def compose() -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    service: dict[str, Any] = parsed["services"]["aipm"]
    return service


def unit(name: str) -> str:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(DEPLOY / "aipm.service", encoding="utf-8")
    return parser["Service"][name]


def test_the_unit_gives_away_nothing_it_does_not_need() -> None:
    assert unit("DynamicUser") == unit("NoNewPrivileges") == unit("PrivateTmp") == "yes"
    assert unit("ProtectSystem") == "strict"
    assert unit("CapabilityBoundingSet") == ""
    assert unit("StateDirectoryMode") == "0700"
    assert unit("Type") == "notify"


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    """Where there is no systemd the test above has read the file; here it judges it."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        return
    made = tmp_path / "aipm.service"
    text = (DEPLOY / "aipm.service").read_text(encoding="utf-8")
    made.write_text(text.replace("/opt/aipm/bin/aipm", str(AIPM)), encoding="utf-8")
    done = subprocess.run([analyze, "verify", made], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    judged = [analyze, "security", "--offline=true", "--threshold=20", str(made)]
    assert subprocess.run(judged, capture_output=True).returncode == 0


def test_the_container_gives_away_nothing_it_does_not_need() -> None:
    service = compose()
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["user"] != "0:0"
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert "privileged" not in service
    assert "docker.sock" not in str(service)
    recipe = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    assert f"USER {service['user']}" in recipe
    assert str(service["healthcheck"]["test"][-1]) in recipe


def test_the_settings_and_the_health_check_of_the_container_work(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    settings = (DEPLOY / "container.toml").read_text(encoding="utf-8").replace(PORT, port)
    install = Install.make(tmp_path, settings.replace("/var/lib/aipm", str(tmp_path / "data")))
    check = [sys.executable, "-c", compose()["healthcheck"]["test"][-1].replace(PORT, port)]
    with install.up("--port", port) as server:
        assert server.ready["url"] == f"http://0.0.0.0:{port}"
        assert subprocess.run(check).returncode == 0
        elsewhere = httpx.get(f"http://127.0.0.1:{port}/readyz", headers={"host": "evil.example"})
        assert elsewhere.status_code == 421
    assert subprocess.run(check, capture_output=True).returncode != 0


def test_every_command_of_the_guide_exists() -> None:
    guide = (DEPLOY / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?m)(?:^|[`/ ])aipm (backup|restore|doctor|token|init|up)\b", guide))
    assert {"backup", "restore", "doctor", "token", "init"} <= named
    for name in named:
        assert subprocess.run([AIPM, name, "--help"], capture_output=True).returncode == 0
