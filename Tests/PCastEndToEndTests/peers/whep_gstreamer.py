#!/usr/bin/env python3
"""Watches a stream by WHEP with webrtcbin: measures the number and change of frames and the level of audio."""

import program

program.require("/usr/bin/python3", "gi")

import threading
import time

import gstreamer_peer
import pictures
import signalling
from gstreamer_peer import Gst, GstWebRTC

OFFERED = {
    "H264": "application/x-rtp,media=video,encoding-name=H264,payload=96,clock-rate=90000,"
            "packetization-mode=(string)1,profile-level-id=(string)42e01f,rtcp-fb-nack-pli=true,rtcp-fb-nack=true",
    "VP8": "application/x-rtp,media=video,encoding-name=VP8,payload=98,clock-rate=90000,"
           "rtcp-fb-nack-pli=true,rtcp-fb-nack=true",
    "OPUS": "application/x-rtp,media=audio,encoding-name=OPUS,payload=97,clock-rate=48000,"
            "encoding-params=(string)2",
}
DECODERS = {
    "H264": "rtph264depay ! h264parse ! avdec_h264",
    "VP8": "rtpvp8depay ! vp8dec",
    "OPUS": "rtpopusdepay ! opusdec",
}
PICTURE_SINK = (
    "videoconvert ! videoscale ! "
    f"video/x-raw,format=GRAY8,width={pictures.WIDTH},height={pictures.HEIGHT}")
SOUND_SINK = "audioconvert ! audio/x-raw,format=S16LE"


class Viewer:
    """Decodes the media that webrtcbin receives."""

    def __init__(self, pipeline):
        self.picture = pictures.FrameJudge()
        self.sound = pictures.AudioJudge()
        self.codecs = {}
        self.first_frame = None
        self._pipeline = pipeline
        self._size = None
        self._lock = threading.Lock()
        pipeline.get_by_name("webrtc").connect("pad-added", self._take_pad)

    def _take_pad(self, _, pad):
        if pad.direction != Gst.PadDirection.SRC:
            return
        caps = pad.get_current_caps().get_structure(0)
        name, kind = caps.get_string("encoding-name"), caps.get_string("media")
        self.codecs[kind] = name
        picture = kind == "video"
        chain = Gst.parse_bin_from_description(
            f"queue ! {DECODERS[name]} name=decoder ! {PICTURE_SINK if picture else SOUND_SINK} "
            "! appsink name=out emit-signals=true sync=false", True)
        if picture:
            chain.get_by_name("decoder").get_static_pad("src").add_probe(
                Gst.PadProbeType.EVENT_DOWNSTREAM, self._note_size)
        chain.get_by_name("out").connect("new-sample", self._take_picture if picture else self._take_sound)
        self._pipeline.add(chain)
        chain.sync_state_with_parent()
        pad.link(chain.get_static_pad("sink"))

    def _note_size(self, _, info):
        event = info.get_event()
        if event.type == Gst.EventType.CAPS:
            caps = event.parse_caps().get_structure(0)
            self._size = (caps.get_int("width").value, caps.get_int("height").value)
        return Gst.PadProbeReturn.OK

    def _take_picture(self, sink):
        luma = self._bytes(sink)
        with self._lock:
            self.first_frame = self.first_frame or time.monotonic()
            self.picture.take(luma, *(self._size or (0, 0)))
        return Gst.FlowReturn.OK

    def _take_sound(self, sink):
        samples = self._bytes(sink)
        with self._lock:
            self.sound.take(samples)
        return Gst.FlowReturn.OK

    @staticmethod
    def _bytes(sink):
        buffer = sink.emit("pull-sample").get_buffer()
        return buffer.extract_dup(0, buffer.get_size())


def watch(run, options):
    pipeline = Gst.Pipeline.new(None)
    pipeline.add(Gst.parse_launch("webrtcbin name=webrtc bundle-policy=max-bundle latency=50"))
    resource = signalling.Resource(options.url, options.token)
    negotiation = gstreamer_peer.Negotiation(pipeline, resource)
    viewer = Viewer(pipeline)
    offered = [OFFERED[options.codec]] if options.codec else [OFFERED["H264"], OFFERED["VP8"]]
    started = time.monotonic()
    for caps in (";".join(offered), OFFERED["OPUS"]):
        negotiation.webrtc.emit(
            "add-transceiver", GstWebRTC.WebRTCRTPTransceiverDirection.RECVONLY, Gst.Caps.from_string(caps))
    with negotiation.session() as seconds:
        run.figures.update(connectMilliseconds=round(seconds * 1000))
        # A busy machine takes longer for it.
        negotiation.flow(
            options, lambda: viewer.picture.has(options.seconds) and viewer.sound.has(options.seconds))
        run.figures.update(
            connectionState=negotiation.state().value_nick, codecs=viewer.codecs, **negotiation.security())
        received = negotiation.statistics(gstreamer_peer.STATISTICS.INBOUND_RTP)
    for kind in ("video", "audio"):
        run.figures.update({
            f"{kind}PacketsReceived": received.get(kind, {}).get("packets-received", 0),
            f"{kind}PacketsLost": received.get(kind, {}).get("packets-lost"),
        })
    pictures.report(run, viewer, started, options.seconds)
    signalling.check_end(run, resource)


def main():
    parser = program.arguments(__doc__, "WHEP endpoint")
    parser.add_argument("--codec", choices=["H264", "VP8"], help="offer this video codec only")
    options = parser.parse_args()
    run = program.Program(gstreamer_peer.version(), options.seconds)
    run.run(lambda: watch(run, options))


if __name__ == "__main__":
    main()
