public import PCastMedia

/// The outgoing history of one stream to one peer: what it may ask for again, and how often it gets it.
///
/// It is kept by outgoing number with all that a packet was sent with, so that a retransmission is what was lost and
/// not what today's mapping would make of it (NACK4).
public struct RetransmissionCache: ~Copyable {
    /// What to do about a number in a NACK.
    public enum Answer: Hashable, Sendable {
        /// Send this packet again; it counts as sent now.
        case resend(PacketCache.Packet)
        /// It left less than a round trip ago (NACK2).
        case tooSoon
        /// It never was, or is no longer, in the history.
        case unknown
    }

    /// How often each answer was given.
    public private(set) var resent: Int64 = 0
    public private(set) var tooSoon: Int64 = 0
    public private(set) var unknown: Int64 = 0

    private var cache: PacketCache
    private var limiter = ResendLimiter()

    /// `capacity` is a power of two.
    public init(capacity: Int = 1024, slotSize: Int = PacketCache.defaultSlotSize) {
        cache = PacketCache(capacity: capacity, slotSize: slotSize)
    }

    /// Copies in a packet that leaves now, at its `arrival`. One too large for a slot is not kept.
    public mutating func insert(_ packet: PacketCache.Packet, payload: UnsafeRawBufferPointer) {
        if cache.insert(packet, payload: payload) { limiter.sent(packet.sequence, at: packet.arrival) }
    }

    /// Answers a NACK for the packet that carried `sequenceNumber` last.
    public mutating func answer(_ sequenceNumber: UInt16, roundTrip: TimeSpan, at now: Instant) -> Answer {
        guard let packet = packet(sequenceNumber) else {
            unknown += 1
            return .unknown
        }
        guard limiter.mayResend(packet.sequence, roundTrip: roundTrip, at: now) else {
            tooSoon += 1
            return .tooSoon
        }
        limiter.sent(packet.sequence, at: now)
        resent += 1
        return .resend(packet)
    }

    /// The payload of a packet in the history; valid until the next change.
    public func payload(_ sequence: Int64) -> UnsafeRawBufferPointer? { cache.payload(sequence) }

    /// Forgets all: the stream started over (RTP11).
    public mutating func removeAll() {
        cache.removeAll()
        limiter = ResendLimiter()
    }

    /// The newest packet that carried the number: at or before the newest of all.
    private func packet(_ sequenceNumber: UInt16) -> PacketCache.Packet? {
        guard let newest = cache.newest else { return nil }
        let behind = UInt16(truncatingIfNeeded: newest) &- sequenceNumber
        return cache.packet(newest - Int64(behind))
    }
}
