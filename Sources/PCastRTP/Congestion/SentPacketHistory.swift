import PCastMedia

/// What left along a transport and may still be reported on, by its transport-wide number, in bounded memory.
///
/// It begins empty, and grows with the rate and the wait for reports, to hold what was not reported on of the packets of
/// the last `reach`, at most `maximumCapacity` of them. A report on a packet that is forgotten, or was never sent, says
/// nothing (CC3).
struct SentPacketHistory: Sendable {
    /// A packet as it left.
    struct Packet: Hashable, Sendable {
        var sentAt: Instant
        /// Bytes on the wire.
        var size: Int
        /// Bytes that left just before it without a number.
        var unnumberedSize: Int
        /// The probe that it belongs to; 0 for none.
        var cluster: UInt16
    }

    /// What a report is the first to say of a packet.
    enum News: Hashable, Sendable {
        case arrived(Packet)
        /// It was reported missing before.
        case arrivedAfterAll(Packet)
        case lost(Packet)

        var packet: Packet {
            switch self {
            case .arrived(let packet), .arrivedAfterAll(let packet), .lost(let packet): packet
            }
        }
    }

    private enum State: UInt8 {
        /// No report yet: it is neither lost nor arrived (CC4).
        case unknown, lost, arrived
    }

    /// 16 bytes, as each viewer of a relay has some hundreds.
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

    /// How long a packet is remembered, while there is room.
    static let reach = TimeSpan.seconds(Int64(2))
    static let maximumCapacity = 4096
    private static let initialCapacity = 128

    private var entries: [Entry] = []
    private var mask: Int64 = 0
    /// Numbers are consecutive, and unwrapped by being counted.
    private var newest: Int64 = -1
    private var oldest: Int64 = 0
    private var unnumberedSize = 0
    /// Behind the last one that was reported on.
    private var reportedEnd: Int64 = 0

    /// Packets remembered.
    var count: Int { newest < 0 ? 0 : Int(newest - oldest + 1) }
    var capacity: Int { entries.count }

    /// The first of the entries; nil of none. How many there are is not asked: that stands beside them, and would be
    /// waited for.
    var records: UnsafeRawPointer? {
        mutating get {
            guard newest >= 0 else { return nil }
            return entries.withUnsafeBufferPointer { $0.baseAddress.map { UnsafeRawPointer($0) } }
        }
    }

    /// Where the next packet is noted; nil before the first.
    var nextRecord: UnsafeRawPointer? {
        mutating get { records.map { $0 + Int((newest + 1) & mask) * MemoryLayout<Entry>.stride } }
    }

    /// What the next report is about, as far as can be known: at most so many bytes.
    mutating func bringReportedNear(_ count: Int, by bring: (_ start: UnsafeRawPointer, _ count: Int) -> Void) {
        guard let records else { return }
        let offset = Int(max(reportedEnd, oldest) & mask) * MemoryLayout<Entry>.stride
        bring(records + offset, min(count, Int(mask + 1) * MemoryLayout<Entry>.stride - offset))
    }

    /// Notes a packet that has no number, as a stream's whose section did not agree on any.
    mutating func sentUnnumbered(size: Int) { unnumberedSize += size }

    mutating func sent(_ number: UInt16, size: Int, cluster: UInt16, at now: Instant) {
        if newest < 0 {
            newest = Int64(number) + (1 << 32) - 1
            oldest = newest + 1
        }
        let index = newest + Int64(UInt16(truncatingIfNeeded: Int64(number) &- newest))
        // Numbers that were passed over were never sent.
        if index != newest + 1 { oldest = index }
        if count == entries.count, entries.isEmpty || entries[Int(oldest & mask)].state == .unknown {
            makeRoom(at: now)
        }
        if index - oldest >= Int64(entries.count) { oldest = index - Int64(entries.count) + 1 }
        newest = index
        entries[Int(index & mask)] = Entry(
            sentAt: now, size: UInt16(clamping: size), unnumberedSize: UInt16(clamping: unnumberedSize),
            cluster: cluster, state: .unknown)
        unnumberedSize = 0
    }

    private mutating func makeRoom(at now: Instant) {
        // What was reported on makes room; each viewer of a relay has one of these.
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

    /// What a report says of a packet for the first time; nil for what is known already, or never was.
    mutating func report(_ number: UInt16, arrived: Bool) -> News? {
        guard newest >= 0 else { return nil }
        let index = newest - Int64(UInt16(truncatingIfNeeded: newest &- Int64(number)))
        guard index >= oldest else { return nil }
        reportedEnd = index + 1
        let place = Int(index & mask)
        switch (entries[place].state, arrived) {
        case (.unknown, true):
            entries[place].state = .arrived
            return .arrived(entries[place].packet)
        case (.lost, true):
            entries[place].state = .arrived
            return .arrivedAfterAll(entries[place].packet)
        case (.unknown, false):
            entries[place].state = .lost
            return .lost(entries[place].packet)
        default: return nil
        }
    }
}
