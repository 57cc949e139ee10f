#!/usr/bin/env python3
"""Publishes the time strip of the test pattern with FFmpeg, which encodes H.264 and AAC, by RTMP or SRT.

Prints one JSON object per line: `sent` with the capture time of the first frame, when FFmpeg has taken it, and `ended` with
that of the last one. Times are UTC in milliseconds. A line on standard input, or SIGTERM, unplugs the encoder: FFmpeg is
killed, so that its connection closes without a message of the protocol.
"""

import argparse
import json
import select
import signal
import struct
import subprocess
import sys
import time

FRAME_RATE = 30
BODY = 96
"""The luma below the strip."""


def strip(counter, milliseconds, width):
    """Returns a row of 64 cells: a number, 40 bits of UTC milliseconds, and their checksum."""
    content = struct.pack(">H", counter & 0xFFFF) + (milliseconds & (1 << 40) - 1).to_bytes(5, "big")
    check = 0
    for byte in content:
        check ^= byte
        for _ in range(8):
            check = (check << 1 ^ 0x07) & 0xFF if check & 0x80 else check << 1
    bits = int.from_bytes(content + bytes([check]), "big")
    row = b""
    for cell in range(64):
        columns = (cell + 1) * width // 64 - cell * width // 64
        row += (b"\xeb" if bits >> 63 - cell & 1 else b"\x10") * columns
    return row


def command(options):
    """Returns the command of FFmpeg."""
    return [
        "ffmpeg", "-v", "error", "-nostdin", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-video_size", options.size,
        "-framerate", str(FRAME_RATE), "-i", "pipe:0", "-re", "-f", "lavfi", "-i", "sine=frequency=220:sample_rate=48000",
        "-map", "0:v", "-map", "1:a", "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-bf", "0",
        "-g", str(FRAME_RATE), "-c:a", "aac", "-f", options.format, options.url,
    ]


def publish(options):
    width, height = map(int, options.size.split("x"))
    rows = max(16, height // 18)
    rest = bytes([BODY]) * (width * (height - rows)) + bytes([128]) * (width * height // 2)
    encoder = subprocess.Popen(command(options), stdin=subprocess.PIPE, bufsize=0)
    counter, last = 0, None
    started = time.monotonic()
    try:
        while not select.select([sys.stdin], [], [], max(0, started + counter / FRAME_RATE - time.monotonic()))[0]:
            captured = int(time.time() * 1_000)
            frame = memoryview(strip(counter, captured, width) * rows + rest)
            while frame:
                frame = frame[encoder.stdin.write(frame):]
            if last is None:
                print(json.dumps({"event": "sent", "first": captured}), flush=True)
            last = captured
            counter += 1
    except BrokenPipeError:
        pass  # the platform has closed the connection
    except KeyboardInterrupt:
        pass
    encoder.kill()
    encoder.wait()
    print(json.dumps({"event": "ended", "last": last}), flush=True)


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="rtmp://… or srt://…")
    parser.add_argument("--size", default="640x360", help="the size of the frames (default %(default)s)")
    options = parser.parse_args()
    options.format = "mpegts" if options.url.startswith("srt:") else "flv"
    signal.signal(signal.SIGTERM, interrupt)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    publish(options)


if __name__ == "__main__":
    main()
