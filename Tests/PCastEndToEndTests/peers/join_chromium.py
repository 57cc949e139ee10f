#!/usr/bin/env python3
"""Measures joins of headless Chromium: by WHEP from one page, and from the navigation to a /watch/… page.

Each join by WHEP has a new peer connection. Each navigation has a new browser context, which has neither connections nor a
cache. Prints the times in milliseconds.
"""

import json
import urllib.parse

import chromium
import page_program

FIRST_FRAME = """(() => {
    const look = () => {
        const video = document.getElementById("video");
        if (!video) return;
        observer.disconnect();
        video.requestVideoFrameCallback((now) => { window.pcastFirstFrame ??= now; });
    };
    const observer = new MutationObserver(look);
    observer.observe(document, { childList: true, subtree: true });
    look();
})()"""
"""A script that stores the time from the navigation to the first frame of the page's video."""

JOIN = """(async (address, token) => {
    const connection = new RTCPeerConnection();
    const video = document.body.appendChild(document.createElement("video"));
    video.muted = video.autoplay = true;
    const stream = video.srcObject = new MediaStream();
    connection.ontrack = ({ track }) => stream.addTrack(track);
    const frame = new Promise((resolve) => video.requestVideoFrameCallback(resolve));
    const began = performance.now();
    for (const kind of ["video", "audio"]) connection.addTransceiver(kind, { direction: "recvonly" });
    await connection.setLocalDescription();
    const response = await fetch(address, {
        method: "POST", body: connection.localDescription.sdp,
        headers: { "Content-Type": "application/sdp", Authorization: `Bearer ${token}` } });
    if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
    const answer = await response.text();
    await connection.setRemoteDescription({ type: "answer", sdp: answer });
    const wait = (await frame) - began;
    const location = new URL(response.headers.get("Location"), address);
    await fetch(location, { method: "DELETE", headers: { Authorization: `Bearer ${token}` } });
    connection.close();
    video.remove();
    return { wait, options: /^a=ice-options:(.*)$/m.exec(answer)?.[1]?.trim() ?? "" };
})"""
"""A function that joins by WHEP and returns the time to the first frame, and the ICE options of the answer."""


def join(browser, options):
    """Returns the results of joins from one page of the platform's origin."""
    page = browser.page()
    page.open(f"{options.url}/healthz")
    address = f"{options.url}/whep/{urllib.parse.quote(options.stream)}"
    call = f"{JOIN}({json.dumps(address)}, {json.dumps(options.token)})"
    results = []
    for _ in range(options.joins):
        page.rest(0.2)
        results.append(page.evaluate(call))
    return results


def load(browser, options):
    """Returns the time from a navigation to the first frame."""
    context = browser.command("Target.createBrowserContext")["browserContextId"]
    page = browser.page(FIRST_FRAME, context=context)
    page.open(f"{options.url}/watch/{options.stream}#token={urllib.parse.quote(options.token, safe='')}")
    wait = page.wait("window.pcastFirstFrame", 60, "a frame")
    browser.command("Target.disposeBrowserContext", browserContextId=context)
    return wait


def measure(run, options):
    with chromium.Chromium(*options.flag) as browser:
        run.figures["peer"] = browser.version
        joins = join(browser, options)
        run.figures["joins"] = [result["wait"] for result in joins]
        run.figures["iceOptions"] = sorted({result["options"] for result in joins})
        loads = []
        for _ in range(options.loads):
            loads.append(load(browser, options))
            browser.pump(0.2)
        run.figures["loads"] = loads


def main():
    parser = page_program.arguments(__doc__, "the origin of the platform, http://HOST", "plays", "not used")
    parser.add_argument("--stream", required=True, help="the stream")
    parser.add_argument("--joins", type=int, default=0, help="number of joins by WHEP (default %(default)s)")
    parser.add_argument("--loads", type=int, default=0, help="number of navigations (default %(default)s)")
    page_program.main(parser, measure)


if __name__ == "__main__":
    main()
