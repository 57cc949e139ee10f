"""A web server and an RTSP server that redirect their clients to forbidden addresses.

usage: redirections.py FILM

Serves /film.mp4, /redirect, /list.m3u8 and /proxy.m3u8 (two addresses each) on 127.0.0.1, and RTSP redirects. Listens
on 127.0.0.2, the forbidden address. Prints {"event": "listening", "http": PORT, "rtsp": PORT}, then {"event": "asked",
"path": PATH} for each request, and {"event": "reached"} for each connection to the forbidden address.
"""

import http.server
import json
import os
import signal
import socket
import sys
import threading


def tell(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def forbidden():
    place = socket.create_server(("127.0.0.2", 0))

    def watch():
        while True:
            client, _ = place.accept()
            tell("reached")
            client.close()

    threading.Thread(target=watch, daemon=True).start()
    return place.getsockname()[1]


def rtsp(port):
    place = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            client, _ = place.accept()
            client.recv(4096)
            tell("asked", path="rtsp")
            answer = f"RTSP/1.0 302 Found\r\nCSeq: 1\r\nLocation: rtsp://127.0.0.2:{port}/x\r\n\r\n"
            client.sendall(answer.encode())
            client.settimeout(10)
            try:
                while client.recv(4096):
                    pass
            except OSError:
                pass
            client.close()

    threading.Thread(target=serve, daemon=True).start()
    return place.getsockname()[1]


def main(film):
    port = forbidden()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            tell("asked", path=self.path)
            if self.path.startswith("/redirect"):
                self.send_response(302)
                self.send_header("Location", f"http://127.0.0.2:{port}/film.mp4")
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif self.path.startswith("/list") or self.path.startswith("/proxy"):
                lines = ["#EXTM3U", "#EXT-X-VERSION:3", "#EXT-X-TARGETDURATION:2", "#EXT-X-MEDIA-SEQUENCE:0"]
                # The second one is a protocol of libavformat, which opens its own connection.
                lists = {
                    "/list.m3u8": (f"http://127.0.0.2:{port}/a.ts", "http://169.254.169.254/latest/b.ts"),
                    "/proxy.m3u8": (f"httpproxy://127.0.0.2:{port}/a.ts", f"tcp://127.0.0.2:{port}/a.ts"),
                }
                for place in lists[self.path]:
                    lines += ["#EXTINF:2.0,", place]
                self.answer("\n".join(lines + ["#EXT-X-ENDLIST", ""]).encode(), "application/vnd.apple.mpegurl")
            elif self.path.startswith("/film.mp4"):
                with open(film, "rb") as file:
                    self.answer(file.read(), "video/mp4")
            else:
                self.send_error(404)

        def answer(self, body, kind):
            first = 0
            asked = self.headers.get("Range", "")
            if asked.startswith("bytes="):
                first = int(asked[6:].split("-")[0])
            self.send_response(206 if asked else 200)
            if asked:
                self.send_header("Content-Range", f"bytes {first}-{len(body) - 1}/{len(body)}")
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body) - first))
            self.end_headers()
            try:
                self.wfile.write(body[first:])
            except OSError:
                pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    tell("listening", http=server.server_address[1], rtsp=rtsp(port))
    server.serve_forever()


# The parent process may block the signal that ends this program.
signal.pthread_sigmask(signal.SIG_SETMASK, [])
main(os.path.abspath(sys.argv[1]))
