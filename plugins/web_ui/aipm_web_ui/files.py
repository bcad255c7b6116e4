"""The files of the page under addresses that change with their content."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from aipm_web_ui.joining import joined, reached

_PLACE = Path(__file__).parent
_KINDS = {
    ".js": b"text/javascript; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".json": b"application/json",
}
_LINE_COMMENT = re.compile(rb"^[ \t]*//.*\n", re.MULTILINE)
_INDENT = re.compile(rb"^[ \t]+|^\n", re.MULTILINE)
_CSS_COMMENT = re.compile(rb"/\*.*?\*/", re.DOTALL)
_SERVED = ("img", "js", "vendor")
_ENTRY, _WORKER, _STYLE = "js/main.js", "js/worker.js", "css/page.css"
_STYLES = ("tokens", "base", "components", "screens", "runs", "narrow")


@dataclass(frozen=True, slots=True)
class File:
    """One file as it is sent."""

    kind: bytes
    plain: bytes
    packed: bytes


class Files:
    """Everything below ``/ui/<hash>/``, read once, and the shell that names it."""

    def __init__(self, place: Path = _PLACE) -> None:
        contents = {
            name: (_KINDS[Path(name).suffix], body) for name, body in _contents(place).items()
        }
        digest = hashlib.sha256()
        for name, (_, body) in sorted(contents.items()):
            digest.update(f"{name}\0{len(body)}\0".encode() + body)
        self.hash = digest.hexdigest()[:16]
        self._shell = (place / "page" / "index.html").read_text(encoding="utf-8")
        self._files = {
            name: File(kind, body, gzip.compress(body, 6, mtime=0))
            for name, (kind, body) in contents.items()
        }

    def find(self, name: str) -> File | None:
        """Return a file by its path below the hash."""
        return self._files.get(name)

    def names(self) -> list[str]:
        """List the paths."""
        return sorted(self._files)

    def shell(self, locale: str) -> File:
        """Write the one document: it names every module, so that none waits for another."""
        base = f"/ui/{self.hash}"
        links = [f'<link rel="stylesheet" href="{base}/{_STYLE}">']
        links += [
            f'<link rel="modulepreload" href="{base}/{name}">'
            for name in self.names()
            if name.endswith(".js") and name != _WORKER
        ]
        text = Template(self._shell).substitute(base=base, locale=locale, links="\n".join(links))
        body = text.encode()
        return File(b"text/html; charset=utf-8", body, gzip.compress(body, 6, mtime=0))


def _contents(place: Path) -> Mapping[str, bytes]:
    page = place / "page"
    files = _joined(dict(_read(page)))
    return files | {_STYLE: _style(page)} | dict(_texts(place / "locale"))


def _joined(files: dict[str, bytes]) -> dict[str, bytes]:
    """Send our own modules as one; those that the worker imports too stay what they are."""
    modules = {name: body.decode() for name, body in files.items() if name.startswith("js/")}
    apart = set(reached(modules, _WORKER))
    inside = set(reached(modules, _ENTRY)) - apart
    kept = {name: body for name, body in files.items() if name not in inside}
    return kept | {_ENTRY: joined(modules, _ENTRY, apart).encode()}


def _style(page: Path) -> bytes:
    """All styles as one, in their order."""
    text = b"".join((page / "css" / f"{name}.css").read_bytes() for name in _STYLES)
    return _INDENT.sub(b"", _CSS_COMMENT.sub(b"", text))


def _read(page: Path) -> Iterator[tuple[str, bytes]]:
    for folder in _SERVED:
        for file in sorted((page / folder).rglob("*")):
            if file.suffix in _KINDS and file.name != "MANIFEST.json":
                body = file.read_bytes()
                own_code = file.suffix == ".js" and folder == "js"
                yield file.relative_to(page).as_posix(), lean(body) if own_code else body


def lean(module: bytes) -> bytes:
    """Leave comments, types and indentation at home: a third of a module is written for people.

    Only whole comments (``/** … */``, and ``//`` on a line of its own) and the blanks before a line
    go; lines stay lines, so that nothing is joined that stood apart.
    """
    return _INDENT.sub(b"", _LINE_COMMENT.sub(b"", _without_blocks(module)))


def _texts(locales: Path) -> Iterator[tuple[str, bytes]]:
    """The page's words, as JSON: the catalogue itself is written once, in TOML."""
    for file in sorted(locales.glob("*.toml")):
        words = tomllib.loads(file.read_text(encoding="utf-8"))["page"]
        text = json.dumps(words, ensure_ascii=False, separators=(",", ":"))
        yield f"texts/{file.stem}.json", text.encode()


def _without_blocks(text: bytes) -> bytes:
    """Leave out comments over several lines."""
    first, *rest = text.split(b"/**")
    return first + b"".join(part.partition(b"*/")[2] for part in rest)
