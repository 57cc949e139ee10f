#!/usr/bin/env python3
"""A TCP proxy that can be disabled: SIGUSR1 closes all connections and rejects new ones, and SIGUSR2 enables it again."""

import argparse
import json
import signal
import socket
import threading


class Gate:
    def __init__(self, target):
        host, port = target.rsplit(":", 1)
        self._target = (host, int(port))
        self._lock = threading.Lock()
        self._connections = set()
        self._is_open = True
        self._closures = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def set_open(self, is_open):
        with self._lock:
            self._is_open = is_open
            self._closures += not is_open
            connections = [] if is_open else list(self._connections)
        for connection in connections:
            self._close(connection)

    def _accept(self):
        while True:
            near, _ = self._listener.accept()
            with self._lock:
                is_open, closures = self._is_open, self._closures
            if not is_open:
                near.close()
                continue
            try:
                far = socket.create_connection(self._target)
            except OSError:
                near.close()
                continue
            with self._lock:
                # It may have been closed while this connection was made.
                is_current = closures == self._closures
                if is_current:
                    self._connections |= {near, far}
            if not is_current:
                near.close()
                far.close()
                continue
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _carry(self, source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        for connection in (source, sink):
            self._close(connection)

    def _close(self, connection):
        with self._lock:
            self._connections.discard(connection)
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", required=True, help="HOST:PORT")
    options = parser.parse_args()
    orders = {signal.SIGUSR1, signal.SIGUSR2}
    signal.pthread_sigmask(signal.SIG_BLOCK, orders)
    gate = Gate(options.to)
    print(json.dumps({"event": "listening", "port": gate.port}), flush=True)
    while True:
        is_open = signal.sigwait(orders) == signal.SIGUSR2
        gate.set_open(is_open)
        print(json.dumps({"event": "open" if is_open else "shut"}), flush=True)


if __name__ == "__main__":
    main()
