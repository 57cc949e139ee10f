"""An outage of the network that whoever started the program makes: told when to, and what has become of the session."""

WATCH_STATE = """(() => {
    const state = document.getElementById("state");
    window.pcastShown = [state.textContent];
    new MutationObserver(() => pcastShown.push(state.textContent))
        .observe(state, { childList: true, characterData: true, subtree: true });
})()"""
"""Has the page keep what its badge says from now on: it may be back before it is asked again."""

PATIENCE = 60
"""Seconds within which a browser notices that nothing comes any more, and within which it is connected again."""


def rejoin(page):
    """Waits until the page has lost what it watches, and shows it again by itself."""
    state = "document.getElementById('state').textContent"
    page.evaluate(WATCH_STATE)
    print("ready for an outage", flush=True)
    page.wait("pcastShown.some((shown) => shown !== 'live')", PATIENCE, "the interruption")
    page.wait(f"{state} === 'live'", PATIENCE, "the stream's return")
    page.wait(
        "new Promise((told) => { const video = document.getElementById('video'); const before = video.currentTime; "
        "setTimeout(() => told(video.currentTime > before + 0.2), 500); })", PATIENCE, "moving pictures")


def republish(page):
    """Waits until the page has lost what it publishes, and publishes again by itself; returns the link to watch."""
    state = "document.getElementById('state').textContent"
    page.evaluate(WATCH_STATE)
    print("ready for an outage", flush=True)
    page.wait("pcastShown.some((shown) => shown !== 'publishing')", PATIENCE, "the interruption")
    page.wait(f"{state} === 'publishing' && !document.getElementById('link').hidden", PATIENCE, "the stream's return")
    return page.evaluate("document.getElementById('watch').href")


def sit_out(run, page, kind, count):
    """Waits until the page's connection is interrupted and then there again, with frames: `count` of the video.

    Checks that it is the same connection with the same keys, and that ICE has other credentials.
    """
    before = page.evaluate("pcastCredentials()")
    known = page.evaluate("pcastStates.length")
    print("ready for an outage", flush=True)
    page.wait(
        f"pcastStates.slice({known}).some((state) => state !== 'connected')", PATIENCE, "the interruption")
    print("interrupted", flush=True)
    page.wait("pcastStatistics().then((now) => now.state == 'connected')", PATIENCE, "the connection's return")
    frames = f"pcastStatistics().then((now) => now.media['{kind}-rtp-video']?.{count} ?? 0)"
    goal = page.evaluate(frames) + 30
    page.wait(f"{frames}.then((count) => count >= {goal})", PATIENCE, "frames")
    after = page.evaluate("pcastCredentials()")
    run.check("one connection", page.evaluate("pcastStatistics()")["connections"] == 1)
    run.check("the keys stayed", before["fingerprint"] == after["fingerprint"])
    run.check("ICE has restarted at the browser", before["local"] != after["local"])
    run.check("ICE has restarted at the platform", before["remote"] != after["remote"])
