"""Renews the JavaScript the page and its tests bring along: ``python tools/vendor_page.py``.

Takes pinned packages from the npm registry, checks the registry's own hash, and writes single
files with their hash, licence and origin into ``MANIFEST.json``. Nothing is bundled or minified
here: only the names of the packages in ``import`` become paths, because a strict
Content-Security-Policy leaves no room for an import map.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import sys
import tarfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "plugins/web_ui/aipm_web_ui/page/vendor"
TESTS = ROOT / "plugins/web_ui/tests/vendor"
ADMINISTRATION = "https://registry.npmjs.org"
PATHS = {
    "preact/hooks": "./preact-hooks.js",
    "preact": "./preact.js",
    "@preact/signals-core": "./signals-core.js",
}


@dataclass(frozen=True)
class Package:
    """One package of the registry: which of its files is taken, and what it is called here."""

    name: str
    version: str
    takes: dict[str, str]
    place: Path = PAGE


PACKAGES = (
    Package(
        "preact",
        "11.2.0",
        {"dist/preact.mjs": "preact.js", "hooks/dist/hooks.mjs": "preact-hooks.js"},
    ),
    Package("@preact/signals-core", "1.14.5", {"dist/signals-core.mjs": "signals-core.js"}),
    Package("@preact/signals", "2.11.4", {"dist/signals.mjs": "signals.js"}),
    Package("htm", "3.1.1", {"dist/htm.mjs": "htm.js"}),
    Package("axe-core", "4.14.0", {"axe.min.js": "axe.min.js"}, TESTS),
)


def main() -> int:
    """Fetch every package and write its files and the manifests."""
    entries: dict[Path, list[dict[str, object]]] = {PAGE: [], TESTS: []}
    for package in PACKAGES:
        entries[package.place].append(_renew(package))
    for place, packages in entries.items():
        text = json.dumps({"packages": packages}, indent=2) + "\n"
        (place / "MANIFEST.json").write_text(text, encoding="utf-8")
    return 0


def _renew(package: Package) -> dict[str, object]:
    about = json.loads(_get(f"{ADMINISTRATION}/{package.name}/{package.version}"))
    dist = about["dist"]
    archive = _get(dist["tarball"])
    _check(archive, dist["integrity"])
    package.place.mkdir(parents=True, exist_ok=True)
    hashes = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for source, name in package.takes.items():
            member = files.extractfile(f"package/{source}")
            if member is None:
                raise SystemExit(f"{package.name} {package.version} has no {source}")
            content = _with_paths(member.read().decode()).encode()
            (package.place / name).write_bytes(content)
            hashes[name] = hashlib.sha256(content).hexdigest()
    return {
        "name": package.name,
        "version": package.version,
        "licence": about["license"],
        "origin": dist["tarball"],
        "integrity": dist["integrity"],
        "files": hashes,
    }


def _with_paths(text: str) -> str:
    for name, path in PATHS.items():
        for quote in ('"', "'"):
            for word in ("from", "import"):
                for space in ("", " "):
                    text = text.replace(
                        f"{word}{space}{quote}{name}{quote}", f"{word}{space}{quote}{path}{quote}"
                    )
    kept = [line for line in text.splitlines() if not line.startswith("//# sourceMappingURL")]
    return "\n".join(kept) + "\n"


def _get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310 - https, a constant host
        return bytes(answer.read())


def _check(archive: bytes, integrity: str) -> None:
    kind, _, wanted = integrity.partition("-")
    found = base64.b64encode(hashlib.new(kind, archive).digest()).decode()
    if found != wanted:
        raise SystemExit(f"the registry promised {wanted} and sent {found}")


if __name__ == "__main__":
    sys.exit(main())
