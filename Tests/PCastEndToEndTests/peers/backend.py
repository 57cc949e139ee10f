"""An application's backend: takes notifications over HTTP, and checks the signature of each after Standard Webhooks."""

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
    """Listens on a free port of this machine from its making; keeps what came, in its order."""

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
        """Keeps a notification; returns the status to answer, which is 503 now and then.

        None is refused more than twice, for what follows a third time is a wait of half a minute and more.
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
