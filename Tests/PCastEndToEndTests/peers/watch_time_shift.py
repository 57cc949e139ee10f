#!/usr/bin/env python3
"""Uses the seek bar of a /watch/… page in a headless browser: into the window of the stream by the mouse and the keyboard,
and back to real time. A viewer of the module on the same page follows the timeline of a game meanwhile. The numbers and
capture times in the frames of the test signal say which frames are shown. A browser without H.264 over WebRTC, such as
Firefox without its plug-in, has only the audio in real time, and the video in the window."""

import base64
import json
import time
import urllib.parse
import urllib.request

import chromium
import program

TIMEOUT = 60
GAME = "NHL/2354717"
STATE = "document.getElementById('state').textContent"
TIME = "document.getElementById('seektime').textContent"
VIDEO = "document.getElementById('video')"
# The capture time in the frame that a video shows; null if it cannot be read.
CAPTURED = """(video) => {
    const strip = pcastReadStrip(video), now = Date.now();
    return strip && now - ((now - strip.milliseconds) % 2 ** 40);
}"""
# The age of the frame in milliseconds.
AGE = f"(() => {{ const time = ({CAPTURED})({VIDEO}); return time === null ? null : Date.now() - time; }})()"
# A viewer of the module, which notes the frames with their capture times, and the events of the game.
MODULE = """(async () => {
    const { subscribe } = await import("/pcast.mjs");
    const captured = CAPTURED;
    const video = Object.assign(document.createElement("video"), { muted: true, playsInline: true });
    document.body.append(video);
    const viewer = subscribe({ stream: STREAM, token: TOKEN, video });
    const own = window.own = { viewer, video, told: [], frames: [], errors: [], last: null, states: [] };
    viewer.addEventListener("timeshift", ({ detail }) => own.states.push(detail.state));
    viewer.observeFrames((frame) => {
        const time = captured(video), { timecode, source } = frame;
        own.last = { captured: time, timecode, source, age: Date.now() - timecode };
        own.frames.push(own.last);
        if (time !== null) own.errors.push(timecode - time);
    });
    own.timeline = viewer.timeline({ league: "NHL", game: "2354717", token: TIMELINE });
    for (const type of ["added", "deleted"]) {
        own.timeline.addEventListener(type, ({ detail }) => {
            own.told.push({ type, id: detail.id, at: detail.at, ...own.last });
        });
    }
    return true;
})()"""


def start(options):
    if options.browser == "chromium":
        return chromium.Chromium()
    import firefox  # it needs a package that Chromium's driver does without
    return firefox.Firefox(preferences={"media.peerconnection.ice.loopback": True})


def move(page, seconds):
    """Moves the thumb of the seek bar to a position before the end, and releases it."""
    page.evaluate(f"""(() => {{
        const bar = document.getElementById("seekbar");
        bar.value = {-seconds};
        for (const type of ["input", "change"]) bar.dispatchEvent(new Event(type, {{ bubbles: true }}));
        return true;
    }})()""")


def key(page, name):
    """Presses a key on the seek bar."""
    page.evaluate(f"""(() => {{
        const bar = document.getElementById("seekbar");
        bar.focus();
        bar.dispatchEvent(new KeyboardEvent("keydown", {{ key: {json.dumps(name)}, bubbles: true, cancelable: true }}));
        return document.activeElement === bar;
    }})()""")


def age(page, least, most):
    """Waits until the frame that is shown has an age between two numbers of seconds, and returns it."""
    return page.wait(
        f"(() => {{ const age = {AGE}; return age !== null && age >= {1000 * least} && age <= {1000 * most} && age; }})()",
        TIMEOUT, f"a frame that is {least} to {most} s old") / 1000


def kept_frame(page):
    """Returns the capture time of the frame that is shown for a second, or None if no frame is. The browser may show
    another frame after it has reported a pause."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        frame = page.evaluate(f"({CAPTURED})({VIDEO})")
        page.rest(1)
        if frame is not None and page.evaluate(f"({CAPTURED})({VIDEO})") == frame:
            return frame
    return None


def use_seek_bar(run, page):
    page.wait(f"{STATE} === 'live'", TIMEOUT, "playback in real time")
    page.wait("document.getElementById('seek').checkVisibility()", TIMEOUT, "the seek bar")
    page.wait("document.getElementById('seekbar').min <= -30", TIMEOUT, "a window of 30 s")
    page.wait(f"{TIME} === 'Live'", TIMEOUT, "the bar to say that the stream is live")
    run.check("the beginning of the window is visible", page.text("#seekstart").startswith("−"))
    run.figures["video"] = has_video = page.evaluate(f"{VIDEO}.videoWidth > 0")
    if has_video:
        run.figures["liveAge"] = age(page, 0, 3)

    move(page, 20)
    page.wait(f"{STATE} === 'before live'", TIMEOUT, "playback in the window")
    run.figures["shiftedAge"] = age(page, 17, 27)
    # A busy machine may wait for media for a moment.
    message = "document.getElementById('message')"
    page.wait(f"!{message}.checkVisibility() || !{message}.innerText.trim()", TIMEOUT, "the video, which nothing covers")
    run.check("the connection in real time is not shown", page.evaluate(f"{VIDEO}.srcObject === null"))
    page.wait(f"{TIME}.startsWith('−0:')", TIMEOUT, "the bar to say how far the position is before the end")
    position = page.evaluate(f"{VIDEO}.currentTime")
    page.wait(f"{VIDEO}.currentTime > {position} + 2", TIMEOUT, "playback of the window")

    key(page, "ArrowLeft")
    page.wait(f"{TIME}.localeCompare('') && -document.getElementById('seekbar').value >= 22", TIMEOUT, "the position of the key")
    run.figures["keyAge"] = age(page, 22, 36)
    page.click("#pause")
    page.wait(f"{VIDEO}.paused", TIMEOUT, "a pause")
    run.check("a pause keeps the frame", (frame := kept_frame(page)) is not None)
    page.click("#pause")
    page.wait(f"({CAPTURED})({VIDEO}) > {frame}", TIMEOUT, "playback after the pause")

    page.click("#golive")
    page.wait(f"{STATE} === 'live' && {VIDEO}.srcObject !== null", TIMEOUT, "the return to real time")
    if has_video:
        run.figures["returnedAge"] = age(page, 0, 3)
    page.wait(f"{TIME} === 'Live'", TIMEOUT, "the bar to say that the stream is live again")


def send(options, method, path, body):
    """Sends a request of the producer of the game."""
    credentials = base64.b64encode(options.application.encode()).decode()
    request = urllib.request.Request(
        f"{options.platform}/timeline/{GAME}{path}", method=method, data=json.dumps(body).encode(),
        headers={"Authorization": f"Basic {credentials}", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        answer.read()


def use_module(run, page, options):
    source = MODULE.replace("CAPTURED", CAPTURED)
    for name, value in (("STREAM", options.stream), ("TOKEN", options.token), ("TIMELINE", options.timeline_token)):
        source = source.replace(name, json.dumps(value))
    send(options, "PUT", "", {"teams": [{"type": "home", "code": "BER", "name": "Berlin"}]})
    page.evaluate(source)
    page.wait("own.viewer.seekableRange && own.timeline.isConnected", TIMEOUT, "the module's viewer")
    has_video = run.figures["video"]
    if has_video:
        page.wait("own.viewer.frame", TIMEOUT, "the first frame in real time")
    now = page.evaluate("Date.now()")
    name = f"goal-{now}"
    told = "own.told.filter(({ type, id }) => type === '%s' && id === " + json.dumps(name) + ")"
    send(options, "POST", f"/events/{name}", {"type": "goal", "teamInvolved": "home", "description": "1:0"})
    if has_video:
        page.wait(told % "added" + ".length === 1", TIMEOUT, "the goal in real time")
    page.wait(f"Date.now() > {now} + 5000", TIMEOUT, "five seconds after the goal")
    page.evaluate(f"(own.frames = [], own.errors = [], own.viewer.seek({now} - 2000), true)")
    if has_video:
        page.wait(told % "deleted" + ".length === 1", TIMEOUT, "the withdrawal of the goal")
    count = 1 if has_video else 0
    again = page.wait(told % "added" + f"[{count}]", TIMEOUT, "the goal in the window")
    run.figures.update(goal=again["timecode"] - again["at"])
    # The frame is the one that the browser reports. What a page draws of a video may be another frame: Chromium may draw a
    # newer one, and Firefox an older one.
    run.check("the goal is not shown before its frame", again["timecode"] >= again["at"] - 1)
    # The times are rounded, so a frame less than a millisecond from the goal may count as earlier or later than it. The
    # goal is reported with its frame, so the frame after that one may not be shown yet.
    shown = "own.frames.filter(({ source }) => source === 'program-date-time').map(({ timecode }) => timecode)"
    page.wait(f"{shown}.some((time) => time >= {again['at'] + 1})", TIMEOUT, "the frame after the goal")
    frames = page.evaluate(shown)
    first = {min(time for time in frames if time >= again["at"] + margin) for margin in (-1, 1)}
    run.check(f"the goal is shown with its frame ({again}, {sorted(first)})", again["timecode"] in first)
    if options.browser == "chromium":
        run.check("the goal is not shown before its picture", again["captured"] and again["captured"] >= again["at"] - 1)
    last = page.evaluate("own.last")
    run.check("the frames have the time of the playlist", last["source"] == "program-date-time" and last["age"] > 3000)
    errors = page.evaluate("own.errors.sort((a, b) => a - b)")
    run.figures["timeError"] = errors[len(errors) // 2]
    run.check("the time of a frame in the window is right within two frames", abs(run.figures["timeError"]) < 67)
    page.evaluate("(own.viewer.seekToLive(), true)")
    real_time = "own.last.source === 'capture-clock' && own.last.age < 3000" if has_video else "own.video.srcObject !== null"
    page.wait(real_time, TIMEOUT, "real time in the module's viewer")
    page.wait("own.states.at(-1) === 'live'", TIMEOUT, "the event of the return")
    run.figures["states"] = page.evaluate("own.states")
    run.check("the states are reported", run.figures["states"] == ["seeking", "shifted", "live"])
    range_ = page.evaluate("own.viewer.seekableRange")
    page.evaluate(f"(own.viewer.seek({range_['start']} - 1e6), true)")
    page.wait("own.viewer.timeShift === 'shifted'", TIMEOUT, "the beginning of the window")
    page.evaluate("(own.viewer.stop(), true)")
    run.check("a viewer that was stopped has no window", page.evaluate("own.viewer.seekableRange") is None)


def watch(run, options):
    with start(options) as browser:
        run.figures["peer"] = browser.version
        page = browser.page(chromium.script("time_strip.js"))
        page.open(f"{options.url}#token={urllib.parse.quote(options.token, safe='')}")
        use_seek_bar(run, page)
        use_module(run, page, options)
        if options.screenshot:
            page.screenshot(options.screenshot)
        # The platform refuses the video that the browser cannot receive.
        problems = [text for text in page.problems if run.figures["video"] or "422" not in text]
        run.figures.update(problems=problems)
        run.check("no errors in the console", not problems)


def main():
    parser = program.arguments(__doc__, "the page, http://HOST/watch/STREAM")
    parser.add_argument("--browser", choices=["chromium", "firefox"], default="chromium")
    parser.add_argument("--platform", required=True, help="the address of the platform")
    parser.add_argument("--application", required=True, help="ID:SECRET, which adds events of the game")
    parser.add_argument("--stream", required=True)
    parser.add_argument("--timeline-token", required=True, help="a token that may view the timeline")
    parser.add_argument("--screenshot", metavar="FILE", help="write a screenshot of the page at the end")
    options = parser.parse_args()
    run = program.Program(options.browser, options.seconds)
    run.run(lambda: watch(run, options))


if __name__ == "__main__":
    main()
