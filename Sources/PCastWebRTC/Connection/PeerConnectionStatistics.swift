public import PCastMedia
public import PCastRTP

/// What a call has counted since it began (names after W3C webrtc-stats where it has them).
public struct PeerConnectionStatistics: Sendable {
    public var packetsSent = 0
    public var bytesSent = 0
    public var packetsRetransmitted = 0
    public var nackCount = 0
    public var pliCount = 0
    public var packetsReceived = 0
    public var bytesReceived = 0
    /// Packets that never came, after repair.
    public var packetsLost = 0
    /// Of the last 256 packets sent, how many the other side says it lost.
    public var fractionLost: UInt8?
    /// Of video, or of sound where there is no video.
    public var jitter: TimeSpan?
    public var roundTrip: TimeSpan?
    public var video: JitterBufferStatistics?
    public var audio: JitterBufferStatistics?

    init(
        sender: MediaSender?, receiver: MediaReceiver?, video: JitterBufferStatistics?,
        audio: JitterBufferStatistics?, checkRoundTrip: TimeSpan?
    ) {
        self.video = video
        self.audio = audio
        for track in [sender?.video, sender?.audio] {
            guard let track else { continue }
            packetsSent += Int(track.stream.packetsSent)
            bytesSent += Int(track.stream.octetsSent)
            packetsRetransmitted += track.stream.packetsRetransmitted
            nackCount += track.nackCount
            pliCount += track.pliCount
            fractionLost = fractionLost ?? track.receiverReport?.fractionLost
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
        packetsLost = (video?.packetsLost ?? 0) + (audio?.packetsLost ?? 0)
        roundTrip = sender?.roundTripTime.smoothed ?? receiver?.roundTrip ?? checkRoundTrip
    }
}
