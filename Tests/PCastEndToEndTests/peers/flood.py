#!/usr/bin/env python3
"""Floods a platform from another address of loopback: connections that send nothing, WebSockets that stay idle,
bodies that are sent byte by byte, endless requests and joins, and datagrams of unknown sources to the media port. Prints
one object with the accepted and the rejected attempts, and the numbers of bytes sent and received."""

import argparse
import asyncio
import json
import os
import socket
import struct
import time


class Flood:
    def __init__(self, arguments):
        self.host, self.port = arguments.address.rsplit(":", 1)
        self.port = int(self.port)
        self.rtc = (self.host, arguments.rtc_port)
        self.source = arguments.source
        self.end = time.monotonic() + arguments.seconds
        self.least = arguments.least
        self.figures = {
            name: 0
            for name in (
                "connections", "refusedConnections", "held", "webSockets", "slowBodies", "answered", "limited",
                "unavailable", "datagrams", "datagramBytes", "answeredBytes")
        }

    @property
    def goes_on(self):
        now = time.monotonic()
        enough = min(self.figures["refusedConnections"], self.figures["datagrams"]) >= self.least
        return now < self.end or not enough and now < self.end + 60

    async def connect(self):
        # The kernel repeats an unanswered request to connect for longer than the flood lasts.
        reader, writer = await asyncio.wait_for(
            asyncio.open_connection(self.host, self.port, local_addr=(self.source, 0)), 5)
        self.figures["connections"] += 1
        return reader, writer

    async def hold(self, first, name):
        """Opens a connection that sends these bytes, and then one byte per second or nothing."""
        while self.goes_on:
            try:
                reader, writer = await self.connect()
            except asyncio.TimeoutError:
                continue
            except OSError:
                self.figures["refusedConnections"] += 1
                await asyncio.sleep(0.05)
                continue
            try:
                if first:
                    writer.write(first)
                    await writer.drain()
                self.figures["held"] += 1
                if name:
                    self.figures[name] += 1
                while self.goes_on:
                    try:
                        got = await asyncio.wait_for(reader.read(4096), 1)
                        if not got:
                            break
                    except asyncio.TimeoutError:
                        if name == "slowBodies":
                            writer.write(b"x")
                            await writer.drain()
            except OSError:
                pass
            self.figures["held"] -= 1
            self.figures["refusedConnections"] += 1 if self.goes_on else 0
            writer.close()
            await asyncio.sleep(0.02)

    async def ask(self, request):
        """Sends requests as fast as they are answered, each on its own connection."""
        while self.goes_on:
            try:
                reader, writer = await self.connect()
                writer.write(request)
                line = await asyncio.wait_for(reader.readline(), 5)
                status = line.split(b" ")[1] if line.count(b" ") >= 2 else b""
                key = {b"429": "limited", b"503": "unavailable"}.get(status, "answered")
                if status:
                    self.figures[key] += 1
                else:
                    self.figures["refusedConnections"] += 1
                writer.close()
            except (OSError, asyncio.TimeoutError, IndexError):
                self.figures["refusedConnections"] += 1
                await asyncio.sleep(0.01)

    @staticmethod
    def binding_request():
        user = b"nobody00nobody:stranger"
        padded = user + bytes(-len(user) % 4)
        attributes = struct.pack("!HH", 0x0006, len(user)) + padded
        attributes += struct.pack("!HHQ", 0x802A, 8, 7) + struct.pack("!HH", 0x0025, 0)
        attributes += struct.pack("!HH", 0x0008, 20) + os.urandom(20)
        return struct.pack("!HHI", 1, len(attributes), 0x2112A442) + os.urandom(12) + attributes

    @staticmethod
    def client_hello():
        body = b"\xfe\xfd" + os.urandom(32) + b"\x00\x00" + b"\x00\x04\xc0\x2b\xc0\x2f" + b"\x01\x00"
        handshake = b"\x01" + len(body).to_bytes(3, "big") + b"\x00\x00" + b"\x00\x00\x00" + len(body).to_bytes(3, "big")
        record = handshake + body
        return b"\x16\xfe\xff" + b"\x00\x00" + b"\x00" * 6 + struct.pack("!H", len(record)) + record

    async def datagrams(self):
        """Sends datagrams from a new port in each iteration."""
        while self.goes_on:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
                port.bind((self.source, 0))
                port.setblocking(False)
                for packet in (self.binding_request(), self.client_hello(), b"\x80\x60" + os.urandom(60)):
                    try:
                        port.sendto(packet, self.rtc)
                        self.figures["datagrams"] += 1
                        self.figures["datagramBytes"] += len(packet)
                    except OSError:
                        pass
                await asyncio.sleep(0.005)
                try:
                    while True:
                        self.figures["answeredBytes"] += len(port.recv(4096))
                except OSError:
                    pass

    async def run(self):
        host = f"Host: {self.host}\r\n".encode()
        upgrade = (
            b"GET /ws HTTP/1.1\r\n" + host + b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
        body = (
            b"POST /whip HTTP/1.1\r\n" + host
            + b"Content-Type: application/sdp\r\nContent-Length: 60000\r\n\r\nv=0\r\n")
        join = (
            b"POST /whip HTTP/1.1\r\n" + host + b"Connection: close\r\n"
            b"Content-Type: application/sdp\r\nContent-Length: 5\r\n\r\nv=0\r\n")
        work = [self.hold(b"", None) for _ in range(100)]
        work += [self.hold(upgrade, "webSockets") for _ in range(100)]
        work += [self.hold(body, "slowBodies") for _ in range(100)]
        work += [self.ask(join) for _ in range(10)]
        work += [self.ask(b"GET / HTTP/1.1\r\nConnection: close\r\n" + host + b"\r\n") for _ in range(10)]
        work += [self.datagrams() for _ in range(4)]
        await asyncio.gather(*work)
        print(json.dumps(self.figures), flush=True)


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--address", required=True, help="HOST:PORT of the platform")
parser.add_argument("--rtc-port", type=int, required=True)
parser.add_argument("--source", default="127.0.0.2", help="where the flood comes from")
parser.add_argument("--seconds", type=float, default=6)
parser.add_argument(
    "--least", type=int, default=0, help="go on until so many connections were refused and so many datagrams sent")
asyncio.run(Flood(parser.parse_args()).run())
