#!/usr/bin/env python3
"""Uses a platform's /pcast.mjs on a page of another origin, in a browser, and judges what the page receives and shows.

Two viewers watch one stream, one of them later, each with the timeline of a game and the example overlay. The program is
the producer of the game: it enters a goal in the middle between two frames of the test signal, and withdraws it. The
numbers and capture times in the frames say which frame is the goal's own. It prints “end the stream” and then expects that
the stream is ended as `censored`.
"""

import base64
import datetime
import http.server
import json
import os
import threading
import urllib.parse
import urllib.request

import chromium
import program

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "module_page.html")
PATIENCE = 60
EVENTS = ("subscribed", "online", "firstframe", "dimensions", "dataquality", "autoplay")


class Site(http.server.BaseHTTPRequestHandler):
    """A site of its own origin with the page."""

    def do_GET(self):
        with open(PAGE, "rb") as file:
            body = file.read()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Producer:
    """The producer of the game, with the application's credentials."""

    def __init__(self, options):
        self._address = f"{options.url}/timeline/NHL/2354717"
        self._credentials = base64.b64encode(options.application.encode()).decode()

    def send(self, method, path, body=None):
        request = urllib.request.Request(
            self._address + path, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Basic {self._credentials}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            answer.read()


def start(options):
    if options.browser == "chromium":
        return chromium.Chromium()
    import firefox  # it needs a package that Chromium's driver does without
    return firefox.Firefox(preferences={"media.peerconnection.ice.loopback": True})


def check_events(run, page):
    for name in ("near", "late"):
        page.wait(f"windows.{name}.frames.length > 30", PATIENCE, f"frames of the viewer “{name}”")
        for kind in EVENTS:
            page.wait(f"windows.{name}.events.some(([type]) => type === '{kind}')", PATIENCE, f"{kind} of “{name}”")
        newest = f"windows.{name}.events.findLast(([type]) => type === 'dataquality')[1].status"
        page.wait(f"{newest} === 'all'", PATIENCE, f"a good data quality of “{name}”")
        details = dict(page.evaluate(f"windows.{name}.events"))
        run.check(f"{name}: the dimensions are those of the stream",
                  details.get("dimensions") == {"width": 640, "height": 360})
    run.figures["sources"] = page.evaluate("[...new Set(windows.near.frames.map(({ source }) => source))]")
    run.check("the frames have the platform's time", run.figures["sources"] == ["capture-clock"])
    page.wait("windows.near.viewer.statistics().then((now) => now?.width === 640)", PATIENCE, "the size in the statistics")
    run.figures["statistics"] = page.evaluate("windows.near.viewer.statistics()")


def check_audio(run, page):
    run.check("the viewer begins muted", page.evaluate("windows.near.viewer.muted"))
    page.click("#sound")
    page.wait("windows.near.events.some(([type, detail]) => type === 'volumechange' && !detail.muted)", PATIENCE,
              "the event that the audio is on")
    page.evaluate("windows.near.viewer.volume = 0.5, true")
    page.wait("windows.near.events.some(([type, detail]) => type === 'volumechange' && detail.volume === 0.5)", PATIENCE,
              "the event of the volume")


def check_screenshot(run, page):
    shot = run.figures["picture"] = page.evaluate("examineScreenshot()")
    run.check("the screenshot has the size of the frames", (shot["width"], shot["height"]) == (640, 360))
    run.check("the screenshot is a PNG", shot["type"] == "image/png")
    run.check("the screenshot is not black", shot["mean"] > 20 and shot["deviation"] > 10)


def enter_goal(page, producer):
    """Enters a goal and returns its identifier and time. It happens after all viewers have received it.

    The time is in the middle between two frames. A goal that a busy machine enters too late is replaced by another one.
    """
    for seconds in (3, 10, 30, 60):
        name = f"goal-{seconds}"
        goal = page.evaluate("windows.near.frames.at(-1).captured") + 1000 * seconds + 17
        moment = datetime.datetime.fromtimestamp(goal / 1000, datetime.timezone.utc)
        producer.send("POST", f"/events/{name}", {
            "type": "goal", "teamInvolved": "home", "description": "1:0", "timestamp": moment.isoformat(),
            "scorecard": {"total": {"home": "1", "visitor": "0"}}})
        page.wait(f"knowing('{name}') >= 2", PATIENCE, "the goal at both viewers")
        if page.evaluate("Date.now()") < goal:
            return name, goal
        producer.send("DELETE", f"/events/{name}")
    raise chromium.BrowserError("no goal could be entered before it happened")


def check_goal(run, page, producer):
    producer.send("PUT", "", {"teams": [{"type": "home", "code": "BER", "name": "Berlin"},
                                        {"type": "visitor", "code": "ZRH", "name": "Zürich"}]})
    for name in ("near", "late"):
        page.wait(f"windows.{name}.timeline.isConnected && windows.{name}.timeline.info", PATIENCE, "the game")
    identifier, goal = enter_goal(page, producer)
    for name in ("near", "late"):
        told = page.wait(f"shownAt('{name}', 'added', '{identifier}')", PATIENCE, f"the goal in the viewer “{name}”")
        run.figures[name] = told
        run.check(f"{name}: the goal is not shown before its frame", told["frame"]["captured"] >= goal - 1)
        # What a page draws of a video may be one frame newer than the one that it is told about.
        run.check(f"{name}: the goal is shown with its own frame, or one later", told["place"] <= told["ownPlace"] + 1)
    errors = run.figures["timeErrors"] = page.evaluate(
        "(() => { const all = [...windows.near.errors].sort((a, b) => a - b);"
        "return [all[Math.floor(all.length / 20)], all[all.length >> 1], all[Math.floor(all.length * 0.95)]]; })()")
    run.check("the time of a frame is right within 8 ms", abs(errors[1]) < 8)
    # A busy machine only adds to these times.
    ages = [page.evaluate(f"Math.min(...windows.{name}.frames.map(({{ age }}) => age))") for name in ("near", "late")]
    run.check(f"the later viewer is later: {ages}", ages[1] > ages[0] + 500)
    run.check("the later viewer sees the goal later", run.figures["late"]["time"] >= goal + 950)
    return identifier


def check_overlay(run, page, producer, goal):
    for name in ("near", "late"):
        page.wait(f"windows.{name}.overlayEvents.some(([type]) => type === 'ready')", PATIENCE, "the overlay page")
    shown = f"document.querySelector('#event-list button[data-id={goal}]')?.innerText"
    page.wait_inside(shown, PATIENCE, "the goal on the overlay page")
    score = "document.querySelector('#score').innerText.replace(/\\s+/g, ' ')"
    page.wait_inside(f"{score}.startsWith('BER 1 : 0 ZRH')", PATIENCE, "the score on the overlay page")
    run.figures["overlay"] = page.inside(
        "({ state: document.body.dataset.state, link: document.body.dataset.link, score: "
        "document.querySelector('#score').innerText.replace(/\\s+/g, ' '), clock: document.querySelector('#clock').innerText })")
    run.check("the overlay shows the score", run.figures["overlay"]["score"].startswith("BER 1 : 0 ZRH"))
    page.wait_inside("document.body.dataset.state === 'playing'", PATIENCE, "the overlay to follow the state")
    page.wait_inside("Number(document.querySelector('#clock').dataset.timecode) > 0", PATIENCE, "a time on the overlay")
    before = page.inside("document.querySelector('#clock').dataset.timecode")
    page.wait_inside(f"Number(document.querySelector('#clock').dataset.timecode) > {before} + 500", PATIENCE,
                     "the overlay's clock")
    check_place(run, page, "at the beginning")
    page.evaluate("document.getElementById('near').style.width = '480px', true")
    page.wait("rectangles('near').overlay[2] === 480", PATIENCE, "the overlay to follow the size")
    check_place(run, page, "after a change of the size")
    # The page on the overlay controls the viewer.
    page.inside("document.querySelector('#mute').click(), true")
    page.wait("windows.near.viewer.muted", PATIENCE, "the overlay to mute the viewer")
    page.inside("document.querySelector('#squeeze').click(), true")
    page.wait("rectangles('near').video[2] === 336", PATIENCE, "the overlay to scale the video")
    check_place(run, page, "while the video is smaller")
    page.inside("document.querySelector('#squeeze').click(), true")
    producer.send("DELETE", f"/events/{goal}")
    for name in ("near", "late"):
        page.wait(f"shownAt('{name}', 'deleted', '{goal}')", PATIENCE, "the withdrawal")
    page.wait_inside(f"!{shown}", PATIENCE, "the overlay without the goal")
    run.check("the overlay has no errors", page.evaluate(
        "windows.near.overlayEvents.every(([type]) => type !== 'error')"))


def check_place(run, page, when):
    covers = "(({ overlay, frame }) => overlay.every((place, at) => Math.abs(place - frame[at]) <= 1))(rectangles('near'))"
    try:
        page.wait(covers, PATIENCE)
        holds = True
    except chromium.BrowserError:
        holds = False
    where = page.evaluate("rectangles('near')")
    run.check(f"the overlay covers the frame {when}: {where}", holds)


def check_publishing(run, page):
    page.evaluate("window.own = publishStripes(), true")
    page.wait("own.isShown", PATIENCE, "the stream that the page publishes")
    run.check("the page of the stream is known", page.evaluate("own.watch").startswith("http"))
    page.wait("own.publisher.statistics().then((now) => now?.width === 320 && now.frameRate > 0)", PATIENCE,
              "the statistics of the publisher")
    page.evaluate("own.publisher.stop(), true")
    page.wait("own.viewer.state === 'ended'", PATIENCE, "the end of the page's own stream")


def check_watch_page(run, browser, options):
    """The platform's own watch page, with the timeline of the game."""
    page = browser.page()
    stream, token = (urllib.parse.quote(word, safe="") for word in (options.stream, options.any_token))
    page.open(f"{options.url}/watch/{stream}?timeline=NHL/2354717#token={token}")
    page.wait("document.getElementById('state').textContent === 'live'", PATIENCE, "the watch page to be live")
    page.wait_inside("document.querySelector('#home-name').textContent === 'BER'", PATIENCE, "the game on the watch page")
    page.wait_inside("document.body.dataset.state === 'playing'", PATIENCE, "the overlay on the watch page")
    snippet = page.wait("document.getElementById('embed').textContent", PATIENCE, "the snippet for embedding")
    run.check("the snippet for embedding uses the module", f"{options.url}/pcast.mjs" in snippet and "TOKEN" in snippet)
    if options.screenshots:
        page.screenshot(f"{options.screenshots}/watch-timeline-{options.browser}.png")
    run.check("no errors in the console of the watch page", not page.problems)
    page.open("about:blank")  # the page deletes its session when it is left
    page.open(f"{options.url}/watch/%3C%2Fscript%3E%3Cimg%20src=x%3E#token={token}")
    page.wait("document.getElementById('embed').textContent", PATIENCE, "the snippet for a name with a tag")
    snippet = page.evaluate("document.getElementById('embed').textContent")
    run.check("a name cannot end the script of the snippet", snippet.count("</script>") == 1 and "<img" not in snippet)
    page.open("about:blank")


# A presenter of the channel on its own page, with the module.
PRESENTER = """(async () => {
    const { connect } = await import("/pcast.mjs");
    const canvas = Object.assign(document.createElement("canvas"), { width: 320, height: 180 });
    const context = canvas.getContext("2d");
    setInterval(() => {
        context.fillStyle = `hsl(${Date.now() / 20 % 360}, 80%, 50%)`;
        context.fillRect(0, 0, 320, 180);
    }, 50);
    const channel = connect().channel("stage");
    const media = canvas.captureStream(20);
    window.own = { channel, publication: await channel.publish({ media, screenName: "Ann", codec: "VP8" }) };
    return channel.room.own.role;
})()"""


def check_channel_page(run, browser, options):
    """The platform's own page of a channel, without a token as on this host, and a presenter by the module."""
    page = browser.page()
    text = "document.getElementById('{}').textContent"
    page.open(f"{options.url}/channel/stage")
    page.wait(f"{text.format('headline')}.startsWith('Nobody presents')", PATIENCE, "the channel without a presenter")
    run.check("the publisher is the presenter", page.evaluate(PRESENTER) == "presenter")
    page.wait(f"{text.format('state')} === 'live'", PATIENCE, "the channel's page to be live")
    page.wait(f"{text.format('members')}.includes('Ann')", PATIENCE, "the name of the presenter")
    page.wait(f"{text.format('viewers')}.includes('viewer')", PATIENCE, "the number of viewers")
    page.evaluate("own.publication.setMuted({ video: true }).then(() => true)")
    page.wait(f"{text.format('notice')}.includes('video muted')", PATIENCE, "the mute state of the presenter")
    page.evaluate("""(() => {
        document.getElementById("text").value = "Hello";
        document.getElementById("write").requestSubmit();
        return true;
    })()""")
    page.wait(f"{text.format('messages')}.includes('Hello')", PATIENCE, "the message in the chat")
    history = page.evaluate("document.getElementById('messages').children.length")
    run.check("the message is shown once", history == 1)
    if options.screenshots:
        page.screenshot(f"{options.screenshots}/channel-{options.browser}.png")
    page.evaluate("own.publication.stop().then(() => true)")
    page.wait(f"{text.format('members')} === ''", PATIENCE, "the presenter to leave")
    page.wait(f"{text.format('headline')}.startsWith('Nobody presents')", PATIENCE, "the channel after the presenter")
    exceptions = [problem for problem in page.problems if problem.startswith("exception")]
    run.check(f"no exceptions on the channel's page: {exceptions}", not exceptions)
    page.open("about:blank")


def use(run, options):
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    tokens = {"near": options.token, "late": options.late_token, "timeline": options.any_token, "any": options.any_token,
              "publish": options.publish_token}
    words = json.dumps({"url": options.url, "stream": options.stream, "tokens": tokens})
    producer = Producer(options)
    with start(options) as browser:
        run.figures["peer"] = browser.version
        page = browser.page(chromium.script("time_strip.js"))
        page.open(f"http://127.0.0.1:{site.server_port}/#{urllib.parse.quote(words, safe='')}")
        try:
            page.wait("window.isLoaded", PATIENCE, "the module")
            check_events(run, page)
            check_audio(run, page)
            check_screenshot(run, page)
            goal = check_goal(run, page, producer)
            if options.screenshots:
                page.wait_inside("document.querySelector('#event-list button')", PATIENCE, "the goal")
                page.screenshot(f"{options.screenshots}/module-{options.browser}.png")
            check_overlay(run, page, producer, goal)
            check_publishing(run, page)
            check_watch_page(run, browser, options)
            check_channel_page(run, browser, options)
            print("end the stream", flush=True)
            ended = "windows.near.events.find(([type]) => type === 'ended')?.[1]"
            run.figures["ended"] = page.wait(ended, PATIENCE, "the end of the stream")
            run.check("the reason of the end is told", run.figures["ended"] == {"reason": "censored"})
            run.check("the viewer has ended", page.evaluate("windows.near.viewer.state") == "ended")
        finally:
            run.figures["problems"] = page.problems
        # A session that the page closes may be gone before its DELETE arrives.
        problems = [each for each in page.problems if not ("404" in each and "/resource/" in each)]
        run.check("no errors in the console", not problems)


def main():
    parser = program.arguments(__doc__, "the platform, http://127.0.0.1:PORT", seconds=3)
    parser.add_argument("--browser", choices=["chromium", "firefox"], required=True)
    parser.add_argument("--application", required=True, help="ID:SECRET")
    parser.add_argument("--stream", required=True)
    parser.add_argument("--late-token", required=True, help="a token by which frames are shown a second later")
    parser.add_argument("--any-token", required=True, help="a token for all streams and timelines")
    parser.add_argument("--publish-token", required=True)
    parser.add_argument("--screenshots", metavar="FOLDER", help="PNGs of the page")
    options = parser.parse_args()
    run = program.Program(options.browser, options.seconds)
    run.run(lambda: use(run, options))


if __name__ == "__main__":
    main()
