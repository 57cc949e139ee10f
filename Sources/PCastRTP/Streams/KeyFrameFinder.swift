package import PCastCore

/// Finds the key frames in the packet log of a track, and keeps the parameter sets that they need.
///
/// An H.264 key frame consists of the packets with one timestamp that contain an IDR slice, if its parameter sets are
/// among them or known; one of H.265, of those that contain a slice of a random access point. It begins with the first
/// packet with this timestamp. Parameter sets before other frames are not a key frame. The parameter sets that a key
/// frame lacks are appended to the log for viewers that begin with it.
///
/// Only packets with such slices or parameter sets are parsed; of others a few bytes are read.
package struct KeyFrameFinder: Sendable {
    /// A key frame in the log.
    package struct KeyFrame: Hashable, Sendable {
        /// The position of its first packet in the log.
        package let position: Int64
        /// The format of the video; nil if the key frame does not contain it.
        package let video: CodecParameters?
    }

    /// The newest frame with a slice of a random access point.
    private struct Candidate {
        /// The timestamp of the frame.
        let timestamp: UInt32
        /// The lowest known sequence number of its packets without a gap after it.
        var first: Int64
        /// The arrival time of its first slice of a random access point.
        let since: Instant
        /// Whether the frame was returned as a key frame.
        var isFound = false
        /// Whether the packet before it was awaited for the maximum time, and the frame was examined after that.
        var hasWaited = false
    }

    /// The maximum waiting time for the packet before an IDR slice, which may belong to the frame: about the duration
    /// of a retransmission.
    private static let longestWait = TimeSpan.milliseconds(100)
    /// The maximum waiting time for parameter sets.
    private static let longestLack = TimeSpan.seconds(1 as Int64)
    /// The maximum number of packets before the first IDR slice of a frame.
    private static let longestHead: Int64 = 64
    /// The maximum number of NAL units of these packets that are examined. A packet that aggregates may have hundreds.
    private static let maximumUnitsOfHead = 256
    /// The maximum number of parameter sets of one packet that are kept.
    private static let maximumSetsOfPacket = 8
    /// The maximum number of fragments of a parameter set.
    private static let longestFragmentation: Int64 = 16

    /// The parameter sets of the stream.
    package private(set) var parameterSets = VideoParameterSets()
    /// Whether parameter sets may be aggregated in a packet.
    private let aggregates: Bool
    /// The newest frame with a slice of a random access point; nil if there is none.
    private var candidate: Candidate?
    /// The number of NAL units that were examined.
    private(set) var unitsRead = 0

    /// Creates a finder for a track.
    ///
    /// - Parameters:
    ///   - parameterSets: The NAL units of the parameter sets in the session description (`sprop-parameter-sets`).
    ///   - aggregates: Whether parameter sets may be aggregated in a packet (`packetization-mode=1`).
    package init(parameterSets: [[UInt8]] = [], aggregates: Bool = true) {
        self.aggregates = aggregates
        for set in parameterSets { self.parameterSets.h264.remember(set.span, order: .min) }
    }

    /// Replaces the parameter sets by those that another shard knows.
    package mutating func begin(with parameterSets: VideoParameterSets) { self.parameterSets = parameterSets }

    /// Discards the current frame, because the source has restarted or is paused. The parameter sets stay valid.
    package mutating func discardKeyFrame() { candidate = nil }

    /// Evaluates the newest packet of the log. Returns the key frame that it completes; nil if there is none.
    @inline(__always)
    package mutating func appended(_ codec: Codec, to log: inout PacketLog) -> KeyFrame? {
        let payload = log.payload(at: log.end - 1)
        switch codec {
        case .opus: return nil
        case .vp8: return appendedWhole(.vp8, payload, to: &log)
        case .vp9:
            guard let first = payload.first, VP9PayloadDescriptor.mayStartKeyFrame(first) else { return nil }
            return appendedWhole(.vp9, payload, to: &log)
        case .av1:
            guard AV1PayloadReader.mayStartKeyFrame(payload) else { return nil }
            return appendedWhole(.av1, payload, to: &log)
        case .h264:
            if Self.isPlainSlice(payload), candidate?.isFound ?? true { return nil }
            return appendedUnits(isH265: false, to: &log)
        case .h265:
            if Self.isPlainH265Slice(payload), candidate?.isFound ?? true { return nil }
            return appendedUnits(isH265: true, to: &log)
        }
    }

    /// Returns whether a payload contains only a slice of a frame other than an IDR picture, or nothing.
    @inline(__always)
    private static func isPlainSlice(_ payload: ByteView) -> Bool {
        guard payload.count > 1 else { return payload.isEmpty }
        switch payload[0] & H264NALUnit.typeMask {
        case H264NALUnit.nonIDRSlice: return true
        case H264NALUnit.fuA: return payload[1] & H264NALUnit.typeMask == H264NALUnit.nonIDRSlice
        default: return false
        }
    }

    /// Returns whether a payload of H.265 contains only a slice that begins no random access point, or nothing.
    @inline(__always)
    private static func isPlainH265Slice(_ payload: ByteView) -> Bool {
        guard payload.count > 3 else { return payload.isEmpty }
        let type = H265NALUnit.type(payload[0])
        if type == H265NALUnit.fragmentation { return payload[2] & 0x3F < H265NALUnit.randomAccess.lowerBound }
        return type < H265NALUnit.randomAccess.lowerBound
    }

    /// Evaluates a packet of a codec whose key frames need no preceding packets. Returns the key frame that it begins;
    /// nil if there is none.
    private func appendedWhole(_ codec: Codec, _ payload: ByteView, to log: inout PacketLog) -> KeyFrame? {
        let bytes = payload.span
        guard KeyFrameDetector.startsKeyFrame(codec: codec, payload: bytes) else { return nil }
        return note(at: log.end - 1, KeyFrameDetector.video(codec: codec, payload: bytes), in: &log)
    }

    /// Marks a key frame in the log, and returns it; nil if its packets arrived after those of a newer key frame.
    private func note(
        at position: Int64, _ video: CodecParameters?, sets: Range<Int64> = 0..<0, in log: inout PacketLog
    ) -> KeyFrame? {
        let entry = log[position]
        if let newest = log.newestKeyFrame, log[newest].sequence > entry.sequence,
            log[newest].timestamp != entry.timestamp
        {
            return nil
        }
        log.noteKeyFrame(at: position, sets: sets)
        return KeyFrame(position: position, video: video)
    }

    // MARK: H.264 and H.265

    /// Evaluates a packet of H.264 or H.265. Returns the key frame that it completes; nil if there is none.
    @inline(never)
    private mutating func appendedUnits(isH265: Bool, to log: inout PacketLog) -> KeyFrame? {
        let position = log.end - 1
        let (sequence, timestamp, arrival) = (log[position].sequence, log[position].timestamp, log[position].arrival)
        let (hasIDR, hasSets) = rememberParameterSets(isH265: isH265, at: position, sequence, in: log)
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
            // Another packet does not change the result of the last search.
            let isOfHead =
                candidate.timestamp == timestamp && sequence >= candidate.first
                && sequence - candidate.first < Self.longestHead
            let endsWait = !candidate.hasWaited && arrival - candidate.since >= Self.longestWait
            guard isOfHead || hasSets || endsWait || sequence == candidate.first - 1 else { return nil }
            if endsWait { self.candidate?.hasWaited = true }
        }
        guard let keyFrame = find(arrival, isH265: isH265, in: &log) else { return nil }
        // The same key frame with an earlier beginning is not returned again.
        defer { self.candidate?.isFound = true }
        return candidate.isFound ? nil : keyFrame
    }

    /// Keeps the parameter sets of a packet, and returns whether the packet contains a slice of a random access point.
    private mutating func rememberParameterSets(
        isH265: Bool, at position: Int64, _ sequence: Int64, in log: borrowing PacketLog
    ) -> (hasIDR: Bool, hasSets: Bool) {
        let payload = log.payload(at: position).span
        var reader = VideoUnitReader(isH265: isH265)
        var hasIDR = false
        var sets = 0
        while let unit = reader.next(in: payload) {
            unitsRead &+= 1
            if unit.kind == .randomAccess {
                hasIDR = true
            } else if unit.kind == .parameterSet, sets < Self.maximumSetsOfPacket {
                sets += 1
                if unit.isWhole {
                    parameterSets.remember(payload.extracting(unit.range), isH265: isH265, order: sequence)
                } else if let set = Self.joinFragments(isH265: isH265, around: sequence, unit.type, in: log) {
                    parameterSets.remember(set.span, isH265: isH265, order: sequence)
                }
            }
        }
        return (hasIDR, sets > 0)
    }

    /// Returns the parameter set of which a packet is a fragment; nil if fragments are missing.
    private static func joinFragments(
        isH265: Bool, around sequence: Int64, _ type: UInt8, in log: borrowing PacketLog
    ) -> [UInt8]? {
        /// Returns the position and the fragment of that type; nil if the packet is none.
        func fragment(_ sequence: Int64) -> (position: Int64, unit: VideoUnitReader.Unit)? {
            guard let position = log.position(ofSequence: sequence) else { return nil }
            var reader = VideoUnitReader(isH265: isH265)
            guard let unit = reader.next(in: log.payload(at: position).span), !unit.isWhole, unit.type == type else {
                return nil
            }
            return (position, unit)
        }
        var first = sequence
        while let part = fragment(first), !part.unit.isStart {
            first -= 1
            guard sequence - first < longestFragmentation else { return nil }
        }
        guard let start = fragment(first) else { return nil }
        var unit = VideoUnitReader.header(ofFragmented: type, isH265: isH265, log.payload(at: start.position))
        for next in first..<first + longestFragmentation {
            guard let part = fragment(next), next == first || !part.unit.isStart else { return nil }
            let payload = log.payload(at: part.position)
            unit += payload[part.unit.range]
            guard unit.count <= H264ParameterSets.maximumSize else { return nil }
            // The FU header is the last byte before the fragment, and has the same end bit in both codecs.
            if payload[part.unit.range.lowerBound - 1] & H264NALUnit.fragmentEnd != 0 { return unit }
        }
        return nil
    }

    /// Returns the key frame if its beginning is known and it can be decoded; nil otherwise.
    private mutating func find(_ now: Instant, isH265: Bool, in log: inout PacketLog) -> KeyFrame? {
        guard var frame = candidate else { return nil }
        while let before = log.position(ofSequence: frame.first - 1), log[before].timestamp == frame.timestamp {
            frame.first -= 1
        }
        candidate = frame
        guard let position = log.position(ofSequence: frame.first) else {
            candidate = nil
            return nil
        }
        guard let head = head(from: frame.first, frame.timestamp, isH265: isH265, in: log) else { return nil }
        let isKnownFirst = log.position(ofSequence: frame.first - 1) != nil || head.beginsFrame
        guard isKnownFirst || now - frame.since >= Self.longestWait else { return nil }
        if head.hasSets {
            return note(at: position, parameterSets.video(head.pictureSetID, isH265: isH265), in: &log)
        }
        guard parameterSets.suffice(for: head.pictureSetID, isH265: isH265) else { return nil }
        return insertParameterSets(before: position, head, now, isH265: isH265, in: &log)
    }

    /// The units before the first slice of a frame, which is that of a random access point.
    private struct Head {
        /// The picture parameter set that the slice refers to; nil if it cannot be parsed.
        var pictureSetID: UInt32?
        /// Whether the needed parameter sets are among the units in a valid order.
        var hasSets = false
        /// Whether the first unit can only be at the beginning of a frame, so that no packet is missing before it.
        var beginsFrame = false
        /// Whether the first packet contains only an access unit delimiter.
        var isDelimited = false
    }

    /// Returns the units before the first slice of a frame; nil if a packet before that slice is missing.
    private mutating func head(
        from first: Int64, _ timestamp: UInt32, isH265: Bool, in log: borrowing PacketLog
    ) -> Head? {
        var head = Head()
        let maximumUnits = unitsRead &+ Self.maximumUnitsOfHead
        /// A bit for each video parameter set; H.264 has none.
        var videoSets: UInt32 = isH265 ? 0 : .max
        /// A bit for each sequence parameter set that follows its video parameter set.
        var sequenceSets: UInt32 = 0
        /// A bit for each picture parameter set that follows its sequence parameter set.
        var pictureSets = SIMD4<UInt64>()
        for sequence in first..<first + Self.longestHead {
            guard let position = log.position(ofSequence: sequence), log[position].timestamp == timestamp else {
                return nil
            }
            let payload = log.payload(at: position).span
            var reader = VideoUnitReader(isH265: isH265)
            while let unit = reader.next(in: payload) {
                guard unitsRead != maximumUnits else { return nil }
                unitsRead &+= 1
                if sequence == first, unit.range.lowerBound <= 4 { Self.note(first: unit, payload, &head) }
                switch unit.kind {
                case .parameterSet:
                    guard unit.isWhole, let set = unit.setID(in: payload, isH265: isH265) else { continue }
                    switch set.kind {
                    case .video: videoSets |= 1 << set.id
                    case .sequence where videoSets & 1 << set.parentID != 0: sequenceSets |= 1 << set.id
                    case .picture where sequenceSets & 1 << set.parentID != 0:
                        pictureSets[Int(set.id >> 6)] |= 1 << UInt64(set.id & 63)
                    case .sequence, .picture: break
                    }
                case .randomAccess:
                    guard unit.isStart, KeyFrameDetector.isFirstSlice(payload, at: unit.body) else { return nil }
                    head.pictureSetID =
                        isH265
                        ? H265ParameterSetID.ofSlice(payload, at: unit.body)
                        : H264ParameterSetID.ofSlice(payload, at: unit.body)
                    if let pictureSetID = head.pictureSetID, parameterSets.contains(pictureSetID, isH265: isH265) {
                        head.hasSets = pictureSets[Int(pictureSetID >> 6)] & 1 << UInt64(pictureSetID & 63) != 0
                    } else {
                        // A slice that refers to an unknown set is assumed to refer to one of its own frame.
                        head.hasSets = pictureSets != SIMD4()
                    }
                    return head
                case .delimiter, .other: break
                }
            }
        }
        return nil
    }

    /// Evaluates the first unit of a frame.
    private static func note(first unit: VideoUnitReader.Unit, _ payload: Span<UInt8>, _ head: inout Head) {
        if unit.kind == .delimiter {
            head.beginsFrame = true
            head.isDelimited = unit.range == 0..<payload.count
        } else if unit.isFirstSet {
            head.beginsFrame = unit.isStart
        }
    }

    /// Appends the parameter sets to the log with the timestamp of a key frame that lacks them, and returns the key
    /// frame.
    private func insertParameterSets(
        before position: Int64, _ head: Head, _ now: Instant, isH265: Bool, in log: inout PacketLog
    ) -> KeyFrame? {
        let (sequence, timestamp) = (log[position].sequence, log[position].timestamp)
        let first = log.end
        for payload in parameterSets.payloads(aggregates: aggregates, isH265: isH265) {
            let appended = payload.withByteView {
                log.appendUnnumbered(timestamp: timestamp, arrival: now, payload: $0)
            }
            guard appended != nil else { return nil }
        }
        // A delimiter after the parameter sets would begin another access unit, so it is omitted.
        let begin = head.isDelimited ? sequence + 1 : sequence
        guard let position = log.position(ofSequence: begin) else { return nil }
        return note(
            at: position, parameterSets.video(head.pictureSetID, isH265: isH265), sets: first..<log.end, in: &log)
    }
}
