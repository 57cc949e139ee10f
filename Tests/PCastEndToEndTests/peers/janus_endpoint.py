#!/usr/bin/env python3
"""A WHIP and WHEP server with Janus, which speaks neither: /whip publishes to its video room, and /whep watches what is
published there.

Viewers offer in WHEP, but the video room and the streaming plugin of Janus send offers themselves. The NoSIP plugin accepts
offers: it connects a WebRTC client to plain RTP, which the video room forwards.

It runs in the network of `namespace.sh`, because libnice never uses the interface `lo`. It prints an event of JSON when it
listens, when media flows from a publisher into Janus, and when a session was deleted. A line of standard input ends it.
"""

import argparse
import http.server
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

ADDRESS = "127.0.1.1"
API = f"http://{ADDRESS}:8088/janus"
ROOM = 1234
# The ports from which the NoSIP plugin receives RTP. It accepts packets of no other port, and the video room sends from any.
SOURCE = {"audio": 15002, "video": 15004}
CODECS = {"audio": "opus/48000", "video": "H264/90000"}
LIMIT = 60


def report(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def root():
    """Returns the prefix of the installed package, or of the copy that scripts/peers has unpacked; None for none."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    for folder in ("/usr", f"{cache}/pcast/janus/usr"):
        if os.access(f"{folder}/bin/janus", os.X_OK):
            return pathlib.Path(folder)
    return None


def configure(folder, prefix):
    """Writes the configuration of a Janus that loads only what is used."""
    libraries = next(prefix.glob("lib/*/janus"))
    used = {
        "plugins": ["libjanus_videoroom.so", "libjanus_nosip.so"], "transports": ["libjanus_http.so"], "none": [],
    }
    for name, files in used.items():
        (folder / name).mkdir()
        for file in files:
            (folder / name / file).symlink_to(libraries / name / file)
    texts = {
        "janus": f"""
            general: {{ configs_folder = "{folder}"; plugins_folder = "{folder}/plugins";
                transports_folder = "{folder}/transports"; events_folder = "{folder}/none";
                loggers_folder = "{folder}/none"; debug_level = 4; session_timeout = 0 }}
            nat: {{ ice_enforce_list = "{ADDRESS}" }}
            """,
        "janus.transport.http": f"""
            general: {{ json = "compact"; base_path = "/janus"; http = true; port = 8088; ip = "{ADDRESS}" }}
            """,
        "janus.plugin.videoroom": f"""
            room-{ROOM}: {{ description = "publishers"; publishers = 6; videocodec = "h264,vp8"; audiocodec = "opus";
                fir_freq = 1 }}
            """,
        "janus.plugin.nosip": """
            general: { local_ip = "127.0.0.1"; rtp_port_range = "20000-30000" }
            """,
    }
    for name, text in texts.items():
        (folder / f"{name}.jcfg").write_text(text)


def post(path, message):
    body = json.dumps({"transaction": "t", **message}).encode()
    request = urllib.request.Request(f"{API}{path}", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=LIMIT) as response:
        answer = json.load(response)
    if answer["janus"] == "error":
        raise ConnectionError(answer["error"]["reason"])
    return answer


class Handle:
    """A session of Janus with one handle of a plugin."""

    def __init__(self, plugin):
        self.session = f"/{post('', {'janus': 'create'})['data']['id']}"
        identifier = post(self.session, {"janus": "attach", "plugin": f"janus.plugin.{plugin}"})["data"]["id"]
        self.path = f"{self.session}/{identifier}"
        self._changed = threading.Condition()
        self._events = []
        self.ended = False
        threading.Thread(target=self._poll, daemon=True).start()

    def _poll(self):
        while not self.ended:
            try:
                with urllib.request.urlopen(f"{API}{self.session}?maxev=1", timeout=LIMIT) as response:
                    event = json.load(response)
            except (OSError, ValueError):
                return
            if event["janus"] == "keepalive":
                continue
            with self._changed:
                self._events.append(event)
                self._changed.notify_all()

    def wait(self, accepts):
        """Removes and returns the first event that a function accepts."""
        end = time.monotonic() + LIMIT
        with self._changed:
            while True:
                for event in self._events:
                    failure = event.get("plugindata", {}).get("data", {}).get("error")
                    if failure:
                        raise ConnectionError(failure)
                    if accepts(event):
                        self._events.remove(event)
                        return event
                if not self._changed.wait(max(0, end - time.monotonic())):
                    raise TimeoutError("Janus sent no event in time")

    def send(self, body, offer=None):
        """Sends a request that is answered by an event. Returns the event."""
        message = {"janus": "message", "body": body}
        if offer is not None:
            message["jsep"] = {"type": "offer", "sdp": offer}
        answer = post(self.path, message)
        if answer["janus"] == "success":
            return answer
        return self.wait(lambda event: event["janus"] == "event")

    def end(self):
        self.ended = True
        post(self.session, {"janus": "destroy"})


def answer_to(description):
    """Returns the answer of a source of plain RTP to an offer, and the addresses to which it sends by kind."""
    lines = description.split("\r\n")
    connection = next(line.split()[-1] for line in lines if line.startswith("c="))
    session, *sections = ("\r\n".join(lines)).split("\r\nm=")
    answer = ["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "c=IN IP4 127.0.0.1", "t=0 0"]
    targets = {}
    for section in sections:
        first, *attributes = section.split("\r\n")
        kind, port = first.split()[:2]
        own = next((line.split()[-1] for line in attributes if line.startswith("c=")), connection)
        names = dict(
            line.removeprefix("a=rtpmap:").split(" ", 1) for line in attributes if line.startswith("a=rtpmap:"))
        formats = {line.removeprefix("a=fmtp:").split(" ", 1)[0]: line for line in attributes if line.startswith("a=fmtp:")}
        payload = next(
            number for number, name in names.items() if name.lower().startswith(CODECS[kind].lower())
            and (kind == "audio" or "packetization-mode=1" in formats.get(number, "")))
        targets[kind] = (own, int(port), int(payload))
        answer += [f"m={kind} {SOURCE[kind]} RTP/AVP {payload}", f"a=rtpmap:{payload} {names[payload]}"]
        answer += [formats[payload]] if payload in formats else []
        answer.append("a=sendonly")
    return "\r\n".join(answer) + "\r\n", targets


class Gateway:
    """The sessions of the server."""

    def __init__(self):
        self._lock = threading.Lock()
        self._handles = {}
        self._count = 0
        self._publisher = None

    def begin(self, path, offer):
        """Returns the path of a session and the answer to an offer."""
        if path == "/whip":
            handle = Handle("videoroom")
            request = {"request": "joinandconfigure", "room": ROOM, "ptype": "publisher", "display": "pcast"}
            event = handle.send(request, offer)
            self._publisher = event["plugindata"]["data"]["id"]
            threading.Thread(target=self._await_media, args=(handle,), daemon=True).start()
        else:
            handle = Handle("nosip")
            generated = handle.send({"request": "generate"}, offer)["plugindata"]["data"]["result"]
            answer, targets = answer_to(generated["sdp"])
            event = handle.send({"request": "process", "type": "answer", "sdp": answer})
            self._forward(targets)
        with self._lock:
            self._count += 1
            session = f"{path}/session-{self._count}"
            self._handles[session] = handle
        return session, event["jsep"]["sdp"]

    def _await_media(self, handle):
        """Reports the media that Janus receives from a publisher."""
        for _ in range(2):
            event = handle.wait(lambda event: event["janus"] == "media" and event["receiving"])
            report("received", kind=event["type"])

    def _forward(self, targets):
        """Lets the video room send what it receives from the publisher to the addresses of a viewer."""
        request = {"request": "rtp_forward", "room": ROOM, "publisher_id": self._publisher, "host": "127.0.0.1"}
        for kind, (host, port, payload) in targets.items():
            request.update({f"{kind}_port": SOURCE[kind], f"{kind}_pt": payload})
            relay = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            relay.bind(("127.0.0.1", SOURCE[kind]))
            threading.Thread(target=self._relay, args=(relay, (host, port)), daemon=True).start()
        Handle("videoroom").send(request)

    @staticmethod
    def _relay(relay, target):
        while True:
            relay.sendto(relay.recv(65_536), target)

    def end(self, path):
        """Ends a session. Returns whether there was one."""
        with self._lock:
            handle = self._handles.pop(path, None)
        if handle is None:
            return False
        handle.end()
        report("deleted", path=path)
        return True


def handler(gateway):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            if self.path not in ("/whip", "/whep") or self.headers.get("Content-Type") != "application/sdp":
                return self.answer(404)
            try:
                session, answer = gateway.begin(self.path, body)
            except (OSError, KeyError) as error:
                print(f"{self.path}: {error!r}", file=sys.stderr, flush=True)
                return self.answer(500)
            self.answer(201, answer.encode(), {"Content-Type": "application/sdp", "Location": session})

        def do_DELETE(self):
            self.answer(200 if gateway.end(self.path) else 404)

        def answer(self, status, body=b"", fields={}):
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **fields}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler


def await_janus(process):
    """Waits until Janus answers."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(f"{API}/info", timeout=LIMIT).close()
            return
        except (OSError, urllib.error.URLError):
            time.sleep(0.05)
    raise SystemExit("Janus does not start")


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    prefix = root()
    if prefix is None:
        raise SystemExit("Janus is not installed: run scripts/peers")
    with tempfile.TemporaryDirectory() as folder:
        configure(pathlib.Path(folder), prefix)
        janus = subprocess.Popen(
            [prefix / "bin/janus", "-F", folder], stdin=subprocess.DEVNULL, stdout=sys.stderr, stderr=sys.stderr)
        try:
            await_janus(janus)
            server = http.server.ThreadingHTTPServer((ADDRESS, 0), handler(Gateway()))
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, daemon=True).start()
            report("listening", port=server.server_address[1])
            sys.stdin.readline()
        finally:
            janus.kill()
            janus.wait()


if __name__ == "__main__":
    main()
