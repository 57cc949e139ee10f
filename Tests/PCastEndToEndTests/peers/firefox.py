"""A driver of headless Firefox by WebDriver BiDi (https://w3c.github.io/webdriver-bidi/), with the interface of chromium.py.

It needs the Python package `websockets`, and no driver program. Firefox opens the port of the protocol on loopback.
"""

import base64
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

import browser
import program
from browser import BrowserError

program.require(os.path.join(program.environment(), "bin", "python"), "websockets.sync.client")

from websockets.exceptions import ConnectionClosed  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

PREFERENCES = {
    # The camera and the microphone are fake, and the page may use them without a prompt, like Chromium's fake capture.
    "media.navigator.streams.fake": True,
    "media.navigator.permission.disabled": True,
    # Firefox makes no connections outside the machine.
    "app.update.enabled": False, "app.normandy.enabled": False, "app.shield.optoutstudies.enabled": False,
    "browser.region.network.url": "", "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False, "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.getAddons.cache.enabled": False, "extensions.update.enabled": False,
    "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False,
    "services.settings.server": "http://127.0.0.1:9/", "toolkit.telemetry.enabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
    # Firefox opens no other pages.
    "browser.shell.checkDefaultBrowser": False, "browser.startup.page": 0, "browser.aboutwelcome.enabled": False,
    "datareporting.policy.firstRunURL": "",
}
"""The preferences. None of them changes how Firefox gathers ICE candidates."""

COMMAND_TIMEOUT = 60
START_TIMEOUT = 120


class Firefox:
    """A browser with its own profile, as a context manager."""

    def __init__(self, *flags, executable=None, preferences=None):
        path = executable or shutil.which("firefox-esr") or shutil.which("firefox")
        if path is None:
            raise BrowserError("there is no Firefox; scripts/peers installs it")
        self._home = tempfile.mkdtemp(prefix="pcast-firefox-")
        profile = os.path.join(self._home, "profile")
        os.mkdir(profile)
        with open(os.path.join(profile, "user.js"), "w", encoding="utf-8") as file:
            for name, value in {**PREFERENCES, **(preferences or {})}.items():
                file.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
        self._pages = {}
        self._number = 0
        self._messages = bytearray()
        self._socket = None
        # The browser has its own process group, which is ended as a whole (see chromium.py).
        self._process = subprocess.Popen(
            [path, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0",
             "--width", "1280", "--height", "900", *flags],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, process_group=0,
            env={**os.environ, "HOME": self._home, "DBUS_SESSION_BUS_ADDRESS": "disabled:"})
        try:
            self._socket = connect(f"{self._address()}/session", max_size=None, open_timeout=START_TIMEOUT, proxy=None)
            session = self.command("session.new", timeout=START_TIMEOUT, capabilities={})
            found = session["capabilities"]
            self.version = f"{found['browserName']}/{found['browserVersion']}"
            self.command("session.subscribe", events=["log.entryAdded", "network.responseCompleted",
                                                      "network.fetchError"])
        except BaseException:
            self.close()
            raise

    def _address(self):
        """Returns the address of the protocol, which Firefox writes to its standard error."""
        deadline = time.monotonic() + START_TIMEOUT
        while True:
            found = re.search(rb"WebDriver BiDi listening on (ws://\S+)", self._messages)
            if found:
                return found[1].decode()
            if not select.select([self._process.stderr], [], [], max(0, deadline - time.monotonic()))[0]:
                raise BrowserError(f"Firefox did not start: {self._last_words()}")
            chunk = os.read(self._process.stderr.fileno(), 1 << 16)
            if not chunk:
                raise BrowserError(f"Firefox ended: {self._last_words()}")
            self._messages += chunk

    def _last_words(self):
        return bytes(self._messages[-300:]).decode(errors="replace").strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def command(self, method, timeout=COMMAND_TIMEOUT, **parameters):
        """Sends one command and returns its result. Events that arrive meanwhile are passed to their pages."""
        self._number += 1
        number = self._number
        try:
            self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
            deadline = time.monotonic() + timeout
            while True:
                answer = self._receive(deadline)
                if answer is None:
                    raise BrowserError(f"{method} was not answered in time")
                if answer.get("id") != number:
                    self._deliver(answer)
                elif answer["type"] == "error":
                    raise BrowserError(f"{method}: {answer['error']}: {answer.get('message', '')}")
                else:
                    return answer["result"]
        except ConnectionClosed as error:
            raise BrowserError(f"Firefox ended: {self._last_words()}") from error

    def pump(self, seconds):
        """Receives events for a number of seconds."""
        deadline = time.monotonic() + seconds
        while (event := self._receive(deadline)) is not None:
            self._deliver(event)

    def _receive(self, deadline):
        self._drain()
        try:
            return json.loads(self._socket.recv(timeout=max(0, deadline - time.monotonic())))
        except TimeoutError:
            return None

    def _drain(self):
        """Reads the output of Firefox, so that its pipe does not become full, and stores the end of it."""
        while select.select([self._process.stderr], [], [], 0)[0]:
            chunk = os.read(self._process.stderr.fileno(), 1 << 16)
            if not chunk:
                return
            self._messages = (self._messages + chunk)[-(1 << 16):]

    def _deliver(self, event):
        parameters = event.get("params", {})
        context = parameters.get("source", {}).get("context") or parameters.get("context")
        page = self._pages.get(context)
        if page:
            page.take(event["method"], parameters)

    def page(self, *scripts):
        """Opens an empty page, in which `scripts` run before those of each document."""
        # The page has its own window, because a page behind another tab shows no video frames.
        context = self.command("browsingContext.create", type="window")["context"]
        for script in scripts:
            self.command("script.addPreloadScript", functionDeclaration=f"() => {{ {script} }}", contexts=[context])
        page = self._pages[context] = Page(self, context)
        return page

    def close(self):
        """Terminates the browser and removes its profile."""
        try:
            if self._socket:
                self.command("browser.close", timeout=5)
                self._socket.close()
                self._process.wait(2)
        except (BrowserError, OSError, ConnectionClosed, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self._process.pid, signal.SIGKILL)  # the group contains only its child processes
        except ProcessLookupError:
            pass
        self._process.wait()
        self._process.stderr.close()
        shutil.rmtree(self._home, ignore_errors=True)


class Page(browser.Page):
    """A tab."""

    def __init__(self, firefox, context):
        super().__init__(firefox)
        self._context = context

    def command(self, method, timeout=COMMAND_TIMEOUT, **parameters):
        return self._browser.command(method, timeout=timeout, context=self._context, **parameters)

    def take(self, method, parameters):
        """Handles an event."""
        if method == "log.entryAdded" and parameters["level"] == "error":
            self.problems.append(f"{parameters['type']}: {parameters['text']}")
        elif method == "network.responseCompleted" and parameters["response"]["status"] >= 400:
            response = parameters["response"]
            self.problems.append(f"network: {response['status']} {response['url']}")

    def open(self, url, timeout=COMMAND_TIMEOUT):
        """Navigates to a page and waits until it is loaded."""
        self.command("browsingContext.navigate", url=url, wait="complete", timeout=timeout)

    def inside(self, expression):
        """The value of a JavaScript expression in the first frame of the page."""
        tree = self._browser.command("browsingContext.getTree", root=self._context)
        return self.evaluate(expression, context=tree["contexts"][0]["children"][0]["context"])

    def evaluate(self, expression, timeout=COMMAND_TIMEOUT, context=None):
        """The value of a JavaScript expression; a promise is awaited."""
        answer = self._browser.command(
            "script.evaluate", timeout=timeout, awaitPromise=True, target={"context": context or self._context},
            expression=f"(async () => JSON.stringify(await (0, eval)({json.dumps(expression)})))()",
            userActivation=False)
        if answer["type"] == "exception":
            raise BrowserError(answer["exceptionDetails"]["text"])
        text = answer["result"].get("value")
        return None if text is None else json.loads(text)

    def click(self, selector):
        """Clicks the center of an element with the mouse, which gives the page its user activation."""
        place = {axis: round(value) for axis, value in self.center(selector).items()}
        self.command("input.performActions", actions=[{
            "type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [
                {"type": "pointerMove", **place}, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0},
            ]}])

    def screenshot(self, path, whole=False):
        """Writes a screenshot of the page as PNG, with the scrolled content if `whole` is true."""
        picture = self.command("browsingContext.captureScreenshot", origin="document" if whole else "viewport")
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))
