import PCastMedia
public import PCastRTP

/// One track that a peer is sent: its stream, its sender reports, and what the peer said of it.
public struct OutboundTrack: Sendable {
    public let media: NegotiatedMedia
    public var stream: OutboundStream
    public internal(set) var report: SenderReportSource

    /// What the peer reported last.
    public internal(set) var receiverReport: ReportBlock?
    public internal(set) var nackCount = 0
    public internal(set) var pliCount = 0
    /// How many packets of sound each one repeats, by what the peer loses.
    public private(set) var redundancy = RedundancyLevel()

    /// With the next packet reports begin as at the start: what lies behind a pause may be of another clock's time.
    var reportsAnew = false

    /// The number of the last full intra request; its repetition is no new one (RTCP7).
    var lastIntraRequest: UInt8?

    /// - Parameters:
    ///   - generator: for the first sequence numbers.
    ///   - layer: by its name, one of several, whose sources are not announced; nil for the only one.
    init?(
        _ media: NegotiatedMedia, layer: RTPStreamIdentifier? = nil, evensSizes: Bool = false,
        using generator: inout some RandomNumberGenerator, playoutDelay: PlayoutDelay?
    ) {
        var media = media
        // A layer's sources are not announced, nor that of the only one where the peer takes no layers.
        if layer != nil || media.localSSRC == nil {
            media.localSSRC = UInt32.random(in: 1...UInt32.max, using: &generator)
            media.localRTXSSRC =
                media.rtxPayloadType == nil ? nil : UInt32.random(in: 1...UInt32.max, using: &generator)
        }
        guard media.direction.sends, let ssrc = media.localSSRC else { return nil }
        self.media = media
        var retransmission: OutboundStream.Parameters.Retransmission?
        if let rtxSSRC = media.localRTXSSRC, let payloadType = media.rtxPayloadType, media.feedback.contains(.nack) {
            retransmission = .init(ssrc: rtxSSRC, payloadType: payloadType)
        }
        let parameters = OutboundStream.Parameters(
            ssrc: ssrc, payloadType: media.payloadType, retransmission: retransmission,
            mid: media.mid.flatMap { RTPStreamIdentifier($0) }, rid: layer, extensions: media.extensionMap,
            clockRate: media.format.clockRate, playoutDelay: media.type == .video ? playoutDelay : nil,
            redundantPayloadType: media.format.redPayloadType, evensSizes: evensSizes && media.type == .video,
            marksFrameEnds: media.type == .video)
        stream = OutboundStream(
            parameters, firstSequenceNumber: UInt16.random(in: 0..<0x8000, using: &generator),
            retransmissionSequenceNumber: UInt16.random(in: 0..<0x8000, using: &generator))
        stream.redundancy = redundancy.count
        report = SenderReportSource(ssrc: ssrc, clockRate: media.format.clockRate)
    }

    /// The most packets of sound that each one may repeat, 0 to 2: none where the path has no room for them.
    public mutating func limitRedundancy(to maximum: Int) {
        redundancy.maximum = maximum
        stream.redundancy = redundancy.count
    }

    /// Takes in what the peer says it lost.
    mutating func followLoss(_ block: ReportBlock) {
        redundancy.received(block)
        stream.redundancy = redundancy.count
    }
}
