import PCastMedia
import PCastRTP
import PCastWebRTC

/// A publisher and what it publishes.
struct PublishedStream: ~Copyable {
    let id: StreamID
    let peer: PeerID
    var transport: SecureTransport
    var receiver: MediaReceiver
    var video: PublishedTrack
    var audio: PublishedTrack
    var clock = PublisherClock()

    /// The viewers' places, in the order in which they are served.
    var viewers: [Int] = []
    /// The viewer to be served next in this round, and who was first in it (FAN1).
    var nextViewer = 0
    var firstViewer = 0

    var hasPackets = false
    var hasControl = false
    var hasMedia = false
    var isAway = false
    var isEnding = false
    var scheduled: Instant?

    init(
        id: StreamID, peer: PeerID, transport: consuming SecureTransport, session: NegotiatedSession,
        reporterSSRC: UInt32, cname: String
    ) {
        self.id = id
        self.peer = peer
        self.transport = transport
        receiver = MediaReceiver(
            session.media, reporterSSRC: reporterSSRC, cname: cname, measuresRoundTrip: true)
        video = PublishedTrack(.video, receiver.video?.media)
        audio = PublishedTrack(.audio, receiver.audio?.media)
    }

    var deadline: Instant? {
        let checks = transport.deadline
        return transport.canSend ? Instant.earlier(checks, receiver.deadline) : checks
    }

    /// Writes checks, handshakes and reports that are due; true when the batch is full.
    mutating func poll(into batch: inout DatagramBatch, wallTime: WallTime, at now: Instant) -> Bool {
        if transport.poll(into: &batch, at: now) { return true }
        return receiver.poll(through: transport, into: &batch, wallTime: wallTime, at: now)
    }

    /// Follows the time that a sender report tells.
    mutating func follow(_ type: MediaType, wallTime: WallTime) {
        let track = type == .video ? receiver.video : receiver.audio
        guard let report = track?.senderReport?.information, let rate = track?.media.format.clockRate else { return }
        let reported = WallTime(ntpTimestamp: report.ntpTimestamp)
        clock.observe(reported: reported, arrival: wallTime)
        guard let captured = clock.relayTime(of: reported) else { return }
        let capture = CaptureClock(timestamp: report.rtpTimestamp, wallTime: captured, rate: rate)
        if type == .video { video.captureClock = capture } else { audio.captureClock = capture }
    }
}
