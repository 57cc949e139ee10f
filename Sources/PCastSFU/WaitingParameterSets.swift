import PCastCore
import PCastRTP

/// Parameter sets that wait for the packet behind them, and are sent on with its timestamp.
///
/// They belong to the next picture (ITU-T H.264, section 7.4.1.2.3). Some senders give them the timestamp of the picture before,
/// or one of their own. Receivers take that for a frame without a picture, and Chromium asks for a key frame then.
/// The packet behind them mostly comes at once. A viewer without it has no use for them.
struct WaitingParameterSets {
    /// A packet that waits. Its payload stands in the log, as an entry that nobody is sent.
    struct Packet {
        var entry: PacketLog.Entry
        let position: Int64
    }

    /// Of an access unit: a delimiter, some parameter sets and some supplemental information. All go on when there are more.
    private static let maximumCount = 8

    private var packets: [Packet] = []

    /// Whether a packet of that number waits.
    func contains(_ sequence: Int64) -> Bool {
        guard !packets.isEmpty else { return false }
        return packets.contains { $0.entry.sequence == sequence }
    }

    mutating func removeAll() { packets.removeAll(keepingCapacity: true) }

    /// Keeps a packet if it is to wait; answers whether it is.
    mutating func keep(_ entry: PacketLog.Entry, payload: UnsafeRawBufferPointer, in log: inout PacketLog) -> Bool {
        guard KeyFrameDetector.precedesPicture(payload), packets.count < Self.maximumCount,
            let position = log.appendUnnumbered(timestamp: entry.timestamp, arrival: entry.arrival, payload: payload)
        else { return false }
        if packets.capacity == 0 { packets.reserveCapacity(Self.maximumCount) }
        packets.append(Packet(entry: entry, position: position))
        return true
    }

    /// The next packet to be sent on before another one; nil when there is none more.
    mutating func next(before entry: PacketLog.Entry, in log: inout PacketLog) -> Packet? {
        guard !packets.isEmpty,
            let index = packets.indices.min(by: { packets[$0].entry.sequence < packets[$1].entry.sequence }),
            packets[index].entry.sequence < entry.sequence
        else { return nil }
        let behind = packets[index].entry.sequence + Int64(packets.count)
        var packet = packets.remove(at: index)
        guard packet.position >= log.start else { return next(before: entry, in: &log) }
        // Where something is missing between them, nobody knows whose they are.
        if behind >= entry.sequence {
            packet.entry.timestamp = entry.timestamp
            packet.entry.marker = false
        }
        packet.entry.arrival = entry.arrival
        return packet
    }
}
