#!/usr/bin/env python3
"""Controls headless Chromium by JSON objects, one per line of standard input, each with a response on standard output.

A command is, e.g., {"id": 1, "do": "open", "page": "main", "url": "…"}. Its response is {"event": "answer", "id": 1,
"value": …}, or has "error". A page is created when a command names it first. Input events are those of the browser.
"""

import json
import sys
import urllib.error
import urllib.request

import chromium

WIRE = """(() => {
  const wire = window.wire = { sent: [], received: [], sockets: [] };
  const Native = window.WebSocket;
  window.WebSocket = class extends Native {
    constructor(...words) {
      super(...words);
      wire.sockets.push(this);
      this.addEventListener("message", ({ data }) => wire.received.push(JSON.parse(data)));
      this.addEventListener("close", ({ code, reason }) => { wire.closed = { code, reason }; });
    }
    send(data) {
      if (typeof data === "string" && data.startsWith("{")) try { wire.sent.push(JSON.parse(data)); } catch {}
      super.send(data);
    }
  };
})()"""
"""Records all messages of the page's WebSockets."""

KEYS = {"ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35}


class Hand:
    def __init__(self, browser):
        self.browser = browser
        self.pages = {}

    def page(self, name):
        if name not in self.pages:
            self.pages[name] = self.browser.page(WIRE)
            self.pages[name].resize(1280, 720)
        return self.pages[name]

    def do(self, order):
        return getattr(self, "do_" + order["do"])(order)

    def do_open(self, order):
        self.page(order["page"]).open(order["url"])

    def do_click(self, order):
        page = self.page(order["page"])
        page.command("Page.bringToFront")
        page.click(order["selector"])

    def do_slide(self, order):
        """Clicks a slider at a fraction of its length."""
        page = self.page(order["page"])
        page.command("Page.bringToFront")
        box = page.evaluate(f"""(() => {{
            const {{ x, y, width, height }} = document.querySelector({json.dumps(order["selector"])}).getBoundingClientRect();
            return {{ x, y, width, height }};
        }})()""")
        place = {"x": box["x"] + box["width"] * order["share"], "y": box["y"] + box["height"] / 2}
        self.drag(page, place, place)

    def do_drag(self, order):
        page = self.page(order["page"])
        page.command("Page.bringToFront")
        (x, y), (to_x, to_y) = order["from"], order["to"]
        self.drag(page, {"x": x, "y": y}, {"x": to_x, "y": to_y})

    @staticmethod
    def drag(page, start, end):
        def mouse(kind, place, buttons):
            page.command("Input.dispatchMouseEvent", type=kind, button="left" if kind != "mouseMoved" else "none",
                         buttons=buttons, clickCount=0 if kind == "mouseMoved" else 1, **place)
        mouse("mouseMoved", start, 0)
        mouse("mousePressed", start, 1)
        if end != start:
            mouse("mouseMoved", end, 1)
        mouse("mouseReleased", end, 0)

    def do_press(self, order):
        """Sends a key to the focused element, or to an element that is focused first."""
        page = self.page(order["page"])
        page.command("Page.bringToFront")
        if "selector" in order:
            page.evaluate(f"document.querySelector({json.dumps(order['selector'])}).focus()")
        for kind in ("rawKeyDown", "keyUp"):
            page.command("Input.dispatchKeyEvent", type=kind, key=order["key"], code=order["key"],
                         windowsVirtualKeyCode=KEYS[order["key"]])

    def do_evaluate(self, order):
        return self.page(order["page"]).evaluate(order["expression"])

    def do_wait(self, order):
        return self.page(order["page"]).wait(order["expression"], order.get("seconds", 60))

    def do_text(self, order):
        return self.page(order["page"]).text(order["selector"])

    def do_screenshot(self, order):
        self.page(order["page"]).screenshot(order["path"])

    def do_resize(self, order):
        self.page(order["page"]).resize(order["width"], order["height"])

    def do_problems(self, order):
        return self.page(order["page"]).problems

    def do_crash(self, order):
        """Kills the renderer process of the page. The command has no response."""
        self.page(order["page"]).kill()

    def do_put(self, order):
        """Sends a request to a server, like the program of a producer."""
        request = urllib.request.Request(
            order["url"], method="PUT", data=order["body"].encode(), headers={"Authorization": "Bearer " + order["token"]})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code


def main():
    with chromium.Chromium() as browser:
        hand = Hand(browser)
        print("ready", flush=True)
        for line in sys.stdin:
            order = json.loads(line)
            if order["do"] == "end":
                break
            answer = {"event": "answer", "id": order["id"]}
            try:
                answer["value"] = hand.do(order)
            except Exception as problem:  # any error is the response
                answer["error"] = f"{type(problem).__name__}: {problem}"
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
