"""A small shop in the middle of its day: two people, three agents that work over real MCP.

For whatever must be looked at rather than only checked: the page's tests and its pictures.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from aipm_devkit.program import Install, Server

from tests.agents import Agent

SETTINGS = """
locale = "{locale}"
[plugins.policy]
confirmation_seconds = {seconds}
[[plugins.policy.rules]]
tool = "broadcast_message"
decision = "REQUIRE_USER_CONFIRMATION"
level = "CRITICAL"
message = "{message}"
"""
PEOPLE = {"anna": ("Anna Berg", "manager"), "ken": ("佐藤 健", "worker")}
AGENTS = ("worker-1", "worker-2", "reviewer")
RULE = {"ja": "全員に送る前に人が確認します", "en": "A person reads what goes to everybody"}

Words = dict[str, str]
TASKS: tuple[tuple[str, Words, str, str, str | None], ...] = (
    ("checkout", {"en": "Checkout v2", "ja": "チェックアウト v2"}, "todo", "high", None),
    ("tax", {"en": "Tax per country", "ja": "国別の消費税計算"}, "todo", "high", "worker-1"),
    ("gift", {"en": "Gift cards", "ja": "ギフトカードの利用"}, "backlog", "medium", None),
    ("mail", {"en": "Order mail", "ja": "注文確認メール"}, "todo", "medium", "worker-2"),
    (
        "model",
        {"en": "Order totals as integers", "ja": "注文金額の整数化"},
        "todo",
        "urgent",
        "worker-2",
    ),
    ("search", {"en": "Search with kana", "ja": "かなでの商品検索"}, "todo", "low", "reviewer"),
    ("export", {"en": "CSV for accounting", "ja": "会計用の CSV 出力"}, "backlog", "low", None),
    (
        "load",
        {"en": "200 checkouts a minute", "ja": "毎分 200 件の負荷試験"},
        "backlog",
        "medium",
        "reviewer",
    ),
    (
        "stock",
        {"en": "Stock never below zero", "ja": "在庫数が負にならない"},
        "todo",
        "high",
        "worker-2",
    ),
    ("login", {"en": "Login page", "ja": "ログイン画面"}, "done", "medium", "worker-1"),
    (
        "cart",
        {"en": "Cart survives a login", "ja": "ログイン後もカートを保持"},
        "done",
        "high",
        "worker-1",
    ),
    ("status", {"en": "Live order status", "ja": "注文状況の表示"}, "done", "low", "worker-1"),
)
PARENTS = {"tax": "checkout", "gift": "checkout", "mail": "checkout"}
WAITS = {"gift": ["tax"]}
ABOUT = {
    "en": "Prices are stored without tax. Rates come from `config/tax.json`.\n\n"
    "- Rounding per line\n- Tests for **JP**, DE, US",
    "ja": "価格は税抜きで保存。税率は `config/tax.json` から読む。\n\n"
    "- 端数処理は明細行ごと\n- **JP**・DE・US のテスト",
}


class Refused(AssertionError):
    """The server said no."""


@dataclass
class Person:
    """Somebody with a token who calls tools for people."""

    url: str
    token: str

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool for people; return its result."""
        return self.post(f"/api/tools/{tool}", arguments)["result"]

    def wait_for_item(self, kind: str) -> dict[str, Any]:
        """Return the first item of a kind in the person's inbox, as soon as there is one."""
        found = self._item(kind)
        if found is not None:
            return found
        headers = {"authorization": f"Bearer {self.token}"}
        url = f"{self.url}/api/projects/shop/stream"
        with httpx.stream("GET", url, headers=headers, timeout=30) as frames:
            found = self._item(kind)
            for line in () if found else frames.iter_lines():
                if '"view":"inbox"' in line and f'"kind":"{kind}"' in line:
                    found = self._item(kind)
                    break
        if found is None:
            raise AssertionError(f"no {kind} came")
        return found

    def _item(self, kind: str) -> dict[str, Any] | None:
        inbox = self.get("/api/projects/shop/state")["views"]["inbox"].values()
        return next((item for item in inbox if item["kind"] == kind), None)

    def get(self, path: str) -> Any:
        """Ask for something."""
        return self._send(path, None)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Send something."""
        return self._send(path, body)

    def _send(self, path: str, body: dict[str, Any] | None) -> Any:
        method = "GET" if body is None else "POST"
        headers = {"authorization": f"Bearer {self.token}"} if self.token else {}
        answer = httpx.request(method, self.url + path, json=body, headers=headers, timeout=30)
        if answer.is_error:
            raise Refused(f"{path}: {answer.text}")
        return answer.json()


@dataclass
class Shop:
    """An installed shop: its files, its passkeys, and what its agents do once a server runs."""

    install: Install
    passkeys: dict[str, str]
    locale: str
    tasks: dict[str, str] = field(default_factory=dict)
    background: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(4))

    @classmethod
    def make(cls, root: Path, locale: str = "ja", seconds: int = 300, more: str = "") -> "Shop":
        """Install it: settings (and ``more`` of them), project, members."""
        toml = SETTINGS.format(locale=locale, seconds=seconds, message=RULE[locale]) + more
        install = Install.make(root, toml)
        name = {"ja": "ショップ", "en": "The shop"}[locale]
        install.run("project", "add", "shop", "--dir", "work", "--name", name)
        passkeys = {}
        for person, (full, role) in PEOPLE.items():
            what = ("--type", "human", "--name", full, "--role", role)
            passkeys[person] = install.json("agent", "add", person, "--project", "shop", *what)[
                "passkey"
            ]
        for agent in AGENTS:
            below = ("--parent", "anna")
            passkeys[agent] = install.json("agent", "add", agent, "--project", "shop", *below)[
                "passkey"
            ]
        return cls(install, passkeys, locale)

    def person(self, server: Server, name: str = "anna") -> Person:
        """Log somebody in with their passkey."""
        nobody = Person(server.url, "")
        login = nobody.post("/api/login", {"agent_id": name, "passkey": self.passkeys[name]})
        return Person(server.url, login["token"])

    def agent(self, server: Server, name: str, purpose: str) -> Agent:
        """Open a session of an agent."""
        made = Agent(server.mcp)
        login = {"agent_id": name, "passkey": self.passkeys[name], "project_id": "shop"}
        made.token = made.result("authenticate", **login, purpose=purpose)["session_token"]
        return made

    def say(self, words: Words) -> str:
        """Return the words in the shop's language."""
        return words[self.locale]

    def open(self, server: Server) -> None:
        """Make the tasks and let the agents begin."""
        anna = self.person(server)
        for key, title, status, priority, assignee in TASKS:
            more = {
                "assignee_id": assignee,
                "parent_task_id": self.tasks.get(PARENTS.get(key, "")),
                "dependencies": [self.tasks[one] for one in WAITS.get(key, [])],
                "description": self.say(ABOUT) if key == "tax" else None,
            }
            given = {name: value for name, value in more.items() if value}
            made = anna.call(
                "create_task",
                project_id="shop",
                title=self.say(title),
                status="todo" if status == "done" else status,
                priority=priority,
                **given,
            )
            self.tasks[key] = made["task"]["id"]
        self.work(server, anna)

    def work(self, server: Server, anna: Person) -> None:
        """Play the morning: work, a block, a request, messages, a conversation, a question."""
        for key, *_ in (task for task in TASKS if task[2] == "done"):
            early = self.agent(server, "worker-1", "task")
            early.result("update_task_status", task_id=self.tasks[key], status="in_progress")
            early.result("report_completed", result="success", summary="ok")
        one = self.agent(server, "worker-1", "task")
        one.result("update_task_status", task_id=self.tasks["tax"], status="in_progress")
        two = self.agent(server, "worker-2", "task")
        two.result("update_task_status", task_id=self.tasks["model"], status="in_progress")
        why = {
            "en": "anna: the key of the payment sandbox is missing.",
            "ja": "anna さん、決済サンドボックスのキーがありません。",
        }
        two.result(
            "update_task_status",
            task_id=self.tasks["model"],
            status="blocked",
            reason=self.say(why),
        )
        title = {"en": "Index on orders.created_at", "ja": "orders.created_at に索引を追加"}
        two.call("request_task", title=self.say(title), priority="medium")
        self.talk(server, anna)

    def talk(self, server: Server, anna: Person) -> None:
        """Let people and agents write to each other."""
        hello = {
            "en": "Good morning. Please take the tax task first.",
            "ja": "おはようございます。まず消費税のタスクをお願いします。",
        }
        anna.call("say", project_id="shop", agent_id="worker-1", content=self.say(hello))
        chat = self.agent(server, "worker-1", "chat")
        chat.result("get_pending_messages")
        asks = {
            "en": "Are gift cards taxed when they are sold or when they are used?",
            "ja": "ギフトカードは販売時と利用時のどちらで課税しますか。",
        }
        chat.result("send_message", target_agent_id="anna", content=self.say(asks))
        purpose = {"en": "Shiritori, to test conversations", "ja": "しりとり（会話の動作確認）"}
        started = chat.result(
            "start_conversation",
            participant_agent_id="reviewer",
            initial_message="しりとり",
            purpose=self.say(purpose),
            max_turns=12,
        )
        other = self.agent(server, "reviewer", "chat")
        other.result("get_next_action", timeout_seconds=1)
        other.result(
            "respond_conversation_message",
            conversation_id=started["conversation_id"],
            content="りんご",
        )

    def ask(self, server: Server, content: str = "deploy\u202etxt.exe") -> "Future[dict[str, Any]]":
        """Let an agent do what needs a person's yes; the answer of its call comes when it comes."""
        agent = self.agent(server, "worker-2", "chat")
        return self.background.submit(agent.call, "broadcast_message", content=content)
