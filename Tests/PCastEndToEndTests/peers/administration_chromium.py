#!/usr/bin/env python3
"""Performs the tasks of an administrator in headless Chromium, and counts the clicks of each one from the address /.

A click is one with the mouse, also into a field. The publisher and the viewer are separate programs (--program). The notified
backend is part of this program. With --screenshots it saves a screenshot of the result of each task.
"""

import json
import os
import signal
import subprocess
import time

import chromium
import page_program
import program
from dashboard_chromium import Backend, Publisher, Story

CLICKS = 3
"""The maximum number of clicks of a task."""


class Viewer:
    """A `pcast subscribe` process, which can be suspended, so that it neither receives nor responds."""

    def __init__(self, options, stream, token):
        self.process = subprocess.Popen(
            [options.program, "subscribe", "--uri", options.url, "--token", token, "--stream", stream, "--render",
             "null"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def suspend(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def end(self):
        self.process.kill()
        self.process.wait(60)


class Tasks(Story):
    """A browser and the tasks that it performs."""

    def __init__(self, run, options, browser):
        super().__init__(run, options, browser)
        self.clicks = 0
        run.figures["clicks"] = {}

    def click(self, selector):
        """Clicks an element, and counts the click."""
        self.clicks += 1
        super().click(selector)

    def write(self, text):
        """Replaces the content of the field that has the focus."""
        self.page.evaluate("document.activeElement.select()")
        self.page.command("Input.insertText", text=text)

    def perform(self, name, steps):
        """Performs a task from / and checks its number of clicks."""
        self.page.open(self.options.url + "/")
        self.clicks = 0
        steps()
        self.run.figures["clicks"][name] = self.clicks
        self.run.check(f"{name}: {self.clicks} clicks", 1 <= self.clicks <= CLICKS)
        if self.options.screenshots:
            self.page.rest(0.5)
            self.page.screenshot(os.path.join(self.options.screenshots, f"{name.replace(' ', '-')}.png"))

    def administer(self):
        self.click("#administration")
        self.page.wait("document.getElementById('role')?.textContent === 'administer'", 60)
        # The audit log is loaded last. It is not empty.
        self.page.wait("!!document.querySelector('#changes li')", 60, "the lists of the page")

    # Tasks

    def rotate_key(self):
        self.click("#keys .rotate")
        self.click("#changekey")
        self.expect("the rotated key is shown", "document.getElementById('keydialog').open")

    def add_application(self):
        self.administer()
        self.click("#applicationid")
        self.write("tenant")
        self.page.press("Enter")
        self.expect("the secret is shown", "document.getElementById('secret').value.length === 64")

    def declare_camera(self):
        self.administer()
        self.click("#streamname")
        self.write("entrance")
        self.page.press("Tab")
        self.write("rtsp://192.0.2.7/stream")
        self.page.press("Enter")
        self.expect("the camera is declared", "!!document.querySelector('#declared [data-key=entrance]')")

    def end_stream(self, publisher):
        self.click(f'[data-stream="{publisher.stream}"] .end')
        self.click("#endnow")
        self.expect(
            "the stream is among the ended", f"!!document.querySelector('#ended [data-key=\"{publisher.stream}\"]')")

    def raise_limit(self):
        self.administer()
        self.click('#limits [data-key="viewers"] input')
        self.write("123456")
        self.page.press("Enter")
        self.expect(
            "the limit is changed, and has its former value",
            "/in the configuration/.test(document.querySelector('#limits [data-key=viewers]').textContent)")

    def explain_quality(self, publisher, viewer):
        self.click(f'[data-stream="{publisher.stream}"] .viewers')
        reason = "/No packets arrive from it/.test(document.getElementById('viewerlist').textContent)"
        is_told, deadline = False, time.monotonic() + 120
        # The platform removes a suspended viewer after 30 s. If the page missed the reason until then, the viewer enters
        # again, and is suspended again.
        while not is_told and time.monotonic() < deadline:
            self.page.wait("!!document.querySelector('#viewerlist li')", 60, "the viewer in the list")
            viewer.suspend()
            try:
                is_told = self.page.wait(reason, 25, "the reason")
            except chromium.BrowserError:
                viewer.resume()
                self.page.rest(5)
        self.run.check("the reason is told", is_told)

    def add_webhook(self, backend, publisher):
        backend.answers["/gone"] = 204
        self.administer()
        self.click("#webhookuri")
        self.write(f"http://127.0.0.1:{backend.server_address[1]}/good")
        self.page.press("Enter")
        self.expect("the signing secret is shown", "document.getElementById('secret').value.startsWith('whsec_')")
        self.page.press("Escape")
        self.click("#resend")
        self.expect(
            "the page says that they are sent again",
            "document.getElementById('webhookstate').textContent.includes('sent again')")
        deadline = time.monotonic() + 60
        while ("/gone", "started", publisher.stream) not in backend.taken and time.monotonic() < deadline:
            self.page.rest(0.1)
        self.run.check("the backend gets what was sent again", ("/gone", "started", publisher.stream) in backend.taken)

    def download_recording(self, folder):
        self.browser.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
        self.click("#recordings li .download:enabled")
        deadline = time.monotonic() + 60
        while not (is_whole := self.has_recording(folder)) and time.monotonic() < deadline:
            self.page.rest(0.1)
        self.run.check("the recording is a file", is_whole)

    @staticmethod
    def has_recording(folder):
        """Returns whether a folder has a recording. A download that continues has another name."""
        files = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".mp4")]
        return any(os.path.getsize(file) > 1000 for file in files)

    def revoke_access(self):
        self.administer()
        self.click('#applications [data-key="tenant"] .revoke')
        self.click("#confirm")
        self.expect("the application is removed", "!document.querySelector('#applications [data-key=tenant]')")

    def drain(self):
        self.administer()
        self.click("#drain")
        self.click("#confirm")
        self.expect("the page says that it drains", "document.getElementById('state').textContent === 'draining'")


def play(run, options):
    backend, processes = Backend(), []
    if options.screenshots:
        os.makedirs(options.screenshots, exist_ok=True)
    with chromium.Chromium() as browser:
        run.figures["peer"] = browser.version
        tasks = Tasks(run, options, browser)
        tasks.ask("PUT", f"/pcast/application/{options.application}/callback/gone", {
            "callback": {"host": "127.0.0.1", "port": backend.server_address[1], "path": "/gone"}})
        tasks.ask("PUT", "/pcast/key/studio", {"tags": ["studio"]})
        try:
            publisher = Publisher(options, "--tag", "Main stage", token=options.streaming_token, size="320x180")
            processes.append(publisher)
            tasks.page.open(options.url + "/")
            tasks.page.wait("!!document.getElementById('login')", 60)
            tasks.enter(options.secret)
            token = tasks.ask("POST", "/pcast/stream", {"originStreamId": publisher.stream})["streamToken"]
            viewer = Viewer(options, publisher.stream, token)
            processes.insert(0, viewer)
            tasks.page.wait(f"{tasks.card(publisher.stream)}?.querySelector('.watching').innerText.trim() === '1'", 60)
            tasks.perform("rotate a key", tasks.rotate_key)
            tasks.perform("add an application", tasks.add_application)
            tasks.perform("declare a camera", tasks.declare_camera)
            tasks.perform("raise a limit", tasks.raise_limit)
            tasks.perform("find out why the quality is poor", lambda: tasks.explain_quality(publisher, viewer))
            tasks.perform("add a webhook and resend", lambda: tasks.add_webhook(backend, publisher))
            tasks.perform("end a stream", lambda: tasks.end_stream(publisher))
            tasks.perform("download a recording", lambda: tasks.download_recording(options.downloads))
            tasks.perform("revoke access", tasks.revoke_access)
            tasks.perform("drain", tasks.drain)
            run.check("ten tasks", len(run.figures["clicks"]) == 10)
            # A preview, and the token for it, may be requested at the moment at which its stream ends.
            problems = [each for each in tasks.page.problems if "/whep/" not in each and "/pcast/stream" not in each]
            run.check(f"no errors in the console {problems}", not problems)
        finally:
            for process in processes:
                process.end()


def main():
    parser = program.arguments(__doc__, "the platform, http://HOST", positional=True)
    parser.add_argument("--program", required=True, help="the program pcast")
    parser.add_argument("--application", required=True)
    parser.add_argument("--secret", required=True)
    parser.add_argument("--streaming-token", required=True, help="a publishing token with the capability on-demand")
    parser.add_argument("--downloads", required=True, metavar="FOLDER", help="where the recording is downloaded")
    parser.add_argument("--screenshots", metavar="FOLDER", help="where pictures of the results are kept")
    options = parser.parse_args()
    options.url = (options.url or options.url_option or "").rstrip("/")
    run = program.Program("Chromium", options.seconds)
    run.run(lambda: play(run, options))


if __name__ == "__main__":
    main()
