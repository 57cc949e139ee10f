package import PCastCore

/// Divides an H.265 access unit into RTP payloads (RFC 7798).
///
/// Consecutive units that fit in one packet are aggregated, so that the parameter sets precede the frame with the
/// same timestamp. Larger units are divided into fragments of equal size. Access unit delimiters and filler data are
/// omitted, because a receiver does not need them.
package struct H265Packetizer {
    /// The size of the headers of a fragment in bytes.
    private static let fragmentHeaderSize = 3

    private let bytes: ByteView
    /// The maximum size of a payload in bytes.
    private let maximumPayloadSize: Int
    /// The reader of the NAL units.
    private var reader: AnnexBReader

    /// The next unit; the rest of it if ``fragmentSize`` is not 0.
    private var unit: Range<Int>?
    /// The header of the fragmented unit.
    private var unitHeader: (UInt8, UInt8) = (0, 0)
    /// The size of a fragment in bytes; 0 if no unit is being fragmented.
    private var fragmentSize = 0
    /// Whether the next fragment is the first.
    private var isFirstFragment = false

    /// The number of units that could not be sent: of a type that RTP reserves, or without data.
    package private(set) var droppedUnits = 0

    /// Creates a packetizer for an access unit.
    ///
    /// - Parameters:
    ///   - accessUnit: The access unit in Annex B format, which must be valid until ``next(into:)`` has returned nil.
    ///   - maximumPayloadSize: The maximum size of a payload in bytes.
    package init(accessUnit: ByteView, maximumPayloadSize: Int = PayloadPacketizer.defaultMaximumPayloadSize) {
        precondition(
            maximumPayloadSize >= PayloadPacketizer.smallestMaximumPayloadSize, "the payload limit is too small")
        bytes = accessUnit
        // The size of a unit in an aggregation packet has 16 bits.
        self.maximumPayloadSize = min(maximumPayloadSize, Int(UInt16.max))
        reader = AnnexBReader(accessUnit)
        advance()
    }

    /// Writes the next payload at the beginning of a buffer of at least the maximum payload size. Returns nil after the
    /// last.
    package mutating func next(into buffer: MutableByteView) -> PayloadPacket? {
        guard let current = unit else { return nil }
        if fragmentSize > 0 { return nextFragment(of: current, into: buffer) }
        if current.count > maximumPayloadSize {
            beginFragments(of: current)
            return nextFragment(of: unit!, into: buffer)
        }
        advance()
        if let following = unit, fits(following, after: H265NALUnit.headerSize + 2 + current.count) {
            return aggregate(startingWith: current, into: buffer)
        }
        buffer.copyMemory(from: bytes.extracting(current))
        return PayloadPacket(length: current.count, isLast: unit == nil)
    }

    /// Advances to the next unit that can be sent.
    private mutating func advance() {
        fragmentSize = 0
        while let candidate = reader.next() {
            let type = H265NALUnit.type(bytes[candidate.lowerBound])
            if type == H265NALUnit.accessUnitDelimiter || type == H265NALUnit.fillerData { continue }
            if H265NALUnit.isSpecified(type), candidate.count > H265NALUnit.headerSize {
                unit = candidate
                return
            }
            droppedUnits += 1
        }
        unit = nil
    }

    /// Returns whether a unit fits into an aggregation packet after a number of bytes.
    private func fits(_ candidate: Range<Int>, after length: Int) -> Bool {
        length + 2 + candidate.count <= maximumPayloadSize
    }

    /// Writes an aggregation packet (RFC 7798, section 4.4.2): its layer and temporal layer are the lowest of its
    /// units, and its F bit is set if one of theirs is.
    private mutating func aggregate(
        startingWith first: Range<Int>, into buffer: MutableByteView
    ) -> PayloadPacket {
        var length = H265NALUnit.headerSize
        var forbidden: UInt8 = 0
        var (layer, temporal) = (0x3F as UInt8, 7 as UInt8)
        var current = first
        while true {
            let header = (bytes[current.lowerBound], bytes[current.lowerBound + 1])
            forbidden |= header.0 & 0x80
            layer = min(layer, header.0 & 1 << 5 | header.1 >> 3)
            temporal = min(temporal, header.1 & 7)
            buffer.storeBytes(of: UInt16(current.count).bigEndian, toByteOffset: length, as: UInt16.self)
            buffer.extracting((length + 2)...).copyMemory(from: bytes.extracting(current))
            length += 2 + current.count
            guard let following = unit, fits(following, after: length) else { break }
            current = following
            advance()
        }
        buffer[0] = forbidden | H265NALUnit.aggregation << 1 | layer >> 5
        buffer[1] = layer << 3 | temporal
        return PayloadPacket(length: length, isLast: unit == nil)
    }

    /// Begins the fragmentation of a unit.
    private mutating func beginFragments(of whole: Range<Int>) {
        unitHeader = (bytes[whole.lowerBound], bytes[whole.lowerBound + 1])
        unit = whole.dropFirst(H265NALUnit.headerSize)
        fragmentSize =
            FragmentPlan(
                total: whole.count - H265NALUnit.headerSize, maximumSize: maximumPayloadSize - Self.fragmentHeaderSize
            ).size
        isFirstFragment = true
    }

    /// Writes a fragmentation unit (RFC 7798, section 4.4.3).
    private mutating func nextFragment(
        of rest: Range<Int>, into buffer: MutableByteView
    ) -> PayloadPacket {
        let fragment = rest.prefix(fragmentSize)
        let isEnd = fragment.count == rest.count
        buffer[0] = H265NALUnit.header(unitHeader.0, type: H265NALUnit.fragmentation)
        buffer[1] = unitHeader.1
        buffer[2] =
            H265NALUnit.type(unitHeader.0) | (isFirstFragment ? H265NALUnit.fragmentStart : 0)
            | (isEnd ? H265NALUnit.fragmentEnd : 0)
        buffer.extracting(Self.fragmentHeaderSize...).copyMemory(from: bytes.extracting(fragment))
        isFirstFragment = false
        if isEnd { advance() } else { unit = fragment.upperBound..<rest.upperBound }
        return PayloadPacket(length: Self.fragmentHeaderSize + fragment.count, isLast: unit == nil)
    }
}

/// Assembles H.265 access units in Annex B format from RTP payloads (RFC 7798).
///
/// A unit that violates the format is counted and dropped together with its frame, because a frame without one of its
/// slices is decoded with artifacts.
package struct H265Depacketizer: Sendable {
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
    private var parameterSets = H265ParameterSets()
    /// Whether nothing of the frame was lost or dropped.
    private var isIntact = true
    /// Whether the frame contains a slice.
    private var hasSlice = false
    /// Whether the frame contains a slice of a random access point.
    private var hasRandomAccess = false
    /// The number of kinds of parameter sets that the frame contains in their order: those of the video, the sequence
    /// and the frame.
    private var kindsInOrder: UInt8 = 0
    /// The number of parameter sets so far.
    private var parameterSetCount: Int64 = 0

    /// The number of NAL units that were dropped because they violate the payload format.
    package private(set) var malformedUnits = 0

    /// Creates a depacketizer without parameter sets.
    package init() {}

    /// Whether the stream has sent its parameter sets, so that a random access point without them can be decoded.
    package var hasParameterSets: Bool { parameterSets.isComplete }

    /// Keeps the parameter sets of a payload that precedes the next frame and is not appended to it.
    package mutating func rememberParameterSets(of payload: Span<UInt8>) {
        var reader = H265PayloadReader()
        while let unit = reader.next(in: payload) {
            if unit.isWhole, H265NALUnit.isParameterSet(unit.type) { remember(payload.extracting(unit.range)) }
        }
    }

    private mutating func remember(_ unit: Span<UInt8>) {
        parameterSetCount += 1
        parameterSets.remember(unit, order: parameterSetCount)
    }

    /// Appends the NAL units of a payload, or the fragment of a NAL unit, to the access unit.
    package mutating func append(_ payload: Span<UInt8>, to bytes: inout [UInt8]) {
        guard !payload.isEmpty else { return }
        let type = H265NALUnit.type(payload[0])
        if type == H265NALUnit.fragmentation { return appendFragment(payload, to: &bytes) }
        dropOpenFragment(from: &bytes)
        fragmentation = .none
        if type == H265NALUnit.aggregation {
            appendAggregate(payload, to: &bytes)
        } else {
            appendUnit(payload, to: &bytes)
        }
    }

    /// Finishes the access unit. Returns nil if it cannot be decoded. If a random access point has no parameter sets,
    /// those that the stream sent before are inserted.
    package mutating func finish(_ bytes: inout [UInt8]) -> DepacketizedFrame? {
        dropOpenFragment(from: &bytes)
        defer { reset() }
        guard isIntact, !bytes.isEmpty else { return nil }
        let hasSets = kindsInOrder == 3
        let isKeyFrame = hasRandomAccess && (hasSets || parameterSets.isComplete)
        if isKeyFrame, !hasSets { insertParameterSets(into: &bytes) }
        return DepacketizedFrame(isKeyFrame: isKeyFrame, hasSlice: hasSlice)
    }

    /// Inserts the parameter sets after an access unit delimiter, before all other units (ITU-T H.265, section
    /// 7.4.2.4.4).
    private func insertParameterSets(into bytes: inout [UInt8]) {
        var start = 0
        bytes.withByteView { source in
            var reader = AnnexBReader(source)
            guard let first = reader.next(),
                H265NALUnit.type(source[first.lowerBound]) == H265NALUnit.accessUnitDelimiter
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
        hasRandomAccess = false
        kindsInOrder = 0
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
        let type = unit.isEmpty ? UInt8.max : H265NALUnit.type(unit[0])
        guard unit.count > H265NALUnit.headerSize, H265NALUnit.isSpecified(type) else { return dropUnit() }
        if H265NALUnit.isBaseLayer(unit) { note(type) }
        if H265NALUnit.isParameterSet(type) { remember(unit) }
        bytes.append(contentsOf: AnnexBReader.startCode)
        bytes.append(contentsOf: unit)
    }

    /// Records the type of a NAL unit of the base layer.
    private mutating func note(_ type: UInt8) {
        hasSlice = hasSlice || H265NALUnit.isSlice(type)
        hasRandomAccess = hasRandomAccess || H265NALUnit.randomAccess.contains(type)
        if type == H265NALUnit.videoParameterSet + kindsInOrder, kindsInOrder < 3 { kindsInOrder += 1 }
    }

    /// Appends the NAL units of an aggregation packet (RFC 7798, section 4.4.2).
    private mutating func appendAggregate(_ payload: Span<UInt8>, to bytes: inout [UInt8]) {
        var offset = H265NALUnit.headerSize
        if payload.count <= offset { return dropUnit() }
        while offset < payload.count {
            guard offset + 2 <= payload.count else { return dropUnit() }
            let size = Int(payload[offset]) << 8 | Int(payload[offset + 1])
            offset += 2
            guard size <= payload.count - offset else { return dropUnit() }
            appendUnit(payload.extracting(offset..<offset + size), to: &bytes)
            offset += size
        }
    }

    /// Appends a fragmentation unit (RFC 7798, section 4.4.3).
    private mutating func appendFragment(_ payload: Span<UInt8>, to bytes: inout [UInt8]) {
        let header: UInt8 = payload.count > 3 ? payload[2] : 0
        let type = header & 0x3F
        let isStart = header & H265NALUnit.fragmentStart != 0
        let isEnd = header & H265NALUnit.fragmentEnd != 0
        guard payload.count > 3, H265NALUnit.isSpecified(type), !(isStart && isEnd) else {
            if case .open = fragmentation { dropOpenFragment(from: &bytes) } else { dropUnit() }
            fragmentation = .dropping
            return
        }
        if isStart {
            dropOpenFragment(from: &bytes)
            fragmentation = .open(start: bytes.count, type: type)
            bytes.append(contentsOf: AnnexBReader.startCode)
            bytes.append(H265NALUnit.header(payload[0], type: type))
            bytes.append(payload[1])
        } else if !continues(type) {
            if case .open = fragmentation { dropOpenFragment(from: &bytes) } else { dropFragmentWithoutStart() }
            return
        }
        bytes.append(contentsOf: payload.extracting(3..<payload.count))
        guard isEnd, case .open(let start, _) = fragmentation else { return }
        fragmentation = .none
        if H265NALUnit.isBaseLayer(payload) { note(type) }
        if H265NALUnit.isParameterSet(type) {
            remember(bytes.span.extracting(start + AnnexBReader.startCode.count..<bytes.count))
        }
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
