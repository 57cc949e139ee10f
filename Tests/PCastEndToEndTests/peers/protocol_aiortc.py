#!/usr/bin/env python3
"""Authenticates, publishes and subscribes with the published protocol, with offers of the client and of the platform.

Tokens are made by phenix-edge-auth, messages by protobuf, and media by aiortc. No code of this repository is used.
In the first round the publisher offers in `SetupStream`, which it sends together with `Authenticate`, and the viewer
answers the platform's offer. In the second round, the roles are exchanged.
"""

import program

program.require(
    f"{program.environment()}/bin/python", "aiortc", "aioice", "av", "edgeauth.token_builder", "google.protobuf",
    "websockets")

import asyncio
import time

import aiortc
import av
from edgeauth.token_builder import TokenBuilder

import aiortc_peer
import pcast_messages
import pcast_session
from whep_aiortc import Viewer
from whip_aiortc import MovingGradient, TwoTones

OFFER, ANSWER = 0, 1


def token(options, restrict):
    builder = TokenBuilder().with_application_id(options.application).with_secret(options.secret).expires_in_seconds(600)
    restrict(builder)
    return builder.build()


def description(kind, text):
    return pcast_messages.message("SessionDescription", type=kind, sdp=text)


class Stream:
    """A published or viewed stream of a session."""

    def __init__(self, session, connection, is_publishing):
        self.session = session
        self.connection = connection
        self.is_publishing = is_publishing
        self.identifier = None
        self.offered = ""
        self.trickles = False
        self.configuration = None

    async def offer(self, stream_token, **origin):
        """Sends the client's offer in `SetupStream`. The response contains the answer, one round trip later.

        The session may still have no identifier: requests that follow `Authenticate` at once belong to its session.
        """
        await self.connection.setLocalDescription(await self.connection.createOffer())
        remote = pcast_messages.message(
            "SetRemoteDescription", streamId="",
            sessionDescription=description(OFFER, self.connection.localDescription.sdp))
        create = pcast_messages.message(
            "CreateStream", sessionId=self.session.identifier or "", setRemoteDescription=remote, **origin)
        created = (await self.session.ask(
            "SetupStream", streamToken=stream_token, createStream=create)).createStreamResponse
        self._take(created)
        answer = created.createAnswerDescriptionResponse.sessionDescription
        assert answer.type == ANSWER, "the answer is an answer"
        await self.connection.setRemoteDescription(aiortc.RTCSessionDescription(answer.sdp, "answer"))

    async def answer(self, stream_token, **origin):
        """Answers the platform's offer by `SetRemoteDescription`, and then sends candidates."""
        wish = pcast_messages.message(
            "CreateOfferDescription", streamId="", options=["upload" if self.is_publishing else "download", "aiortc"])
        create = pcast_messages.message(
            "CreateStream", sessionId=self.session.identifier or "", createOfferDescription=wish, **origin)
        created = (await self.session.ask(
            "SetupStream", streamToken=stream_token, createStream=create)).createStreamResponse
        self._take(created)
        offered = created.createOfferDescriptionResponse.sessionDescription
        assert offered.type == OFFER, "the offer is an offer"
        self.offered = offered.sdp
        await self.connection.setRemoteDescription(aiortc.RTCSessionDescription(offered.sdp, "offer"))
        if self.is_publishing:
            tracks = {"video": MovingGradient, "audio": TwoTones}
            for transceiver in self.connection.getTransceivers():
                transceiver.sender.replaceTrack(tracks[transceiver.kind]())
                transceiver.direction = "sendonly"
        answer = await self.connection.createAnswer()
        response = await self.session.ask(
            "SetRemoteDescription", streamId=self.identifier, sessionDescription=description(ANSWER, answer.sdp))
        edited = response.sessionDescription
        assert edited.type == ANSWER, "the answer to take for our own is an answer"
        await self.connection.setLocalDescription(aiortc.RTCSessionDescription(edited.sdp, "answer"))
        self.trickles = "ice-candidates" in response.options
        if self.trickles:
            await self._trickle()

    async def _trickle(self):
        """Sends the candidates in one complete batch, because aiortc gathers all of them at once."""
        candidates = []
        lines = self.connection.localDescription.sdp.splitlines()
        section = -1
        mids = [line[6:] for line in lines if line.startswith("a=mid:")]
        for line in lines:
            section += line.startswith("m=")
            if line.startswith("a=candidate:"):
                candidates.append(pcast_messages.message(
                    "IceCandidate", candidate=line[2:], sdpMLineIndex=section, sdpMid=mids[section]))
        await self.session.ask(
            "AddIceCandidates", streamId=self.identifier, candidates=candidates, options=["completed"])

    def _take(self, created):
        assert created.status == "ok", created.status
        self.identifier = created.streamId
        self.configuration = created.rtcConfiguration

    async def connected(self):
        deadline = time.monotonic() + aiortc_peer.CONNECT_TIMEOUT
        while self.connection.connectionState != "connected":
            if time.monotonic() > deadline or self.connection.connectionState in ("failed", "closed"):
                raise RuntimeError(f"connection state is {self.connection.connectionState}")
            await asyncio.sleep(0.02)
        await self.session.ask(
            "UpdateStreamState", streamId=self.identifier, signalingState=self.connection.signalingState,
            iceGatheringState=self.connection.iceGatheringState,
            iceConnectionState=self.connection.iceConnectionState)


async def publish(session, options, offers, flight):
    connection = aiortc_peer.peer_connection()
    stream = Stream(session, connection, True)
    stream_token = token(options, lambda builder: builder.for_publishing_only())
    if offers:
        video = connection.addTransceiver(MovingGradient(), direction="sendonly")
        connection.addTransceiver(TwoTones(), direction="sendonly")
        aiortc_peer.prefer(video, f"video/{options.codec}", aiortc.RTCRtpSender.getCapabilities("video"))
        await stream.offer(stream_token, tags=["aiortc"])
    else:
        await stream.answer(stream_token, tags=["aiortc"])
    await flight
    await stream.connected()
    return stream


async def view(session, options, offers, origin, flight):
    connection = aiortc_peer.peer_connection()
    viewer = Viewer(connection)
    stream = Stream(session, connection, False)
    stream_token = token(options, lambda builder: builder.for_streaming_only().for_origin_stream(origin))
    if offers:
        connection.addTransceiver("video", direction="recvonly")
        connection.addTransceiver("audio", direction="recvonly")
        await stream.offer(stream_token, originStreamId=origin)
    else:
        await stream.answer(stream_token, originStreamId=origin)
    await flight
    await stream.connected()
    return stream, viewer


def authentication(options):
    return token(options, lambda builder: builder.for_authenticate_only())


class Round:
    """Writes the metrics and checks of one round under its name."""

    def __init__(self, run, name):
        self.figures = run.figures.setdefault(name, {})
        self._run = run
        self._name = name

    def check(self, name, holds):
        self._run.check(f"{self._name}: {name}", holds)


async def play(part, options, publisher_offers):
    """Runs a publisher and a viewer, each in its own session, for the given seconds."""
    async with pcast_session.Session.open(options.url) as one, pcast_session.Session.open(options.url) as other:
        flight = await one.authenticate(authentication(options))
        published = await publish(one, options, publisher_offers, flight)
        flight = await other.authenticate(authentication(options))
        viewed, viewer = await view(other, options, not publisher_offers, published.identifier, flight)
        while not viewer.has(options.seconds) and viewed.connection.connectionState in ("new", "connecting", "connected") \
                and not viewer.problems():
            await asyncio.sleep(0.1)
        part.figures.update(
            streamID=published.identifier, publisherState=published.connection.connectionState,
            viewerState=viewed.connection.connectionState, codecs=aiortc_peer.codecs(viewed.connection),
            **aiortc_peer.security(viewed.connection.getTransceivers()[0].receiver.transport))
        part.check("each has a session of its own", one.identifier and other.identifier not in (None, one.identifier))
        # Phenix's Web SDK cannot convert the names of this enumeration to an RTCBundlePolicy.
        part.check("rtcConfiguration has no bundle policy", not any(
            stream.configuration.HasField("bundlePolicy") for stream in (published, viewed)))
        part.check("rtcConfiguration requires rtcp-mux", all(
            stream.configuration.rtcpMuxPolicy == 2 for stream in (published, viewed)))
        answering = viewed if publisher_offers else published
        way = "a=sendonly" if publisher_offers else "a=recvonly"
        part.check("candidates are taken as they come", answering.trickles)
        part.check("the offer goes the right way", answering.offered.count(way) == 2)
        part.check("the platform is lite", "a=ice-lite" in answering.offered)
        part.check("the platform leaves the role open", answering.offered.count("a=setup:actpass") == 2)

        await one.ask("DestroyStream", streamId=published.identifier, reason="curtain")
        part.check("the viewer is told why", await other.end_of(viewed.identifier) == "curtain")
        part.check("the publisher is told why", await one.end_of(published.identifier) == "curtain")
        await one.bye()
        await other.bye()
        for problem in viewer.problems():
            raise problem
        await published.connection.close()
        await viewed.connection.close()
    viewer.picture.report(part, options.seconds)
    viewer.sound.report(part, options.seconds)


async def talk(run, options):
    await play(Round(run, "the publisher offers"), options, True)
    await play(Round(run, "the viewer offers"), options, False)


def main():
    parser = program.arguments(__doc__, "the platform")
    parser.add_argument("--application", required=True)
    parser.add_argument("--secret", required=True)
    parser.add_argument("--codec", choices=["H264", "VP8"], default="H264")
    parser.add_argument("--address", action="append", help="address to gather candidates on")
    options = parser.parse_args()
    aiortc_peer.use_addresses(options.address, options.url)
    run = program.Program(f"aiortc {aiortc.__version__} (PyAV {av.__version__})", 2 * options.seconds)
    run.run(lambda: asyncio.run(talk(run, options)))


if __name__ == "__main__":
    main()
