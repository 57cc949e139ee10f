#!/usr/bin/env python3
"""Plays a playlist with ffplay, mpv, VLC or GStreamer without a display, and checks that it plays without a stall.

With --reconnection, it then prints `ready for a reconnection`, waits for a line on standard input, and checks that
playback continues with the media of a publisher that reconnected.
"""

import json
import os
import re
import select
import socket
import subprocess
import sys
import tempfile
import time

import program
from hls_page import EXTRA_TIME, PATIENCE, RECONNECTION_TIMEOUT, SETTLING

INTERVAL = 0.2
"""The seconds between two readings of the position."""

START_TIMEOUT = 60
LONGEST_DELAY = 12
"""The seconds of media from before a reconnection that a player may still play: four target durations."""


class Player:
    """A player that is running. `position` returns the seconds of media that are played; None before the first frame."""

    longest_stall = 1.0
    """The seconds without a new position from which on playback has stalled. Some players read their audio in pieces."""
    resolution = 0
    """The resolution of the position in seconds."""

    def __init__(self):
        self.problems = []
        """The errors that the player has reported."""

    def size(self):
        """Returns the width and height of the video; None if the player does not report it."""
        return None

    def close(self):
        """Ends the player."""


class Process(Player):
    """A player that is a program with a folder of its own, which contains what it prints."""

    def __init__(self, command, folder, **options):
        super().__init__()
        self.path = os.path.join(folder, "output")
        with open(self.path, "wb") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, **options)

    def text(self, path=None):
        """Returns what the program has written, to its output or to another file."""
        try:
            with open(path or self.path, encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def require_running(self):
        if self._process.poll() is not None:
            raise RuntimeError(f"the player ended with {self._process.returncode}: {self.text()[-1500:]}")

    def close(self):
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class FFplay(Process):
    """ffplay, whose status line contains the time of its master clock, the audio."""

    def __init__(self, url, folder):
        super().__init__(
            ["ffplay", "-hide_banner", "-loglevel", "level+info", "-stats", url], folder,
            env={**os.environ, "SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"})
        self._start = None

    def position(self):
        self.require_running()
        text = self.text()
        self.problems = re.findall(r"\[(?:error|fatal|panic)\] *([^\r\n]*)", text)
        clocks = re.findall(r"(-?\d+\.\d+) (?:A-V|M-V|M-A):", text[-4000:])
        return float(clocks[-1]) if clocks else None


class MPV(Process):
    """mpv, which is controlled with JSON on a socket."""

    def __init__(self, url, folder):
        self._log = os.path.join(folder, "log")
        address = os.path.join(folder, "socket")
        super().__init__(
            ["mpv", "--no-config", "--vo=null", "--ao=null", "--no-terminal", f"--log-file={self._log}",
             f"--input-ipc-server={address}", url], folder)
        self._socket = connect(self, address)
        self._answers = b""

    def position(self):
        self.require_running()
        self.problems = re.findall(r"^\[ *[\d.]+\]\[[ef]\]\[[^\]]*\] *(.*)$", self.text(self._log), re.MULTILINE)
        return self._get("time-pos")

    def size(self):
        return [self._get("width"), self._get("height")]

    def _get(self, name):
        self._socket.sendall(json.dumps({"command": ["get_property", name], "request_id": 1}).encode() + b"\n")
        while True:
            line, mark, rest = self._answers.partition(b"\n")
            if not mark:
                received = self._socket.recv(65536)
                if not received:
                    return None
                self._answers += received
                continue
            self._answers = rest
            answer = json.loads(line)
            if answer.get("request_id") == 1 and "event" not in answer:
                return answer.get("data")


class VLC(Process):
    """VLC, which is controlled with lines on a socket. It refuses to run as root, so it runs as nobody."""

    longest_stall = 2.5
    resolution = 1

    def __init__(self, url, folder):
        user = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.getuid() == 0 else {}
        address = os.path.join(folder, "socket")
        super().__init__(
            ["cvlc", "--intf", "oldrc", "--rc-unix", address, "--rc-fake-tty", "--vout", "vdummy", "--aout", "adummy",
             "--no-color", url], folder, env={**os.environ, "HOME": folder, "XDG_RUNTIME_DIR": folder}, **user)
        self._socket = connect(self, address)
        self._socket.settimeout(START_TIMEOUT)

    def position(self):
        self.require_running()
        # There is no desktop whose keys and buses VLC looks for.
        self.problems = re.findall(r"^\[[0-9a-f]+\] ((?!.*(?:interface|libvlc) error:).*error: .*)$", self.text(), re.MULTILINE)
        time_text = re.findall(r"^(?:> )*(\d+)\r?$", self._ask("get_time"), re.MULTILINE)
        return float(time_text[-1]) if time_text else None

    def _ask(self, command):
        # VLC answers in order. It answers the second command with a line that marks the end.
        self._socket.sendall(f"{command}\nvolume\n".encode())
        answer = ""
        while "audio volume" not in answer:
            received = self._socket.recv(65536)
            if not received:
                return answer
            answer += received.decode(errors="replace")
        return answer


class GStreamer(Player):
    """GStreamer's playbin3, which selects hlsdemux2 by its rank."""

    def __init__(self, url, folder):
        super().__init__()
        program.require("/usr/bin/python3", "gi")
        import gi
        gi.require_version("Gst", "1.0")
        from gi.repository import Gst
        Gst.init(None)
        self._gst = Gst
        self._pipeline = Gst.parse_launch("playbin3 name=player")
        self._sinks = {}
        for kind in ("video", "audio"):
            self._sinks[kind] = Gst.ElementFactory.make("fakesink")
            self._sinks[kind].set_property("sync", True)
            self._pipeline.set_property(f"{kind}-sink", self._sinks[kind])
        self._pipeline.set_property("uri", url)
        self._pipeline.set_state(Gst.State.PLAYING)

    def position(self):
        kinds = self._gst.MessageType
        while message := self._pipeline.get_bus().pop_filtered(kinds.ERROR | kinds.BUFFERING | kinds.EOS):
            if message.type == kinds.ERROR:
                raise RuntimeError(f"GStreamer: {message.parse_error()}")
            if message.type == kinds.EOS:
                raise RuntimeError("GStreamer has reached the end of the stream")
            # An application pauses the pipeline while it fills its buffers.
            is_full = message.parse_buffering() == 100
            self._pipeline.set_state(self._gst.State.PLAYING if is_full else self._gst.State.PAUSED)
        found, position = self._pipeline.query_position(self._gst.Format.TIME)
        return position / self._gst.SECOND if found and position > 0 else None

    def size(self):
        caps = self._sinks["video"].get_static_pad("sink").get_current_caps()
        if caps is None:
            return None
        structure = caps.get_structure(0)
        return [structure.get_int("width")[1], structure.get_int("height")[1]]

    def close(self):
        self._pipeline.set_state(self._gst.State.NULL)


PLAYERS = {"ffplay": FFplay, "mpv": MPV, "vlc": VLC, "gstreamer": GStreamer}


def connect(player, address):
    """Connects to the socket of a player as soon as it listens."""
    deadline = time.monotonic() + START_TIMEOUT
    while True:
        client = socket.socket(socket.AF_UNIX)
        try:
            client.connect(address)
            return client
        except OSError:
            client.close()
            player.require_running()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


class Playback:
    """The positions of a player, and the seconds during which they did not change."""

    def __init__(self, player):
        self.player = player
        self.played = 0.0
        """The seconds of media that were played without jumps."""
        self.stalls = []
        self._last = None
        self._changed = time.monotonic()

    def read(self):
        """Reads the position. Returns whether it has changed."""
        now, position = time.monotonic(), self.player.position()
        if position is None or position == self._last:
            return False
        stalled = now - self._changed
        if self._last is not None:
            if stalled > self.player.longest_stall:
                self.stalls.append([round(position, 1), round(stalled, 2)])
            self.played += position - self._last if 0 < position - self._last < stalled + 1 else 0
        self._last, self._changed = position, now
        return True

    def follow(self, seconds):
        """Reads the position until a time has passed."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            time.sleep(INTERVAL)
            self.read()
        stalled = time.monotonic() - self._changed
        if stalled > self.player.longest_stall:
            self.stalls.append([self._last, round(stalled, 2)])

    def wait(self, condition, timeout, what):
        """Reads the position until a condition holds."""
        deadline = time.monotonic() + timeout
        while True:
            self.read()
            if condition():
                return
            if time.monotonic() > deadline:
                raise RuntimeError(f"waited {timeout} s in vain for {what}; {self.player.problems[-5:]}")
            time.sleep(INTERVAL)


def play(run, options):
    with tempfile.TemporaryDirectory(prefix="pcast-player-") as folder:
        os.chmod(folder, 0o777)  # VLC runs as another user
        began = time.monotonic()
        player = PLAYERS[options.player](options.url, folder)
        try:
            playback = Playback(player)
            playback.wait(lambda: playback.played > 0, START_TIMEOUT, "the first frames")
            run.figures.update(startSeconds=round(time.monotonic() - began, 2))
            measure(run, options.seconds, playback)
            if options.reconnection:
                resume(run, options, playback)
            run.figures.update(errors=player.problems)
            run.check("there is no error", not player.problems)
        finally:
            player.close()


def measure(run, seconds, playback):
    """Checks that there are so many seconds of playback without a stall. After a stall, they begin again."""
    playback.follow(SETTLING)
    deadline = time.monotonic() + seconds + PATIENCE
    earlier = []
    while True:
        playback.stalls.clear()
        before, began = playback.played, time.monotonic()
        while time.monotonic() < began + seconds and not playback.stalls:
            playback.follow(min(1, seconds))
        played = playback.played - before
        advances = played + playback.player.resolution > 0.9 * seconds
        if advances and not playback.stalls or time.monotonic() > deadline:
            break
        earlier += playback.stalls
    run.figures.update(
        played=round(played, 2), stalls=list(playback.stalls), earlierStalls=earlier, size=playback.player.size())
    run.check("the position advances with the time", advances)
    run.check("there is no stall", not playback.stalls)


def resume(run, options, playback):
    """Waits for a line on standard input, which says that the publisher has reconnected, and then for its media."""
    print("ready for a reconnection", flush=True)
    playback.wait(lambda: select.select([sys.stdin], [], [], 0)[0], RECONNECTION_TIMEOUT, "the publisher")
    began = time.monotonic()
    player, expected = playback.player, [int(number) for number in options.reconnection.split("x")]
    enough = LONGEST_DELAY
    if player.size():
        playback.wait(lambda: player.size() == expected, START_TIMEOUT, f"the size {expected}, not {player.size()}")
        enough = SETTLING
    before = playback.played
    playback.wait(lambda: playback.played - before > enough, START_TIMEOUT, "playback after the reconnection")
    run.figures.update(reconnectedSize=player.size(), reconnectionSeconds=round(time.monotonic() - began, 2))


def main():
    parser = program.arguments(__doc__, "the multivariant playlist")
    parser.add_argument("--player", choices=PLAYERS, required=True)
    parser.add_argument("--reconnection", metavar="WIDTHxHEIGHT", help="the size after the publisher reconnects")
    options = parser.parse_args()
    if options.player == "gstreamer":
        program.require("/usr/bin/python3", "gi")
    run = program.Program(options.player, options.seconds + EXTRA_TIME)
    run.run(lambda: play(run, options))


if __name__ == "__main__":
    main()
