"""How the page is served: what it may do, how long it is kept, and that all of it is our own."""

import gzip
import hashlib
import json
import posixpath
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from aipm_devkit.program import Install, Server
from aipm_web_ui.files import Files
from aipm_web_ui.joining import Circle, joined

PAGE = Path(__file__).parent.parent / "aipm_web_ui" / "page"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; font-src 'self'; worker-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
LARGEST = 120 * 1024
LONGEST = 250


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Install.make(tmp_path_factory.mktemp("page"), 'locale = "en"').up() as running:
        yield running


@pytest.fixture(scope="module")
def shell(server: Server) -> httpx.Response:
    return httpx.get(server.url + "/")


def named(shell: httpx.Response) -> list[str]:
    return re.findall(r'(?:href|src)="([^"]+)"', shell.text)


def test_the_shell_is_never_kept_and_may_do_little(shell: httpx.Response) -> None:
    assert shell.status_code == 200
    assert shell.headers["content-type"] == "text/html; charset=utf-8"
    assert shell.headers["content-security-policy"] == POLICY
    assert shell.headers["cache-control"] == "no-store"
    assert shell.headers["x-content-type-options"] == "nosniff"
    assert "set-cookie" not in shell.headers
    assert '<html lang="en">' in shell.text


def test_the_shell_holds_no_script_or_style_of_its_own(shell: httpx.Response) -> None:
    assert not re.search(r"<script(?![^>]*src=)", shell.text)
    assert "<style" not in shell.text
    assert " style=" not in shell.text
    assert not re.search(r"\son\w+=", shell.text)
    assert all(address.startswith("/ui/") for address in named(shell))


def test_what_the_shell_names_is_there_and_kept_for_long(
    server: Server, shell: httpx.Response
) -> None:
    with httpx.Client(base_url=server.url) as client:
        for address in named(shell):
            found = client.get(address)
            assert found.status_code == 200, address
            assert found.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert found.headers["content-security-policy"] == POLICY
            assert "set-cookie" not in found.headers


def test_every_import_leads_to_a_file_the_shell_names(
    server: Server, shell: httpx.Response
) -> None:
    """One that is missing there would be fetched late, one after the other."""
    base = next(address for address in named(shell) if address.endswith("js/main.js"))
    root = base.removesuffix("/js/main.js")
    known = {address.removeprefix(root + "/") for address in named(shell)}
    with httpx.Client(base_url=f"{server.url}{root}/") as client:
        for name in known:
            if not name.endswith(".js"):
                continue
            for target in re.findall(r"""from\s*['"](\.[^'"]+)['"]""", client.get(name).text):
                path = posixpath.normpath(posixpath.join(name, "..", target))
                assert path in known, f"{name} imports {target}"


def test_modules_are_sent_as_one_and_do_not_import_in_a_circle() -> None:
    """What the worker imports too stays apart; everything else is in the one module."""
    names = [name for name in Files().names() if name.startswith("js/")]
    assert names == [
        f"js/{name}.js" for name in ("event_stream", "fold", "follow", "main", "worker")
    ]
    circle = {"a.js": "import { b } from './b.js';\n", "b.js": "import { a } from './a.js';\n"}
    with pytest.raises(Circle, match=r"a.js → b.js → a.js"):
        joined(circle, "a.js", ())


def test_what_is_joined_does_what_it_did_apart(tmp_path: Path) -> None:
    modules = {
        "js/main.js": "import { two as zwei } from './x/two.js';\nimport './say.js';\n"
        "console.log(zwei());\n",
        "js/x/two.js": "import { three } from '../one.js';\n"
        "import base from '../apart.js';\nexport const two = () => three() + base;\n",
        "js/one.js": "export { three } from './three.js';\n",
        "js/three.js": "export async function other() {}\n"
        "export function three() {\nreturn 3;\n}\n",
        "js/say.js": "console.log('first');\n",
        "js/apart.js": "export default 39;\n",
    }
    (tmp_path / "apart.js").write_text(modules["js/apart.js"])
    (tmp_path / "main.js").write_text(joined(modules, "js/main.js", ("js/apart.js",)))
    (tmp_path / "package.json").write_text('{"type": "module"}')
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node: joined modules were NOT run on their own")
    done = subprocess.run([node, tmp_path / "main.js"], capture_output=True, text=True)
    assert done.stdout.split() == ["first", "42"], done.stderr


@pytest.mark.parametrize(
    "path",
    [
        "/ui/0000000000000000/js/main.js",
        "/ui/{hash}/js/none.js",
        "/ui/{hash}/../plugin.py",
        "/ui/{hash}/%2e%2e/plugin.py",
        "/ui/{hash}/index.html",
        "/ui/{hash}/vendor/MANIFEST.json",
        "/ui/{hash}/vendor/preact.d.ts",
        "/ui/{hash}/locale/ja.toml",
        "/ui/",
        "/index.html",
    ],
)
def test_nothing_else_is_served(server: Server, shell: httpx.Response, path: str) -> None:
    version = named(shell)[0].split("/")[2]
    answer = httpx.get(server.url + path.replace("{hash}", version))
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


def test_it_is_packed_for_whoever_can_unpack(server: Server) -> None:
    packed = httpx.get(server.url + "/")
    plain = httpx.get(server.url + "/", headers={"accept-encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.text == plain.text


def test_only_reading_is_allowed(server: Server) -> None:
    assert httpx.post(server.url + "/").status_code == 405


def test_another_host_and_another_origin_are_refused(server: Server) -> None:
    assert httpx.get(server.url + "/", headers={"host": "evil.example"}).status_code == 421
    assert httpx.get(server.url + "/", headers={"origin": "http://evil.example"}).status_code == 403


def test_the_page_is_small(server: Server, shell: httpx.Response) -> None:
    """One language, the shell, styles, modules, pictures: what a first visit fetches."""
    root = "/".join(named(shell)[0].split("/")[:3])
    addresses = {*named(shell), f"{root}/texts/ja.json", f"{root}/js/worker.js"}
    with httpx.Client(base_url=server.url, headers={"accept-encoding": "identity"}) as client:
        sizes = [len(gzip.compress(client.get(address).content, 6)) for address in addresses]
    total = sum(sizes) + len(gzip.compress(shell.content, 6))
    assert total <= LARGEST, f"{total} bytes"


def test_modules_are_small_rooms() -> None:
    lengths = {
        file.name: len(file.read_text(encoding="utf-8").splitlines())
        for file in PAGE.glob("js/**/*.js")
        if file.name != "icons.js"  # a list of drawings
    }
    assert {name: n for name, n in lengths.items() if n > LONGEST} == {}


@pytest.mark.parametrize("place", [PAGE / "vendor", Path(__file__).parent / "vendor"])
def test_what_others_wrote_is_what_the_manifest_says(place: Path) -> None:
    packages = json.loads((place / "MANIFEST.json").read_text(encoding="utf-8"))["packages"]
    listed = {name: wanted for one in packages for name, wanted in one["files"].items()}
    found = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in place.glob("*.js")
    }
    assert found == listed
    for one in packages:
        assert one["licence"] in {"MIT", "Apache-2.0", "MPL-2.0"}
        assert one["origin"].startswith("https://registry.npmjs.org/")


def test_no_module_writes_html_or_reaches_outside() -> None:
    forbidden = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "://")
    for file in PAGE.glob("js/**/*.js"):
        text = file.read_text(encoding="utf-8")
        assert [word for word in forbidden if word in text] == [], file.name


def test_panels_are_for_people_only(server: Server) -> None:
    refused = httpx.get(server.url + "/api/panels")
    assert refused.status_code == 401
    assert refused.json()["error"]["code"] == "ui_token_required"
