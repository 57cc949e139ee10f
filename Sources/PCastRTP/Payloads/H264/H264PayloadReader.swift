/// Iterates over the NAL units of an RTP payload, or returns its fragment of one (RFC 6184).
///
/// It allocates nothing, and does not store the payload. An aggregate ends at the first unit that is empty or
/// truncated.
struct H264PayloadReader {
    /// A NAL unit or a fragment of one.
    struct Unit {
        /// The type of the NAL unit.
        let type: UInt8
        /// The range in the payload: of a whole unit with its header, or of a fragment without headers.
        let range: Range<Int>
        /// Whether the unit begins here.
        let isStart: Bool
        /// Whether it is a whole unit.
        let isWhole: Bool

        /// The offset of the data after the header.
        var body: Int { isWhole ? range.lowerBound + 1 : range.lowerBound }
    }

    /// The offset of the next unit.
    private var offset = 0

    /// Returns the next unit; nil after the last.
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

    /// Parses an FU-A (RFC 6184, section 5.8).
    private static func fragment(_ payload: Span<UInt8>) -> Unit? {
        guard payload.count > 2 else { return nil }
        return Unit(
            type: payload[1] & H264NALUnit.typeMask, range: 2..<payload.count,
            isStart: payload[1] & H264NALUnit.fragmentStart != 0, isWhole: false)
    }
}
