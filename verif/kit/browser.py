"""Pages in headless Chromium, by its debugging protocol over pipes; no driver is needed."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Browser", "find_chromium", "opened_browser"]

_LAUNCHER = """import fcntl, os, sys
pipes = [fcntl.fcntl(int(pipe), fcntl.F_DUPFD, 10) for pipe in sys.argv[1:3]]
os.dup2(pipes[0], 3)
os.dup2(pipes[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Chromium reads commands from descriptor 3 and writes answers to descriptor 4."""

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find_chromium() -> str | None:
    """Returns the path of Chromium or of a browser built from it; None if there is none."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


class Browser:
    """A page of a running Chromium.

    Parameters
    ----------
    commands, answers: file descriptors of its debugging pipe
    seconds: after which a wait raises TimeoutError
    log: file of what it prints

    Members
    -------
    complaints: what the console said, errors and warnings, and what was not loaded, since ``open``
    """

    def __init__(self, commands: int, answers: int, seconds: float, log: Path) -> None:
        self.complaints: list[str] = []
        self._log = log
        self._commands, self._answers, self._seconds = commands, answers, seconds
        self._buffer, self._count, self._session = b"", 0, ""
        self._loaded = False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """Returns the result of a method of the protocol. Raises RuntimeError if it fails."""
        self._count += 1
        sent: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            sent["sessionId"] = self._session
        os.write(self._commands, json.dumps(sent).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._count:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self._event(message)

    def open(self, url: str) -> None:
        """Loads a page with all that belongs to it."""
        self.complaints.clear()
        self._loaded = False
        self.call("Page.navigate", url=url)
        while not self._loaded:
            self._event(self._message())

    def evaluate(self, script: str) -> Any:
        """Returns the value of an expression of JavaScript; a promise is awaited."""
        found = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(f"{script}: {found['exceptionDetails']['text']}")
        return found["result"].get("value")

    def wait_for(self, script: str) -> Any:
        """Returns the value of an expression as soon as it is true."""
        end = time.monotonic() + self._seconds
        while not (found := self.evaluate(script)):
            if time.monotonic() > end:
                raise TimeoutError(f"not true after {self._seconds:.0f} s: {script}")
            time.sleep(0.1)
        return found

    def resize(self, width: int, height: int) -> None:
        """Sets the size of the window, in pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)  # fmt: skip

    def prefer(self, scheme: str) -> None:
        """Sets the colours that the system prefers: ``light`` or ``dark``."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def picture(self, path: Path) -> None:
        """Writes what the window shows, as PNG."""
        shot = self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))

    def _message(self) -> Mapping[str, Any]:
        end = time.monotonic() + self._seconds
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"Chromium said nothing for {self._seconds:.0f} s")
            read = os.read(self._answers, 1 << 20)
            if not read:
                raise RuntimeError(f"Chromium has ended: {self._log.read_text()}")
            self._buffer += read
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: Mapping[str, Any] = json.loads(text)
        return message

    def _event(self, message: Mapping[str, Any]) -> None:
        method, said = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(said["exceptionDetails"].get("text")))
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning"):
            self.complaints.append(" ".join(str(x.get("value")) for x in said["args"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            entry = said["entry"]
            self.complaints.append(f"{entry['text']} {entry.get('url', '')}")
        elif method == "Network.loadingFailed" and not said.get("canceled"):
            self.complaints.append(f"not loaded: {said['errorText']}")
        elif method == "Network.requestWillBeSent":
            url = said["request"]["url"]
            if not url.startswith(("file:", "data:", "blob:", "about:")):
                self.complaints.append(f"from the network: {url}")


@contextmanager
def opened_browser(chromium: str, profile: Path, seconds: float = 60.0) -> Iterator[Browser]:
    """Starts Chromium with a new profile, in a folder that is made; it ends with the block."""
    profile.mkdir()
    (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()
    command = [
        sys.executable, "-S", "-c", _LAUNCHER, str(their_in), str(their_out),
        chromium, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={profile}",
        "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
        "--disable-background-networking", "--hide-scrollbars",
    ]  # fmt: skip
    log = profile / "stderr"
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            command, pass_fds=(their_in, their_out), stdout=stderr, stderr=stderr,
            env={**os.environ, "HOME": str(profile)},
        )  # fmt: skip
    os.close(their_in)
    os.close(their_out)
    try:
        yield Browser(our_out, our_in, seconds, log)
    finally:
        os.close(our_out)  # of which Chromium ends
        os.close(our_in)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
