#!/usr/bin/env python3
"""A server that accepts connections and never sends data. Prints its port."""

import socket

listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
taken = []
while True:
    taken.append(listener.accept()[0])
