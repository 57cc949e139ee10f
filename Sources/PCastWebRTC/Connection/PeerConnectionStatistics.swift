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
    /// The part of the sound's packets sent that the other side lately lost, before repair, 0 to 1.
    public var soundLoss: Double?
    /// Packets of sound that were lost, and repeated by later ones (RFC 2198).
    public var packetsRepeated = 0
    /// Our monotonic clock less the other side's wall clock, as its sender reports tell it; nil while unknown.
    public var senderClockOffset: TimeSpan?
    /// How long pictures are to wait, as their sender asks; nil where it asks for nothing.
    public var playoutDelay: PlayoutDelay?
    /// Of video, or of sound where there is no video.
    public var jitter: TimeSpan?
    public var roundTrip: TimeSpan?
    public var video: JitterBufferStatistics?
    public var audio: JitterBufferStatistics?

    init(
        sender: Held<MediaSender>?, receiver: MediaReceiver?, video: JitterBufferStatistics?,
        audio: JitterBufferStatistics?, checkRoundTrip: TimeSpan?
    ) {
        self.video = video
        self.audio = audio
        for place in sender?.value.tracks ?? [] {
            let track = place.pointee
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
        soundLoss = sender?.value.audio?.pointee.redundancy.loss
        packetsRepeated = receiver?.audio?.packetsRepeated ?? 0
        senderClockOffset = receiver?.senderClockOffset
        playoutDelay = receiver?.playoutDelay
        packetsLost = (video?.packetsLost ?? 0) + (audio?.packetsLost ?? 0)
        roundTrip = sender?.value.roundTripTime.smoothed ?? receiver?.roundTrip ?? checkRoundTrip
    }
}
