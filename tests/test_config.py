"""Wrong settings: the key is named, the nearest valid one is suggested, nothing is created."""

from pathlib import Path

import pytest
from aipm_cli.settings import Settings
from aipm_cli.settings_file import load, parse
from aipm_cli.table_check import checked
from aipm_devkit.program import Install
from aipm_http_server.settings import ServerSettings
from aipm_store.settings import StoreSettings
from pydantic import BaseModel, ConfigDict

from aipm_core.clock import iso
from aipm_core.errors import ConfigError

MISTAKES = [
    ("[servr]\nport = 1\n", "unknown key 'servr'; did you mean 'server'?"),
    ("[server]\nprot = 1\n", "[server]: unknown key 'prot'; did you mean 'port'?"),
    ("[server]\nport = 'x'\n", "server.port: input should be a valid integer"),
    ("[server]\nport = 70000\n", "server.port: input should be less than or equal to 65535"),
    ("locale = 'fr'\n", "locale: input should be 'ja' or 'en', not 'fr'"),
    ("[plugins.sesions]\n", "did you mean 'sessions'?"),
    ("[plugins.sessions]\nidle = 5\n", "did you mean 'idle_seconds'?"),
    ("[plugins.sessions]\nidle_seconds = 'soon'\n", "idle_seconds: input should be a valid number"),
    ("[plugins.sessions]\nenabled = 'perhaps'\n", "plugins.sessions.enabled"),
    ("[store]\nurl = 'mysql://x'\n", "names no engine"),
    ("file = 'x'\n", "unknown key 'file'"),
    ("= broken", "aipm.toml: Invalid"),
    (f"x = {'[' * 5000}", "aipm.toml: nested too deeply"),
    (f"[server]\nport = {'9' * 5000}\n", "aipm.toml: Exceeds the limit"),
    ("[plugins.sessions]\nidle_seconds = inf\n", "idle_seconds: inf is no number to work with"),
    ("[plugins.sessions]\nidle_seconds = 'inf'\n", "idle_seconds: inf is no number to work with"),
    ("[plugins.sessions]\nkeep_days = 1e300\n", "keep_days: 1e+300 is no number to work with"),
]


@pytest.mark.parametrize(("toml", "sentence"), MISTAKES)
def test_a_mistake_is_one_sentence_and_creates_nothing(
    tmp_path: Path, toml: str, sentence: str
) -> None:
    done = Install.make(tmp_path, toml).run("project", "list", check=2)
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["aipm.toml"]


def test_missing_settings_say_how_to_get_them(tmp_path: Path) -> None:
    install = Install(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "none")})
    assert "`aipm init` writes one" in install.run("project", "list", check=2).stderr
    assert "there is no settings file" in install.run("up", "--config", "x.toml", check=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_the_users_own_file_is_the_last_resort(tmp_path: Path) -> None:
    own = tmp_path / "config" / "aipm" / "aipm.toml"
    own.parent.mkdir(parents=True)
    own.write_text("locale = 'en'\n", encoding="utf-8")
    here = tmp_path / "here"
    here.mkdir()
    install = Install(here, {"XDG_CONFIG_HOME": str(tmp_path / "config")})
    assert install.json("project", "list") == []
    assert (own.parent / ".aipm-data" / "aipm.db").exists()


def settings_with(environ: dict[str, str], tmp_path: Path) -> Settings:
    return parse({"server": {"port": 1}}, environ, tmp_path / "aipm.toml")


def test_the_environment_lies_over_the_file(tmp_path: Path) -> None:
    environ = {
        "AIPM_SERVER__PORT": "9000",
        "AIPM_SERVER__ALLOWED_HOSTS": '["a.example"]',
        "AIPM_LOCALE": "en",
        "AIPM_PLUGINS__SESSIONS__ENABLED": "false",
        "AIPM_SESSION_TOKEN": "aipm_st_not_a_setting",
    }
    settings = settings_with(environ, tmp_path)
    assert settings.section(ServerSettings).port == 9000
    assert settings.section(ServerSettings).allowed_hosts == ("a.example",)
    assert settings.locale == "en"
    assert settings.of("sessions").enabled is False


def test_a_typo_in_the_environment_is_named_too(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"AIPM_SERVER__PROT.*unknown key 'prot'; did you mean 'port'"
    ):
        settings_with({"AIPM_SERVER__PROT": "1"}, tmp_path)


def test_data_lies_beside_the_settings_file(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "aipm.toml"
    file.parent.mkdir()
    file.write_text("data_dir = 'd'\n", encoding="utf-8")
    assert load(file).data_dir == file.parent / "d"


def test_a_wide_bind_is_refused_without_its_statements(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    for host in ("0.0.0.0", "::", "192.0.2.1"):  # noqa: S104
        assert "behind_tls_proxy" in install.run("up", "--host", host, check=2).stderr
    assert not (tmp_path / ".aipm-data").exists()


def test_a_taken_port_is_failure_not_usage(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    with install.up() as server:
        port = server.url.rpartition(":")[2]
        assert "is in use" in install.run("up", "--port", port, check=1).stderr


@pytest.mark.parametrize("value", ["[" * 5000, "9" * 5000, "1\nother = 2"])
def test_what_is_no_toml_value_in_the_environment_is_a_string(tmp_path: Path, value: str) -> None:
    assert settings_with({"AIPM_STORE__URL": value}, tmp_path).section(StoreSettings).url == value


@pytest.mark.parametrize("days", [1e6, 1e12])
def test_keeping_something_for_ever_is_a_date(days: float) -> None:
    """Settings of a million days would otherwise break the sweeper that uses them."""
    before, after = iso(1.7e9 - days * 86_400), iso(1.7e9 + days * 86_400)
    assert before < "2026-01-01T00:00:00.000Z" < after
    assert len(before) == len(after) == len("2026-01-01T00:00:00.000Z")


def test_a_section_is_not_set_by_one_variable(tmp_path: Path) -> None:
    assert settings_with({"AIPM_SERVER": "nonsense"}, tmp_path).section(ServerSettings).port == 1


def test_a_model_that_takes_any_key_is_given_any_key() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        known: int = 0

    made = checked(Open, {"known": 1, "other": 2}, "[x]")
    assert made.model_dump() == {"known": 1, "other": 2}
