import PCastCore

/// Until when a peer has to be connected, and to have data, where its terms say so.
struct PeerDeadlines {
    /// Nil once it is connected, and for who has as long as ICE gives.
    private var setup: Instant?
    private let abandonLimit: TimeSpan?
    /// Nil until it is connected, and where nobody asks.
    private var lastData: Instant?

    /// - Parameter began: when the peer was let in, or was made an offer.
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
