"""The common code of the two GStreamer programs: webrtcbin with signaling over HTTP, promises, negotiated values.

The programs run in the namespace of namespace.sh, because libnice never uses the interface `lo` and multicasts SSDP.
"""

import contextlib
import time

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstSdp", "1.0")
gi.require_version("GstWebRTC", "1.0")
from gi.repository import GLib, Gst, GstSdp, GstWebRTC

import program

CONNECT_TIMEOUT = 60
STATISTICS = GstWebRTC.WebRTCStatsType
CIPHERS = {0: None, 1: "SRTP_AES128_CM_SHA1_80"}
"""The values of GstDtlsSrtpCipher in 1.22, which has only AES in counter mode. The authentication is HMAC-SHA1."""

Gst.init(None)


def version():
    return Gst.version_string()


class Negotiation:
    """A webrtcbin in a pipeline, which runs step by step on the default main context."""

    def __init__(self, pipeline, resource):
        self.pipeline = pipeline
        self.webrtc = pipeline.get_by_name("webrtc")
        self.resource = resource
        # The promise owns its reply. A release of the promise while the reply is read would crash.
        self._promises = []
        self._bus = pipeline.get_bus()

    @contextlib.contextmanager
    def session(self):
        """Plays, posts an offer, applies the answer and waits for the connection. Stops and deletes it at the end."""
        started = time.monotonic()
        try:
            self.pipeline.set_state(Gst.State.PLAYING)
            self._connect(started)
            yield time.monotonic() - started
        finally:
            self.resource.deleted = self.resource.delete()
            self.pipeline.set_state(Gst.State.NULL)

    def _connect(self, started):
        deadline = started + CONNECT_TIMEOUT
        self.wait(deadline, self._has_media, "caps of every transceiver")
        reply = self.ask("create-offer", Gst.Structure.new_empty("options"))
        offer = reply.get_value("offer")
        self.ask("set-local-description", offer)
        complete = GstWebRTC.WebRTCICEGatheringState.COMPLETE
        self.wait(deadline, lambda: self.webrtc.props.ice_gathering_state == complete, "candidates")
        answer = self.resource.create(self.webrtc.props.local_description.sdp.as_text())
        result, message = GstSdp.SDPMessage.new_from_text(answer)
        if result != GstSdp.SDPResult.OK:
            raise RuntimeError("GStreamer could not parse the answer")
        self.ask("set-remote-description", GstWebRTC.WebRTCSessionDescription.new(
            GstWebRTC.WebRTCSDPType.ANSWER, message))
        state = GstWebRTC.WebRTCPeerConnectionState
        self.wait(deadline, lambda: self.state() in (state.CONNECTED, state.FAILED), "the connection")
        if self.state() == state.FAILED:
            raise RuntimeError("the connection failed")

    def _has_media(self):
        """Waits for the caps of all sending pads, because an earlier offer would not contain their m-lines."""
        pads = [pad for pad in self.webrtc.sinkpads]
        return all(pad.get_current_caps() for pad in pads)

    def state(self):
        return self.webrtc.props.connection_state

    def connected(self):
        return self.state() == GstWebRTC.WebRTCPeerConnectionState.CONNECTED

    def ask(self, signal, *values):
        """Emits a signal of webrtcbin that replies by a promise, and returns the reply."""
        promise = Gst.Promise.new()
        self._promises.append(promise)
        self.webrtc.emit(signal, *values, promise)
        result = promise.wait()
        if result != Gst.PromiseResult.REPLIED:
            raise RuntimeError(f"{signal}: {result.value_nick}")
        reply = promise.get_reply()
        if reply is not None and reply.has_field("error"):
            raise RuntimeError(f"{signal}: {reply.to_string()}")
        return reply

    def wait(self, deadline, condition, what):
        """Runs the main context until the condition is met."""
        while not condition():
            if time.monotonic() > deadline:
                raise RuntimeError(f"waited in vain for {what}")
            self._step()

    def flow(self, options, is_enough=lambda: True):
        """Lets media flow until it is enough, while the connection stays."""
        deadline = time.monotonic() + options.seconds
        while (program.goes_on(options, deadline) or not is_enough()) and self.connected():
            self._step()

    def _step(self):
        context = GLib.MainContext.default()
        while context.iteration(False):
            pass
        message = self._bus.timed_pop_filtered(20 * Gst.MSECOND, Gst.MessageType.ERROR)
        if message is not None:
            error, detail = message.parse_error()
            raise RuntimeError(f"{message.src.get_name()}: {error.message} ({detail})")

    def statistics(self, kind_of_report):
        """Returns the reports of one type by kind (audio, video), as dictionaries."""
        reply = self.ask("get-stats", None)
        found = {}
        kinds = self._kinds()
        for index in range(reply.n_fields()):
            report = reply.get_value(reply.nth_field_name(index))
            if not isinstance(report, Gst.Structure) or report.get_value("type") != kind_of_report:
                continue
            names = [report.nth_field_name(field) for field in range(report.n_fields())]
            fields = {name: report.get_value(name) for name in names if not name.startswith("gst-")}
            found[kinds.get(fields["ssrc"])] = fields
        return found

    def _kinds(self):
        """Returns the kind of each SSRC from the pads. In a bundle, all reports have the kind of the last m-line."""
        kinds = {}
        for pad in self.webrtc.pads:
            caps = pad.get_current_caps()
            structure = caps.get_structure(0) if caps else None
            if structure and structure.has_field("ssrc"):
                kinds[structure.get_value("ssrc")] = structure.get_string("media")
        return kinds

    def security(self):
        """Returns the state of DTLS and the negotiated SRTP cipher."""
        figures = {"dtlsState": None, "srtpProfile": None}

        def look(element):
            if element.get_factory() and element.get_factory().get_name() == "dtlsdec":
                figures["srtpProfile"] = CIPHERS.get(element.props.srtp_cipher, element.props.srtp_cipher)
                figures["dtlsState"] = element.props.connection_state.value_nick

        elements = self.webrtc.iterate_recurse()
        while True:
            result, element = elements.next()
            if result == Gst.IteratorResult.OK:
                look(element)
            elif result == Gst.IteratorResult.RESYNC:
                elements.resync()
            else:
                return figures
