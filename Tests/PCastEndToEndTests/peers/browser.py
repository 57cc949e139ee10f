"""The common code of the drivers of browsers: errors, and the use of a page by expressions that it evaluates."""

import json
import os
import time


class BrowserError(Exception):
    """The browser rejected a command, a page threw an exception, or a condition was not met within the timeout."""


class DocumentGone(BrowserError):
    """Another document replaced the one that evaluated the expression."""

    MESSAGES = ("Inspected target navigated or closed", "Execution context was destroyed.")


def script(name):
    """Returns the text of a script in this folder, for `page`."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), encoding="utf-8") as file:
        return file.read()


class Page:
    """A tab. A driver adds `evaluate` and `inside`, which return the value of a JavaScript expression."""

    def __init__(self, browser):
        self._browser = browser
        self.problems = []
        """The errors of the console and the network, and uncaught exceptions, as text."""

    def wait(self, expression, timeout, what=None):
        """Waits until the expression is true, also across navigations, and returns its value."""
        return self._wait(self.evaluate, expression, timeout, what)

    def wait_inside(self, expression, timeout, what=None):
        """Waits until the expression is true in the first frame of the page, and returns its value."""
        return self._wait(self.inside, expression, timeout, what)

    def _wait(self, evaluate, expression, timeout, what):
        deadline = time.monotonic() + timeout
        while True:
            try:
                value = evaluate(expression)
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
        """Returns the visible text of an element on one line, which is empty if the element is hidden."""
        shown = self.evaluate(f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});
            return element?.checkVisibility() ? element.innerText : "";
        }})()""")
        return " ".join(shown.split())

    def rest(self, seconds):
        """Waits for a number of seconds."""
        self._browser.pump(seconds)

    def center(self, selector):
        """Returns the position of the center of an element, after it was scrolled into view."""
        place = self.evaluate(f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});
            if (!element) return null;
            element.scrollIntoView({{ block: "center", behavior: "instant" }});
            const {{ x, y, width, height }} = element.getBoundingClientRect();
            return width && height ? {{ x: x + width / 2, y: y + height / 2 }} : null;
        }})()""")
        if place is None:
            raise BrowserError(f"{selector} cannot be clicked: it is not there or not visible")
        return place
