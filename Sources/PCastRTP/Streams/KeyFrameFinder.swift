public import PCastMedia

/// Finds in the log of a track where key frames begin, and keeps the parameter sets that they need.
///
/// A key frame of H.264 is the set of packets with one timestamp that contains an IDR slice, if its parameter sets are among
/// them or known. It begins with the first packet of that timestamp. Parameter sets before other pictures are no key frame.
/// Those that a key frame lacks are appended to the log for viewers that begin with it.
///
/// Only packets with IDR slices or parameter sets are looked at closely, so that others cost a look at two bytes.
public struct KeyFrameFinder: Sendable {
    /// A key frame that was found.
    public struct KeyFrame: Hashable, Sendable {
        /// Where it begins in the log.
        public let position: Int64
        /// The size of its pictures; nil where it does not say.
        public let dimensions: Dimensions?
    }

    /// The newest frame with an IDR slice.
    private struct Candidate {
        let timestamp: UInt32
        /// The least number of its packets that is known, without a hole behind it.
        var first: Int64
        let since: Instant
        /// It was found to be a key frame.
        var isFound = false
        /// The packet before it was waited for long enough, and it was looked at since.
        var hasWaited = false
    }

    /// How long the packet before an IDR slice is waited for, as it may begin the frame: a retransmission takes about that.
    private static let longestWait = TimeSpan.milliseconds(100)
    /// How long a frame may lack its parameter sets before it is given up.
    private static let longestLack = TimeSpan.seconds(1 as Int64)
    /// Packets of a frame before its first IDR slice that are looked at.
    private static let longestHead: Int64 = 64
    /// NAL units of these packets that are looked at: a packet that aggregates has room for hundreds.
    private static let mostUnitsOfHead = 256
    /// Parameter sets of one packet that are kept.
    private static let mostSetsOfPacket = 8
    /// Fragments of a parameter set.
    private static let longestFragmentation: Int64 = 16

    public private(set) var parameterSets = H264ParameterSets()
    private let aggregates: Bool
    private var candidate: Candidate?
    /// NAL units that were looked at.
    private(set) var unitsRead = 0

    /// - Parameters:
    ///   - parameterSets: what the source's description says (`sprop-parameter-sets`), each a NAL unit.
    ///   - aggregates: whether parameter sets may share a packet (`packetization-mode=1`).
    public init(parameterSets: [[UInt8]] = [], aggregates: Bool = true) {
        self.aggregates = aggregates
        for set in parameterSets { self.parameterSets.remember(set.span, order: .min) }
    }

    /// Continues with the parameter sets that another shard knows.
    public mutating func begin(with parameterSets: H264ParameterSets) { self.parameterSets = parameterSets }

    /// The source started over, or pauses: a frame from before is no key frame any more. Its parameter sets stay in force.
    public mutating func forgetKeyFrame() { candidate = nil }

    /// Takes in the packet that was appended to the log last; answers the key frame that is known by it.
    @inline(__always)
    public mutating func appended(_ codec: Codec, to log: inout PacketLog) -> KeyFrame? {
        let payload = log.payload(at: log.end - 1)
        switch codec {
        case .opus: return nil
        case .vp8: return appendedVP8(payload, to: &log)
        case .h264:
            if Self.isPlainSlice(payload), candidate?.isFound ?? true { return nil }
            return appendedH264(to: &log)
        }
    }

    @inline(__always)
    private static func isPlainSlice(_ payload: UnsafeRawBufferPointer) -> Bool {
        guard payload.count > 1 else { return payload.isEmpty }
        switch payload[0] & H264NALUnit.typeMask {
        case H264NALUnit.nonIDRSlice: return true
        case H264NALUnit.fuA: return payload[1] & H264NALUnit.typeMask == H264NALUnit.nonIDRSlice
        default: return false
        }
    }

    private func appendedVP8(_ payload: UnsafeRawBufferPointer, to log: inout PacketLog) -> KeyFrame? {
        let bytes = Span<UInt8>(_unsafeBytes: payload)
        guard KeyFrameDetector.startsKeyFrame(codec: .vp8, payload: bytes) else { return nil }
        return note(at: log.end - 1, KeyFrameDetector.dimensions(codec: .vp8, payload: bytes), in: &log)
    }

    /// A key frame whose packets come late, behind those of a newer one, is none to begin with.
    private func note(
        at position: Int64, _ dimensions: Dimensions?, sets: Range<Int64> = 0..<0, in log: inout PacketLog
    ) -> KeyFrame? {
        let entry = log[position]
        if let newest = log.newestKeyFrame, log[newest].sequence > entry.sequence,
            log[newest].timestamp != entry.timestamp
        {
            return nil
        }
        log.noteKeyFrame(at: position, sets: sets)
        return KeyFrame(position: position, dimensions: dimensions)
    }

    // MARK: H.264

    @inline(never)
    private mutating func appendedH264(to log: inout PacketLog) -> KeyFrame? {
        let position = log.end - 1
        let (sequence, timestamp, arrival) = (log[position].sequence, log[position].timestamp, log[position].arrival)
        let (hasIDR, hasSets) = rememberParameterSets(at: position, sequence, in: log)
        if candidate?.timestamp == timestamp {
            if sequence < candidate!.first, hasIDR || candidate!.isFound { candidate!.first = sequence }
        } else if hasIDR, candidate.map({ sequence > $0.first }) ?? true {
            candidate = Candidate(timestamp: timestamp, first: sequence, since: arrival)
        }
        guard let candidate else { return nil }
        if !candidate.isFound, arrival - candidate.since > Self.longestLack { self.candidate = nil }
        if candidate.isFound {
            if candidate.timestamp != timestamp || candidate.first != sequence { return nil }
        } else {
            // Nothing else changes what was seen the last time.
            let isOfHead =
                candidate.timestamp == timestamp && sequence >= candidate.first
                && sequence - candidate.first < Self.longestHead
            let endsWait = !candidate.hasWaited && arrival - candidate.since >= Self.longestWait
            guard isOfHead || hasSets || endsWait || sequence == candidate.first - 1 else { return nil }
            if endsWait { self.candidate?.hasWaited = true }
        }
        guard let keyFrame = find(arrival, in: &log) else { return nil }
        // One that turns out to begin earlier is no other.
        defer { self.candidate?.isFound = true }
        return candidate.isFound ? nil : keyFrame
    }

    /// Keeps the parameter sets of a packet; answers whether it has IDR slices, and whether it had parameter sets.
    private mutating func rememberParameterSets(
        at position: Int64, _ sequence: Int64, in log: borrowing PacketLog
    ) -> (hasIDR: Bool, hasSets: Bool) {
        let payload = Span<UInt8>(_unsafeBytes: log.payload(at: position))
        var reader = H264PayloadReader()
        var hasIDR = false
        var sets = 0
        while let unit = reader.next(in: payload) {
            unitsRead &+= 1
            if unit.type == H264NALUnit.idrSlice {
                hasIDR = true
            } else if H264NALUnit.isParameterSet(unit.type), sets < Self.mostSetsOfPacket {
                sets += 1
                if unit.isWhole {
                    parameterSets.remember(payload.extracting(unit.range), order: sequence)
                } else if let set = Self.joinFragments(around: sequence, unit.type, in: log) {
                    parameterSets.remember(set.span, order: sequence)
                }
            }
        }
        return (hasIDR, sets > 0)
    }

    /// The parameter set of which a packet is a fragment; nil while fragments are missing.
    private static func joinFragments(around sequence: Int64, _ type: UInt8, in log: borrowing PacketLog) -> [UInt8]? {
        /// Header bytes of a fragment of that type.
        func fragment(_ sequence: Int64) -> (position: Int64, indicator: UInt8, header: UInt8)? {
            guard let position = log.position(ofSequence: sequence) else { return nil }
            let payload = log.payload(at: position)
            guard payload.count > 2, payload[0] & H264NALUnit.typeMask == H264NALUnit.fuA,
                payload[1] & H264NALUnit.typeMask == type
            else { return nil }
            return (position, payload[0], payload[1])
        }
        var first = sequence
        while let part = fragment(first), part.header & H264NALUnit.fragmentStart == 0 {
            first -= 1
            guard sequence - first < longestFragmentation else { return nil }
        }
        guard let start = fragment(first) else { return nil }
        var unit = [start.indicator & ~H264NALUnit.typeMask | type]
        for next in first..<first + longestFragmentation {
            guard let part = fragment(next), next == first || part.header & H264NALUnit.fragmentStart == 0 else {
                return nil
            }
            unit += log.payload(at: part.position)[2...]
            guard unit.count <= H264ParameterSets.maximumSize else { return nil }
            if part.header & H264NALUnit.fragmentEnd != 0 { return unit }
        }
        return nil
    }

    /// Where the candidate begins, if it is known and a decoder can begin there.
    private mutating func find(_ now: Instant, in log: inout PacketLog) -> KeyFrame? {
        guard var frame = candidate else { return nil }
        while let before = log.position(ofSequence: frame.first - 1), log[before].timestamp == frame.timestamp {
            frame.first -= 1
        }
        candidate = frame
        guard let position = log.position(ofSequence: frame.first) else {
            candidate = nil
            return nil
        }
        guard let head = head(from: frame.first, frame.timestamp, in: log) else { return nil }
        let isKnownFirst = log.position(ofSequence: frame.first - 1) != nil || head.beginsFrame
        guard isKnownFirst || now - frame.since >= Self.longestWait else { return nil }
        if head.hasSets { return note(at: position, parameterSets.dimensions(head.picture), in: &log) }
        guard head.picture.map(parameterSets.contains) ?? parameterSets.isComplete else { return nil }
        return insertParameterSets(before: position, head, now, in: &log)
    }

    /// What stands before the first IDR slice of a frame.
    private struct Head {
        /// The picture parameter set that the slice refers to; nil where that cannot be read.
        var picture: UInt32?
        /// Whether the parameter sets are among its packets, and in an order in which they can be read.
        var hasSets = false
        /// Whether its first packet begins a frame by what it is, so that none can be missing before it.
        var beginsFrame = false
        /// Whether its first packet is an access unit delimiter and nothing else.
        var isDelimited = false
    }

    /// Nil where the IDR picture's first slice is missing.
    private mutating func head(from first: Int64, _ timestamp: UInt32, in log: borrowing PacketLog) -> Head? {
        var head = Head()
        let mostUnits = unitsRead &+ Self.mostUnitsOfHead
        var sequenceSets: UInt32 = 0
        /// Picture parameter sets behind their sequence parameter sets.
        var pictureSets = SIMD4<UInt64>()
        for sequence in first..<first + Self.longestHead {
            guard let position = log.position(ofSequence: sequence), log[position].timestamp == timestamp else {
                return nil
            }
            let payload = Span<UInt8>(_unsafeBytes: log.payload(at: position))
            var reader = H264PayloadReader()
            while let unit = reader.next(in: payload) {
                guard unitsRead != mostUnits else { return nil }
                unitsRead &+= 1
                if sequence == first, unit.range.lowerBound <= 3 { Self.note(first: unit, payload, &head) }
                switch unit.type {
                case H264NALUnit.sequenceParameterSet, H264NALUnit.pictureParameterSet:
                    guard unit.isWhole, let set = H264ParameterSetID(payload.extracting(unit.range)) else { continue }
                    if set.isSequence {
                        sequenceSets |= 1 << set.id
                    } else if sequenceSets & 1 << set.sequenceID != 0 {
                        pictureSets[Int(set.id >> 6)] |= 1 << UInt64(set.id & 63)
                    }
                case H264NALUnit.idrSlice:
                    guard unit.isStart, KeyFrameDetector.isFirstSlice(payload, at: unit.body) else { return nil }
                    head.picture = H264ParameterSetID.ofSlice(payload, at: unit.body)
                    if let picture = head.picture, parameterSets.contains(picture) {
                        head.hasSets = pictureSets[Int(picture >> 6)] & 1 << UInt64(picture & 63) != 0
                    } else {
                        // A slice that refers to nothing known is taken to refer to what it comes with.
                        head.hasSets = pictureSets != SIMD4()
                    }
                    return head
                default: break
                }
            }
        }
        return nil
    }

    private static func note(first unit: H264PayloadReader.Unit, _ payload: Span<UInt8>, _ head: inout Head) {
        switch unit.type {
        case H264NALUnit.accessUnitDelimiter:
            head.beginsFrame = true
            head.isDelimited = unit.range == 0..<payload.count
        case H264NALUnit.sequenceParameterSet: head.beginsFrame = unit.isStart
        default: break
        }
    }

    /// Appends the parameter sets to the log, with the timestamp of the key frame that needs them.
    private func insertParameterSets(
        before position: Int64, _ head: Head, _ now: Instant, in log: inout PacketLog
    ) -> KeyFrame? {
        let (sequence, timestamp) = (log[position].sequence, log[position].timestamp)
        let first = log.end
        for payload in parameterSets.payloads(aggregates: aggregates) {
            let appended = payload.withUnsafeBytes {
                log.appendUnnumbered(timestamp: timestamp, arrival: now, payload: $0)
            }
            guard appended != nil else { return nil }
        }
        // A delimiter behind parameter sets would end the access unit that they are of: it is left out.
        let begin = head.isDelimited ? sequence + 1 : sequence
        guard let position = log.position(ofSequence: begin) else { return nil }
        return note(at: position, parameterSets.dimensions(head.picture), sets: first..<log.end, in: &log)
    }
}
