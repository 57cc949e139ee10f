/// The NAL units of one RTP payload, in order, or the fragment of one (RFC 6184). It allocates nothing, and does not hold the
/// payload, which is handed to each call. An aggregate ends at the first unit that is empty or too long.
struct H264PayloadReader {
    /// A NAL unit, or a part of one.
    struct Unit {
        /// Of the NAL unit, also where this is a fragment of it.
        let type: UInt8
        /// Where it lies: a whole unit with its header, a fragment without.
        let range: Range<Int>
        /// Whether the unit begins here.
        let isStart: Bool
        let isWhole: Bool

        /// Where what follows the header begins.
        var body: Int { isWhole ? range.lowerBound + 1 : range.lowerBound }
        /// Whether it is a fragment that does not begin its unit.
        var isContinuation: Bool { !isStart }
    }

    private var offset = 0

    mutating func next(in payload: Span<UInt8>) -> Unit? {
        guard offset < payload.count else { return nil }
        if offset == 0 {
            switch payload[0] & H264NALUnit.typeMask {
            case H264NALUnit.stapA: offset = 1
            case H264NALUnit.fuA:
                offset = payload.count
                return Self.fragment(payload)
            case let type:
                offset = payload.count
                return Unit(type: type, range: 0..<payload.count, isStart: true, isWhole: true)
            }
        }
        guard offset + 2 < payload.count else { return nil }
        let size = Int(payload[offset]) << 8 | Int(payload[offset + 1])
        let start = offset + 2
        guard size > 0, size <= payload.count - start else {
            offset = payload.count
            return nil
        }
        offset = start + size
        return Unit(type: payload[start] & H264NALUnit.typeMask, range: start..<offset, isStart: true, isWhole: true)
    }

    private static func fragment(_ payload: Span<UInt8>) -> Unit? {
        guard payload.count > 2 else { return nil }
        return Unit(
            type: payload[1] & H264NALUnit.typeMask, range: 2..<payload.count,
            isStart: payload[1] & H264NALUnit.fragmentStart != 0, isWhole: false)
    }
}
