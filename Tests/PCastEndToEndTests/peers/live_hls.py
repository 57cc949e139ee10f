#!/usr/bin/env python3
"""Serves a film as a live HLS stream: live_hls.py FOLDER SECONDS

FOLDER contains main.m3u8 of the whole film, with segments of about a second. SECONDS of it are available at the start,
and the others in real time. No segment is removed. Prints one line of JSON: the port, and the time of the first frame.
"""
import datetime
import functools
import http.server
import json
import os
import re
import sys
import time

folder, head = sys.argv[1], float(sys.argv[2])
with open(os.path.join(folder, "main.m3u8"), encoding="utf-8") as file:
    film = file.read()
segments = [(float(length), name) for length, name in re.findall(r"#EXTINF:([0-9.]+),\s*\n(\S+)", film)]
lines = [line for line in film.splitlines() if line.startswith(("#EXT-X-MAP", "#EXT-X-VERSION"))]
began = int((time.time() - head) * 1000)
date = datetime.datetime.fromtimestamp(began / 1000, datetime.timezone.utc).isoformat(timespec="milliseconds")


def playlist():
    longest = max(length for length, _ in segments)
    text = ["#EXTM3U", f"#EXT-X-TARGETDURATION:{round(longest)}", "#EXT-X-MEDIA-SEQUENCE:0", *lines]
    text.append(f"#EXT-X-PROGRAM-DATE-TIME:{date.replace('+00:00', 'Z')}")
    end, made = 0.0, time.time() - began / 1000
    for length, name in segments:
        end += length
        if end > made:
            break
        text += [f"#EXTINF:{length},", name]
    return ("\n".join(text) + "\n").encode()


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path.split("?")[0] != "/live.m3u8":
            return super().do_GET()
        body = playlist()
        self.send_response(200)
        self.send_header("Content-Type", "application/vnd.apple.mpegurl")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
print(json.dumps({"event": "live", "port": server.server_address[1], "began": began}), flush=True)
server.serve_forever()
