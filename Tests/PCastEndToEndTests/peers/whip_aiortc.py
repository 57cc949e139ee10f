#!/usr/bin/env python3
"""Publishes generated video and two tones (440 Hz left, 1 kHz right) by WHIP with aiortc."""

import program

program.require(f"{program.environment()}/bin/python", "aiortc", "aioice", "av")

import array
import asyncio
import fractions
import math
import time

import aiortc
import av

import aiortc_peer
import signalling

WIDTH, HEIGHT, FRAME_RATE = 640, 360, 30
SAMPLE_RATE, SAMPLES = 48_000, 960


class Pacer:
    """Paces a track by its media clock from the first frame on."""

    def __init__(self):
        self._start = None

    async def wait(self, media_time):
        now = time.monotonic()
        self._start = self._start or now
        await asyncio.sleep(max(0, self._start + media_time - now))


class MovingGradient(aiortc.VideoStreamTrack):
    """A video track of diagonal stripes that move by four pixels per frame and change their color."""

    def __init__(self):
        super().__init__()
        self._pacer = Pacer()
        self._number = 0
        self._ramp = bytes(abs((x % 256) - 128) + 64 for x in range(WIDTH + HEIGHT + 256))

    async def recv(self):
        number = self._number
        self._number += 1
        await self._pacer.wait(number / FRAME_RATE)
        frame = av.VideoFrame(WIDTH, HEIGHT, "yuv420p")
        shift = number * 4 % 256
        luma, blue, red = frame.planes
        luma.update(b"".join(
            self._ramp[shift + y // 2:shift + y // 2 + WIDTH].ljust(luma.line_size, b"\0") for y in range(HEIGHT)))
        blue.update(bytes([64 + number % 128]) * blue.buffer_size)
        red.update(bytes([192 - number % 128]) * red.buffer_size)
        frame.pts, frame.time_base = number * (90_000 // FRAME_RATE), fractions.Fraction(1, 90_000)
        return frame


class TwoTones(aiortc.AudioStreamTrack):
    """An audio track of 440 Hz on the left and 1 kHz on the right, with whole periods per second."""

    def __init__(self):
        super().__init__()
        self._pacer = Pacer()
        self._position = 0
        self._second = array.array("h")
        for index in range(SAMPLE_RATE):
            for frequency in (440, 1000):
                self._second.append(round(8000 * math.sin(2 * math.pi * frequency * index / SAMPLE_RATE)))

    async def recv(self):
        position = self._position
        self._position += SAMPLES
        await self._pacer.wait(position / SAMPLE_RATE)
        frame = av.AudioFrame(format="s16", layout="stereo", samples=SAMPLES)
        start = 2 * (position % SAMPLE_RATE)
        frame.planes[0].update(self._second[start:start + 2 * SAMPLES].tobytes())
        frame.sample_rate, frame.pts = SAMPLE_RATE, position
        frame.time_base = fractions.Fraction(1, SAMPLE_RATE)
        return frame


class Nothing(aiortc.VideoStreamTrack):
    """A camera that delivers no frame."""

    async def recv(self):
        await asyncio.Event().wait()


class Silence(aiortc.AudioStreamTrack):
    """A microphone that delivers no samples."""

    async def recv(self):
        await asyncio.Event().wait()


async def say_nothing(run, options):
    connection = aiortc_peer.peer_connection()
    connection.addTransceiver(Nothing(), direction="sendonly")
    connection.addTransceiver(Silence(), direction="sendonly")
    resource = signalling.Resource(options.url, options.token)
    await aiortc_peer.be_abandoned(run, connection, resource, options.seconds)


async def has_sent(connection, seconds):
    """Returns whether enough of both tracks was sent, and reports on both have come. A busy machine takes longer for it."""
    sent = await aiortc_peer.statistics(connection, "outbound-rtp")
    reported = await aiortc_peer.statistics(connection, "remote-inbound-rtp")
    return all(
        kind in sent and sent[kind].packetsSent > 20 * seconds and kind in reported for kind in ("video", "audio"))


async def publish(run, options):
    if options.silent:
        return await say_nothing(run, options)
    connection = aiortc_peer.peer_connection()
    video = connection.addTransceiver(MovingGradient(), direction="sendonly")
    connection.addTransceiver(TwoTones(), direction="sendonly")
    aiortc_peer.prefer(video, f"video/{options.codec}", aiortc.RTCRtpSender.getCapabilities("video"))
    resource = signalling.Resource(options.url, options.token)
    async with aiortc_peer.negotiated(connection, resource) as seconds:
        run.figures.update(connectMilliseconds=round(seconds * 1000), streamID=resource.stream)
        deadline = time.monotonic() + options.seconds
        while connection.connectionState == "connected" \
                and (program.goes_on(options, deadline) or not await has_sent(connection, options.seconds)):
            await asyncio.sleep(0.1)
        run.figures.update(
            connectionState=connection.connectionState, codecs=aiortc_peer.codecs(connection),
            **aiortc_peer.security(video.sender.transport))
        sent = await aiortc_peer.statistics(connection, "outbound-rtp")
        reported = await aiortc_peer.statistics(connection, "remote-inbound-rtp")
    for kind in ("video", "audio"):
        run.figures[f"{kind}PacketsSent"] = sent[kind].packetsSent if kind in sent else 0
        run.figures[f"{kind}BytesSent"] = sent[kind].bytesSent if kind in sent else 0
        run.figures[f"{kind}PacketsLost"] = reported[kind].packetsLost if kind in reported else None
        run.check(f"{kind} was sent", run.figures[f"{kind}PacketsSent"] > 20 * options.seconds)
        run.check(f"receiver reports on {kind} came", kind in reported)
    run.figures["roundTripMilliseconds"] = (
        round(reported["video"].roundTripTime * 1000, 2) if "video" in reported else None)
    signalling.check_end(run, resource)


def main():
    parser = program.arguments(__doc__, "WHIP endpoint")
    parser.add_argument("--codec", choices=["H264", "VP8"], default="H264")
    parser.add_argument("--silent", action="store_true", help="send nothing, and expect to be ended")
    aiortc_peer.main(parser, f"aiortc {aiortc.__version__}", publish)


if __name__ == "__main__":
    main()
