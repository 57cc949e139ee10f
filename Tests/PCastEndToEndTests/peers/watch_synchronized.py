#!/usr/bin/env python3
"""Plays a stream by HLS twice in a headless browser, with one playout delay: by a /watch/… page, and later by the module in
this page. Both must show the same frame at the same time. The capture times in the frames of the test signal say which
frames are shown."""

import json
import urllib.parse

import chromium
import program

TIMEOUT = 120
TOLERANCE = 60
"""The deviation of the median age from the delay in milliseconds, of which the decoder and the display need a part."""
APART = 100
"""The permitted difference between the viewers in milliseconds."""
# Notes the ages of the last frames of videos, in milliseconds.
NOTE = """(() => {
    window.viewers = [];
    window.noteFrames = (video) => {
        const own = { video, ages: [] };
        const note = () => {
            video.requestVideoFrameCallback(note);
            const strip = pcastReadStrip(video);
            if (strip) own.ages.push((Date.now() - strip.milliseconds) % 2 ** 40);
            if (own.ages.length > 90) own.ages.shift();
        };
        video.requestVideoFrameCallback(note);
        window.viewers.push(own);
    };
    noteFrames(document.getElementById("video"));
    return true;
})()"""
BEGIN = """(async () => {
    const { subscribe } = await import("/pcast.mjs");
    const video = Object.assign(document.createElement("video"), { muted: true, width: 320, height: 180 });
    document.body.append(video);
    window.second = subscribe({ ...OPTIONS, video, transport: "hls" });
    noteFrames(video);
    return true;
})()"""
# The median ages of the last frames of all viewers; null for a viewer that has shown less.
AGES = "viewers.map(({ ages }) => ages.length < 90 ? null : [...ages].sort((a, b) => a - b)[45])"
PLAYBACK = "viewers.map(({ video }) => ({ time: video.currentTime, rate: video.playbackRate, paused: video.paused }))"


def synchronized(count, delay):
    """Returns an expression: the ages of so many viewers, if they have the delay and show the same frame."""
    return (f"(() => {{ const ages = {AGES}; return ages.length === {count} && ages.every((age) => age !== null && "
            f"Math.abs(age - {delay}) <= {TOLERANCE}) && Math.max(...ages) - Math.min(...ages) <= {APART} && ages; }})()")


def watch(run, options):
    delay = int(options.delay * 1000)
    fragment = f"#token={urllib.parse.quote(options.token, safe='')}" if options.token else ""
    stream = urllib.parse.unquote(urllib.parse.urlsplit(options.url).path.split("/")[2])
    parameters = {"stream": stream, "token": options.token, "playoutDelay": delay}
    with chromium.Chromium() as browser:
        run.figures["peer"] = browser.version
        page = browser.page(chromium.script("time_strip.js"))
        page.open(f"{options.url}?transport=hls&playoutDelay={delay}{fragment}")
        page.evaluate(NOTE)
        try:
            run.figures["first"] = page.wait(synchronized(1, delay), TIMEOUT, "the page with the delay")
            page.evaluate(BEGIN.replace("OPTIONS", json.dumps(parameters)))
            ages = page.wait(synchronized(2, delay), TIMEOUT, "both viewers with the delay")
        finally:
            run.figures.update(
                playback=page.evaluate(PLAYBACK), last=page.evaluate(AGES), problems=page.problems)
        run.figures.update(ages=ages, difference=round(abs(ages[0] - ages[1])))
        run.check("both viewers show the same frame", run.figures["difference"] <= APART)
        run.check("no errors in the console", not page.problems)


def main():
    parser = program.arguments(__doc__, "the page, http://HOST/watch/STREAM")
    parser.add_argument("--delay", type=float, default=3, help="the playout delay in seconds (default %(default)s)")
    options = parser.parse_args()
    run = program.Program("chromium", options.seconds)
    run.run(lambda: watch(run, options))


if __name__ == "__main__":
    main()
