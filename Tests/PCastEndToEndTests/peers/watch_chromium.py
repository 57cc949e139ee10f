#!/usr/bin/env python3
"""Opens a /watch/… page in headless Chromium, enables its audio with a click, and measures the playback."""

import statistics
import sys
import urllib.parse

import chromium
import outage
import page_program

VIDEO_BOX = """(() => {
    const box = document.getElementById("video").getBoundingClientRect();
    return [box.x, box.y, box.width, box.height].map(Math.round);
})()"""
"""A script that returns the position of the video in a screenshot: left, top, width, height."""


def with_token(url, token):
    """Returns the address with the token in its fragment, like a link for viewers."""
    return f"{url}#token={urllib.parse.quote(token, safe='')}" if token else url


def picture_change(page):
    """Returns the mean change of luma (0...255) between two frames with a distance of 300 ms."""
    before = page.evaluate("pcastPicture()")
    page.rest(0.3)
    after = page.evaluate("pcastPicture()")
    if not before or not after:
        return None, None
    return sum(abs(a - b) for a, b in zip(before, after)) / len(before), sum(after) / len(after)


def await_media(page, earlier, earlier_audio, seconds):
    """Waits until frames were decoded, the picture has changed and audio was played. A busy machine takes longer."""
    page.await_frames("inbound", "framesDecoded", earlier.get("framesDecoded", 0) + round(15 * seconds))
    page.wait("""(() => {
        const [before, now] = [window.pcastFirstPicture ??= pcastPicture(), pcastPicture()];
        return before && now && before.reduce((sum, luma, at) => sum + Math.abs(luma - now[at]), 0) / now.length > 0.05;
    })()""", 60, "a picture that moves")
    energy = "pcastStatistics().then((now) => now.media['inbound-rtp-audio']?.totalAudioEnergy ?? 0)"
    page.wait(f"{energy}.then((now) => now > {earlier_audio.get('totalAudioEnergy', 0)})", 60, "sound")
    page.wait("pcastStatistics().then((now) => now.state === 'connected')", 60, "the connection")


def frozen(statistics):
    """Returns the seconds for which the video was frozen so far."""
    return statistics["media"].get("inbound-rtp-video", {}).get("totalFreezesDuration", 0)


def measure(run, page, seconds):
    """Reads the statistics before and after `seconds`, and writes the difference."""
    page.evaluate("pcastMeasureLag()")
    before = page.evaluate("pcastStatistics()")
    print("measuring", flush=True)
    changes, lumas, freezes, heights = [], [], [frozen(before)], []
    rounds = max(1, round(seconds / 2))
    for _ in range(rounds):
        page.rest(max(0.1, seconds / rounds - 0.3))
        change, luma = picture_change(page)
        changes.append(change or 0.0)
        lumas.append(luma or 0.0)
        after = page.evaluate("pcastStatistics()")
        freezes.append(frozen(after))
        heights.append(after["media"].get("inbound-rtp-video", {}).get("frameHeight"))
    lags = page.evaluate("pcastLags")
    video, audio = (after["media"].get(f"inbound-rtp-{kind}", {}) for kind in ("video", "audio"))
    earlier, earlier_audio = (before["media"].get(f"inbound-rtp-{kind}", {}) for kind in ("video", "audio"))

    def grown(field, now=video, then=earlier):
        return now.get(field, 0) - then.get(field, 0)

    emitted = grown("jitterBufferEmittedCount")
    run.figures.update(
        connectionState=after["state"], connections=after["connections"], srtpCipher=after["srtpCipher"],
        tlsVersion=after["tlsVersion"], dtlsState=after["dtlsState"], protocol=after["protocol"],
        remoteAddress=after["remoteAddress"],
        roundTripMilliseconds=None if after.get("roundTripTime") is None else round(after["roundTripTime"] * 1000, 2),
        videoCodec=video.get("codec"), audioCodec=audio.get("codec"),
        size=[video.get("frameWidth"), video.get("frameHeight")],
        framesDecoded=video.get("framesDecoded", 0), framesDecodedMeasured=grown("framesDecoded"),
        framesDropped=grown("framesDropped"), framesPerSecond=video.get("framesPerSecond"),
        keyFramesDecoded=video.get("keyFramesDecoded"), freezeCount=grown("freezeCount"),
        freezeCountTotal=video.get("freezeCount"), packetsLost=video.get("packetsLost"),
        nackCount=video.get("nackCount"), pliCount=video.get("pliCount"),
        nackCountMeasured=grown("nackCount"), pliCountMeasured=grown("pliCount"),
        freezeSeconds=round(grown("totalFreezesDuration"), 3),
        # An upper bound: the largest growth between two readings.
        longestFreezeMilliseconds=round(max(now - then for then, now in zip(freezes, freezes[1:])) * 1000),
        lowestHeight=min(height or 0 for height in heights), lastHeight=heights[-1], stripsRead=len(lags["read"]),
        stripsBroken=lags["broken"],
        lagMilliseconds=round(statistics.median(lags["read"]), 1) if lags["read"] else None,
        jitterBufferMilliseconds=round(grown("jitterBufferDelay") / emitted * 1000, 1) if emitted else None,
        totalAudioEnergy=round(grown("totalAudioEnergy", audio, earlier_audio), 6), audioLevel=audio.get("audioLevel"),
        concealedSamples=grown("concealedSamples", audio, earlier_audio),
        totalSamplesReceived=grown("totalSamplesReceived", audio, earlier_audio),
        pictureChange=round(max(changes), 3), meanLuma=round(sum(lumas) / len(lumas), 1))
    await_media(page, earlier, earlier_audio, seconds)
    run.check("the connection stayed", page.evaluate("pcastStatistics()")["connections"] == before["connections"])


def watch(run, options):
    with chromium.Chromium(*options.flag) as browser:
        run.figures["peer"] = browser.version
        page = browser.page(page_program.hook())
        if options.url == "-":
            print("ready", flush=True)
            options.url = sys.stdin.readline().strip()
        try:
            page.open(with_token(options.url, options.token))
            try:
                page.wait("document.getElementById('video')?.currentTime > 0", options.join, "a picture")
            finally:
                run.figures["message"] = page.text("#message")
            run.figures["firstPictureMilliseconds"] = page.evaluate("Math.round(performance.now())")
            page.wait("!document.getElementById('unmute').hidden", 60, "the button that turns the sound on")
            run.check("starts muted", page.evaluate("document.getElementById('video').muted"))
            page.click("#unmute")
            page.wait("!document.getElementById('video').muted && !document.getElementById('video').paused", 60, "sound")
            page.rest(min(1, options.seconds / 10) if options.settle is None else options.settle)
            if options.restart:
                outage.rejoin(page)
                return
            if options.outage:
                outage.sit_out(run, page, "inbound", "framesDecoded")
            measure(run, page, options.seconds)
            run.figures["videoBox"] = page.evaluate(VIDEO_BOX)
            run.figures["badge"] = page.evaluate("document.getElementById('state').textContent")
            run.figures["tokenInAddress"] = page.evaluate("location.href.includes('token=')")
            run.check("the token left the address", not run.figures["tokenInAddress"])
        finally:
            page_program.end(run, page, options)
        # The console contains the requests that failed during the outage.
        run.check("no errors in the console", options.outage or not page.problems)
        page.open("about:blank")  # the page deletes its session when it is closed
        page.rest(0.3)


def main():
    parser = page_program.arguments(
        __doc__, "the page, http://HOST/watch/STREAM; - to be told it on a line of standard input, when the browser is "
        "ready", "plays", "seconds within which a picture must show")
    parser.add_argument("--settle", type=float, help="seconds of playback before the measurement")
    page_program.main(parser, watch)


if __name__ == "__main__":
    main()
