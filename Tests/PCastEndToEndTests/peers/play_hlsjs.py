#!/usr/bin/env python3
"""Plays a playlist with hls.js in headless Chromium, on a page of another origin, and checks that it plays without a stall.

hls.js is not a part of this project. --script names a file with it as an ES module. A module that exports nothing is
extended: its class is the one whose events contain `DESTROYING`.
"""

import http.server
import json
import re
import threading

import chromium
import hls_page
import program

LAYER_TIMEOUT = 240
"""The seconds in which hls.js changes to a layer. It tries a higher one at times only, because small parts do not measure a
link."""

PAGE = """<!doctype html><title>hls.js</title><video id="video" muted autoplay></video>
<script type="module">
import { Hls } from "./hls.js";
const video = document.getElementById("video");
window.pcast = { version: Hls.version, errors: [], gaps: 0, latencies: [], levels: new Set() };
pcast.hasStarted = () => video.currentTime > 0 && video.getVideoPlaybackQuality().totalVideoFrames > 30;
const hls = new Hls(CONFIGURATION);
hls.on(Hls.Events.ERROR, (_, { type, details, fatal }) => {
  // The absence of media in a segment is reported as an error, too.
  if (details === "fragGap") { pcast.gaps += 1; return; }
  pcast.errors.push(`${type} ${details}${fatal ? " fatal" : ""}`);
  // At its start, hls.js 1.6 may append to a buffer that is still busy, and does not play then. Applications recover.
  if ((fatal || details.startsWith("bufferAppend")) && type === "mediaError" && !pcast.hasStarted()) hls.recoverMediaError();
});
hls.on(Hls.Events.MANIFEST_PARSED, () => { pcast.heights = hls.levels.map(({ height }) => height); });
hls.on(Hls.Events.LEVEL_SWITCHED, (_, { level }) => pcast.levels.add(level));
hls.loadSource(URI);
hls.attachMedia(video);
setInterval(() => pcast.latencies.push(hls.latency), 250);
</script>
"""
STATE = "({ ...pcast, hasStarted: null, levels: [...pcast.levels] })"


def module(path):
    """Returns hls.js with an export of its class."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if re.search(r"export\s*\{[^}]*\bHls\b", text):
        return text
    name = re.search(r"([\w$]+)\.Events\.DESTROYING", text)
    if not name:
        raise ValueError(f"{path} does not contain hls.js")
    return f"{text}\nexport {{ {name.group(1)} as Hls }};\n"


def serve(options):
    """Serves the page and hls.js. Returns the server."""
    configuration = {"lowLatencyMode": True, **json.loads(options.configuration)}
    page = PAGE.replace("CONFIGURATION", json.dumps(configuration)).replace("URI", json.dumps(options.url))
    files = {"/": ("text/html", page), "/hls.js": ("text/javascript", module(options.script))}

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            kind, text = files.get(self.path, ("text/plain", ""))
            body = text.encode()
            self.send_response(200 if self.path in files else 404)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def follow_layers(run, page):
    """Waits for each layer when the link is narrowed twice, and for the best one when it is widened. Prints a line for each
    of these: `best layer`, `middle layer` and `lowest layer`."""
    heights = sorted(set(page.evaluate("pcast.heights")), reverse=True)
    run.check(f"there are three layers: {heights}", len(heights) == 3)
    height = "document.getElementById('video').videoHeight"
    for name, expected in zip(("best", "middle", "lowest"), heights):
        page.wait(f"{height} === {expected}", LAYER_TIMEOUT, f"the {name} layer of {heights}")
        print(f"{name} layer", flush=True)
    page.wait(f"{height} === {heights[0]}", LAYER_TIMEOUT, "the best layer again")
    run.figures.update(heights=heights, errors=page.evaluate(STATE)["errors"])
    run.check("no error is fatal", not any(error.endswith(" fatal") for error in run.figures["errors"]))


def follow(run, page, options):
    hls_page.settle(page)
    before = page.evaluate(STATE)
    hls_page.measure(run, page, options.seconds)
    after = page.evaluate(STATE)
    latencies = sorted(after["latencies"][len(before["latencies"]):])
    run.figures.update(
        peer=f"hls.js {after['version']}", errors=after["errors"], gaps=after["gaps"], levels=after["levels"],
        latency=round(latencies[len(latencies) // 2], 3) if latencies else None)
    # A stall, which a busy machine may cause, is an error too. Stalls are checked by `measure`.
    later = after["errors"][len(before["errors"]):]
    run.check("there is no error after the start", not [error for error in later if "Stall" not in error])
    run.check("no media are absent", after["gaps"] == before["gaps"])
    if options.reconnection:
        hls_page.resume(run, page, options.reconnection)
        # An interruption is an error from which hls.js recovers.
        run.figures.update(errors=page.evaluate(STATE)["errors"])
        run.check("no error is fatal", not any(error.endswith(" fatal") for error in run.figures["errors"]))


def play(run, options):
    server = serve(options)
    with chromium.Chromium() as browser:
        page = browser.page()
        page.open(f"http://127.0.0.1:{server.server_address[1]}/")
        page.wait("pcast.hasStarted()", 60, "the first second")
        if options.layers:
            follow_layers(run, page)
        else:
            follow(run, page, options)
        if options.screenshot:
            page.screenshot(options.screenshot)
    server.shutdown()


def main():
    parser = program.arguments(__doc__, "the multivariant playlist")
    parser.add_argument("--script", required=True, help="hls.js as an ES module")
    parser.add_argument("--configuration", default="{}", help="more of the configuration of hls.js, as JSON")
    parser.add_argument("--layers", action="store_true", help="follow changes of the layer instead, on a link that changes")
    hls_page.arguments(parser)
    options = parser.parse_args()
    run = program.Program("hls.js", options.seconds + hls_page.EXTRA_TIME)
    run.run(lambda: play(run, options))


if __name__ == "__main__":
    main()
