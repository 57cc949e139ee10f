"""A network outage that the parent process causes on request. These functions report the effect on the session."""

WATCH_STATE = """(() => {
    const state = document.getElementById("state");
    window.pcastShown = [state.textContent];
    new MutationObserver(() => pcastShown.push(state.textContent))
        .observe(state, { childList: true, characterData: true, subtree: true });
})()"""
"""A script that records the texts of the page's status badge, because it may recover before the next query."""

PATIENCE = 60
"""The seconds within which a browser must detect that no packets arrive, and within which it must reconnect."""


def rejoin(page):
    """Waits until the page has lost its stream and shows it again without user action."""
    state = "document.getElementById('state').textContent"
    page.evaluate(WATCH_STATE)
    print("ready for an outage", flush=True)
    page.wait("pcastShown.some((shown) => shown !== 'live')", PATIENCE, "the interruption")
    page.wait(f"{state} === 'live'", PATIENCE, "the stream's return")
    page.wait(
        "new Promise((told) => { const video = document.getElementById('video'); const before = video.currentTime; "
        "setTimeout(() => told(video.currentTime > before + 0.2), 500); })", PATIENCE, "moving pictures")


def republish(page):
    """Waits until the page has lost its stream and publishes again without user action. Returns the link to watch."""
    state = "document.getElementById('state').textContent"
    page.evaluate(WATCH_STATE)
    print("ready for an outage", flush=True)
    page.wait("pcastShown.some((shown) => shown !== 'publishing')", PATIENCE, "the interruption")
    page.wait(f"{state} === 'publishing' && !document.getElementById('link').hidden", PATIENCE, "the stream's return")
    return page.evaluate("document.getElementById('watch').href")


def sit_out(run, page, kind, count):
    """Waits until the page's connection is interrupted and then restored, with `count` further video frames.

    Checks that the connection and its keys are the same, and that the ICE credentials are new.
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
