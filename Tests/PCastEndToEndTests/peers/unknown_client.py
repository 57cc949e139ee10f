#!/usr/bin/env python3
"""Acts as another machine on the link: sends requests of all kinds to a media port and checks that none is answered.

With `--local` it runs on the same machine, and both kinds of connection must be possible.
"""

import concurrent.futures
import os
import socket
import struct

import program


def binding_request():
    """Returns a STUN binding request without credentials (RFC 8489, section 5)."""
    return struct.pack("!HHI", 1, 0, 0x2112A442) + os.urandom(12)


def datagram(run, address, port, name):
    """Sends unauthenticated datagrams and waits for any response, including an ICMP error."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as client:
        client.connect((address, port))
        answers = []
        for payload in (binding_request(), b"\x80\xc8\x00\x01\x00\x00\x00\x01", b"x" * 1200, b"\x16\xfe\xfd" + bytes(50)):
            try:
                client.send(payload)
                client.settimeout(0.2)
                answers.append(client.recv(2048).hex())
            except TimeoutError:
                pass
            except OSError as error:
                answers.append(repr(error))
        run.figures[name] = answers
    return answers


def connection(run, address, port, name, timeout=60):
    """Tries to connect and returns the result. A `timeout` is the time after which no answer is silence."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(timeout)
        try:
            client.connect((address, port))
            outcome = "connected"
        except TimeoutError:
            outcome = "silence"
        except OSError as error:
            outcome = type(error).__name__
    run.figures[name] = outcome
    return outcome


def ask_media(run, options, address):
    name = "IPv6" if ":" in address else "IPv4"
    if options.local:
        outcome = connection(run, address, options.port, f"{name} connection")
        run.check(f"{name}: this machine connects", outcome == "connected")
        return
    outcome = connection(run, address, options.port, f"{name} connection", timeout=1.5)
    run.check(f"{name}: no answer to a connection", outcome == "silence")
    answers = datagram(run, address, options.port, f"{name} datagrams")
    run.check(f"{name}: no answer to datagrams", not answers)


def ask(run, options):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(lambda address: ask_media(run, options, address), options.address))
    for address in options.address if options.http else []:
        outcome = connection(run, address, options.http, f"HTTP {address}")
        run.check(f"HTTP is refused at {address}", outcome == "ConnectionRefusedError")


def main():
    parser = program.arguments(__doc__, "unused", seconds=1, positional=True)
    parser.add_argument("--address", action="append", required=True, help="an address of the machine")
    parser.add_argument("--port", type=int, required=True, help="the media port")
    parser.add_argument("--http", type=int, help="the port of HTTP, which has to be refused")
    parser.add_argument("--local", action="store_true", help="this is the machine itself")
    options = parser.parse_args()
    run = program.Program("stranger", options.seconds)
    run.run(lambda: ask(run, options))


if __name__ == "__main__":
    main()
