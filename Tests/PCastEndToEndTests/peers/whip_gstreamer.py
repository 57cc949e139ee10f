#!/usr/bin/env python3
"""Publishes GStreamer's test pattern (a moving ball) and a 440 Hz tone by WHIP with webrtcbin."""

import program

program.require("/usr/bin/python3", "gi")

import gstreamer_peer
import signalling

# The stream contains parameter sets before every key frame, because viewers join at any time.
VIDEO = {
    "H264": "x264enc tune=zerolatency speed-preset=ultrafast bitrate=800 key-int-max=120 bframes=0 "
            "! video/x-h264,profile=constrained-baseline ! h264parse config-interval=-1 "
            "! rtph264pay config-interval=-1 aggregate-mode=zero-latency mtu=1200 pt=96 "
            "! application/x-rtp,media=video,encoding-name=H264,payload=96",
    "VP8": "vp8enc deadline=1 cpu-used=8 target-bitrate=800000 keyframe-max-dist=120 error-resilient=1 "
           "! rtpvp8pay mtu=1200 pt=96 picture-id-mode=15-bit "
           "! application/x-rtp,media=video,encoding-name=VP8,payload=96",
}
PIPELINE = """
    webrtcbin name=webrtc bundle-policy=max-bundle
    videotestsrc is-live=true pattern=ball ! video/x-raw,width=640,height=360,framerate=30/1
        ! videoconvert ! queue ! {video} ! webrtc.
    audiotestsrc is-live=true freq=440 volume=0.3 ! audio/x-raw,rate=48000,channels=2
        ! audioconvert ! queue ! opusenc frame-size=20 ! rtpopuspay pt=97
        ! application/x-rtp,media=audio,encoding-name=OPUS,payload=97 ! webrtc.
"""


def has_sent(negotiation, seconds):
    """Returns whether enough of both tracks was sent. A busy machine takes longer for it."""
    sent = negotiation.statistics(gstreamer_peer.STATISTICS.OUTBOUND_RTP)
    return all(sent.get(kind, {}).get("packets-sent", 0) > 20 * seconds for kind in ("video", "audio"))


def publish(run, options):
    pipeline = gstreamer_peer.Gst.parse_launch(PIPELINE.format(video=VIDEO[options.codec]))
    resource = signalling.Resource(options.url, options.token)
    negotiation = gstreamer_peer.Negotiation(pipeline, resource)
    for transceiver in (negotiation.webrtc.emit("get-transceiver", index) for index in range(2)):
        transceiver.props.direction = gstreamer_peer.GstWebRTC.WebRTCRTPTransceiverDirection.SENDONLY
    with negotiation.session() as seconds:
        run.figures.update(
            connectMilliseconds=round(seconds * 1000), streamID=resource.stream, codec=options.codec)
        negotiation.flow(options, lambda: has_sent(negotiation, options.seconds))
        run.figures.update(connectionState=negotiation.state().value_nick, **negotiation.security())
        sent = negotiation.statistics(gstreamer_peer.STATISTICS.OUTBOUND_RTP)
        reported = negotiation.statistics(gstreamer_peer.STATISTICS.REMOTE_INBOUND_RTP)
    for kind in ("video", "audio"):
        outbound, remote = sent.get(kind, {}), reported.get(kind, {})
        run.figures.update({
            f"{kind}PacketsSent": outbound.get("packets-sent", 0), f"{kind}BytesSent": outbound.get("bytes-sent", 0),
            f"{kind}PacketsLost": remote.get("packets-lost"),
        })
        run.check(f"{kind} was sent", run.figures[f"{kind}PacketsSent"] > 20 * options.seconds)
    video = sent.get("video", {})
    run.figures.update(
        pictureLossIndications=video.get("pli-count"), nacks=video.get("nack-count"),
        roundTripMilliseconds=round(reported.get("video", {}).get("round-trip-time", 0) * 1000, 2))
    run.check("an SRTP profile was agreed on", run.figures["srtpProfile"] is not None)
    signalling.check_end(run, resource)


def main():
    parser = program.arguments(__doc__, "WHIP endpoint")
    parser.add_argument("--codec", choices=sorted(VIDEO), default="H264")
    options = parser.parse_args()
    run = program.Program(gstreamer_peer.version(), options.seconds)
    run.run(lambda: publish(run, options))


if __name__ == "__main__":
    main()
