"""Puts our entry into a program's own settings file, beside whatever else stands there."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

from aipm_core import ConfigError
from aipm_mcp_transport.snippets import Snippet

_OURS = re.compile(r"^\s*\[\s*mcp_servers\s*\.\s*\"?aipm\"?\s*[.\]]")
_TABLE = re.compile(r"^\s*\[")
BACKUP = ".before-aipm"


def merged(text: str, snippet: Snippet, file: Path) -> str:
    """Return the settings with our entry in them; nothing else is changed.

    Refuses what it cannot read: whoever cannot read a file must not write it.
    """
    return _toml(text, snippet, file) if snippet.format == "toml" else _json(text, snippet, file)


def _json(text: str, snippet: Snippet, file: Path) -> str:
    try:
        settings = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise _unreadable(file, error) from None
    if not isinstance(settings, dict):
        raise _unreadable(file, "it is no object")
    for key, value in json.loads(snippet.snippet).items():
        settings[key] = _joined(settings.get(key), value, file)
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"


def _joined(old: Any, new: Any, file: Path) -> Any:  # noqa: ANN401
    if old is None:
        return new
    if type(old) is not type(new):
        raise _unreadable(file, "it has another form")
    if isinstance(new, dict):
        return {**old, **new}
    ids = [one.get("id") for one in new]
    return [*(one for one in old if one.get("id") not in ids), *new]


def _toml(text: str, snippet: Snippet, file: Path) -> str:
    try:
        tomllib.loads(text)
    except ValueError as error:
        raise _unreadable(file, error) from None
    kept, ours = list[str](), False
    for line in text.splitlines():
        if _TABLE.match(line):
            ours = bool(_OURS.match(line))
        if not ours:
            kept.append(line)
    before = "\n".join(kept).rstrip()
    joined = f"{before}\n\n{snippet.snippet}\n" if before else f"{snippet.snippet}\n"
    try:
        tomllib.loads(joined)
    except ValueError as error:
        raise _unreadable(file, error) from None
    return joined


def _unreadable(file: Path, why: object) -> ConfigError:
    return ConfigError(
        f"{file} cannot be read ({why}), so nothing was written; "
        "`--print` shows what to put there by hand"
    )


def write(file: Path, text: str, *, private: bool) -> Path | None:
    """Write a settings file whole; return where what stood there before is kept, if anything did.

    The first backup stays: what is written over later is ours.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    backup = file.with_name(file.name + BACKUP)
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o644
    if file.exists() and not backup.exists():
        _whole(backup, file.read_text(encoding="utf-8"), mode)
    _whole(file, text, 0o600 if private else mode)
    return backup if backup.exists() else None


def write_token(directory: Path, name: str, token: str) -> Path:
    """Keep a token where only its owner can read it, and git does not look."""
    place = directory / ".aipm"
    place.mkdir(mode=0o700, exist_ok=True)
    _whole(place / ".gitignore", "*\n", 0o644)
    file = place / f"{name}.token"
    _whole(file, token + "\n", 0o600)
    return file


def keep_out_of_git(file: Path) -> bool:
    """Tell the repository around a file not to take it in; return whether there is one."""
    for above in file.absolute().parents:
        info = above / ".git" / "info"
        if (above / ".git").is_dir():
            info.mkdir(exist_ok=True)
            line, exclude = f"/{file.absolute().relative_to(above)}", info / "exclude"
            known = exclude.read_text(encoding="utf-8") if exclude.exists() else ""
            if line not in known.splitlines():
                _whole(exclude, f"{known.rstrip()}\n{line}\n".lstrip(), 0o644)
            return True
    return False


def _whole(file: Path, text: str, mode: int) -> None:
    """Write a file so that it is there whole or as it was."""
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as opened:
            opened.write(text)
        new.chmod(mode)
        new.replace(file)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
