import PCastCore
import PCastRTP

/// H.264 parameter sets that wait for the next packet and are sent with its timestamp.
///
/// They belong to the next frame (ITU-T H.264, section 7.4.1.2.3). Some senders give them the timestamp of the frame
/// before, or one of their own. Receivers take this for a frame without a frame, and Chromium then requests a key
/// frame. The next packet usually follows at once. Without it, the parameter sets are of no use to a viewer.
struct WaitingParameterSets {
    /// A packet that waits. Its payload is in the log, in an entry that is not sent.
    struct Packet {
        var entry: PacketLog.Entry
        let position: Int64
    }

    /// The maximum number of waiting packets. An access unit starts with a delimiter, some parameter sets and some
    /// supplemental information. If there are more, all are sent.
    private static let maximumCount = 8

    private var packets: [Packet] = []

    /// Whether a packet with the sequence number waits.
    func contains(_ sequence: Int64) -> Bool {
        guard !packets.isEmpty else { return false }
        return packets.contains { $0.entry.sequence == sequence }
    }

    mutating func removeAll() { packets.removeAll(keepingCapacity: true) }

    /// Keeps a packet if it has to wait. Returns true if it was kept.
    mutating func keep(_ entry: PacketLog.Entry, payload: UnsafeRawBufferPointer, in log: inout PacketLog) -> Bool {
        guard KeyFrameDetector.precedesSlice(payload), packets.count < Self.maximumCount,
            let position = log.appendUnnumbered(timestamp: entry.timestamp, arrival: entry.arrival, payload: payload)
        else { return false }
        if packets.capacity == 0 { packets.reserveCapacity(Self.maximumCount) }
        packets.append(Packet(entry: entry, position: position))
        return true
    }

    /// Removes and returns the next packet to send before another one; nil if there is none.
    mutating func next(before entry: PacketLog.Entry, in log: inout PacketLog) -> Packet? {
        guard !packets.isEmpty,
            let index = packets.indices.min(by: { packets[$0].entry.sequence < packets[$1].entry.sequence }),
            packets[index].entry.sequence < entry.sequence
        else { return nil }
        let behind = packets[index].entry.sequence + Int64(packets.count)
        var packet = packets.remove(at: index)
        guard packet.position >= log.start else { return next(before: entry, in: &log) }
        // If packets are missing in between, the frame of the parameter sets is unknown.
        if behind >= entry.sequence {
            packet.entry.timestamp = entry.timestamp
            packet.entry.marker = false
        }
        packet.entry.arrival = entry.arrival
        return packet
    }
}
