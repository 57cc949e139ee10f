#!/usr/bin/env python3
"""Tests the pages of a platform on loopback in a browser with its default settings, and checks the visible state.

It publishes on /publish and watches that stream on /watch/STREAM. With --stream it only watches that stream. No setting
changes how the browser gathers ICE candidates.
"""

import json
import sys
import time
import urllib.parse

import chromium
import program

SHOWN = """(() => {
    const video = document.getElementById("video");
    const text = (id) => document.getElementById(id)?.textContent;
    return { time: video.currentTime, size: [video.videoWidth, video.videoHeight], rate: text("rate"),
             codec: text("codec"), state: text("state") };
})()"""
PICTURE = """(() => {
    const video = document.getElementById("video");
    const context = new OffscreenCanvas(64, 36).getContext("2d", { willReadFrequently: true });
    context.drawImage(video, 0, 0, 64, 36);
    return [...context.getImageData(0, 0, 64, 36).data];
})()"""
MESSAGE = """(() => {
    const text = (id) => document.getElementById(id).textContent;
    return document.getElementById("message").hidden ? null : [text("headline"), text("why")];
})()"""


def start(options):
    if options.browser == "chromium":
        return chromium.Chromium(*options.flag, loopback=False)
    import firefox  # it needs a package that Chromium's driver does not need
    # The user has permanently allowed the camera and the microphone.
    allowed = {f"permissions.default.{device}": 1 for device in ("camera", "microphone")} if options.allowed else {}
    return firefox.Firefox(*options.flag, preferences=allowed)


def settle(page, options, states, what):
    """Waits for a state of the page or for the expected message, and returns the message."""
    connected = f"{json.dumps(states)}.includes(document.getElementById('state').textContent)"
    condition = connected
    if options.message:
        condition = f"(document.getElementById('message').hidden ? '' : document.getElementById('headline').textContent)" \
            f".includes({json.dumps(options.message)})"
    if options.or_connects:
        condition = f"({condition}) || {connected}"
    try:
        page.wait(condition, options.join, what)
    except chromium.BrowserError as error:
        state = page.evaluate("document.getElementById('state').textContent")
        raise chromium.BrowserError(f"{error}; its state is {state}, and it says {page.evaluate(MESSAGE)}") from error
    return page.evaluate(MESSAGE)


def publish(run, browser, options):
    page = browser.page()
    page.open(f"{options.url}/publish")
    page.wait("!document.getElementById('publish').disabled", options.join, "the camera")
    page.click("#publish")
    run.figures["publishMessage"] = settle(page, options, ["publishing"], "the page to publish")
    if options.screenshots:
        page.rest(2)
        page.screenshot(f"{options.screenshots}/{options.browser}-publish.png")
    if options.message:
        return None
    link = page.wait("document.getElementById('watch').href", 60, "the link to watch")
    run.figures["publishMilliseconds"] = page.evaluate("Math.round(performance.now())")
    return urllib.parse.unquote(urllib.parse.urlsplit(link).path.split("/")[2])


def watch(run, browser, options, stream):
    page = browser.page()
    page.open(f"{options.url}/watch/{urllib.parse.quote(stream, safe='')}")
    run.figures["watchMessage"] = settle(page, options, ["live"], "the page to be live")
    if options.comes_back:
        # The missing network is added, and the page must continue without user action.
        print("waiting", flush=True)
        sys.stdin.readline()
        page.wait("document.getElementById('state').textContent == 'live'", options.join, "the page to go on by itself")
    if not options.message or options.comes_back:
        page.wait("document.getElementById('video').currentTime > 0", options.join, "a picture")
        run.figures["watchMilliseconds"] = page.evaluate("Math.round(performance.now())")
        measure(run, page, options.seconds)
    elif options.audio:
        listen(run, page)
    if options.screenshots:
        page.screenshot(f"{options.screenshots}/{options.browser}-watch.png")


def measure(run, page, seconds):
    # A browser tells its frame rate a second after it has one. It depends on the load of the machine.
    page.wait("Number(document.getElementById('rate').textContent) > 0", 60, "a frame rate")
    before, picture = page.evaluate(SHOWN), page.evaluate(PICTURE)
    # A busy machine takes longer to show so much.
    page.wait(f"document.getElementById('video').currentTime >= {before['time'] + seconds / 2}", 60, "the video to go on")
    page.wait(f"{PICTURE}.some((value, at) => value !== {json.dumps(picture)}[at])", 60, "the picture to move")
    # A page whose frames were late for a moment is not live at that time.
    page.wait("document.getElementById('state').textContent == 'live' && document.getElementById('message').hidden", 60,
              "the page to be live and without a message")
    run.figures["shown"] = page.evaluate(SHOWN)


def listen(run, page):
    """Checks that the message remains and that the audio plays."""
    page.wait("document.getElementById('state').textContent == 'live'", 60, "the audio to be live")
    page.click("#unmute")
    began = page.evaluate("document.getElementById('video').currentTime")
    page.wait(f"document.getElementById('video').currentTime > {began} + 1", 60, "the audio to play")
    run.check("the sound is on", page.evaluate("!document.getElementById('video').muted"))
    run.figures["watchMessage"] = page.evaluate(MESSAGE)
    run.check("the message stays", run.figures["watchMessage"] is not None)


def use(run, options):
    began = time.monotonic()
    with start(options) as browser:
        run.figures["peer"] = browser.version
        stream = options.stream or publish(run, browser, options)
        if stream:
            watch(run, browser, options, stream)
        for name in ("publishMessage", "watchMessage"):
            message = run.figures.get(name)
            if options.explanation and message:
                run.check(f"{name} explains", options.explanation in message[1])
    run.figures["seconds"] = round(time.monotonic() - began, 1)


def main():
    parser = program.arguments(__doc__, "the platform, http://127.0.0.1:PORT", seconds=3, positional=True)
    parser.add_argument("--browser", choices=["chromium", "firefox"], required=True)
    parser.add_argument("--stream", help="watch this stream, and publish none")
    parser.add_argument("--allowed", action="store_true", help="the person has allowed camera and microphone for good")
    parser.add_argument("--message", help="expect a message with this in its headline")
    parser.add_argument("--or-connects", action="store_true",
                        help="accept a page that connects in place of the message: where Chromium's list of networks "
                        "comes late, it uses sockets without an address, which reach a platform on loopback")
    parser.add_argument("--explanation", help="expect this in the text of the message")
    parser.add_argument("--audio", action="store_true", help="expect audio to play beside the message")
    parser.add_argument("--comes-back", action="store_true", help="print “waiting” when the message is there; after a line "
                        "on standard input the page shall go on by itself")
    parser.add_argument("--join", type=float, default=60, help="seconds within which each page must do so")
    parser.add_argument("--screenshots", metavar="FOLDER", help="PNGs of the pages")
    parser.add_argument("--flag", action="append", default=[], help="one more flag for the browser")
    options = parser.parse_args()
    options.url = (options.url or options.url_option or "").rstrip("/")
    if not options.url:
        parser.error("the platform's address is missing")
    run = program.Program(options.browser, options.seconds)
    run.run(lambda: use(run, options))


if __name__ == "__main__":
    main()
