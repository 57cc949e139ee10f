#!/usr/bin/env python3
"""Tests the dashboard in headless Chromium: the login, the streams, a link for subscribers, and the end of a stream.

Publishers are separate programs (--program). The notified backend is part of this program. With --screenshots it saves a
screenshot of every page in every state, in light and dark mode and in the size of a phone.
"""

import base64
import http.server
import json
import os
import signal
import subprocess
import threading
import time
import urllib.request

import chromium
import page_program
import program

DESK, TELEPHONE = (1280, 900), (390, 844)
WORDS = "Too loud for the neighbours"
AIM = """((selector) => {
    [window.pcastAim, window.pcastIsHit] = [selector, false];
    window.pcastAims ??= (document.addEventListener("click", ({ target }) => {
        window.pcastIsHit ||= target.closest(window.pcastAim) !== null;
    }, true), true);
})"""
"""A function that notes whether the next click hits an element, which the page may replace meanwhile."""


class Backend(http.server.ThreadingHTTPServer):
    """Accepts notifications at /good, answers 410 at /gone until this is changed, and fails at /slow."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = {"/good": 204, "/gone": 410, "/slow": 503}
        self.taken = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = self.server.answers[self.path]
        if status == 204:
            self.server.taken.append((self.path, body["what"], body["data"]["streamId"]))
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Publisher:
    """A `pcast publish` process that publishes the test pattern."""

    def __init__(self, options, *arguments, token=None, size="640x360"):
        command = [
            options.program, "publish", "--uri", options.url, "--token", token or options.token, "--video", "synthetic",
            "--audio", "null", "--size", size, "--json", *arguments,
        ]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.events = []
        self._news = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()
        self.stream = self.event("publishing")["streamId"]

    def _read(self):
        for line in self.process.stdout:
            with self._news:
                self.events.append(json.loads(line))
                self._news.notify_all()

    def event(self, name, timeout=60):
        found = []

        def come():
            found[:] = [event for event in self.events if event["event"] == name]
            return found

        with self._news:
            if not self._news.wait_for(come, timeout):
                raise RuntimeError(f"the publisher did not tell “{name}”: {self.events[-3:]}")
        return found[0]

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(60)


class Story:
    """A browser and the steps that it performs."""

    def __init__(self, run, options, browser):
        self.run, self.options, self.browser = run, options, browser
        self.hook = page_program.hook()
        self.page = browser.page(self.hook)
        self.page.resize(*DESK)

    def ask(self, method, path, body=None):
        """Sends a request to the platform as the application's backend."""
        credentials = base64.b64encode(f"{self.options.application}:{self.options.secret}".encode()).decode()
        request = urllib.request.Request(
            self.options.url + path, method=method, data=body and json.dumps(body).encode(),
            headers={"Authorization": f"Basic {credentials}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read().decode()
        return json.loads(text) if text.startswith("{") else text

    def keep(self, name, page=None, whole=True):
        """Saves screenshots in both color schemes and two sizes, with the scrolled content if `whole` is true."""
        if not self.options.screenshots:
            return
        page = page or self.page
        for size, width_height in (("desk", DESK), ("phone", TELEPHONE)):
            page.resize(*width_height, mobile=size == "phone")
            for scheme in ("light", "dark"):
                page.prefer(scheme)
                page.evaluate("scrollTo(0, 0)")
                page.rest(0.5)
                page.screenshot(os.path.join(self.options.screenshots, f"{name}-{size}-{scheme}.png"), whole=whole)
        page.resize(*DESK)
        page.prefer("light")
        page.rest(0.2)

    def expect(self, name, expression, page=None, timeout=60):
        """Records whether a condition is met within the timeout."""
        try:
            (page or self.page).wait(expression, timeout)
            self.run.check(name, True)
        except chromium.BrowserError as problem:
            self.run.check(f"{name} ({problem})", False)

    def click(self, selector):
        """Clicks an element when it exists, is visible and enabled, and keeps its position.

        Parts of the page that are loaded later may move the element, so that the click misses it, which is repeated.
        """
        element = f"document.querySelector({json.dumps(selector)})"
        deadline = time.monotonic() + 60
        while True:
            self.page.wait(
                f"(() => {{ const e = {element}; return !!e && !e.disabled && e.checkVisibility(); }})()", 60, selector)
            self.settle(selector)
            self.page.evaluate(f"{AIM}({json.dumps(selector)})")
            self.page.click(selector)
            try:
                if self.page.evaluate("window.pcastIsHit !== false"):
                    return
            except chromium.DocumentGone:  # a link was clicked
                return
            if time.monotonic() > deadline:
                raise chromium.BrowserError(f"{selector} cannot be clicked")

    def settle(self, selector):
        """Waits until an element keeps its position."""
        deadline = time.monotonic() + 60
        place = self.page.center(selector)
        while time.monotonic() < deadline:
            self.page.rest(0.2)
            before, place = place, self.page.center(selector)
            if place == before:
                return

    def card(self, stream):
        return f"document.querySelector('[data-stream=\"{stream}\"]')"

    # Steps

    def log_in(self):
        page = self.page
        page.open(self.options.url + "/")
        page.wait("!!document.getElementById('login')", 60)
        self.keep("login")
        self.enter("not the secret")
        self.expect("a wrong secret is told", "document.getElementById('failure').textContent.includes('is wrong')")
        self.keep("login-wrong")
        page.problems.clear()  # the console contains the rejection
        self.enter(self.options.secret)
        self.expect("the right secret opens the dashboard", "!!document.getElementById('cards')")

    def enter(self, secret):
        page = self.page
        page.type("#application", self.options.application)
        page.type("#secret", secret)
        page.press("Enter")

    def look(self, publishers):
        page = self.page
        page.wait(f"document.querySelectorAll('.card').length == {len(publishers)}", 60, "a card for each stream")
        for publisher in publishers:
            card = self.card(publisher.stream)
            self.expect("the picture of a stream plays", f"{card}?.querySelector('video').currentTime > 0.5")
            self.expect(
                "its picture is told", f"/640 × 360/.test({card}?.querySelector('.facts').textContent)")
            self.expect(
                "its bitrate is told", f"/[0-9.]+ [kM]bit/.test({card}?.querySelector('.bitrate').textContent)")
            self.expect(
                "its last minutes are drawn",
                f"{card}?.querySelector('polyline')?.getAttribute('points').split(' ').length > 3")
            self.expect(
                "its own picture is no viewer",
                f"document.querySelector('[data-stream=\"{publisher.stream}\"] .watching').innerText.trim() == '0'")
        self.expect("the picture moves", f"""(async () => {{
            const video = {self.card(publishers[0].stream)}.querySelector("video");
            const canvas = new OffscreenCanvas(64, 36).getContext("2d");
            const take = () => {{ canvas.drawImage(video, 0, 0, 64, 36); return canvas.getImageData(0, 0, 64, 36).data; }};
            const before = take();
            await new Promise((done) => setTimeout(done, 400));
            const after = take();
            return before.some((value, index) => value !== after[index]) && Math.max(...before) > 0;
        }})()""")
        self.expect("the badge says live", "document.getElementById('state').innerText.trim() == 'live'")
        self.run.check("nothing is wider than a telephone", self.fits(page))

    def fits(self, page):
        """Returns whether the page fits a telephone, when it has followed the size."""
        page.resize(*TELEPHONE, mobile=True)
        page.rest(0.3)
        try:
            page.wait("document.documentElement.scrollWidth <= innerWidth", 60)
            return True
        except chromium.BrowserError:
            return False
        finally:
            page.resize(*DESK)

    def see_notifications(self, backend, publisher):
        self.expect(
            "a notification that was taken is told",
            "[...document.querySelectorAll('#notifications .delivery.good')].some((e) => e.textContent == 'good: delivered')")
        self.expect(
            "one that waits tells why and until when",
            "[...document.querySelectorAll('#notifications .delivery.fair')]"
            ".some((e) => /slow: answered 503, (again in|trying now)/.test(e.textContent))")
        self.expect(
            "one that is kept aside tells why",
            "[...document.querySelectorAll('#notifications .delivery.bad')]"
            ".some((e) => /gone: failed after 1 attempt: answered 410/.test(e.textContent))")
        self.keep("dashboard")
        backend.answers["/gone"] = 204
        self.click('.segments [data-state="failed"]')
        self.page.wait("!!document.querySelector('#notifications .resend')", 60)
        self.click("#resendall")
        self.expect("sent again, none is kept aside", "!document.getElementById('nonotifications').hidden")
        deadline = time.monotonic() + 60
        while ("/gone", "started", publisher.stream) not in backend.taken and time.monotonic() < deadline:
            self.page.rest(0.1)
        self.run.check("the backend gets what was sent again", ("/gone", "started", publisher.stream) in backend.taken)
        self.click('.segments [data-state=""]')

    def hand_out(self, publisher):
        page = self.page
        origin = self.options.url
        self.browser.command(
            "Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"], origin=origin)
        self.click(f'[data-stream="{publisher.stream}"] .link')
        page.evaluate("document.getElementById('lifetime').value = '600'")
        self.click("#makelink")
        link = page.wait("document.getElementById('link').value", 60, "a link")
        self.run.check("the token is in the fragment alone", "#token=" in link and "token" not in link.split("#")[0])
        self.expect("it says until when it is good", "/valid until/.test(document.getElementById('linkstate').textContent)")
        self.expect(
            "the link is on the clipboard",
            f"navigator.clipboard.readText().then((text) => text == {json.dumps(link)})")
        self.keep("link", whole=False)
        page.press("Escape")
        self.expect("Escape closes the dialog", "!document.getElementById('linkdialog').open")
        self.expect("nothing of the link stays", "document.getElementById('link').value == ''")

        watching = self.browser.page(self.hook)
        watching.resize(*DESK)
        watching.open(link)
        self.expect("the link shows the picture", "document.getElementById('video').currentTime > 0.5", watching)
        self.expect("the token has left the address", "!location.href.includes('token')", watching)
        history = watching.command("Page.getNavigationHistory")["entries"]
        self.run.check("the token is not in the history", not any("token" in entry["url"] for entry in history))
        card = f'[data-stream="{publisher.stream}"] .watching'
        self.expect("the viewer is counted", f"document.querySelector('{card}').textContent == '1'")
        if self.options.screenshots:
            watching.rest(3)
        self.keep("watch-live", watching)
        self.run.check("the watch page fits a telephone", self.fits(watching))
        return watching

    def end(self, publisher, watching):
        page = self.page
        self.click(f'[data-stream="{publisher.stream}"] .end')
        self.click("#enddialog input[value='']")
        self.click("#endnow")
        self.expect("words of one's own must be said", "/Enter a reason/.test(document.getElementById('endfailure').innerText)")
        page.type("#endtext", WORDS)
        self.keep("end", whole=False)
        self.click("#endnow")
        ended = publisher.event("ended")
        self.run.check("the publisher is told why", WORDS in (ended.get("reason"), ended.get("description")))
        self.run.figures["ended"] = ended
        self.expect("the viewer is told why", f"document.getElementById('why').textContent == '{WORDS}'", watching)
        self.keep("watch-ended", watching)
        self.expect("the card is gone", f"!{self.card(publisher.stream)}")
        self.expect(
            "it is among the ended", f"document.querySelector('#ended li .tone')?.textContent == '{WORDS}'")
        line = f'pcast_streams_ended_total{{application="{self.options.application}",reason="custom"}} 1'
        deadline = time.monotonic() + 60
        while not (is_counted := line in self.ask("GET", "/metrics")) and time.monotonic() < deadline:
            page.rest(0.1)
        self.run.check("the metrics count it", is_counted)

    def look_at_many(self, more):
        """Looks at more streams than there are previews."""
        page = self.page
        page.show()
        page.resize(DESK[0], 4000)
        # There are six previews. Two of the streams that are without one at last are packaged.
        while len(more) < 8:
            more.append(Publisher(self.options, token=self.options.streaming_token, size="160x90"))
        self.expect(
            "a stream without a preview shows its last key frame",
            "[...document.querySelectorAll('.still')].some((image) => !image.hidden && image.naturalWidth == 160)")
        for publisher in more:
            publisher.end()
        self.expect("their cards are gone", "document.querySelectorAll('.card').length == 2")
        page.resize(*DESK)
        page.problems.clear()  # the console contains requests before the first key frame

    def recordings(self, count):
        """Plays a recording and deletes it."""
        page = self.page
        rows = "document.querySelectorAll('#recordings li')"
        self.expect("the recordings are listed", f"{rows}.length >= {count}")
        self.expect(
            "their ends are told",
            "[...document.querySelectorAll('#recordings .tone')].every((e) => e.textContent == 'complete')")
        self.click("#recordings li .play")
        self.expect("a recording plays", "document.getElementById('recording').currentTime > 0.5")
        self.keep("recording", whole=False)
        page.command("Page.bringToFront")  # the key is for the page in front
        page.press("Escape")
        self.expect("Escape closes the player", "!document.getElementById('recording').hasAttribute('src')")
        before = page.evaluate(f"{rows}.length")
        self.click("#recordings li .delete")
        self.keep("recording-delete", whole=False)
        self.click("#deletenow")
        self.expect("a deleted recording leaves the list", f"{rows}.length == {before - 1}")

    def keys(self):
        """Creates, rotates and revokes a stream key, and reads the settings of encoders."""
        page = self.page
        field = "document.querySelector('#keysettings input')?.value"
        self.expect("the stream keys are shown", "!document.getElementById('streamkeys').hidden")
        page.evaluate("document.getElementById('keyname').value = 'studio-1'")
        self.click("#newkey button")
        self.expect("a new key has settings for RTMP", f"{field}?.startsWith('rtmp://')")
        self.expect(
            "a new key has settings for SRT",
            "[...document.querySelectorAll('#keysettings input')].some((e) => /srt:.*streamid=key-/.test(e.value))")
        self.keep("key-settings", whole=False)
        secret = "[...document.querySelectorAll('#keysettings input')].map((e) => e.value).find((e) => e.startsWith('key-'))"
        first = page.evaluate(secret)
        page.command("Page.bringToFront")
        page.press("Escape")
        self.expect("the page forgets the key", "!document.querySelector('#keysettings input')")
        self.click("#keys .rotate")
        self.click("#changekey")
        self.expect("a rotated key is another one", f"{secret} && {secret} !== {json.dumps(first)}")
        page.press("Escape")
        self.click("#keys .revoke")
        self.click("#changekey")
        self.expect("a revoked key leaves the list", "!document.querySelector('#keys li')")

    def lose(self):
        page = self.page
        page.command("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1,
                     uploadThroughput=-1)
        self.expect("a platform that is gone is told", "/Trying again in/.test(document.getElementById('problem').innerText)")
        self.keep("dashboard-gone")
        page.command("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1,
                     uploadThroughput=-1)
        self.expect(
            "it comes back by itself",
            "document.getElementById('state').textContent == 'live' && document.getElementById('problem').hidden")
        page.problems.clear()  # the console contains failed requests

    def leave(self):
        page = self.page
        # Another client ends the login, with the same effect as its expiry.
        page.evaluate(
            "fetch('/dashboard/login', { method: 'DELETE', headers: { 'PCast-Dashboard': '1' } }).then((r) => r.status)")
        self.expect("a login that is over is told", "!document.getElementById('again')?.hidden")
        self.keep("dashboard-expired")
        self.click("#again")
        self.expect("it leads to the login", "document.getElementById('expired')?.hidden === false")
        self.keep("login-expired")
        page.problems.clear()  # the console contains requests that were sent before and after the login was over
        self.enter(self.options.secret)
        self.expect("and back", "document.getElementById('none')?.hidden === false")
        self.keep("dashboard-empty")
        self.click("#logout")
        self.expect("who signs out is out", "!!document.getElementById('login')")

    def other_pages(self):
        """Tests the other states of the pages for watching and publishing."""
        page = self.browser.page(self.hook)
        page.resize(*DESK)
        url = self.options.url
        page.open(f"{url}/watch/stream-of-tomorrow")
        self.expect("who comes early waits", "document.getElementById('message').dataset.kind == 'waiting'", page)
        self.keep("watch-waiting", page)
        page.open(f"{url}/watch/stream-of-another#token=DIGEST:nonsense")
        self.expect("who may not watch is told", "document.getElementById('message').dataset.kind == 'locked'", page)
        self.keep("watch-locked", page)
        page.open(f"{url}/publish#token=DIGEST:nonsense")
        page.wait("!document.getElementById('publish').disabled", 60)
        page.click("#publish")
        self.expect("who may not publish is told", "document.getElementById('message').dataset.kind == 'locked'", page)
        self.keep("publish-locked", page)
        page.open("about:blank")
        page.open(f"{url}/publish?start#token={urllib.request.quote(self.options.token, safe='')}")
        page.wait("!document.getElementById('publish').disabled", 60)
        self.run.check("the page does not publish by itself", page.wait(
            "document.getElementById('state').textContent == 'not publishing'", 60))
        page.click("#publish")
        self.expect("the page publishes", "document.getElementById('state').textContent == 'publishing'", page)
        if self.options.screenshots:
            page.rest(4)
        self.keep("publish-live", page)
        self.run.check("the publish page fits a telephone", self.fits(page))
        stream = page.wait("document.getElementById('watch').href", 60).split("/")[-1]
        self.ask("DELETE", "/pcast/stream", {"streamId": stream, "reason": "censored"})
        self.expect("the page is told why it ended", "/censored/.test(document.getElementById('why').textContent)", page)
        self.keep("publish-ended", page)
        page.open("about:blank")


def play(run, options):
    backend = Backend()
    publishers, more = [], []
    if options.screenshots:
        os.makedirs(options.screenshots, exist_ok=True)
    with chromium.Chromium() as browser:
        run.figures["peer"] = browser.version
        story = Story(run, options, browser)
        for name in backend.answers:
            story.ask("PUT", f"/pcast/application/{options.application}/callback{name}", {
                "callback": {"host": "127.0.0.1", "port": backend.server_address[1], "path": name}})
        try:
            story.log_in()
            publishers = [
                Publisher(options, "--tag", "Main stage", "--tag", "evening"),
                Publisher(options, "--tag", "Backstage camera"), Publisher(options),
            ]
            story.look(publishers)
            story.see_notifications(backend, publishers[0])
            watching = story.hand_out(publishers[0])
            story.end(publishers[0], watching)
            watching.open("about:blank")
            story.look_at_many(more)
            story.recordings(len(more))
            story.keys()
            story.lose()
            for publisher in publishers:
                publisher.end()
            story.leave()
            run.check(f"no errors in the console {story.page.problems}", not story.page.problems)
            story.other_pages()
        finally:
            for publisher in publishers + more:
                publisher.end()


def main():
    parser = program.arguments(__doc__, "the platform, http://HOST", positional=True)
    parser.add_argument("--program", required=True, help="the program pcast")
    parser.add_argument("--application", required=True)
    parser.add_argument("--secret", required=True)
    parser.add_argument("--streaming-token", required=True, help="a publishing token with the capability streaming")
    parser.add_argument("--screenshots", metavar="FOLDER", help="where pictures of the pages are kept")
    options = parser.parse_args()
    options.url = (options.url or options.url_option or "").rstrip("/")
    run = program.Program("Chromium", options.seconds)
    run.run(lambda: play(run, options))


if __name__ == "__main__":
    main()
