#!/usr/bin/python3
"""Shows the time strip of the test pattern in a full-screen window of a Wayland compositor, until it is ended.

It needs nothing besides Python. The compositor asks for each frame, so the number in the strip counts every --every'th
refresh of the output. It prints a line of JSON when the window has a new size, and ends with 0 when the compositor has ended.
"""

import argparse
import array
import json
import mmap
import os
import socket
import struct
import sys
import time

BUFFERS = 3
INITIAL_SIZE = (320, 180)
DISPLAY = 1


class Compositor:
    """A connection: requests are written, and events are read as (object, opcode, bytes)."""

    def __init__(self):
        path = os.path.join(os.environ["XDG_RUNTIME_DIR"], os.environ["WAYLAND_DISPLAY"])
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.received = b""
        self.last = DISPLAY
        self.free = []

    def new(self):
        """Returns an object ID. The compositor reports those that may be used again."""
        if self.free:
            return self.free.pop()
        self.last += 1
        return self.last

    def send(self, target, opcode, *arguments, descriptor=None):
        body = b""
        for argument in arguments:
            if isinstance(argument, str):
                text = argument.encode() + b"\0"
                body += struct.pack("=I", len(text)) + text + b"\0" * (-len(text) % 4)
            else:
                body += struct.pack("=I", argument & 0xFFFFFFFF)
        message = struct.pack("=II", target, (len(body) + 8) << 16 | opcode) + body
        rights = []
        if descriptor is not None:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))]
        self.socket.sendmsg([message], rights)

    def events(self):
        while True:
            while len(self.received) < 8 or len(self.received) < self.size():
                data = self.socket.recv(65_536)
                if not data:
                    return
                self.received += data
            size = self.size()
            target, word = struct.unpack_from("=II", self.received)
            body, self.received = self.received[8:size], self.received[size:]
            if target == DISPLAY and word & 0xFFFF == 0:
                sys.exit(f"the compositor reports an error: {body[12:].rstrip(bytes(1)).decode()}")
            if target == DISPLAY:
                self.free.append(struct.unpack("=I", body)[0])
                continue
            yield target, word & 0xFFFF, body

    def size(self):
        return struct.unpack_from("=I", self.received, 4)[0] >> 16


class Window:
    """A full-screen window with its buffers in shared memory."""

    def __init__(self, compositor, every):
        self.compositor = compositor
        self.every = every
        self.refreshes = 0
        self.size = None
        self.buffers = {}
        self.unused = []
        self.counter = 0
        self.awaited = None
        self.is_due = False
        registry = compositor.new()
        compositor.send(DISPLAY, 1, registry)
        self.registry, self.globals = registry, {}
        self.ready = compositor.new()
        compositor.send(DISPLAY, 0, self.ready)
        self.base = self.surface = self.role = self.toplevel = None

    def bind(self, interface, version):
        name, offered = self.globals[interface]
        bound = self.compositor.new()
        self.compositor.send(self.registry, 0, name, interface, min(version, offered), bound)
        return bound

    def open(self):
        send, new = self.compositor.send, self.compositor.new
        compositor, self.memory = self.bind("wl_compositor", 4), self.bind("wl_shm", 1)
        self.base = self.bind("xdg_wm_base", 1)
        self.surface, self.role, self.toplevel = new(), new(), new()
        send(compositor, 0, self.surface)
        send(self.base, 2, self.role, self.surface)
        send(self.role, 1, self.toplevel)
        send(self.toplevel, 2, "Time strip")
        send(self.toplevel, 11, 0)
        send(self.surface, 6)

    def resize(self, width, height):
        """Replaces the buffers by those of another size."""
        if (width, height) == self.size:
            return
        send, stride = self.compositor.send, 4 * width
        for buffer in self.buffers:
            send(buffer, 0)
        self.size, self.buffers, self.unused = (width, height), {}, []
        length = stride * height
        descriptor = os.memfd_create("strip")
        os.ftruncate(descriptor, BUFFERS * length)
        pool = self.compositor.new()
        send(self.memory, 0, pool, BUFFERS * length, descriptor=descriptor)
        pixels = mmap.mmap(descriptor, BUFFERS * length)
        pixels[:] = struct.pack("=I", 0x305080) * (width * height * BUFFERS)
        for index in range(BUFFERS):
            buffer = self.compositor.new()
            send(pool, 0, buffer, index * length, width, height, stride, 1)
            self.buffers[buffer] = (pixels, index * length)
            self.unused.append(buffer)
        send(pool, 1)
        os.close(descriptor)
        print(json.dumps({"event": "resized", "width": width, "height": height}), flush=True)

    def draw(self):
        """Shows the next frame, when the compositor asks for one and a buffer is unused."""
        if not self.is_due or not self.unused or self.size is None:
            return
        width, height = self.size
        buffer = self.unused.pop(0)
        pixels, offset = self.buffers[buffer]
        row = strip(self.counter, width)
        rows = max(16, height // 18)
        pixels[offset:offset + len(row) * rows] = row * rows
        self.counter, self.is_due = self.counter + 1, False
        self.awaited = self.compositor.new()
        send = self.compositor.send
        send(self.surface, 3, self.awaited)
        send(self.surface, 1, buffer, 0, 0)
        send(self.surface, 9, 0, 0, width, height)
        send(self.surface, 6)

    def run(self):
        proposed = (0, 0)
        for target, opcode, body in self.compositor.events():
            if target == self.registry and opcode == 0:
                name, length = struct.unpack_from("=II", body)
                interface = body[8:8 + length - 1].decode()
                self.globals[interface] = (name, struct.unpack_from("=I", body, len(body) - 4)[0])
            elif target == self.ready and self.surface is None:
                self.open()
            elif target == self.base:
                self.compositor.send(self.base, 3, struct.unpack("=I", body)[0])
            elif target == self.toplevel and opcode == 0:
                proposed = struct.unpack_from("=ii", body)
            elif target == self.toplevel and opcode == 1:
                return
            elif target == self.role:
                self.compositor.send(self.role, 4, struct.unpack("=I", body)[0])
                # The compositor proposes the size of the output after the window has appeared.
                self.resize(*(proposed if proposed[0] > 0 else self.size or INITIAL_SIZE))
                self.is_due = True
            elif target == self.awaited:
                self.refreshes += 1
                self.awaited, self.is_due = None, self.refreshes % self.every == 0
                if not self.is_due:
                    self.awaited = self.compositor.new()
                    self.compositor.send(self.surface, 3, self.awaited)
                    self.compositor.send(self.surface, 6)
            elif target in self.buffers:
                self.unused.append(target)
            self.draw()


def strip(counter, width):
    """Returns a row of 64 cells: a number, 40 bits of UTC milliseconds, and their checksum."""
    content = struct.pack(">HQ", counter & 0xFFFF, int(time.time() * 1_000) & (1 << 40) - 1)
    content = content[:2] + content[5:]
    check = 0
    for byte in content:
        check ^= byte
        for _ in range(8):
            check = (check << 1 ^ 0x07) & 0xFF if check & 0x80 else check << 1
    bits = int.from_bytes(content + bytes([check]), "big")
    row = b""
    for cell in range(64):
        columns = (cell + 1) * width // 64 - cell * width // 64
        row += (b"\xff\xff\xff\xff" if bits >> 63 - cell & 1 else bytes(4)) * columns
    return row


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--every", type=int, default=1, help="the number of refreshes for each frame (default %(default)s)")
    options = parser.parse_args()
    try:
        Window(Compositor(), options.every).run()
    except (BrokenPipeError, ConnectionResetError):
        pass
