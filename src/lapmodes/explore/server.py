"""The server: one page on the loopback, behind a token; only what was loaded at the start is served."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from html import escape
from importlib import import_module
from importlib.resources import files
from typing import Any

from .. import __version__
from ..report.page import asset as report_asset
from .acts import MOST_ROWS
from .answers import Answers, NotThereError
from .worker import LARGEST_MESSAGE, Explorer

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
ASSETS = ("app.js", "dots.js", "link.js", "map.js", "panels.js", "explore.css")
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
LONGEST_QUERY = 2_000
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self' {socket}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors {frames}"
)
"""Nothing may be fetched from anywhere else, and nothing runs that is not a file of this package."""
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
}
FRAMED = "http://localhost:* http://127.0.0.1:* https://localhost:* https://127.0.0.1:*"
WATCH_PARENT = 1.0
"""Seconds between two looks at whether the parent still lives."""


def needed(module: str) -> Any:
    """Import a package of the extra, or say which one that is."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise ImportError(
            f"The explorer needs {name}, which is not installed: pip install 'lapmodes[explore]'"
        ) from error


class Guard:
    """Refuses whatever does not come from the page itself: other hosts, other origins, wrong tokens."""

    def __init__(self, app: Any, token: str, port: int, frames: str) -> None:
        self.app, self.token = app, token
        self.hosts = {f"{name}:{port}" for name in NAMES}
        self.origins = {f"http://{host}" for host in self.hosts}
        self.frames = frames

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Let a request through, or end it with a number that says why."""
        headers: dict[str, str] = {}
        for key, value in scope.get("headers", []):
            headers.setdefault(key.decode("latin-1"), value.decode("latin-1"))
        number = self.refusal(scope, headers)
        if number:
            return await refuse(scope, receive, send, number)
        policy = POLICY.format(socket=f"ws://{headers['host']}", frames=self.frames)
        extra = [(key.lower().encode(), value.encode()) for key, value in HEADERS.items()]
        extra.append((b"content-security-policy", policy.encode()))

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        return await self.app(scope, receive, send_with_headers)

    def refusal(self, scope: Any, headers: dict[str, str]) -> int:
        """0, or the status of a refusal."""
        if headers.get("host", "") not in self.hosts:
            return 421
        origin = headers.get("origin")
        if (origin is not None and origin not in self.origins) or (scope["type"] == "websocket" and origin is None):
            return 403
        path, query = scope["path"], scope.get("query_string", b"")
        if len(path) + len(query) > LONGEST_QUERY:
            return 414
        if path == "/":
            given = dict(part.partition("=")[::2] for part in query.decode("latin-1").split("&")).get("token", "")
        else:
            given = path.split("/")[1]
        return 0 if hmac.compare_digest(given.encode(), self.token.encode()) else 403


async def refuse(scope: Any, receive: Any, send: Any, number: int) -> None:
    """End a request without a word about why."""
    if scope["type"] == "websocket":
        await receive()
        return await send({"type": "websocket.close", "code": 1008})
    await send({"type": "http.response.start", "status": number, "headers": [(b"content-type", b"text/plain")]})
    return await send({"type": "http.response.body", "body": b"Refused."})


def load_assets(title: str, token: str) -> dict[str, tuple[bytes, str]]:
    """The files of the page, read once."""
    folder = files("lapmodes.explore").joinpath("assets")
    found = {name: folder.joinpath(name).read_text(encoding="utf-8") for name in ASSETS}
    found["report.css"], found["figure.js"] = report_asset("report.css"), report_asset("figure.js")
    served = {name: (text.encode(), TYPES[name[name.rindex(".") :]]) for name, text in found.items()}
    page = folder.joinpath("explore.html").read_text(encoding="utf-8")
    page = page.replace("TOKEN", token).replace("TITLE", escape(title)).replace("VERSION", __version__)
    return served | {"": (page.encode(), "text/html; charset=utf-8")}


def make_app(load: Callable[[], Explorer], title: str, token: str, port: int, *, framed: bool = False) -> Guard:
    """The application for one exploration; `load` waits until that is there."""
    routing, responses = needed("starlette.routing"), needed("starlette.responses")
    applications = needed("starlette.applications")
    assets = load_assets(title, token)

    def static(request: Any) -> Any:
        name = request.path_params.get("name", "")
        if name not in assets or (name == "") != (request.url.path == "/"):
            return responses.PlainTextResponse("Not found.", 404)
        body, kind = assets[name]
        return responses.Response(body, media_type=kind)

    def answer(request: Any) -> Any:
        return respond(Answers(load()).get, request.path_params["what"], request.query_params, None)

    async def take(request: Any) -> Any:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > 4 * MOST_ROWS:
                return responses.PlainTextResponse("That is too much.", 413)
        explorer = await asyncio.to_thread(load)
        post = Answers(explorer).post
        return await asyncio.to_thread(respond, post, request.path_params["what"], request.query_params, body)

    def respond(function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            body, kind, more = function(*arguments)
        except NotThereError as error:
            return responses.PlainTextResponse(str(error) or "Not found.", 404)
        except (ValueError, OverflowError) as error:
            return responses.PlainTextResponse(" ".join(str(error).split()), 400)
        return responses.Response(body, media_type=kind, headers=more)

    async def live(websocket: Any) -> None:
        await attend(await asyncio.to_thread(load), websocket)

    routes = [
        routing.Route("/", static),
        routing.Route("/{token}/assets/{name}", static),
        routing.Route("/{token}/{what}", answer, methods=["GET"]),
        routing.Route("/{token}/{what}", take, methods=["POST"]),
        routing.WebSocketRoute("/{token}/live", live),
    ]
    app = applications.Starlette(routes=routes)
    app.router.redirect_slashes = False
    return Guard(app, token, port, FRAMED if framed else "'none'")


async def attend(explorer: Explorer, websocket: Any) -> None:
    """A page's connection: its messages go to the worker, and what happens comes back."""
    await websocket.accept()
    loop, waiting = asyncio.get_running_loop(), asyncio.Queue[dict[str, Any] | bytes]()

    def tell(message: dict[str, Any] | bytes) -> None:
        loop.call_soon_threadsafe(waiting.put_nowait, message)

    leave = explorer.subscribe(tell)

    async def write() -> None:
        while True:
            message = await waiting.get()
            if isinstance(message, bytes):
                await websocket.send_bytes(message)
            else:
                await websocket.send_text(json.dumps(message))

    tell(explorer.snapshot())
    writer = asyncio.create_task(write())
    try:
        while (message := await websocket.receive())["type"] != "websocket.disconnect":
            explorer.submit(message.get("text") or message.get("bytes") or "", tell)
    finally:
        leave()
        writer.cancel()


class Running:
    """A server in a thread of its own, until it is closed. The page is there at once, its data once they are loaded."""

    def __init__(
        self, load: Callable[[], Explorer], title: str = "Explorer", port: int = 0, *, framed: bool = False
    ) -> None:
        uvicorn, _ = needed("uvicorn"), needed("websockets")
        self.token = secrets.token_urlsafe(24)
        self._load, self._loaded = load, Future[Explorer]()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind((HOST, port))
        self._socket.listen()
        self.port = int(self._socket.getsockname()[1])
        config = uvicorn.Config(
            make_app(self._loaded.result, title, self.token, self.port, framed=framed),
            log_level="critical",
            access_log=False,
            lifespan="off",
            ws="websockets-sansio",
            ws_max_size=LARGEST_MESSAGE,
            timeout_graceful_shutdown=1,
            server_header=False,
        )
        self.server = uvicorn.Server(config)
        self._threads = [
            threading.Thread(target=work, name=f"lapmodes-{name}", daemon=True)
            for name, work in (("server", self._serve), ("load", self._begin))
        ]

    @property
    def explorer(self) -> Explorer:
        """The exploration, once it is loaded; what kept it from that is raised."""
        return self._loaded.result()

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{HOST}:{self.port}/?token={self.token}"

    def start(self) -> None:
        """Begin to serve, and to load."""
        for thread in self._threads:
            thread.start()

    def _serve(self) -> None:
        self.server.run(sockets=[self._socket])

    def _begin(self) -> None:
        try:
            explorer = self._load()
            explorer.start()
            self._loaded.set_result(explorer)
        except BaseException as error:
            self._loaded.set_exception(error)

    def wait(self) -> None:
        """Until somebody ends it: Ctrl-C, or the end of the process that started this one."""
        parent, server = os.getppid(), self._threads[0]
        while server.is_alive() and os.getppid() == parent:
            server.join(WATCH_PARENT)

    def close(self) -> None:
        """End it."""
        self.server.should_exit = True
        if self._threads[0].is_alive():
            self._threads[0].join(timeout=10)
        if self._loaded.done() and self._loaded.exception() is None:
            self.explorer.close()
        self._socket.close()


@contextmanager
def running(explorer: Explorer, port: int = 0, *, framed: bool = False) -> Iterator[Running]:
    """A server for as long as the block lasts."""
    server = Running(lambda: explorer, explorer.study.title, port, framed=framed)
    server.start()
    try:
        server.explorer  # noqa: B018 - wait until it is there
        yield server
    finally:
        server.close()
