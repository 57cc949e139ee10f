#!/usr/bin/env python3
"""Publishes and subscribes in a browser with the platform's offers, as Phenix's public Web SDK does.

This program uses the published protocol. The page has an RTCPeerConnection for each stream, with the unchanged
rtcConfiguration of the platform. At the end, the page closes the publisher's connection before DestroyStream.
"""

import program

program.require(
    f"{program.environment()}/bin/python", "aiortc", "aioice", "av", "edgeauth.token_builder", "google.protobuf",
    "websockets")

import asyncio
import json

import chromium
import pcast_messages
import pcast_session
from protocol_aiortc import ANSWER, OFFER, authentication, description, token

PATIENCE = 60
PAGE = """
globalThis.peers = {};
async function answer(name, offer, configuration, sends) {
    const connection = peers[name] = new RTCPeerConnection(configuration);
    if (sends) {
        const media = await navigator.mediaDevices.getUserMedia({ audio: true, video: { width: 640, height: 360 } });
        for (const track of media.getTracks()) connection.addTrack(track, media);
    } else {
        const video = document.createElement("video");
        Object.assign(video, { id: name, muted: true, autoplay: true, playsInline: true });
        document.body.append(video);
        connection.addEventListener("track", ({ streams }) => { video.srcObject = streams[0]; });
    }
    await connection.setRemoteDescription({ type: "offer", sdp: offer });
    return (await connection.createAnswer()).sdp;
}
async function take(name, sdp) { await peers[name].setLocalDescription({ type: "answer", sdp }); }
function shown(name) {
    const video = document.getElementById(name);
    const kinds = video.srcObject?.getTracks().map(({ kind }) => kind).sort() ?? [];
    return { time: video.currentTime, size: [video.videoWidth, video.videoHeight], kinds };
}
"""


def call(page, function, *parameters):
    return page.evaluate(f"{function}({', '.join(map(json.dumps, parameters))})", PATIENCE)


def configuration(message):
    """Returns a configuration like the public Web SDK: values are named without the name of their enumeration."""
    made = {"iceServers": [
        {"urls": list(server.urls), "username": server.username, "credential": server.credential}
        for server in message.iceServers]}
    for field, kind in (("bundlePolicy", "BundlePolicy"), ("rtcpMuxPolicy", "RtcpMuxPolicy"),
                        ("iceTransportPolicy", "IceTransportPolicy")):
        if message.HasField(field):
            names = {number: name for name, number in pcast_messages.ENUMS[f"RtcConfiguration.{kind}"].items()}
            made[field] = names[getattr(message, field)].removeprefix(kind).lower()
    return made


async def join(session, page, name, way, stream_token, **origin):
    """Sets up a stream with the platform's offer and returns its ID and the offer."""
    wish = pcast_messages.message("CreateOfferDescription", streamId="", options=[way])
    create = pcast_messages.message(
        "CreateStream", sessionId=session.identifier, createOfferDescription=wish, **origin)
    created = (await session.ask("SetupStream", streamToken=stream_token, createStream=create)).createStreamResponse
    offered = created.createOfferDescriptionResponse.sessionDescription
    assert offered.type == OFFER, "the offer is an offer"
    text = call(page, "answer", name, offered.sdp, configuration(created.rtcConfiguration), way == "upload")
    response = await session.ask(
        "SetRemoteDescription", streamId=created.streamId, sessionDescription=description(ANSWER, text))
    call(page, "take", name, response.sessionDescription.sdp)
    return created.streamId, offered.sdp


async def talk(run, page, options):
    async with pcast_session.Session.open(options.url) as one, pcast_session.Session.open(options.url) as other:
        for session in (one, other):
            await (await session.authenticate(authentication(options)))
        publishing = token(options, lambda builder: builder.for_publishing_only())
        stream, _ = await join(one, page, "publisher", "upload", publishing)
        viewing = token(options, lambda builder: builder.for_streaming_only().for_origin_stream(stream))
        view, offer = await join(other, page, "view", "download", viewing, originStreamId=stream)
        sections = dict(zip(("audio", "video"), offer.split("m=")[1:]))
        run.check("the audio section has no group of sources", "a=ssrc-group" not in sections["audio"])
        run.check("the video section has its retransmissions' source", "a=ssrc-group:FID" in sections["video"])
        page.wait("shown('view').time > 0", PATIENCE, "a frame")
        before = call(page, "shown", "view")
        # A busy machine takes longer to play so much.
        page.wait(f"shown('view').time >= {before['time'] + options.seconds}", PATIENCE, "the view to play")
        after = call(page, "shown", "view")
        run.figures.update(size=after["size"], played=round(after["time"] - before["time"], 2), tracks=after["kinds"])
        run.check("audio and video come", after["kinds"] == ["audio", "video"])
        page.evaluate("peers.publisher.close()")
        await one.ask("DestroyStream", streamId=stream, reason="curtain")
        run.figures["reasons"] = [await one.end_of(stream), await other.end_of(view)]
        run.check("the reason is DestroyStream's", run.figures["reasons"] == ["curtain", "curtain"])
        await one.bye()
        await other.bye()


def play(run, options):
    if options.browser == "chromium":
        browser = chromium.Chromium()
    else:
        import firefox  # it needs a package that Chromium's driver does not need
        browser = firefox.Firefox(preferences={"media.peerconnection.ice.loopback": True})
    with browser:
        run.figures["peer"] = browser.version
        page = browser.page()
        # This may be any document of the platform's origin, for which the camera is permitted.
        page.open(f"{options.url}/healthz")
        page.evaluate(f"(0, eval)({json.dumps(PAGE)})")
        try:
            asyncio.run(talk(run, page, options))
        finally:
            run.figures["problems"] = page.problems


def main():
    parser = program.arguments(__doc__, "the platform", seconds=3)
    parser.add_argument("--application", required=True)
    parser.add_argument("--secret", required=True)
    parser.add_argument("--browser", choices=["chromium", "firefox"], required=True)
    options = parser.parse_args()
    run = program.Program(options.browser, options.seconds)
    run.run(lambda: play(run, options))


if __name__ == "__main__":
    main()
