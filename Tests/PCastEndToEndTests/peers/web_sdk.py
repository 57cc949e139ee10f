#!/usr/bin/env python3
"""Runs Phenix's public Web SDK in a browser against a platform on loopback, with nothing changed but the address.

It publishes and subscribes with PCast and PCastExpress, and checks the values of the callbacks. The SDK is not a part of
this project: --sdk names it. The page is served from another origin than the platform.
"""

import base64
import http.server
import json
import os
import threading
import time
import urllib.parse
import urllib.request

import chromium
import program

program.require(os.path.join(program.environment(), "bin", "python"), "edgeauth.token_builder")

from edgeauth.token_builder import TokenBuilder  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = """<!doctype html><meta charset="utf-8"><title>Web SDK</title><link rel="icon" href="data:,">
<body><script src="web_sdk.js"></script><script src="sdk.js"></script></body>"""
PATIENCE = 60
"""Seconds until something has happened."""
LIMIT = 300_000
"""The bit rate of `limitBandwidth` in bits per second. Chromium applies it to audio and video together."""


def serve(sdk):
    """Serves the page on a free port of loopback and returns its address."""
    with open(sdk, "rb") as file:
        contents = {"/": ("text/html", PAGE.encode()), "/sdk.js": ("text/javascript", file.read())}
    with open(os.path.join(HERE, "web_sdk.js"), "rb") as file:
        contents["/web_sdk.js"] = ("text/javascript", file.read())

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            kind, content = contents.get(self.path, (None, b""))
            self.send_response(200 if kind else 404)
            self.send_header("Content-Type", f"{kind or 'text/plain'}; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://localhost:{server.server_address[1]}/"


def browser(options):
    if options.browser == "chromium":
        # The SDK of 2020 sends its logs to its manufacturer's server unless the platform's name is local.
        return chromium.Chromium("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1")
    import firefox  # it needs a package that Chromium's driver does not need
    return firefox.Firefox(preferences={"media.peerconnection.ice.loopback": True})


class Scenario:
    """A page with the SDK, and an application of the platform."""

    def __init__(self, run, page, options):
        self.run = run
        self.page = page
        self.seconds = options.seconds
        self.application, self.secret = options.application.split(":")
        port = urllib.parse.urlsplit(options.url).port
        self.uri = f"http://localhost:{port}"
        self.rest_uri = options.url
        self.is_chromium = options.browser == "chromium"

    def token(self, kind, seconds=600, **values):
        builder = TokenBuilder().with_application_id(self.application).with_secret(self.secret)
        builder = builder.expires_in_seconds(seconds)
        for name, value in values.items():
            builder = getattr(builder, name)(value)
        return {"authenticate": builder.for_authenticate_only, "publish": builder.for_publishing_only,
                "stream": builder.for_streaming_only}[kind]().build()

    def call(self, function, *parameters):
        return self.page.evaluate(f"webSDK.{function}({', '.join(map(json.dumps, parameters))})")

    def noted(self, who, what, *values):
        """Waits for a callback with these values."""
        entry = ", ".join(map(json.dumps, (who, what, *values)))
        try:
            self.page.wait(f"webSDK.noted({entry})", PATIENCE, entry)
            holds = True
        except chromium.BrowserError:
            holds = False
        self.run.check(f"{who}: {what} {' '.join(values)}", holds)
        return holds

    def expect(self, name, value, expected):
        self.run.check(f"{name}: {value!r} is not {expected!r}", value == expected)

    def ask(self, method, path, **fields):
        """Sends a request to the platform as the application's backend."""
        credentials = base64.b64encode(f"{self.application}:{self.secret}".encode()).decode()
        request = urllib.request.Request(
            self.rest_uri + path, method=method, data=json.dumps(fields).encode() if fields else None,
            headers={"Authorization": f"Basic {credentials}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return json.load(response)

    def plays(self, view, size=(640, 360)):
        """Waits for the first frame and checks whether the video advances in real time."""
        self.page.wait(f"webSDK.shown({json.dumps(view)}).time > 0", PATIENCE, f"a frame of {view}")
        self.page.wait(f"webSDK.shown({json.dumps(view)}).size[0] === {size[0]}", PATIENCE, f"{view} to be {size[0]} wide")
        before, began = self.call("shown", view), time.monotonic()
        # A busy machine takes longer to play so much.
        self.page.wait(
            f"webSDK.shown({json.dumps(view)}).time >= {before['time'] + self.seconds}", PATIENCE, f"{view} to play")
        after, passed = self.call("shown", view), time.monotonic() - began
        played = after["time"] - before["time"]
        self.run.figures[view] = {"size": after["size"], "played": round(played, 2), "seconds": round(passed, 2)}
        self.run.check(f"{view} has the publisher's size", after["size"] == list(size))

    # Steps

    def steps(self):
        # Firefox does not apply the changed offer of limitBandwidth, and continues to send without a track.
        chromium_only = [self.limit, self.quality, self.resize] if self.is_chromium else []
        return [self.begin, *chromium_only, self.reconnect, self.reauthenticate, self.refuse, self.done, self.censor,
                self.leave, self.express, self.telemetry]

    def publish(self, name, stream, tags=()):
        status, identifier = self.call("publish", name, stream, self.token("publish"), list(tags))
        self.expect(f"publish {stream}", status, "ok")
        return identifier

    def subscribe(self, name, view, origin):
        status, identifier = self.call("subscribe", name, view, self.token("stream", for_origin_stream=origin))
        self.expect(f"subscribe {view}", status, "ok")
        return identifier

    def begin(self):
        """Creates two instances, a stream and its viewer."""
        for name in ("one", "two"):
            status, session = self.call("start", name, self.uri, self.token("authenticate"))
            self.expect(f"start {name}", status, "ok")
            self.run.check(f"{name} has a session", bool(session))
            self.noted(name, "onlineCallback")
        stream = self.publish("one", "stream", ["tag:one", "tag:two"])
        self.subscribe("two", "view", stream)
        self.plays("view")
        found = self.ask("GET", f"/pcast/stream/{urllib.parse.quote(stream)}")
        self.expect("tags", sorted(found.get("tags") or found["stream"]["tags"]), ["tag:one", "tag:two"])
        self.noted("view", "videoDisplayDimensionsChangedCallback", "640x360")

    def limit(self):
        target = "(await webSDK.sent('stream'))[0]"
        self.page.wait(f"(async () => {target} > {2 * LIMIT})()", PATIENCE, "the video without a limit")
        free, _ = self.call("sent", "stream")
        self.call("limit", "stream", LIMIT)
        self.page.wait(f"(async () => {target} < {LIMIT})()", PATIENCE, "the limited video")
        limited, frames = self.call("sent", "stream")
        self.page.wait(f"(async () => (await webSDK.sent('stream'))[1] > {frames + 30})()", PATIENCE, "limited frames")
        self.call("liftLimit", "stream")
        self.page.wait(f"(async () => {target} > {LIMIT})()", PATIENCE, "the video after the limit")
        self.run.figures["targetBitrate"] = {"free": free, "limited": limited}

    def quality(self):
        publisher, viewer = "publisher dataQualityChangedCallback", "renderer dataQualityChangedCallback"
        self.call("send", "stream", "audio")
        self.noted("view", viewer, "AudioOnly", "None")
        self.call("send", "stream", "audio", "video")
        self.noted("view", viewer, "All", "None")
        self.call("step")
        self.call("send", "stream")
        self.noted("stream", publisher, "NoData", "None")
        self.noted("view", viewer, "NoData", "PublisherLimited")
        self.call("send", "stream", "audio", "video")
        self.noted("stream", publisher, "All", "None")
        self.noted("view", viewer, "All", "None")

    def resize(self):
        self.call("resize", 320, 180)
        self.noted("view", "videoDisplayDimensionsChangedCallback", "320x180")
        self.call("resize", 640, 360)

    def reconnect(self):
        """Breaks the connections of the protocol and checks that the media continue."""
        sessions = [self.call("session", name) for name in ("one", "two")]
        self.call("breakSockets")
        self.page.wait("webSDK.openSockets() === 2", PATIENCE, "new connections")
        for name in ("one", "two"):
            self.page.wait(f"webSDK.status({json.dumps(name)}) === 'online'", PATIENCE, f"{name} to be online again")
        self.expect("sessions", [self.call("session", name) for name in ("one", "two")], sessions)
        before = self.call("shown", "view")["time"]
        self.page.wait(f"webSDK.shown('view').time > {before + 1}", PATIENCE, "the view to go on")

    def reauthenticate(self):
        """Checks the expiry of a token while its session has no connection."""
        for seconds in (3, 15, 45):
            began = time.monotonic()
            token = self.token("authenticate", seconds=seconds, apply_tag="user:three")
            status, session = self.call("start", "three", self.uri, token)
            if status == "ok":
                break
            # A busy machine used it after its expiry.
            self.call("stop", "three", "")
            self.call("step")
        self.expect("start three", status, "ok")
        self.page.rest(max(0, seconds + 1 - (time.monotonic() - began)))
        self.call("breakSockets")
        self.noted("three", "status", "reconnect-failed")
        self.noted("three", "offlineCallback")
        self.call("reAuthenticate", "three", self.token("authenticate", apply_tag="user:three"))
        self.page.wait("webSDK.status('three') === 'online'", PATIENCE, "three to be online again")
        self.expect("the session of the new token", self.call("session", "three"), session)
        for name in ("one", "two"):
            self.page.wait(f"webSDK.status({json.dumps(name)}) === 'online'", PATIENCE, f"{name} to be online again")

    def refuse(self):
        status, _ = self.call("start", "stranger", self.uri, "DIGEST:" + base64.b64encode(
            b'{"applicationId":"%s","digest":"none","token":"{}"}' % self.application.encode()).decode())
        self.expect("start with a bad token", status, "unauthorized")
        self.call("stop", "stranger", "")

    def done(self):
        self.call("stopStream", "stream", "done-with-it")
        self.noted("stream", "publisherEndedCallback", "custom", "done-with-it")
        self.noted("view", "streamEndedCallback", "custom", "done-with-it")

    def censor(self):
        stream = self.publish("one", "second stream")
        self.subscribe("two", "second view", stream)
        self.plays("second view")
        self.ask("DELETE", "/pcast/stream", streamId=stream, reason="censored")
        self.noted("second stream", "publisherEndedCallback", "censored", "censored")
        self.noted("second view", "streamEndedCallback", "censored", "censored")

    def leave(self):
        """Stops a viewer and checks that the stream continues, and then stops the publisher's instance."""
        stream = self.publish("one", "third stream")
        self.subscribe("two", "third view", stream)
        self.plays("third view")
        self.call("stopStream", "third view", "seen-enough")
        self.noted("third view", "streamEndedCallback", "custom", "seen-enough")
        self.subscribe("two", "fourth view", stream)
        self.plays("fourth view")
        self.call("stop", "one", "good-night")
        self.noted("fourth view", "streamEndedCallback", "custom", "good-night")
        self.call("stop", "two", "")

    def express(self):
        self.call("startExpress", "express", self.uri, self.token("authenticate"))
        status, stream = self.call("publishExpress", "express", "express stream", self.token("publish"))
        self.expect("express publish", status, "ok")
        status, *_ = self.call("subscribeExpress", "express", "express view", stream,
                               self.token("stream", for_origin_stream=stream))
        self.expect("express subscribe", status, "ok")
        self.plays("express view")
        self.call("stopStream", "express stream", "")
        self.noted("express stream", "publisher monitor", "ended", "ended")
        self.noted("express view", "subscriber monitor", "ended", "ended")
        self.call("endExpress", "express")

    def telemetry(self):
        statuses = self.call("telemetry")
        self.run.figures["telemetry"] = {str(status): statuses.count(status) for status in set(statuses)}
        self.run.check("telemetry gets 200", set(statuses) <= {200})


def play(run, options):
    with browser(options) as opened:
        run.figures["peer"] = opened.version
        page = opened.page()
        scenario = Scenario(run, page, options)
        try:
            page.open(serve(options.sdk))
            for step in scenario.steps():
                page.evaluate("webSDK.step()")
                step()
        finally:
            run.figures["problems"] = page.problems
            notes = page.evaluate("webSDK.notes")
            run.figures["callbacks"] = len(notes)
            if options.transcript:
                with open(options.transcript, "w", encoding="utf-8") as file:
                    for milliseconds, who, what, *values in notes:
                        print(f"{milliseconds / 1000:8.3f} {who}: {what} {' '.join(map(str, values))}".rstrip(), file=file)


def main():
    parser = program.arguments(__doc__, "the platform", seconds=6)
    parser.add_argument("--sdk", required=True, metavar="FILE", help="phenix-web-sdk.js")
    parser.add_argument("--application", required=True, help="ID:SECRET")
    parser.add_argument("--browser", choices=["chromium", "firefox"], default="chromium")
    parser.add_argument("--transcript", metavar="FILE", help="the callbacks with their times, a line each")
    options = parser.parse_args()
    run = program.Program(options.browser, 5 * options.seconds)
    run.run(lambda: play(run, options))


if __name__ == "__main__":
    main()
