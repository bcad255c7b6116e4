"""The rules that are shipped for programs' own tools: the first that fits decides.

They hold only for what no rule of the settings speaks of.
"""

from __future__ import annotations

from aipm_core import Texts
from aipm_policy.api import Decision
from aipm_policy.config import PolicyConfig, Rule

_ALLOW, _ASK, _DENY = Decision.ALLOW, Decision.REQUIRE_USER_CONFIRMATION, Decision.DENY


class ShippedRule(Rule):
    """A rule that comes with the program. Among a command's words it sees only what is written."""

    name: str


def _any(programs: str) -> tuple[str, ...]:
    return tuple(form for name in programs.split() for form in (name, f"{name} *"))


_SECRETS = (
    *("*.ssh/id_*", "*.ssh", "*.ssh/", "*.ssh/config", "*.gnupg", "*.gnupg/*", "*.netrc"),
    *("*.aws/credentials", "*.aws", "*.azure/*", "*.config/gcloud/*", "*.kube/config"),
    *("*.docker/config.json", "*.git-credentials", "*.npmrc", "*.pypirc", "*.config/gh/hosts.yml"),
    *("*.claude/.credentials.json", "*.codex/auth.json", "*.gemini/oauth_creds.json"),
    *(".env", "*/.env", ".env.local", "*/.env.local", ".env.production", "*/.env.production"),
    *("*.pem", "*.p12", "*.pfx", "*_rsa", "*_ed25519", "/etc/shadow", "/proc/*/environ"),
)
_NETWORK = (
    *_any("curl wget ssh scp sftp rsync nc ncat netcat telnet ftp gh glab hub twine npx bunx uvx"),
    *_any("kubectl helm terraform aws gcloud az brew apt apt-get dnf yum apk sudo doas su"),
    *("git push*", "git fetch*", "git pull*", "git clone*", "git ls-remote*", "git submodule*"),
    *("git remote add*", "git remote set-url*", "git remote update*", "git send-email*"),
    *("npm install*", "npm i", "npm i *", "npm ci*", "npm publish*", "npm add*", "npm update*"),
    *("npm exec*", "yarn", "yarn add*", "yarn install*", "yarn publish*", "yarn npm *"),
    *("pnpm install*", "pnpm i", "pnpm i *", "pnpm add*", "pnpm publish*", "pnpm dlx*"),
    *("pip install*", "pip3 install*", "pip download*", "pipx *", "uv add*", "uv sync*"),
    *("uv pip install*", "uv publish*", "uv tool *", "poetry add*", "poetry install*"),
    *("poetry publish*", "python -m pip *", "python3 -m pip *", "cargo publish*", "cargo install*"),
    *("cargo add*", "cargo login*", "gem push*", "gem install*", "go get*", "go install*"),
    *("docker push*", "docker pull*", "docker login*", "docker run*", "podman push*"),
    *("podman pull*", "podman run*", "mvn deploy*", "gradle publish*", "composer install*"),
)
_READING = (
    *_any("cat ls head tail grep egrep fgrep rg wc file stat du df which type echo printf pwd"),
    *_any("test [ true false diff cmp uniq cut tr less more jq realpath dirname basename readlink"),
    *_any("md5sum sha1sum sha256sum nl od xxd strings sleep exit"),
    "< *",
)

_RULES = (
    ShippedRule(name="unreadable", tool="native:Bash", unreadable=True, decision=_ASK),
    ShippedRule(name="secrets", tool="native:*", arguments={"path": _SECRETS}, decision=_DENY),
    ShippedRule(name="network", tool="native:Bash", arguments={"command": _NETWORK}, decision=_ASK),
    ShippedRule(name="network", tool="native:Web*", decision=_ASK, level="WARN"),
    ShippedRule(name="reading", tool="native:Read", decision=_ALLOW),
    ShippedRule(name="reading", tool="native:Search", decision=_ALLOW),
    ShippedRule(
        name="reading", tool="native:Bash", arguments={"command": _READING}, decision=_ALLOW
    ),
    ShippedRule(name="inside", tool="native:*", place="inside", decision=_ALLOW),
    ShippedRule(name="outside", tool="native:*", place="outside", decision=_ASK),
)


def shipped_rules(config: PolicyConfig, texts: Texts) -> tuple[ShippedRule, ...]:
    """Return what holds for programs' own tools unless the settings say otherwise."""
    if not config.native_defaults:
        return ()
    return tuple(
        rule if rule.decision is _ALLOW else rule.model_copy(update={"message": _why(rule, texts)})
        for rule in _RULES
    )


def _why(rule: ShippedRule, texts: Texts) -> str:
    return texts(f"defaults.{rule.name}")
