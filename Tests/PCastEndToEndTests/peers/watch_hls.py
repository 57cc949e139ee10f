#!/usr/bin/env python3
"""Opens a /watch/… page in a headless browser, which plays the stream by HLS, and checks that it plays without a stall."""

import urllib.parse

import chromium
import program

STATE = "document.getElementById('state').textContent"
COUNT_STALLS = """(() => {
    const video = document.getElementById("video");
    window.pcastStalls = [];
    video.addEventListener("waiting", () => window.pcastStalls.push(video.currentTime));
})()"""
PLAYBACK = """(() => {
    const video = document.getElementById("video");
    const { totalVideoFrames: total, droppedVideoFrames: dropped } = video.getVideoPlaybackQuality();
    return { time: video.currentTime, size: [video.videoWidth, video.videoHeight], total, dropped,
             codec: document.getElementById("codec").textContent };
})()"""


def start(options):
    if options.browser == "chromium":
        return chromium.Chromium()
    import firefox  # it needs a package that Chromium's driver does not need
    return firefox.Firefox()


def watch(run, options):
    with start(options) as browser:
        run.figures["peer"] = browser.version
        page = browser.page()
        fragment = f"#token={urllib.parse.quote(options.token, safe='')}" if options.token else ""
        page.open(f"{options.url}?transport=hls{fragment}")
        page.wait(f"{STATE} === 'live by HLS'", 60, "playback by HLS")
        # The start may stall until the buffer has reached its usual size.
        page.rest(3)
        page.evaluate(COUNT_STALLS)
        before = page.evaluate(PLAYBACK)
        page.rest(options.seconds)
        after = page.evaluate(PLAYBACK)
        stalls = page.evaluate("window.pcastStalls")
        run.figures.update(played=round(after["time"] - before["time"], 2), size=after["size"], method=after["codec"],
                           frames=after["total"] - before["total"], stalls=stalls, problems=page.problems)
        run.check("the position advances with the time", after["time"] - before["time"] > 0.9 * options.seconds)
        run.check("frames are shown", after["total"] - before["total"] > 10 * options.seconds)
        run.check("there is no stall", not stalls)
        run.check("the page names the method", after["codec"].startswith("HLS, "))
        run.check("no errors in the console", not page.problems)


def main():
    parser = program.arguments(__doc__, "the page, http://HOST/watch/STREAM")
    parser.add_argument("--browser", choices=["chromium", "firefox"], default="chromium")
    options = parser.parse_args()
    run = program.Program(options.browser, options.seconds)
    run.run(lambda: watch(run, options))


if __name__ == "__main__":
    main()
