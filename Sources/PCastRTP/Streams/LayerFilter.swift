import PCastCore

/// The layers of a stream with layers in one SSRC that one receiver gets.
///
/// Layers are lowered between two coded pictures, which is always possible, because a receiver gets all lower layers.
/// Temporal layers are raised where the stream allows it. Spatial layers are raised at a key frame.
struct LayerFilter: Hashable, Sendable {
    /// The operating point that the receiver should get.
    private(set) var wanted = OperatingPoint.all
    /// The operating point that it gets.
    private(set) var current = OperatingPoint.all
    /// Whether packets are left out, or may have been since the last beginning.
    private(set) var isActive = false
    /// The newest packet that was considered, by the source's sequence number.
    private var newest: Int64 = .min
    /// The timestamp of the coded picture of this packet; nil before the first.
    private var timestamp: UInt32?
    /// Whether this packet was left out.
    private var leftOut = false

    /// Whether a key frame is needed for the wanted spatial layer.
    var needsKeyFrame: Bool { wanted.spatial > current.spatial }

    /// Sets the wanted operating point.
    ///
    /// - Parameters:
    ///   - point: The operating point.
    ///   - sequence: The newest packet that was sent.
    ///   - timestamp: The timestamp of the coded picture to which it belongs, if that is incomplete; otherwise nil.
    mutating func select(_ point: OperatingPoint, after sequence: Int64, within timestamp: UInt32?) {
        wanted = point
        guard !isActive, point != current else { return }
        isActive = true
        newest = sequence
        self.timestamp = timestamp
        leftOut = false
    }

    /// Begins with a key frame.
    mutating func begin(at sequence: Int64) {
        current = wanted
        isActive = wanted != .all
        newest = sequence - 1
        timestamp = nil
        leftOut = false
    }

    /// The decision about a packet.
    enum Decision: Hashable {
        /// It is sent.
        case send
        /// It is left out, with this number of packets before it that are missing and belong to the same frame.
        case leaveOut(missing: Int64, beginsTemporalUnit: Bool)
        /// It arrived after later packets.
        case late
    }

    /// Decides about a packet.
    mutating func decide(_ entry: Reference<PacketLog.Entry>) -> Decision {
        let sequence = entry.pointee.sequence
        guard sequence > newest else { return .late }
        let beginsTemporalUnit = timestamp != entry.pointee.timestamp
        if beginsTemporalUnit { begin(picture: entry) }
        let layers = entry.pointee.layers
        guard layers.isKnown, !current.contains(layers.point) else {
            newest = sequence
            leftOut = false
            return .send
        }
        let missing = leftOut && !beginsTemporalUnit ? sequence - newest - 1 : 0
        newest = sequence
        leftOut = true
        return .leaveOut(missing: missing, beginsTemporalUnit: beginsTemporalUnit && layers.countsPictureIDs)
    }

    /// Changes the operating point with the first packet of a coded picture, if it can change there.
    private mutating func begin(picture entry: Reference<PacketLog.Entry>) {
        timestamp = entry.pointee.timestamp
        if entry.pointee.startsKeyFrame {
            current = wanted
            return
        }
        current = current.limited(to: wanted)
        let layers = entry.pointee.layers
        guard wanted.temporal > current.temporal, layers.isKnown, layers.point.spatial == 0 else { return }
        if layers.point.temporal <= current.temporal {
            current.temporal = max(current.temporal, min(wanted.temporal, layers.temporalReach))
        } else if layers.beginsTemporal, layers.point.temporal == current.temporal + 1 {
            // The frame may refer to every lower layer, so that none may be skipped.
            current.temporal += 1
        }
    }
}

/// The packets of a source that a receiver was not sent, so that the sequence numbers of the others have no gap.
///
/// It remembers the last ``capacity`` ranges, which is more than the packets that may be retransmitted need. Memory is
/// allocated with the first range.
struct SequenceCuts: Sendable {
    /// A range of packets that were left out.
    private struct Cut: Hashable, Sendable {
        /// The source's sequence numbers.
        var range: Range<Int64>
        /// The number of coded pictures that were left out and have to be invisible in the picture IDs.
        var pictures: UInt16
    }

    /// The packets that were left out after a packet.
    struct After: Hashable {
        /// The number of packets.
        var packets: Int64 = 0
        /// The number of coded pictures.
        var pictures: UInt16 = 0
    }

    /// The maximum number of ranges.
    static let capacity = 128

    private var cuts: [Cut] = []
    /// The index of the newest range.
    private var newest = 0
    /// Whether ranges were forgotten.
    private var isOverwritten = false

    /// Whether nothing was left out.
    var isEmpty: Bool { cuts.isEmpty }

    /// Adds packets after all others.
    mutating func append(_ range: Range<Int64>, pictures: UInt16) {
        if !cuts.isEmpty, cuts[newest].range.upperBound == range.lowerBound {
            cuts[newest] = Cut(
                range: cuts[newest].range.lowerBound..<range.upperBound, pictures: cuts[newest].pictures &+ pictures)
            return
        }
        let cut = Cut(range: range, pictures: pictures)
        guard cuts.count == Self.capacity else {
            if cuts.isEmpty { cuts.reserveCapacity(Self.capacity) }
            newest = cuts.count
            return cuts.append(cut)
        }
        isOverwritten = true
        newest = (newest + 1) % Self.capacity
        cuts[newest] = cut
    }

    /// Returns what was left out after a packet of the source; nil if the packet was left out, or is too old.
    func after(_ sequence: Int64) -> After? {
        var after = After()
        for distance in 0..<cuts.count {
            let cut = cuts[(newest + Self.capacity - distance) % Self.capacity]
            if sequence >= cut.range.upperBound { return after }
            if sequence >= cut.range.lowerBound { return nil }
            after.packets += Int64(cut.range.count)
            after.pictures &+= cut.pictures
        }
        return isOverwritten ? nil : after
    }

    /// Returns whether a packet of the source was left out.
    func contains(_ sequence: Int64) -> Bool {
        for distance in 0..<cuts.count {
            let cut = cuts[(newest + Self.capacity - distance) % Self.capacity]
            if sequence >= cut.range.upperBound { return false }
            if sequence >= cut.range.lowerBound { return true }
        }
        return false
    }

    /// Returns the source's sequence number of a packet, from the number that it would have if nothing was left out
    /// before it; nil if it is too old.
    func source(ofShifted sequence: Int64) -> Int64? {
        var sequence = sequence
        for distance in 0..<cuts.count {
            let cut = cuts[(newest + Self.capacity - distance) % Self.capacity]
            if sequence >= cut.range.upperBound { return sequence }
            sequence -= Int64(cut.range.count)
        }
        return isOverwritten ? nil : sequence
    }
}
