import PCastCore

/// The packets that were sent on a transport and may still be reported, by transport-wide sequence number, in bounded
/// memory.
///
/// It is empty at first and grows with the rate and the delay of reports. It holds the packets of the last `reach` that
/// were not reported, at most `maximumCapacity`. Reports about other packets are ignored.
struct SentPacketHistory: Sendable {
    struct Packet: Hashable, Sendable {
        /// The time at which the packet was sent.
        var sentAt: Instant
        /// The size in bytes, including IP and UDP headers.
        var size: Int
        /// The size of packets without a number that were sent just before it.
        var unnumberedSize: Int
        /// The ID of the probe that the packet belongs to; 0 for none.
        var cluster: UInt16
    }

    /// The first report about a packet.
    enum FirstReport: Hashable, Sendable {
        /// The packet has arrived.
        case arrived(Packet)
        /// The packet has arrived after it was reported lost.
        case arrivedAfterAll(Packet)
        /// The packet is lost.
        case lost(Packet)

        /// The packet that is reported.
        var packet: Packet {
            switch self {
            case .arrived(let packet), .arrivedAfterAll(let packet), .lost(let packet): packet
            }
        }
    }

    /// The reported state of a packet.
    private enum State: UInt8 {
        /// No report has covered the packet.
        case unknown, lost, arrived
    }

    /// A packet in 16 bytes, because there are some hundred for each viewer of the SFU.
    private struct Entry {
        var sentAt: Instant
        var size: UInt16
        var unnumberedSize: UInt16
        var cluster: UInt16
        var state: State

        var packet: Packet {
            Packet(sentAt: sentAt, size: Int(size), unnumberedSize: Int(unnumberedSize), cluster: cluster)
        }
    }

    /// The time for which a packet is remembered, if there is space.
    static let reach = TimeSpan.seconds(Int64(2))
    /// The maximum number of packets.
    static let maximumCapacity = 4096
    /// The number of packets for which memory is first allocated.
    private static let initialCapacity = 128

    /// The packets, as a ring whose size is a power of two.
    private var entries: [Entry] = []
    private var mask: Int64 = 0
    /// The unwrapped number of the newest packet. Numbers are consecutive.
    private var newest: Int64 = -1
    /// The unwrapped number of the oldest packet.
    private var oldest: Int64 = 0
    /// The size of packets without a number since the last one with a number.
    private var unnumberedSize = 0
    /// The number after the last reported packet.
    private var reportedEnd: Int64 = 0

    /// The number of remembered packets.
    var count: Int { newest < 0 ? 0 : Int(newest - oldest + 1) }
    /// The number of packets for which memory is allocated.
    var capacity: Int { entries.count }

    /// The memory of the entries; nil if there is none. It does not access the header of the array, which may not be in
    /// the cache.
    var records: AddressRange? {
        mutating get { newest < 0 ? nil : AddressRange(elementsOf: entries, count: Int(mask + 1)) }
    }

    /// The memory from the entry for the next packet on; nil before the first one.
    var nextRecord: AddressRange? {
        mutating get { records.map { $0.dropping(Int((newest + 1) & mask) * MemoryLayout<Entry>.stride) } }
    }

    /// The memory from the first entry on that the next report probably concerns; nil before the first one.
    var reportedRecords: AddressRange? {
        mutating get { records.map { $0.dropping(Int(max(reportedEnd, oldest) & mask) * MemoryLayout<Entry>.stride) } }
    }

    /// Records a packet without a number, whose media section has not negotiated the header extension.
    mutating func sentUnnumbered(size: Int) { unnumberedSize += size }

    /// Records a packet with its transport-wide sequence number.
    mutating func sent(_ number: UInt16, size: Int, cluster: UInt16, at now: Instant) {
        if newest < 0 {
            newest = Int64(number) + (1 << 32) - 1
            oldest = newest + 1
        }
        let index = newest + Int64(UInt16(truncatingIfNeeded: Int64(number) &- newest))
        // Numbers between were never sent.
        if index != newest + 1 { oldest = index }
        if count == entries.count, entries.isEmpty || entries[Int(oldest & mask)].state == .unknown {
            makeSpace(at: now)
        }
        if index - oldest >= Int64(entries.count) { oldest = index - Int64(entries.count) + 1 }
        newest = index
        entries[Int(index & mask)] = Entry(
            sentAt: now, size: UInt16(clamping: size), unnumberedSize: UInt16(clamping: unnumberedSize),
            cluster: cluster, state: .unknown)
        unnumberedSize = 0
    }

    /// Grows the ring if the oldest packet was neither reported nor sent more than `reach` ago.
    private mutating func makeSpace(at now: Instant) {
        // Reported packets are overwritten instead, because each viewer of the SFU has a history.
        if !entries.isEmpty, now - entries[Int(oldest & mask)].sentAt >= Self.reach { return }
        guard entries.count < Self.maximumCapacity else { return }
        let capacity = entries.isEmpty ? Self.initialCapacity : 2 * entries.count
        let blank = Entry(sentAt: now, size: 0, unnumberedSize: 0, cluster: 0, state: .arrived)
        var grown = [Entry](repeating: blank, count: capacity)
        for index in oldest..<max(oldest, newest + 1) {
            grown[Int(index) & (capacity - 1)] = entries[Int(index & mask)]
        }
        entries = grown
        mask = Int64(capacity - 1)
    }

    /// Returns the report of a packet if it is new; nil if it was reported before, or the packet is unknown.
    mutating func report(_ number: UInt16, arrived: Bool) -> FirstReport? {
        guard newest >= 0 else { return nil }
        let index = newest - Int64(UInt16(truncatingIfNeeded: newest &- Int64(number)))
        guard index >= oldest else { return nil }
        reportedEnd = index + 1
        let slot = Int(index & mask)
        switch (entries[slot].state, arrived) {
        case (.unknown, true):
            entries[slot].state = .arrived
            return .arrived(entries[slot].packet)
        case (.lost, true):
            entries[slot].state = .arrived
            return .arrivedAfterAll(entries[slot].packet)
        case (.unknown, false):
            entries[slot].state = .lost
            return .lost(entries[slot].packet)
        default: return nil
        }
    }
}
