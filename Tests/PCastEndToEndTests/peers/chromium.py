"""A driver of headless Chromium over --remote-debugging-pipe: NUL-separated JSON on two inherited descriptors.

Standard library only, no open port, no driver program. Chrome DevTools Protocol: https://chromedevtools.github.io/.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

import browser
from browser import BrowserError, DocumentGone, script  # noqa: F401

FLAGS = [
    "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check",
    "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-domain-reliability", "--metrics-recording-only",
    "--no-proxy-server", "--hide-scrollbars", "--window-size=1280,900",
    # Chromium throttles pages in the background, which would change measurements.
    "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
    "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream=fps=30",
]
LOOPBACK = "--allow-loopback-in-peer-connection"
"""Candidates on loopback require this, and the media permission that the fake user interface grants."""
AUTOPLAY = "--autoplay-policy=document-user-activation-required"
"""Audio requires a user gesture, as in a browser with default settings."""

COMMAND_TIMEOUT = 60
START_TIMEOUT = 120
"""The timeout of the first command. A browser that is not in the page cache first reads several hundred megabytes."""


class Chromium:
    """A browser with its own profile, as a context manager."""

    def __init__(self, *flags, executable=None, loopback=True):
        """Starts the browser. Without `loopback`, it gathers ICE candidates with the installed configuration."""
        program = executable or shutil.which("chromium") or shutil.which("google-chrome")
        if program is None:
            raise BrowserError("there is no Chromium; scripts/peers installs it")
        self._profile = tempfile.mkdtemp(prefix="pcast-chromium-")
        self._read, theirs_write = self._pipe(theirs=1)
        self._write, theirs_read = self._pipe(theirs=0)
        self._buffer = bytearray()
        self._number = 0
        self._listeners = {}
        self._log = open(os.path.join(self._profile, "log"), "wb")
        try:
            self._process = self._start(
                [program, *FLAGS, AUTOPLAY, *([LOOPBACK] if loopback else []), f"--user-data-dir={self._profile}",
                 *flags], theirs_read, theirs_write)
        finally:
            os.close(theirs_read)
            os.close(theirs_write)
        self.version = self.command("Browser.getVersion", timeout=START_TIMEOUT)["product"]

    @staticmethod
    def _pipe(theirs):
        """Returns the local end of a pipe and the browser's end, whose number is above 9 and so not its later one."""
        ends = os.pipe()
        high = fcntl.fcntl(ends[theirs], fcntl.F_DUPFD_CLOEXEC, 10)
        os.close(ends[theirs])
        return ends[1 - theirs], high

    def _start(self, command, theirs_read, theirs_write):
        # The browser expects its pipe at descriptors 3 and 4. A shell moves them there: between fork and exec, Python
        # code is not safe. Not every shell can name descriptors above 9, hence /dev/fd.
        script = f'exec 3</dev/fd/{theirs_read} 4>/dev/fd/{theirs_write}; exec "$@"'
        # The browser has its own process group, which is ended as a whole, but the same session. The kernel divides the
        # processors between sessions (sched(7), autogroup). With half of them, the browser would stall other programs.
        return subprocess.Popen(
            ["/bin/sh", "-c", script, "chromium", *command], pass_fds=(theirs_read, theirs_write),
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, process_group=0,
            env={**os.environ, "HOME": self._profile, "DBUS_SESSION_BUS_ADDRESS": "disabled:"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def command(self, method, session=None, timeout=COMMAND_TIMEOUT, **parameters):
        """Sends one command and returns its result. Events that arrive meanwhile are passed to their pages."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self._send(json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + timeout
        while True:
            answer = self._receive(deadline, method)
            if answer.get("id") == number:
                if "error" in answer:
                    reason = answer["error"]["message"]
                    kind = DocumentGone if reason in DocumentGone.MESSAGES else BrowserError
                    raise kind(f"{method}: {reason}")
                return answer["result"]
            self._deliver(answer)

    def tell(self, method, session):
        """Sends a command that has no response."""
        self._number += 1
        self._send(json.dumps({"id": self._number, "method": method, "sessionId": session}).encode() + b"\0")

    def pump(self, seconds):
        """Receives events for a number of seconds."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                self._deliver(self._receive(deadline, None))
            except TimeoutError:
                return

    def _send(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(self._write, view):]

    def _receive(self, deadline, method):
        while True:
            end = self._buffer.find(0)
            if end >= 0:
                message = bytes(self._buffer[:end])
                del self._buffer[:end + 1]
                return json.loads(message)
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not select.select([self._read], [], [], remaining)[0]:
                if method is None:
                    raise TimeoutError
                raise BrowserError(f"{method} was not answered in time")
            chunk = os.read(self._read, 1 << 20)
            if not chunk:
                raise BrowserError(f"Chromium ended: {self._last_words()}")
            self._buffer += chunk

    def _last_words(self):
        with open(self._log.name, "rb") as log:
            return log.read()[-300:].decode(errors="replace").strip()

    def _deliver(self, event):
        listener = self._listeners.get(event.get("sessionId"))
        if listener and "method" in event:  # otherwise it is the response to a command sent by `tell`
            listener(event["method"], event["params"])

    def page(self, *scripts, context=None):
        """Opens an empty page, in which `scripts` run before those of each document, in a browser context."""
        place = {"browserContextId": context} if context else {}
        target = self.command("Target.createTarget", url="about:blank", **place)["targetId"]
        session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        self._listeners[session] = page.take
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.command(f"{domain}.enable")
        for script in scripts:
            page.command("Page.addScriptToEvaluateOnNewDocument", source=script)
        return page

    def close(self):
        """Terminates the browser and removes its profile."""
        try:
            self.command("Browser.close", timeout=5)
            self._process.wait(5)
        except (BrowserError, OSError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self._process.pid, signal.SIGKILL)  # the group contains only its child processes
        except ProcessLookupError:
            pass
        self._process.wait()
        for descriptor in (self._read, self._write):
            os.close(descriptor)
        self._log.close()
        shutil.rmtree(self._profile, ignore_errors=True)


class Page(browser.Page):
    """A tab."""

    def __init__(self, chromium, session):
        super().__init__(chromium)
        self._session = session
        self._loaded = False

    def command(self, method, timeout=COMMAND_TIMEOUT, **parameters):
        return self._browser.command(method, session=self._session, timeout=timeout, **parameters)

    def take(self, method, parameters):
        """Handles an event."""
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            detail = parameters["exceptionDetails"]
            self.problems.append("exception: " + detail.get("exception", {}).get("description", detail["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
            words = [str(value.get("value", value.get("description"))) for value in parameters["args"]]
            self.problems.append("console: " + " ".join(words))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            entry = parameters["entry"]
            self.problems.append(f"{entry['source']}: {entry['text']} {entry.get('url', '')}".strip())

    def open(self, url, timeout=COMMAND_TIMEOUT):
        """Navigates to a page and waits until it is loaded."""
        self._loaded = False
        problem = self.command("Page.navigate", url=url).get("errorText")
        if problem:
            raise BrowserError(f"{url}: {problem}")
        deadline = time.monotonic() + timeout
        while not self._loaded:
            if time.monotonic() > deadline:
                raise BrowserError(f"{url} did not load in {timeout} s")
            self._browser.pump(0.02)

    def evaluate(self, expression, timeout=COMMAND_TIMEOUT):
        """Returns the value of a JavaScript expression. A promise is awaited."""
        answer = self.command(
            "Runtime.evaluate", timeout=timeout, expression=expression, awaitPromise=True, returnByValue=True)
        return self._value(answer)

    def inside(self, expression):
        """The value of a JavaScript expression in the first frame of the page, in a world of its own."""
        frame = self.command("Page.getFrameTree")["frameTree"]["childFrames"][0]["frame"]["id"]
        context = self.command("Page.createIsolatedWorld", frameId=frame)["executionContextId"]
        answer = self.command(
            "Runtime.evaluate", expression=expression, contextId=context, awaitPromise=True, returnByValue=True)
        return self._value(answer)

    @staticmethod
    def _value(answer):
        if "exceptionDetails" in answer:
            detail = answer["exceptionDetails"]
            raise BrowserError(detail.get("exception", {}).get("description", detail["text"]))
        return answer["result"].get("value")

    def click(self, selector):
        """Clicks the center of an element with the mouse, which gives the page its user activation."""
        place = self.center(selector)
        for kind, count in (("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 1)):
            self.command("Input.dispatchMouseEvent", type=kind, button="left" if count else "none",
                         clickCount=count, **place)

    def type(self, selector, text):
        """Selects the whole content of a field and replaces it by keyboard input."""
        self.click(selector)
        self.evaluate(f"document.querySelector({json.dumps(selector)}).select()")
        self.command("Input.insertText", text=text)

    def press(self, key):
        """Presses and releases a key, such as Enter, Escape or Tab."""
        code = {"Enter": 13, "Escape": 27, "Tab": 9}[key]
        for kind in ("keyDown", "keyUp"):
            self.command("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                         **({"text": "\r"} if key == "Enter" and kind == "keyDown" else {}))

    def prefer(self, scheme):
        """Sets the color scheme that the user prefers: light or dark."""
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def kill(self):
        """Terminates the renderer process of the page. The command has no response. Navigation starts a new process."""
        self._browser.tell("Page.crash", self._session)

    def resize(self, width, height, mobile=False):
        """Sets the window size of the page."""
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                     mobile=mobile)

    def show(self):
        """Brings the page to the front. Otherwise it may not be rendered, and its visibility is `hidden`."""
        self.command("Page.bringToFront")

    def screenshot(self, path, whole=False):
        """Writes a screenshot of the page as PNG, with the scrolled content if `whole` is true."""
        self.show()
        picture = self.command("Page.captureScreenshot", timeout=60, format="png", optimizeForSpeed=True,
                               captureBeyondViewport=whole, **({"clip": self._whole()} if whole else {}))
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def _whole(self):
        size = self.command("Page.getLayoutMetrics")["cssContentSize"]
        return {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
