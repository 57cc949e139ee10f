"""An application's backend that receives notifications over HTTP and verifies their signatures (Standard Webhooks)."""

import base64
import collections
import hashlib
import hmac
import http.server
import json
import random
import threading

SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes, ok").decode()


class Backend(http.server.ThreadingHTTPServer):
    """Listens on a free local port from its initialization, and stores the notifications in order of arrival."""

    daemon_threads = True

    def __init__(self, refusing=0.0, seed=1):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received = []
        self.refused = 0
        self.unsigned = 0
        self.lock = threading.Lock()
        self._refusing = refusing
        self._refusals = collections.Counter()
        self._chance = random.Random(seed)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self):
        return self.server_address[1]

    def take(self, headers, body):
        """Stores a notification and returns the status of the response, which is sometimes 503.

        No notification is rejected more than twice, because the third retry waits for half a minute or more.
        """
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        key = base64.b64decode(SECRET.removeprefix("whsec_"))
        expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        with self.lock:
            if not hmac.compare_digest(expected, headers["webhook-signature"] or ""):
                self.unsigned += 1
            notification = headers["webhook-id"]
            if self._chance.random() < self._refusing and self._refusals[notification] < 2:
                self._refusals[notification] += 1
                self.refused += 1
                return 503
            self.received.append((headers["webhook-id"], body, json.loads(body)))
            return 204


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.server.take(self.headers, body))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass
