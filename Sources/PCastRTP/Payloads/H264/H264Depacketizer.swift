/// Puts H.264 access units together from RTP payloads (RFC 6184), as Annex B.
///
/// What breaks the format is counted and drops its NAL unit, and the frame with it: a decoder shows rubbish for a
/// picture that lacks a slice (RTP6, JB8).
public struct H264Depacketizer: Sendable {
    private enum Fragmentation {
        case none
        /// In the middle of a unit of type `type` whose start code stands at `start`.
        case open(start: Int, type: UInt8)
        /// In the middle of a unit that was dropped.
        case dropping
    }

    private var fragmentation = Fragmentation.none
    private var parameterSets = H264ParameterSets()
    private var isIntact = true
    private var hasPicture = false
    private var hasIDR = false
    private var hasSequenceParameterSet = false
    /// Behind the sequence parameter set; one that stands before it is read in vain.
    private var hasPictureParameterSet = false
    /// Parameter sets that were read so far.
    private var parameterSetCount: Int64 = 0

    /// NAL units dropped because they break the payload format.
    public private(set) var malformedUnits = 0

    public init() {}

    /// Whether the stream has sent its parameter sets, so that an IDR picture without them is decodable.
    public var hasParameterSets: Bool { parameterSets.isComplete }

    /// Keeps the parameter sets of a payload that is not put into a frame, because it stands before the frame that comes next.
    public mutating func rememberParameterSets(of payload: Span<UInt8>) {
        var reader = H264PayloadReader()
        while let unit = reader.next(in: payload) {
            if unit.isWhole, H264NALUnit.isParameterSet(unit.type) { remember(payload.extracting(unit.range)) }
        }
    }

    private mutating func remember(_ unit: Span<UInt8>) {
        parameterSetCount += 1
        parameterSets.remember(unit, order: parameterSetCount)
    }

    /// Appends the NAL units of one payload, or the part of one, to the access unit.
    public mutating func append(_ payload: Span<UInt8>, to bytes: inout [UInt8]) {
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

    /// Says that packets before the next one are lost: the NAL unit that they were of is dropped, and the frame can
    /// not be decoded.
    public mutating func packetsLost(from bytes: inout [UInt8]) {
        isIntact = false
        if case .open(let start, _) = fragmentation { bytes.removeLast(bytes.count - start) }
        fragmentation = .dropping
    }

    /// Ends the access unit; nil when it can not be decoded. An IDR picture that came without parameter sets gets
    /// those that the stream sent before.
    public mutating func finish(_ bytes: inout [UInt8]) -> DepacketizedFrame? {
        dropOpenFragment(from: &bytes)
        defer { reset() }
        guard isIntact, !bytes.isEmpty else { return nil }
        let hasSets = hasSequenceParameterSet && hasPictureParameterSet
        let isKeyFrame = hasIDR && (hasSets || parameterSets.isComplete)
        if isKeyFrame, !hasSets { insertParameterSets(into: &bytes) }
        return DepacketizedFrame(isKeyFrame: isKeyFrame, hasPicture: hasPicture)
    }

    /// They stand behind an access unit delimiter and before all else (ITU-T H.264, section 7.4.1.2.3).
    private func insertParameterSets(into bytes: inout [UInt8]) {
        var start = 0
        bytes.withUnsafeBytes { source in
            var reader = AnnexBReader(source)
            guard let first = reader.next(),
                source[first.lowerBound] & H264NALUnit.typeMask == H264NALUnit.accessUnitDelimiter
            else { return }
            start = first.upperBound
        }
        bytes.insert(contentsOf: parameterSets.annexB, at: start)
    }

    private mutating func reset() {
        fragmentation = .none
        isIntact = true
        hasPicture = false
        hasIDR = false
        hasSequenceParameterSet = false
        hasPictureParameterSet = false
    }

    private mutating func dropUnit() {
        malformedUnits += 1
        isIntact = false
    }

    private mutating func dropOpenFragment(from bytes: inout [UInt8]) {
        guard case .open(let start, _) = fragmentation else { return }
        bytes.removeLast(bytes.count - start)
        fragmentation = .dropping
        dropUnit()
    }

    private mutating func appendUnit(_ unit: Span<UInt8>, to bytes: inout [UInt8]) {
        let type = unit[0] & H264NALUnit.typeMask
        guard H264NALUnit.isSingle(type) else {
            dropUnit()
            return
        }
        note(type)
        if H264NALUnit.isParameterSet(type) { remember(unit) }
        bytes.append(contentsOf: [0, 0, 0, 1])
        unit.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
    }

    private mutating func note(_ type: UInt8) {
        hasPicture = hasPicture || H264NALUnit.isPicture(type)
        hasIDR = hasIDR || type == H264NALUnit.idrSlice
        hasSequenceParameterSet = hasSequenceParameterSet || type == H264NALUnit.sequenceParameterSet
        if type == H264NALUnit.pictureParameterSet { hasPictureParameterSet = hasSequenceParameterSet }
    }

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

    private mutating func appendFragment(_ payload: Span<UInt8>, to bytes: inout [UInt8]) {
        let header: UInt8 = payload.count > 2 ? payload[1] : 0
        let type = header & H264NALUnit.typeMask
        let isStart = header & H264NALUnit.fragmentStart != 0
        let isEnd = header & H264NALUnit.fragmentEnd != 0
        guard payload.count > 2, H264NALUnit.isSingle(type), !(isStart && isEnd) else {
            if case .open = fragmentation { dropOpenFragment(from: &bytes) } else { dropUnit() }
            fragmentation = .dropping
            return
        }
        if isStart {
            dropOpenFragment(from: &bytes)
            fragmentation = .open(start: bytes.count, type: type)
            bytes.append(contentsOf: [0, 0, 0, 1, payload[0] & ~H264NALUnit.typeMask | type])
        } else if !continues(type) {
            if case .open = fragmentation { dropOpenFragment(from: &bytes) } else { dropOrphan() }
            return
        }
        payload.extracting(2..<payload.count).withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
        guard isEnd, case .open(let start, _) = fragmentation else { return }
        fragmentation = .none
        note(type)
        if H264NALUnit.isParameterSet(type) { remember(bytes.span.extracting(start + 4..<bytes.count)) }
    }

    private func continues(_ type: UInt8) -> Bool {
        if case .open(_, type) = fragmentation { return true }
        return false
    }

    /// A fragment without its start: counted once for the NAL unit.
    private mutating func dropOrphan() {
        if case .dropping = fragmentation { return }
        dropUnit()
        fragmentation = .dropping
    }
}
