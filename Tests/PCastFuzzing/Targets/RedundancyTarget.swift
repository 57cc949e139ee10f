import PCastCore
import PCastRTP

/// Payloads of redundant audio data (RFC 2198), and the packets that they are assigned to.
enum RedundancyTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        let hole = bytes.last.map { last in
            RedundantSequence.Gap(packetCount: Int(last & 3), ticks: Int64(last >> 2) * 480)
        }
        guard let payload = RedundantPayload(bytes.span, payload: bytes.indices) else { return false }
        try check(payload.redundantCount <= RedundantPayload.maximumBlockCount, "too many blocks")
        var end = payload.primary.range.lowerBound
        for index in 0..<payload.redundantCount {
            let block = payload.redundant(index, in: bytes.span)
            try check(block.range.upperBound == end, "blocks that do not follow each other")
            try check(block.range.count <= RedundantPayload.maximumBlockSize, "a block of \(block.range.count) bytes")
            try check(block.timestampOffset <= RedundantPayload.maximumTimestampOffset, "an offset of too many bits")
            end = block.range.lowerBound
        }
        try check(payload.primary.range.upperBound == bytes.count && end > 0, "data outside of the packet")
        var sequence = RedundantSequence(payload, after: hole, in: bytes.span)
        var offset: UInt32 = 0
        var distance: Int64 = 0
        while let (block, found) = sequence.next(in: bytes.span) {
            try check(found == distance + 1 && block.timestampOffset > offset, "packets that lost their order")
            try check(!block.range.isEmpty, "a packet without data")
            (offset, distance) = (block.timestampOffset, found)
        }
        return true
    }

    static let corpus: [[UInt8]] = [
        [111, 0xF8, 1, 2, 3],
        [0xEF, 0x0F, 0x00, 0x03, 111, 0xF8, 1, 2, 0xF8, 3, 4],
        [0xEF, 0x1E, 0x00, 0x03, 0xEF, 0x0F, 0x00, 0x02, 111, 0xF8, 1, 2, 0xF8, 9, 0xF8, 3, 4],
    ]
}
