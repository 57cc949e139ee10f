#!/usr/bin/python3
"""Reads the time strip of the test pattern from the output of a Wayland compositor, until it is ended.

It needs nothing besides Python, and a compositor with wlr-screencopy. It prints a line of JSON for each new number in the
strip, and when a strip has vanished. It ends with 0 when the compositor has ended.
"""

import json
import mmap
import os
import struct

from wayland_pattern import DISPLAY, Compositor


class Screen:
    """The output, which is copied to shared memory whenever it changes."""

    def __init__(self, compositor):
        self.compositor = compositor
        self.registry, self.ready = compositor.new(), None
        self.globals = {}
        self.frame = self.format = self.buffer = self.pixels = None
        self.last = None
        self.is_first = True
        compositor.send(DISPLAY, 1, self.registry)
        self.ready = compositor.new()
        compositor.send(DISPLAY, 0, self.ready)

    def bind(self, interface, version):
        name, offered = self.globals[interface]
        bound = self.compositor.new()
        self.compositor.send(self.registry, 0, name, interface, min(version, offered), bound)
        return bound

    def capture(self):
        """Requests the next content of the output."""
        self.frame = self.compositor.new()
        self.compositor.send(self.manager, 0, self.frame, 0, self.output)

    def allocate(self, layout):
        """Creates the memory for frames, if it has another layout."""
        if layout == self.format:
            return
        code, width, height, stride = self.format = layout
        if self.buffer is not None:
            self.compositor.send(self.buffer, 0)
        descriptor = os.memfd_create("screen")
        os.ftruncate(descriptor, stride * height)
        self.pixels = mmap.mmap(descriptor, stride * height)
        pool, self.buffer = self.compositor.new(), self.compositor.new()
        self.compositor.send(self.memory, 0, pool, stride * height, descriptor=descriptor)
        self.compositor.send(pool, 0, self.buffer, 0, width, height, stride, code)
        self.compositor.send(pool, 1)
        os.close(descriptor)

    def read(self):
        """Prints the number in the strip, if it is another one."""
        _, width, height, stride = self.format
        row = stride * (max(16, height // 18) // 2)
        bits = 0
        for cell in range(64):
            middle = (cell * width // 64 + (cell + 1) * width // 64) // 2
            bits = bits << 1 | (self.pixels[row + middle * 4 + 1] > 127)
        content = bits.to_bytes(8, "big")
        check = 0
        for byte in content:
            check ^= byte
            for _ in range(8):
                check = (check << 1 ^ 0x07) & 0xFF if check & 0x80 else check << 1
        # Black has a valid checksum.
        number = struct.unpack_from(">H", content)[0] if check == 0 and bits else None
        if number == self.last and not self.is_first:
            return
        self.last, self.is_first = number, False
        print(json.dumps({"event": "strip", "counter": number}), flush=True)

    def run(self):
        for target, opcode, body in self.compositor.events():
            if target == self.registry and opcode == 0:
                name, length = struct.unpack_from("=II", body)
                interface = body[8:8 + length - 1].decode()
                self.globals[interface] = (name, struct.unpack_from("=I", body, len(body) - 4)[0])
            elif target == self.ready:
                self.ready = None
                self.memory, self.output = self.bind("wl_shm", 1), self.bind("wl_output", 1)
                self.manager = self.bind("zwlr_screencopy_manager_v1", 3)
                self.capture()
            elif target == self.frame and opcode == 0:
                self.layout = struct.unpack("=IIII", body)
            elif target == self.frame and opcode == 6:
                self.allocate(self.layout)
                # The first copy is immediate, and the others wait for a change.
                self.compositor.send(self.frame, 0 if self.is_first else 2, self.buffer)
            elif target == self.frame and opcode in (2, 3):
                # The next request comes first, and its memory is given after the strip is read.
                self.compositor.send(self.frame, 1)
                self.capture()
                if opcode == 2:
                    self.read()


try:
    Screen(Compositor()).run()
except (BrokenPipeError, ConnectionResetError):
    pass
