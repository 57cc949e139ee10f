#!/usr/bin/env python3
"""An application's backend that registers its callback with a platform, and prints each notification as one JSON object."""

import argparse
import base64
import json
import threading
import urllib.request

import backend


class Printing(backend.Backend):
    def take(self, headers, body):
        status = super().take(headers, body)
        with self.lock:
            print(json.dumps({"event": "notification", "signed": self.unsigned == 0, **json.loads(body)}), flush=True)
        return status


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uri", required=True, help="the platform")
    parser.add_argument("--application", required=True, help="ID:SECRET")
    options = parser.parse_args()
    receiver = Printing()
    name = options.application.split(":")[0]
    callback = {"callback": {"host": "127.0.0.1", "port": receiver.port}, "signingSecret": backend.SECRET}
    request = urllib.request.Request(
        f"{options.uri}/pcast/application/{name}/callback", data=json.dumps(callback).encode(), method="PUT")
    request.add_header("Content-Type", "application/json")
    request.add_header("Authorization", "Basic " + base64.b64encode(options.application.encode()).decode())
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60).read()
    print(json.dumps({"event": "registered", "port": receiver.port}), flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
