import PCastCore
import PCastRTP

/// RTP headers and their extensions.
enum RTPTarget {
    /// Every extension, with its index as ID.
    private static let map: RTPHeaderExtensionMap = {
        var map = RTPHeaderExtensionMap()
        map.allowsTwoByte = true
        for (index, kind) in RTPHeaderExtension.allCases.enumerated() { map[UInt8(index + 1)] = kind }
        return map
    }()

    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        _ = DatagramKind(bytes.span)
        guard let header = RTPHeader.parse(bytes.span) else { return false }
        try check(RTPHeader.parseProtected(bytes.span) != nil, "readable in the clear, and not protected")
        let payload = header.payloadRange(packetSize: bytes.count)
        try check(
            payload.lowerBound == header.headerSize && payload.upperBound + header.paddingSize == bytes.count,
            "payload \(payload) of \(bytes.count) bytes")
        let values = try values(of: header, in: bytes)
        try roundTrip(header, values)
        _ = RTXEncapsulation.decapsulate(bytes.span, payload: payload)
        return true
    }

    private static func values(
        of header: RTPHeader, in bytes: [UInt8]
    ) throws(BrokenInvariant) -> RTPExtensionValues {
        let block = header.extensions
        var isInside = true
        block.forEach(in: bytes.span) { element in
            isInside =
                isInside && element.range.lowerBound >= RTPHeader.fixedSize
                && element.range.upperBound <= header.headerSize
        }
        try check(isInside, "an extension outside the header")
        var values = RTPExtensionValues.forwarded(block, in: bytes.span, by: map)
        values.transportSequenceNumber = block.transportSequenceNumber(in: bytes.span, by: map)
        values.absoluteSendTime = block.absoluteSendTime(in: bytes.span, by: map)
        values.transmissionOffset = block.transmissionOffset(in: bytes.span, by: map)
        values.mid = identifier(block.mid(in: bytes.span, by: map), in: bytes)
        values.rid = identifier(block.rid(in: bytes.span, by: map), in: bytes)
        values.repairedRid = identifier(block.repairedRid(in: bytes.span, by: map), in: bytes)
        return values
    }

    private static func identifier(_ range: Range<Int>?, in bytes: [UInt8]) -> RTPStreamIdentifier? {
        range.flatMap { RTPStreamIdentifier(bytes: Array(bytes[$0]).span) }
    }

    /// Checks that a header that was read can be written and read again.
    private static func roundTrip(_ header: RTPHeader, _ values: RTPExtensionValues) throws(BrokenInvariant) {
        let fresh = RTPHeader(
            marker: header.marker, payloadType: header.payloadType, sequenceNumber: header.sequenceNumber,
            timestamp: header.timestamp, ssrc: header.ssrc)
        let written = [UInt8](capacity: RTPHeader.maximumWrittenSize) { (buffer: MutableByteView) in
            fresh.write(into: buffer, extensions: values, map: map).size
        }
        guard let again = RTPHeader.parse(written.span) else {
            throw BrokenInvariant(description: "a written header that does not read back")
        }
        try check(
            again.ssrc == header.ssrc && again.sequenceNumber == header.sequenceNumber
                && again.timestamp == header.timestamp && again.marker == header.marker
                && again.payloadType == header.payloadType, "a header that changed")
        try check(try Self.values(of: again, in: written) == values, "extensions that changed")
    }

    static let corpus: [[UInt8]] = [
        hexadecimal("80e0 1234 00000001 deadbeef 0102030405"),
        // A header with a CSRC, padding and the one-byte form.
        hexadecimal("b160 ffff fffffffe 00000001 0000000a bede0002 10303100 32aabbcc 6162 00000003"),
        // A header with the two-byte form.
        hexadecimal("9060 0001 00000002 00000003 10000003 0101 61 0403 000102 0502 0001 00 ffee"),
        everything,
    ]

    private static let everything: [UInt8] = {
        var values = RTPExtensionValues()
        values.mid = RTPStreamIdentifier("video")
        values.rid = RTPStreamIdentifier("hi")
        values.repairedRid = RTPStreamIdentifier("lo")
        values.transportSequenceNumber = 7
        values.absoluteSendTime = AbsoluteSendTime(rawValue: 0x123456)
        values.playoutDelay = PlayoutDelay(rawValue: 0x00A014)
        values.videoOrientation = 3
        values.audioLevel = AudioLevel(level: 40, isVoice: true)
        values.absoluteCaptureTime = AbsoluteCaptureTime(ntpTimestamp: 0xE000_0000_8000_0000, clockOffset: -1)
        values.transmissionOffset = -5
        let header = RTPHeader(payloadType: 96, sequenceNumber: 5, timestamp: 6, ssrc: 7)
        return [UInt8](capacity: RTPHeader.maximumWrittenSize) { (buffer: MutableByteView) in
            header.write(into: buffer, extensions: values, map: map).size
        } + [1, 2, 3]
    }()
}
