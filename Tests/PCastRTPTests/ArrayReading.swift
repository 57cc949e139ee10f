import PCastRTP

// The parsers take spans, which the macros of Testing cannot pass on. These functions take arrays.

extension DatagramKind {
    init(_ bytes: [UInt8]) { self.init(bytes.span) }
}

extension RTPHeader {
    static func parse(_ bytes: [UInt8]) -> RTPHeader? { parse(bytes.span) }
    static func parseProtected(_ bytes: [UInt8]) -> RTPHeader? { parseProtected(bytes.span) }
}

extension RTPExtensionBlock {
    func find(_ id: UInt8, in bytes: [UInt8]) -> Range<Int>? { find(id, in: bytes.span) }

    func transportSequenceNumber(in bytes: [UInt8], by map: RTPHeaderExtensionMap) -> UInt16? {
        transportSequenceNumber(in: bytes.span, by: map)
    }

    func absoluteSendTime(in bytes: [UInt8], by map: RTPHeaderExtensionMap) -> AbsoluteSendTime? {
        absoluteSendTime(in: bytes.span, by: map)
    }

    func transmissionOffset(in bytes: [UInt8], by map: RTPHeaderExtensionMap) -> Int32? {
        transmissionOffset(in: bytes.span, by: map)
    }

    func mid(in bytes: [UInt8], by map: RTPHeaderExtensionMap) -> Range<Int>? { mid(in: bytes.span, by: map) }
    func rid(in bytes: [UInt8], by map: RTPHeaderExtensionMap) -> Range<Int>? { rid(in: bytes.span, by: map) }

    func repairedRid(in bytes: [UInt8], by map: RTPHeaderExtensionMap) -> Range<Int>? {
        repairedRid(in: bytes.span, by: map)
    }
}

extension RTCPReader {
    mutating func next(in bytes: [UInt8]) -> RTCPPacket? { next(in: bytes.span) }
}

extension ReportBlocks {
    func block(_ index: Int, in bytes: [UInt8]) -> ReportBlock { block(index, in: bytes.span) }
    func block(about ssrc: UInt32, in bytes: [UInt8]) -> ReportBlock? { block(about: ssrc, in: bytes.span) }
}

extension Goodbye {
    func ssrc(_ index: Int, in bytes: [UInt8]) -> UInt32 { ssrc(index, in: bytes.span) }
}

extension FullIntraRequest {
    func entry(_ index: Int, in bytes: [UInt8]) -> Entry { entry(index, in: bytes.span) }
}

extension ReceiverEstimatedBitrate {
    func ssrc(_ index: Int, in bytes: [UInt8]) -> UInt32 { ssrc(index, in: bytes.span) }
}

extension ExtendedReport {
    func receiverReferenceTime(in bytes: [UInt8]) -> UInt64? { receiverReferenceTime(in: bytes.span) }
}

extension RTCPWriter {
    mutating func negativeAcknowledgement(senderSSRC: UInt32, mediaSSRC: UInt32, lost: [UInt16]) -> Int {
        negativeAcknowledgement(senderSSRC: senderSSRC, mediaSSRC: mediaSSRC, lost: lost.span)
    }
}

extension RTXEncapsulation {
    static func decapsulate(_ bytes: [UInt8], payload range: Range<Int>) -> Content {
        decapsulate(bytes.span, payload: range)
    }
}
