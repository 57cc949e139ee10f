import PCastCore

/// The deadlines by which a peer must be connected and must send data, if its options set them.
struct PeerDeadlines {
    /// The time by which the peer must be connected. Nil once it is, and if only ICE's timeout applies.
    private var setup: Instant?
    private let abandonLimit: TimeSpan?
    /// The time of the last data; nil before the peer is connected, and if there is no limit.
    private var lastData: Instant?

    /// Creates the deadlines of a peer that was admitted, or was sent an offer, at the time `began`.
    init(_ terms: PeerOptions, began: Instant) {
        setup = terms.setupLimit.map { began + $0 }
        abandonLimit = terms.abandonLimit
    }

    mutating func connected(at now: Instant) {
        setup = nil
        if abandonLimit != nil { lastData = now }
    }

    /// Data came, or none could have; for every packet.
    mutating func noteData(at now: Instant) {
        if lastData != nil { lastData = now }
    }

    var next: Instant? { setup ?? abandonment }

    private var abandonment: Instant? {
        guard let lastData, let abandonLimit else { return nil }
        return lastData + abandonLimit
    }

    func hasPassed(at now: Instant) -> Bool { next.map { $0 <= now } ?? false }
}
