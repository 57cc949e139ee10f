#!/usr/bin/env python3
"""A WHIP and WHEP server with aiortc: it receives a stream at /whip, and sends generated media at /whep.

It prints an event of JSON when it listens, when it has received media, and when a session was deleted. A line of
standard input ends it.
"""

import program

program.require(f"{program.environment()}/bin/python", "aiortc", "aioice", "av")

import argparse
import asyncio
import http.server
import json
import sys
import threading

import aiortc

import aiortc_peer
import whip_aiortc

ADDRESS = "127.0.0.1"
RECEIVED_FRAMES = {"video": 30, "audio": 30}


def report(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


class Endpoint:
    """The sessions of the server, on the event loop of the main thread."""

    def __init__(self, loop):
        self._loop = loop
        self._sessions = {}
        self.frames = {"video": 0, "audio": 0}
        self.deleted = []

    def begin(self, path, offer):
        """Returns the path of a session and the answer. It is called by the threads of requests."""
        return asyncio.run_coroutine_threadsafe(self._begin(path, offer), self._loop).result()

    def end(self, path):
        """Ends a session. Returns whether there was one."""
        return asyncio.run_coroutine_threadsafe(self._end(path), self._loop).result()

    async def _begin(self, path, offer):
        connection = aiortc_peer.peer_connection()
        if path == "/whip":
            connection.on("track", lambda track: asyncio.ensure_future(self._receive(track)))
        await connection.setRemoteDescription(aiortc.RTCSessionDescription(offer, "offer"))
        if path == "/whep":
            for transceiver in connection.getTransceivers():
                video = transceiver.kind == "video"
                transceiver.sender.replaceTrack(whip_aiortc.MovingGradient() if video else whip_aiortc.TwoTones())
                transceiver.direction = "sendonly"
        await connection.setLocalDescription(await connection.createAnswer())
        session = f"{path}/session-{len(self._sessions) + 1}"
        self._sessions[session] = connection
        return session, connection.localDescription.sdp

    async def _receive(self, track):
        while True:
            try:
                await track.recv()
            except aiortc.mediastreams.MediaStreamError:
                return
            self.frames[track.kind] += 1
            if self.frames[track.kind] == RECEIVED_FRAMES[track.kind]:
                report("received", kind=track.kind)

    async def _end(self, path):
        connection = self._sessions.pop(path, None)
        if connection is None:
            return False
        await connection.close()
        self.deleted.append(path)
        report("deleted", path=path)
        return True

    async def close(self):
        for path in list(self._sessions):
            await self._sessions.pop(path).close()


def handler(endpoint, token):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            if self.headers.get("Authorization") != f"Bearer {token}":
                return self.answer(401)
            if self.path not in ("/whip", "/whep") or self.headers.get("Content-Type") != "application/sdp":
                return self.answer(404)
            session, answer = endpoint.begin(self.path, body)
            # The reference is relative, as RFC 9725 permits.
            self.answer(201, answer.encode(), {"Content-Type": "application/sdp", "Location": session})

        def do_DELETE(self):
            if self.headers.get("Authorization") != f"Bearer {token}":
                return self.answer(401)
            self.answer(200 if endpoint.end(self.path) else 404)

        def answer(self, status, body=b"", fields={}):
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **fields}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler


async def serve(run, options):
    loop = asyncio.get_running_loop()
    endpoint = Endpoint(loop)
    server = http.server.ThreadingHTTPServer((ADDRESS, 0), handler(endpoint, options.token))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    report("listening", port=server.server_address[1])
    await asyncio.to_thread(sys.stdin.readline)
    await endpoint.close()
    run.figures.update(frames=endpoint.frames, deleted=endpoint.deleted)
    for kind, count in RECEIVED_FRAMES.items():
        run.check(f"{kind} was received", endpoint.frames[kind] >= count)
    for path in ("/whip", "/whep"):
        run.check(f"the session at {path} was deleted", any(name.startswith(path + "/") for name in endpoint.deleted))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--token", required=True, help="expected bearer token")
    options = parser.parse_args()
    aiortc_peer.use_addresses([ADDRESS], "")
    run = program.Program(f"aiortc {aiortc.__version__}", 60)
    run.run(lambda: asyncio.run(serve(run, options)))


if __name__ == "__main__":
    main()
