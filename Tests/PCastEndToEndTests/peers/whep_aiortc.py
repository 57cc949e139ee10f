#!/usr/bin/env python3
"""Watches a stream by WHEP with aiortc: measures the number and change of frames and the level of audio."""

import program

program.require(f"{program.environment()}/bin/python", "aiortc", "aioice", "av")

import asyncio
import time

import aiortc
import av
from aiortc.mediastreams import MediaStreamError

import aiortc_peer
import pictures
import signalling


class Viewer:
    """Reads both tracks of a connection until it closes."""

    def __init__(self, connection):
        self.picture = pictures.FrameJudge()
        self.sound = pictures.AudioJudge()
        self.first_frame = None
        self._tasks = []
        connection.on("track", lambda track: self._tasks.append(asyncio.ensure_future(self._read(track))))

    async def _read(self, track):
        take = self._take_picture if track.kind == "video" else self._take_sound
        try:
            while True:
                take(await track.recv())
        except MediaStreamError:
            return

    def _take_picture(self, frame):
        if self.first_frame is None:
            self.first_frame = time.monotonic()
        small = frame.reformat(width=pictures.WIDTH, height=pictures.HEIGHT, format="gray")
        plane = small.planes[0]
        rows, stride = bytes(plane), plane.line_size
        luma = b"".join(rows[y * stride:y * stride + pictures.WIDTH] for y in range(pictures.HEIGHT))
        self.picture.take(luma, frame.width, frame.height)

    def _take_sound(self, frame):
        channels = len(frame.layout.channels)
        self.sound.take(bytes(frame.planes[0])[:frame.samples * channels * 2])

    def has(self, seconds):
        """Whether enough of both tracks was decoded. A busy machine takes longer for it."""
        return self.picture.has(seconds) and self.sound.has(seconds)

    def problems(self):
        """Returns the errors of the readers."""
        return [task.exception() for task in self._tasks if task.done() and task.exception()]


async def offer_of(codec):
    """Returns the offer of a viewer with one video codec."""
    connection = aiortc_peer.peer_connection()
    video = connection.addTransceiver("video", direction="recvonly")
    connection.addTransceiver("audio", direction="recvonly")
    aiortc_peer.prefer(video, f"video/{codec}", aiortc.RTCRtpReceiver.getCapabilities("video"))
    await connection.setLocalDescription(await connection.createOffer())
    await connection.close()
    return connection.localDescription.sdp


async def watch(run, options):
    connection = aiortc_peer.peer_connection()
    video = connection.addTransceiver("video", direction="recvonly")
    connection.addTransceiver("audio", direction="recvonly")
    if options.codec:
        aiortc_peer.prefer(video, f"video/{options.codec}", aiortc.RTCRtpReceiver.getCapabilities("video"))
    viewer = Viewer(connection)
    resource = signalling.Resource(options.url, options.token)
    started = time.monotonic()
    if options.silent:
        return await aiortc_peer.be_abandoned(run, connection, resource, options.seconds)
    rejected = await offer_of(options.rejected_codec) if options.rejected_codec else None
    async with aiortc_peer.negotiated(connection, resource, rejected) as seconds:
        run.figures.update(connectMilliseconds=round(seconds * 1000))
        deadline = time.monotonic() + options.seconds
        while (time.monotonic() < deadline or not viewer.has(options.seconds)) \
                and connection.connectionState == "connected" and not viewer.problems():
            await asyncio.sleep(0.1)
        run.figures.update(
            connectionState=connection.connectionState, codecs=aiortc_peer.codecs(connection),
            **aiortc_peer.security(video.receiver.transport))
        received = await aiortc_peer.statistics(connection, "inbound-rtp")
        problems = viewer.problems()
    for problem in problems:
        raise problem
    for kind in ("video", "audio"):
        run.figures[f"{kind}PacketsReceived"] = received[kind].packetsReceived if kind in received else 0
        run.figures[f"{kind}PacketsLost"] = received[kind].packetsLost if kind in received else None
    pictures.report(run, viewer, started, options.seconds)
    signalling.check_end(run, resource)


def main():
    parser = program.arguments(__doc__, "WHEP endpoint")
    parser.add_argument("--codec", choices=["H264", "VP8"], help="offer this video codec only")
    parser.add_argument(
        "--rejected-codec", choices=["H264", "VP8"],
        help="first offer this video codec, which the stream does not have, and answer the counter-offer")
    parser.add_argument("--silent", action="store_true", help="expect no media, and to be ended")
    aiortc_peer.main(parser, f"aiortc {aiortc.__version__} (PyAV {av.__version__})", watch)


if __name__ == "__main__":
    main()
