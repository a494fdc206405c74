"""Firefox and WebKit as Debian packages them, for the tests of what runs on other people's sites.

Both speak the commands of WebDriver: WebKit over HTTP through its own driver, Firefox over a socket
of its own (Marionette, which is what geckodriver, absent from Debian, talks to as well). Playwright
can't drive these builds, and its own ones are not what visitors have.
"""

import contextlib
import json
import os
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from tests.support.servers import PATIENCE, find_program, free_port, memory_folder, wait_for

VIEWPORT = (1280, 1000)
# Firefox asks the desktop for some of this; its answers must be the same everywhere.
FIREFOX_SETTINGS = {
    "marionette.port": 0, "ui.prefersReducedMotion": 0, "ui.systemUsesDarkTheme": 0,
    "app.normandy.enabled": False, "app.update.disabledForTesting": True,
    "browser.safebrowsing.downloads.enabled": False, "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False, "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.getAddons.cache.enabled": False, "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False, "services.settings.server": "data:,",
    "toolkit.telemetry.server": "",
}  # fmt: skip


class WebDriver(Protocol):
    def command(self, name: str, method: str, path: str, body: dict[str, Any]) -> Any:
        """Send it: `name` is what Marionette calls it, `method` and `path` are WebDriver's own."""


class Marionette:
    """Firefox's own protocol: JSON on a socket, each message after its length and a colon."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.incoming = self.socket.makefile("rb")
        self.sent = 0
        self._read()  # Its greeting.
        self.command("NewSession", "POST", "", {})

    def command(self, name: str, method: str, path: str, body: dict[str, Any]) -> Any:
        self.sent += 1
        message = json.dumps([0, self.sent, f"WebDriver:{name}", body]).encode()
        self.socket.sendall(b"%d:%s" % (len(message), message))
        _, number, error, result = self._read()
        assert number == self.sent
        assert error is None, error
        return result.get("value", result)

    def close(self) -> None:
        self.incoming.close()
        self.socket.close()

    def _read(self) -> Any:
        length = b""
        while (letter := self.incoming.read(1)) != b":":
            assert letter, "Firefox hung up"
            length += letter
        return json.loads(self.incoming.read(int(length)))


class WebKitDriver:
    """A session of WebKitWebDriver, which is an HTTP server."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        capabilities = {"capabilities": {"alwaysMatch": {}}}
        started = self.command("NewSession", "POST", "/session", capabilities)
        self.url += f"/session/{started['sessionId']}"

    def command(self, name: str, method: str, path: str, body: dict[str, Any]) -> Any:
        data = json.dumps(body).encode() if method == "POST" else None
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(error.read().decode()) from error


class Engine:
    """A running browser with one window."""

    def __init__(self, driver: WebDriver) -> None:
        self.driver = driver
        self._command("SetWindowRect", "/window/rect", width=VIEWPORT[0], height=VIEWPORT[1])

    def open(self, url: str) -> None:
        # What the pointer rests on would count as touched on the next page.
        self._perform("pointer", [_move(0, 0)], parameters={"pointerType": "mouse"})
        self._command("Navigate", "/url", url=url)

    def run(self, script: str, *values: object) -> Any:
        return self._command("ExecuteScript", "/execute/sync", script=script, args=list(values))

    def wait(self, expression: str) -> None:
        wait_for(lambda: self.run(f"return Boolean({expression})"), what=expression)

    def click(self, x: float, y: float) -> None:
        down, up = ({"type": f"pointer{way}", "button": 0} for way in ("Down", "Up"))
        actions = [_move(x, y), down, up]
        self._perform("pointer", actions, parameters={"pointerType": "mouse"})

    def press(self, *keys: str) -> None:
        for key in keys:
            code = KEYS[key]
            self._perform("key", [{"type": f"key{way}", "value": code} for way in ("Down", "Up")])

    def _command(self, name: str, path: str, **body: Any) -> Any:
        return self.driver.command(name, "POST", path, body)

    def _perform(self, kind: str, actions: list[dict[str, Any]], **more: Any) -> None:
        source = {"type": kind, "id": kind, "actions": actions, **more}
        self._command("PerformActions", "/actions", actions=[source])


# As WebDriver numbers them.
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "ArrowRight": "\ue014"}


def _move(x: float, y: float) -> dict[str, Any]:
    return {"type": "pointerMove", "x": round(x), "y": round(y), "origin": "viewport"}


@contextlib.contextmanager
def _process(*command: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    program = find_program(command[0])
    assert program is not None, f"{command[0]} is not installed; scripts/test installs it."
    process = subprocess.Popen(
        [program, *command[1:]], stderr=subprocess.DEVNULL, text=True, **options
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


@contextlib.contextmanager
def start_firefox() -> Iterator[Engine]:
    """Start Firefox without a screen, on a profile of its own."""
    with memory_folder() as folder:
        lines = [
            f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"
            for name, value in FIREFOX_SETTINGS.items()
        ]
        Path(folder, "user.js").write_text("".join(lines), encoding="utf-8")
        # Where it writes the port it chose.
        port = Path(folder, "MarionetteActivePort")
        command = ("firefox-esr", "--headless", "--marionette", "--no-remote", "--profile", folder)
        environment = os.environ | {"HOME": folder, "MOZ_CRASHREPORTER_DISABLE": "1"}
        with _process(*command, env=environment, stdout=subprocess.DEVNULL):
            wait_for(lambda: port.exists() and port.read_text(), what="Firefox to listen")
            driver = Marionette(int(port.read_text()))
            try:
                yield Engine(driver)
            finally:
                driver.close()


@contextlib.contextmanager
def start_webkit() -> Iterator[Engine]:
    """Start WebKitGTK's MiniBrowser, on a screen in memory."""
    screen = ("Xvfb", "-displayfd", "1", "-screen", "0", "1400x1200x24", "-nolisten", "tcp")
    with _process(*screen, stdout=subprocess.PIPE) as display, memory_folder() as folder:
        assert display.stdout is not None
        number = display.stdout.readline().strip()
        assert number, "Xvfb did not start"
        environment = os.environ | {"DISPLAY": f":{number}", "HOME": folder}
        port = free_port()
        with _process("WebKitWebDriver", f"--port={port}", env=environment):
            wait_for(lambda: _listens(port), what="WebKitWebDriver to listen")
            driver = WebKitDriver(port)
            try:
                yield Engine(driver)
            finally:
                driver.command("DeleteSession", "DELETE", "", {})


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
