public import PCastCore
public import PCastRTP

/// The statistics of a connection since the beginning. Names follow W3C webrtc-stats where it defines them.
public struct PeerConnectionStatistics: Sendable {
    /// The number of RTP packets sent, including retransmissions.
    public var packetsSent = 0
    /// The number of payload bytes sent.
    public var bytesSent = 0
    /// The number of packets retransmitted.
    public var packetsRetransmitted = 0
    /// The number of NACK messages received, or, if the connection receives media, of packets requested by NACK.
    public var nackCount = 0
    /// The number of key-frame requests (PLI and FIR), received or sent.
    public var pliCount = 0
    /// The number of RTP packets received.
    public var packetsReceived = 0
    /// The number of payload bytes received, including retransmissions.
    public var bytesReceived = 0
    /// The number of packets that were lost after repair.
    public var packetsLost = 0
    /// The fraction lost in the last receiver report, in 1/256; nil before the first report.
    public var fractionLost: UInt8?
    /// The recent loss rate of sent audio packets before repair, from 0 to 1; nil if it is unknown.
    public var audioLoss: Double?
    /// The number of lost audio packets that redundancy recovered (RFC 2198).
    public var packetsRepeated = 0
    /// The local monotonic time minus the wall-clock time of the peer, from its sender reports; nil if it is unknown.
    public var senderClockOffset: TimeSpan?
    /// The playout delay that the sender requested; nil if it has not requested any.
    public var playoutDelay: PlayoutDelay?
    /// The interarrival jitter of video, or of audio if there is no video (RFC 3550, section 6.4.1).
    public var jitter: TimeSpan?
    /// The round-trip time from RTCP, or else from the last ICE check; nil if it is unknown.
    public var roundTrip: TimeSpan?
    /// The statistics of the video jitter buffer; nil if no video is received.
    public var video: JitterBufferStatistics?
    /// The statistics of the audio jitter buffer; nil if no audio is received.
    public var audio: JitterBufferStatistics?

    init(
        sender: UniqueBox<MediaSender>?, receiver: MediaReceiver?, video: JitterBufferStatistics?,
        audio: JitterBufferStatistics?, checkRoundTrip: TimeSpan?
    ) {
        self.video = video
        self.audio = audio
        for pointer in sender?.value.tracks ?? [] {
            packetsSent += Int(pointer.pointee.stream.packetsSent)
            bytesSent += Int(pointer.pointee.stream.octetsSent)
            packetsRetransmitted += pointer.pointee.stream.packetsRetransmitted
            nackCount += pointer.pointee.nackCount
            pliCount += pointer.pointee.pliCount
            fractionLost = fractionLost ?? pointer.pointee.receiverReport?.fractionLost
        }
        for track in [receiver?.video, receiver?.audio] {
            guard let track else { continue }
            packetsReceived += track.packetsReceived
            bytesReceived += track.bytesReceived
            nackCount += Int(track.missing.requested)
            pliCount += track.keyFrame.sentCount
            jitter =
                jitter
                ?? track.statistics.map { track.media.format.clockRate.span(ofTicks: Int64($0.jitter)) }
        }
        audioLoss = sender?.value.audio?.pointee.redundancy.loss
        packetsRepeated = receiver?.audio?.packetsRepeated ?? 0
        senderClockOffset = receiver?.senderClockOffset
        playoutDelay = receiver?.playoutDelay
        packetsLost = (video?.packetsLost ?? 0) + (audio?.packetsLost ?? 0)
        roundTrip = sender?.value.roundTripTime.smoothed ?? receiver?.roundTrip ?? checkRoundTrip
    }
}
