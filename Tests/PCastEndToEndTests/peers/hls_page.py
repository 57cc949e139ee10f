"""The common code of the programs that play HLS in the video element of a page."""

import select
import sys
import time

SETTLING = 3
"""The seconds after the start in which playback may stall, until the buffer has its usual size."""
PATIENCE = 80
"""The seconds in addition to --seconds in which playback may have stalls, which a busy machine causes."""
TIMEOUT = 60
RECONNECTION_TIMEOUT = 160
"""The seconds in which the publisher reconnects. The other players of the stream may need as long as they are permitted."""
EXTRA_TIME = 160
"""The seconds for all of this, in addition to those that programs without a reconnection have."""

COUNT_STALLS = """(() => {
    const video = document.getElementById("video");
    window.pcastStalls = [];
    video.addEventListener("waiting", () => window.pcastStalls.push(video.currentTime));
})()"""
PLAYBACK = """(() => {
    const video = document.getElementById("video");
    const { totalVideoFrames: total, droppedVideoFrames: dropped } = video.getVideoPlaybackQuality();
    return { time: video.currentTime, size: [video.videoWidth, video.videoHeight], total, dropped };
})()"""


def arguments(parser):
    """Adds the arguments of these programs."""
    parser.add_argument(
        "--reconnection", metavar="WIDTHxHEIGHT",
        help="print a line, wait for one on standard input, and then for this size of a publisher that reconnected")
    parser.add_argument("--screenshot", metavar="FILE", help="write a screenshot of the page at the end")


def settle(page):
    """Waits until playback has settled after the start."""
    page.rest(SETTLING)


def measure(run, page, seconds):
    """Checks that there are so many seconds of playback without a stall, after it has settled. After a stall, they begin
    again."""
    page.evaluate(COUNT_STALLS)
    deadline = time.monotonic() + seconds + PATIENCE
    earlier = []
    while True:
        page.evaluate("window.pcastStalls = []")
        before, began = page.evaluate(PLAYBACK), time.monotonic()
        while time.monotonic() < began + seconds and not page.evaluate("window.pcastStalls.length"):
            page.rest(min(1, seconds))
        stalls, after = page.evaluate("window.pcastStalls"), page.evaluate(PLAYBACK)
        played, frames = after["time"] - before["time"], after["total"] - before["total"]
        advances = played > 0.9 * seconds
        if advances and not stalls or time.monotonic() > deadline:
            break
        earlier += stalls
    run.figures.update(
        played=round(played, 2), size=after["size"], frames=frames, dropped=after["dropped"] - before["dropped"],
        stalls=stalls, earlierStalls=earlier)
    run.check("the position advances with the time", advances)
    run.check("frames are shown", frames > 0)
    run.check("there is no stall", not stalls)


def resume(run, page, reconnection):
    """Waits for a line on standard input, which says that the publisher has reconnected, and then for its media."""
    print("ready for a reconnection", flush=True)
    waited = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        page.rest(0.2)
        waited += 0.2
        if waited > RECONNECTION_TIMEOUT:
            raise RuntimeError("the publisher has not reconnected")
    width, height = reconnection.split("x")
    video = "document.getElementById('video')"
    page.wait(f"{video}.videoWidth === {width} && {video}.videoHeight === {height}", TIMEOUT, f"the size {reconnection}")
    before = page.evaluate(PLAYBACK)
    frames = f"{video}.getVideoPlaybackQuality().totalVideoFrames"
    page.wait(f"{frames} > {before['total'] + 30 * SETTLING}", TIMEOUT, "frames after the reconnection")
    # Browsers decode some frames before their time, so the position may be behind the frames.
    page.wait(f"{video}.currentTime > {before['time'] + SETTLING}", TIMEOUT, "the position to advance after the reconnection")
    run.figures.update(reconnectedSize=page.evaluate(PLAYBACK)["size"])
