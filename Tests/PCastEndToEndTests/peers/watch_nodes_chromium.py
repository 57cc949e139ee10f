#!/usr/bin/env python3
"""Watches a stream of a cluster in headless Chromium by WHEP, and connects to the next node when a node fails.

A viewer connects again if its node ends the session, closes the event stream, or sends no video for a second,
or for ten seconds before its first one. Prints "watching" when the measurement begins, and then measures the longest time
between two arrivals of video until a line, or the end of the parent, comes on standard input (--until-told). The parent also gives the time after which the program fails
(--limit). The time between arrivals is taken from Chromium's statistics, which change about each 50 ms; the packets need
not be decodable.
"""

import json
import time

import browser as browser_errors
import chromium
import page_program
import program

SETTLING_TIME = 3
"""The seconds from the first video until the measurement begins."""

VIEWER = """((nodes, stream, token) => {
    const silence = 1000, setup = 10000, interval = 25, retryDelay = 100, timeout = 2000;
    const sleep = (time) => new Promise((resolve) => setTimeout(resolve, time));
    const state = window.pcastViewer = { packets: 0, longest: 0, last: null, rejoins: 0, error: "" };
    state.begin = () => Object.assign(state, { packets: 0, longest: 0, rejoins: 0 });
    state.result = () => {
        const { packets, longest, last, rejoins } = state;
        return { packets, longest: Math.max(longest, performance.now() - last), rejoins };
    };
    const join = async (node) => {
        const connection = new RTCPeerConnection();
        const abort = new AbortController();
        const timer = setTimeout(() => abort.abort(), timeout);
        try {
            connection.addTransceiver("video", { direction: "recvonly" });
            await connection.setLocalDescription();
            const address = `${nodes[node]}/whep/${encodeURIComponent(stream)}?token=${encodeURIComponent(token)}`;
            const response = await fetch(address, {
                method: "POST", body: connection.localDescription.sdp, signal: abort.signal,
                headers: { "Content-Type": "application/sdp" } });
            if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
            const answer = await response.text();
            await connection.setRemoteDescription({ type: "answer", sdp: answer });
            // The request may have been redirected to another node.
            const resource = new URL(response.headers.get("Location"), response.url).href;
            const session = { connection, resource, end: null, packets: 0 };
            session.events = new EventSource(`${resource}/events`);
            session.events.addEventListener("ended", () => { session.end ??= "ended"; });
            session.events.addEventListener("reconnect", () => { session.end ??= "reconnect"; });
            session.events.onerror = () => { session.end ??= "closed"; };
            return session;
        } catch (error) {
            connection.close();
            throw error;
        } finally {
            clearTimeout(timer);
        }
    };
    const leave = ({ connection, resource, events }) => {
        events.close();
        connection.close();
        fetch(resource, { method: "DELETE" }).catch(() => {});
    };
    const count = async (session) => {
        for (const report of (await session.connection.getStats()).values()) {
            if (report.type === "inbound-rtp" && report.kind === "video") return report.packetsReceived;
        }
        return 0;
    };
    const observe = async (session, former) => {
        const began = performance.now();
        while (true) {
            await sleep(interval);
            if (session.end) return session.end;
            const packets = await count(session);
            const now = performance.now();
            if (packets > session.packets) {
                if (state.last !== null) state.longest = Math.max(state.longest, now - state.last);
                state.packets += packets - session.packets;
                state.last = now;
                if (session.packets === 0 && former) leave(former);
                session.packets = packets;
            }
            // The first video waits for the session to be set up, as on a busy machine.
            const limit = state.last === null ? setup : silence;
            if (now - (session.packets > 0 ? state.last : began) > limit) return "closed";
        }
    };
    (async () => {
        let node = 0, former = null;
        while (true) {
            let session;
            try {
                session = await join(node);
            } catch (error) {
                state.error = `${error}`;
                // A viewer without video stays at its node until the stream begins.
                if (state.last !== null) node = (node + 1) % nodes.length;
                await sleep(retryDelay);
                continue;
            }
            const end = await observe(session, former);
            state.rejoins += 1;
            // One that never had video does not replace the former session.
            if (session.packets > 0 || !former) former = session; else leave(session);
            if (end !== "ended") node = (node + 1) % nodes.length;
        }
    })();
})"""
"""A function that begins to watch."""


def measure(run, options):
    with chromium.Chromium(*options.flag) as browser:
        run.figures["peer"] = browser.version
        page = browser.page()
        page.open(f"{options.url}/healthz")
        nodes = options.nodes.split(",")
        page.evaluate(f"{VIEWER}({json.dumps(nodes)}, {json.dumps(options.stream)}, {json.dumps(options.token)})")
        try:
            page.wait("window.pcastViewer.packets > 0", options.join, "video")
        except browser_errors.BrowserError as failure:
            raise browser_errors.BrowserError(f"{failure} {page.evaluate('window.pcastViewer.error')}") from failure
        page.rest(SETTLING_TIME)
        page.evaluate("void window.pcastViewer.begin()")
        print("watching", flush=True)
        deadline = time.monotonic() + options.seconds
        while program.goes_on(options, deadline):
            page.rest(0.1)
        run.figures.update(page.evaluate("window.pcastViewer.result()"))


def main():
    parser = page_program.arguments(__doc__, "the origin of the page, http://HOST", "plays", "seconds until video comes")
    parser.add_argument("--stream", required=True, help="the stream")
    parser.add_argument("--nodes", required=True, help="URIs of the nodes in the order of attempts, with commas")
    parser.add_argument("--limit", type=float, required=True, help="seconds after which the program fails")
    page_program.main(parser, measure)


if __name__ == "__main__":
    main()
