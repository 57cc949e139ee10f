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

FLAGS = [
    "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check",
    "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-domain-reliability", "--metrics-recording-only",
    "--no-proxy-server", "--hide-scrollbars", "--window-size=1280,900",
    # A page in the background is throttled; a measured one must not be.
    "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
    "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream=fps=30",
]
LOOPBACK = "--allow-loopback-in-peer-connection"
"""Candidates on loopback need this, and the media permission that the fake user interface gives."""
AUTOPLAY = "--autoplay-policy=document-user-activation-required"
"""Sound needs a gesture, as in a browser that a person uses."""

COMMAND_TIMEOUT = 60
START_TIMEOUT = 60
"""Of the first command: a browser whose files are not in memory yet reads some hundred megabytes first."""


class BrowserError(Exception):
    """Chromium refused a command, a page threw, or a condition did not come true in time."""


class DocumentGone(BrowserError):
    """The document that was asked gave way to another one before it answered."""

    MESSAGES = ("Inspected target navigated or closed", "Execution context was destroyed.")


class Chromium:
    """One browser with a profile of its own; a context manager."""

    def __init__(self, *flags, executable=None, loopback=True):
        """Without `loopback` it gathers ICE candidates as it is installed."""
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
        """Our end and the browser's; its own is above 9, so that it is neither of those it shall become."""
        ends = os.pipe()
        high = fcntl.fcntl(ends[theirs], fcntl.F_DUPFD_CLOEXEC, 10)
        os.close(ends[theirs])
        return ends[1 - theirs], high

    def _start(self, command, theirs_read, theirs_write):
        # The browser expects its pipe at descriptors 3 and 4. A shell moves them there: between fork and exec, Python
        # code is not safe. Not every shell can name descriptors above 9, hence /dev/fd.
        script = f'exec 3</dev/fd/{theirs_read} 4>/dev/fd/{theirs_write}; exec "$@"'
        # In a group of its own, to be ended as one, but in our session: the kernel shares the processors between sessions
        # first (sched(7), autogroup), and a browser with half of them for itself stops the programs that it watches.
        return subprocess.Popen(
            ["/bin/sh", "-c", script, "chromium", *command], pass_fds=(theirs_read, theirs_write),
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, process_group=0,
            env={**os.environ, "HOME": self._profile, "DBUS_SESSION_BUS_ADDRESS": "disabled:"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def command(self, method, session=None, timeout=COMMAND_TIMEOUT, **parameters):
        """Sends one command and returns its result; events that come meanwhile go to their pages."""
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
        """Sends a command that nobody answers."""
        self._number += 1
        self._send(json.dumps({"id": self._number, "method": method, "sessionId": session}).encode() + b"\0")

    def pump(self, seconds):
        """Lets events come for a while."""
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
        if listener and "method" in event:  # else the answer to what was only told
            listener(event["method"], event["params"])

    def page(self, *scripts):
        """A new empty page; `scripts` run in it before those of each document."""
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        self._listeners[session] = page.take
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.command(f"{domain}.enable")
        for script in scripts:
            page.command("Page.addScriptToEvaluateOnNewDocument", source=script)
        return page

    def close(self):
        """Ends the browser and removes its profile."""
        try:
            self.command("Browser.close", timeout=5)
            self._process.wait(5)
        except (BrowserError, OSError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self._process.pid, signal.SIGKILL)  # its group holds its children only
        except ProcessLookupError:
            pass
        self._process.wait()
        for descriptor in (self._read, self._write):
            os.close(descriptor)
        self._log.close()
        shutil.rmtree(self._profile, ignore_errors=True)


class Page:
    """One tab."""

    def __init__(self, browser, session):
        self._browser = browser
        self._session = session
        self._loaded = False
        self.problems = []
        """Errors of the console and the network, and uncaught exceptions, as text."""

    def command(self, method, timeout=COMMAND_TIMEOUT, **parameters):
        return self._browser.command(method, session=self._session, timeout=timeout, **parameters)

    def take(self, method, parameters):
        """Takes an event."""
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
        """Goes to a page and waits until it is loaded."""
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
        """The value of a JavaScript expression; a promise is awaited."""
        answer = self.command(
            "Runtime.evaluate", timeout=timeout, expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            detail = answer["exceptionDetails"]
            raise BrowserError(detail.get("exception", {}).get("description", detail["text"]))
        return answer["result"].get("value")

    def inside(self, expression):
        """The value of a JavaScript expression in the first frame of the page, in a world of its own."""
        frame = self.command("Page.getFrameTree")["frameTree"]["childFrames"][0]["frame"]["id"]
        context = self.command("Page.createIsolatedWorld", frameId=frame)["executionContextId"]
        answer = self.command(
            "Runtime.evaluate", expression=expression, contextId=context, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            detail = answer["exceptionDetails"]
            raise BrowserError(detail.get("exception", {}).get("description", detail["text"]))
        return answer["result"].get("value")

    def wait_inside(self, expression, timeout, what=None):
        """Waits until the expression is true in the first frame of the page, and returns its value."""
        deadline = time.monotonic() + timeout
        while not (value := self.inside(expression)):
            if time.monotonic() > deadline:
                raise BrowserError(f"waited {timeout} s in vain for {what or expression}")
            self._browser.pump(0.05)
        return value

    def wait(self, expression, timeout, what=None):
        """Waits until the expression is true, of whichever document is there then, and returns its value."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                value = self.evaluate(expression)
            except DocumentGone:
                value = None
            if value:
                return value
            if time.monotonic() > deadline:
                raise BrowserError(f"waited {timeout} s in vain for {what or expression}")
            self._browser.pump(0.05)

    def await_frames(self, direction, field, count, timeout=60):
        """Waits until `count` frames of the video are counted, with the hook of `peer_connections.js`."""
        frames = f"pcastStatistics().then((now) => now.media['{direction}-rtp-video']?.{field} ?? 0)"
        self.wait(f"{frames}.then((now) => now >= {count})", timeout, f"{count} {field}")

    def text(self, selector):
        """What an element shows, on one line; empty where it is hidden."""
        shown = self.evaluate(f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});
            return element?.checkVisibility() ? element.innerText : "";
        }})()""")
        return " ".join(shown.split())

    def rest(self, seconds):
        """Leaves the page alone for a while."""
        self._browser.pump(seconds)

    def click(self, selector):
        """Clicks the middle of an element with the mouse, as a person would: the page gets its user activation."""
        place = self.evaluate(f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});
            if (!element) return null;
            element.scrollIntoView({{ block: "center", behavior: "instant" }});
            const {{ x, y, width, height }} = element.getBoundingClientRect();
            return width && height ? {{ x: x + width / 2, y: y + height / 2 }} : null;
        }})()""")
        if place is None:
            raise BrowserError(f"{selector} cannot be clicked: it is not there or not visible")
        for kind, count in (("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 1)):
            self.command("Input.dispatchMouseEvent", type=kind, button="left" if count else "none",
                         clickCount=count, **place)

    def type(self, selector, text):
        """Writes into a field, in the place of what stood there, as a person would who has chosen all of it."""
        self.click(selector)
        self.evaluate(f"document.querySelector({json.dumps(selector)}).select()")
        self.command("Input.insertText", text=text)

    def press(self, key):
        """Presses and lets go a key, such as Enter, Escape or Tab."""
        code = {"Enter": 13, "Escape": 27, "Tab": 9}[key]
        for kind in ("keyDown", "keyUp"):
            self.command("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                         **({"text": "\r"} if key == "Enter" and kind == "keyDown" else {}))

    def prefer(self, scheme):
        """Has the page believe that its reader likes it light or dark."""
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def kill(self):
        """Ends the process that draws the page. Nobody answers that; opening a page again brings it back."""
        self._browser.tell("Page.crash", self._session)

    def resize(self, width, height, mobile=False):
        """Gives the page another window size."""
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                     mobile=mobile)

    def screenshot(self, path, whole=False):
        """Writes what the page shows as PNG; where it is `whole`, also what is seen after scrolling."""
        self.command("Page.bringToFront")  # a page behind another may never draw again
        picture = self.command("Page.captureScreenshot", timeout=60, format="png", optimizeForSpeed=True,
                               captureBeyondViewport=whole, **({"clip": self._whole()} if whole else {}))
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def _whole(self):
        size = self.command("Page.getLayoutMetrics")["cssContentSize"]
        return {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
