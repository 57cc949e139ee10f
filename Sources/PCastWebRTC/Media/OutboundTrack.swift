package import PCastCore
package import PCastRTP

/// The sending state of a track: its stream, its sender reports, and the reports of the peer.
package struct OutboundTrack: ~Copyable, Sendable {
    /// The negotiated media section, with the SSRCs.
    package let media: NegotiatedMedia
    /// The codec of the packets, which is one of the section's formats; see ``select(_:)``.
    package private(set) var codec: Codec
    /// The codecs of the section's formats, as bits.
    private let codecs: UInt8
    /// The stream of packets.
    package var stream: OutboundStream
    /// The schedule and counters of sender reports.
    package internal(set) var report: SenderReportSource

    /// The last report block of the peer; nil before the first.
    package internal(set) var receiverReport: ReportBlock?
    /// The number of NACK messages received.
    package internal(set) var nackCount = 0
    /// The number of key-frame requests received (PLI and FIR).
    package internal(set) var pliCount = 0
    /// The number of packets that each audio packet repeats, depending on the loss.
    package private(set) var redundancy = RedundancyLevel()

    /// Whether the mapping of timestamps in sender reports restarts with the next packet, because the clock of the
    /// source may be another after a pause.
    var restartsReports = false

    /// The sequence number of the last FIR; a request with the same number is a repetition (RFC 5104, section 4.3.1.2).
    var lastIntraRequest: UInt8?

    /// Creates a track. Returns nil if the section is not sent.
    ///
    /// - Parameters:
    ///   - media: The negotiated section.
    ///   - layer: The RID of one of several layers, whose SSRCs are not announced; nil for the only one.
    ///   - evensSizes: Whether packets of a frame are padded to one size.
    ///   - generator: The generator for SSRCs and sequence numbers.
    ///   - playoutDelay: The playout delay to request; nil for none.
    init?(
        _ media: NegotiatedMedia, layer: RTPStreamIdentifier? = nil, evensSizes: Bool = false,
        using generator: inout some RandomNumberGenerator, playoutDelay: PlayoutDelay?
    ) {
        var media = media
        // The SSRCs of a layer are not announced, nor those of a single layer if the peer rejected simulcast.
        if layer != nil || media.localSSRC == nil {
            media.localSSRC = UInt32.random(in: 1...UInt32.max, using: &generator)
            media.localRTXSSRC =
                media.rtxPayloadType == nil ? nil : UInt32.random(in: 1...UInt32.max, using: &generator)
        }
        guard media.direction.sends, let ssrc = media.localSSRC else { return nil }
        self.media = media
        codec = media.codec
        codecs = media.acceptablePayloads.reduce(0) { $0 | $1.codec.bit }
        let retransmission = Self.retransmission(of: media.format, in: media)
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

    /// Returns the retransmission stream of a format; nil if there is none.
    private static func retransmission(
        of format: PayloadFormat, in media: NegotiatedMedia
    ) -> OutboundStream.Parameters.Retransmission? {
        guard let ssrc = media.localRTXSSRC, let payloadType = format.rtxPayloadType, media.feedback.contains(.nack)
        else { return nil }
        return .init(ssrc: ssrc, payloadType: payloadType)
    }

    /// Returns whether the peer receives a codec.
    package func receives(_ codec: Codec) -> Bool { codecs & codec.bit != 0 }

    /// Sends packets of a codec from now on. If it is another one, the stream stops until it begins at a key frame.
    ///
    /// - Parameter codec: The codec of the source.
    /// - Returns: False if the peer does not receive the codec. Nothing changes then.
    package mutating func select(_ codec: Codec) -> Bool {
        guard codec != self.codec else { return true }
        guard let format = media.acceptablePayloads.first(where: { $0.codec == codec }) else { return false }
        self.codec = codec
        stream.change(payloadType: format.payloadType, retransmission: Self.retransmission(of: format, in: media))
        return true
    }

    /// Limits the number of packets that each audio packet repeats, from 0 to 2, when bandwidth is low.
    package mutating func limitRedundancy(to maximum: Int) {
        redundancy.maximum = maximum
        stream.redundancy = redundancy.count
    }

    /// Adapts the redundancy to the loss in a report of the peer.
    mutating func followLoss(_ block: ReportBlock) {
        redundancy.received(block)
        stream.redundancy = redundancy.count
    }
}

extension Codec {
    /// The bit of the codec in a set of codecs.
    fileprivate var bit: UInt8 {
        switch self {
        case .h264: 1
        case .vp8: 2
        case .vp9: 4
        case .av1: 8
        case .h265: 16
        case .opus: 32
        }
    }
}
