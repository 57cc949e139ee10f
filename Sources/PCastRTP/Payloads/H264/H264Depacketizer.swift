import PCastCore

/// Assembles H.264 access units in Annex B format from RTP payloads (RFC 6184).
///
/// A unit that violates the format is counted and dropped together with its frame, because a frame without one of its
/// slices is decoded with artifacts.
package struct H264Depacketizer: Sendable {
    /// The state of a fragmented NAL unit.
    private enum Fragmentation {
        /// There is none.
        case none
        /// A fragmented unit is incomplete; `start` is the offset of its start code.
        case open(start: Int, type: UInt8)
        /// The rest of a dropped unit is ignored.
        case dropping
    }

    /// The state of the current fragmented NAL unit.
    private var fragmentation = Fragmentation.none
    /// The parameter sets that the stream has sent.
    private var parameterSets = H264ParameterSets()
    /// Whether nothing of the frame was lost or dropped.
    private var isIntact = true
    /// Whether the frame contains a slice.
    private var hasSlice = false
    /// Whether the frame contains an IDR slice.
    private var hasIDR = false
    /// Whether the frame contains a sequence parameter set.
    private var hasSequenceParameterSet = false
    /// Whether the frame contains a picture parameter set after a sequence parameter set; before it, it cannot be used.
    private var hasPictureParameterSet = false
    /// The number of parameter sets so far.
    private var parameterSetCount: Int64 = 0

    /// The number of NAL units that were dropped because they violate the payload format.
    package private(set) var malformedUnits = 0

    /// Creates a depacketizer without parameter sets.
    package init() {}

    /// Whether the stream has sent its parameter sets, so that an IDR picture without them can be decoded.
    package var hasParameterSets: Bool { parameterSets.isComplete }

    /// Keeps the parameter sets of a payload that precedes the next frame and is not appended to it.
    package mutating func rememberParameterSets(of payload: Span<UInt8>) {
        var reader = H264PayloadReader()
        while let unit = reader.next(in: payload) {
            if unit.isWhole, H264NALUnit.isParameterSet(unit.type) { remember(payload.extracting(unit.range)) }
        }
    }

    private mutating func remember(_ unit: Span<UInt8>) {
        parameterSetCount += 1
        parameterSets.remember(unit, order: parameterSetCount)
    }

    /// Appends the NAL units of a payload, or the fragment of a NAL unit, to the access unit.
    package mutating func append(_ payload: Span<UInt8>, to bytes: inout [UInt8]) {
        guard !payload.isEmpty else { return }
        let type = payload[0] & H264NALUnit.typeMask
        if type == H264NALUnit.fuA {
            appendFragment(payload, to: &bytes)
            return
        }
        dropOpenFragment(from: &bytes)
        fragmentation = .none
        if type == H264NALUnit.stapA {
            appendAggregate(payload, to: &bytes)
        } else {
            appendUnit(payload, to: &bytes)
        }
    }

    /// Marks packets before the next payload as lost: the incomplete NAL unit is dropped, and the frame cannot be
    /// decoded.
    package mutating func packetsLost(from bytes: inout [UInt8]) {
        isIntact = false
        if case .open(let start, _) = fragmentation { bytes.removeLast(bytes.count - start) }
        fragmentation = .dropping
    }

    /// Finishes the access unit. Returns nil if it cannot be decoded. If an IDR picture has no parameter sets, those
    /// that the stream sent before are inserted.
    package mutating func finish(_ bytes: inout [UInt8]) -> DepacketizedFrame? {
        dropOpenFragment(from: &bytes)
        defer { reset() }
        guard isIntact, !bytes.isEmpty else { return nil }
        let hasSets = hasSequenceParameterSet && hasPictureParameterSet
        let isKeyFrame = hasIDR && (hasSets || parameterSets.isComplete)
        if isKeyFrame, !hasSets { insertParameterSets(into: &bytes) }
        return DepacketizedFrame(isKeyFrame: isKeyFrame, hasSlice: hasSlice)
    }

    /// Inserts the parameter sets after an access unit delimiter, before all other units (ITU-T H.264, section
    /// 7.4.1.2.3).
    private func insertParameterSets(into bytes: inout [UInt8]) {
        var start = 0
        bytes.withByteView { source in
            var reader = AnnexBReader(source)
            guard let first = reader.next(),
                source[first.lowerBound] & H264NALUnit.typeMask == H264NALUnit.accessUnitDelimiter
            else { return }
            start = first.upperBound
        }
        bytes.insert(contentsOf: parameterSets.annexB, at: start)
    }

    /// Resets the state for the next access unit.
    private mutating func reset() {
        fragmentation = .none
        isIntact = true
        hasSlice = false
        hasIDR = false
        hasSequenceParameterSet = false
        hasPictureParameterSet = false
    }

    /// Counts a dropped NAL unit.
    private mutating func dropUnit() {
        malformedUnits += 1
        isIntact = false
    }

    /// Drops the incomplete NAL unit.
    private mutating func dropOpenFragment(from bytes: inout [UInt8]) {
        guard case .open(let start, _) = fragmentation else { return }
        bytes.removeLast(bytes.count - start)
        fragmentation = .dropping
        dropUnit()
    }

    /// Appends a whole NAL unit with a start code.
    private mutating func appendUnit(_ unit: Span<UInt8>, to bytes: inout [UInt8]) {
        let type = unit[0] & H264NALUnit.typeMask
        guard H264NALUnit.isSpecified(type) else {
            dropUnit()
            return
        }
        note(type)
        if H264NALUnit.isParameterSet(type) { remember(unit) }
        bytes.append(contentsOf: [0, 0, 0, 1])
        bytes.append(contentsOf: unit)
    }

    /// Records the type of a NAL unit.
    private mutating func note(_ type: UInt8) {
        hasSlice = hasSlice || H264NALUnit.isImage(type)
        hasIDR = hasIDR || type == H264NALUnit.idrSlice
        hasSequenceParameterSet = hasSequenceParameterSet || type == H264NALUnit.sequenceParameterSet
        if type == H264NALUnit.pictureParameterSet { hasPictureParameterSet = hasSequenceParameterSet }
    }

    /// Appends the NAL units of a STAP-A (RFC 6184, section 5.7.1).
    private mutating func appendAggregate(_ payload: Span<UInt8>, to bytes: inout [UInt8]) {
        var offset = 1
        if payload.count == 1 { dropUnit() }
        while offset < payload.count {
            guard offset + 2 <= payload.count else {
                dropUnit()
                return
            }
            let size = Int(payload[offset]) << 8 | Int(payload[offset + 1])
            offset += 2
            guard size <= payload.count - offset else {
                dropUnit()
                return
            }
            if size == 0 {
                dropUnit()
            } else {
                appendUnit(payload.extracting(offset..<offset + size), to: &bytes)
            }
            offset += size
        }
    }

    /// Appends a fragment of an FU-A (RFC 6184, section 5.8).
    private mutating func appendFragment(_ payload: Span<UInt8>, to bytes: inout [UInt8]) {
        let header: UInt8 = payload.count > 2 ? payload[1] : 0
        let type = header & H264NALUnit.typeMask
        let isStart = header & H264NALUnit.fragmentStart != 0
        let isEnd = header & H264NALUnit.fragmentEnd != 0
        guard payload.count > 2, H264NALUnit.isSpecified(type), !(isStart && isEnd) else {
            if case .open = fragmentation { dropOpenFragment(from: &bytes) } else { dropUnit() }
            fragmentation = .dropping
            return
        }
        if isStart {
            dropOpenFragment(from: &bytes)
            fragmentation = .open(start: bytes.count, type: type)
            bytes.append(contentsOf: [0, 0, 0, 1, payload[0] & ~H264NALUnit.typeMask | type])
        } else if !continues(type) {
            if case .open = fragmentation { dropOpenFragment(from: &bytes) } else { dropFragmentWithoutStart() }
            return
        }
        bytes.append(contentsOf: payload.extracting(2..<payload.count))
        guard isEnd, case .open(let start, _) = fragmentation else { return }
        fragmentation = .none
        note(type)
        if H264NALUnit.isParameterSet(type) { remember(bytes.span.extracting(start + 4..<bytes.count)) }
    }

    /// Returns whether a fragment of a type continues the incomplete NAL unit.
    private func continues(_ type: UInt8) -> Bool {
        if case .open(_, type) = fragmentation { return true }
        return false
    }

    /// Drops a fragment without a beginning; each NAL unit is counted once.
    private mutating func dropFragmentWithoutStart() {
        if case .dropping = fragmentation { return }
        dropUnit()
        fragmentation = .dropping
    }
}

/// Constants of RTP payloads (RFC 6184, table 1).
extension H264NALUnit {
    /// The type of an aggregation packet of the kind STAP-A.
    static var stapA: UInt8 { 24 }
    /// The type of a fragmentation unit of the kind FU-A.
    static var fuA: UInt8 { 28 }

    /// The start bit in the FU header (RFC 6184, section 5.8).
    static var fragmentStart: UInt8 { 0x80 }
    /// The end bit in the FU header (RFC 6184, section 5.8).
    static var fragmentEnd: UInt8 { 0x40 }
}

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
