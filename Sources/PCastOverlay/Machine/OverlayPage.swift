import PCastMedia

/// One page that is connected, as the overlay sees it.
public struct OverlayPage: Sendable {
    /// Numbers pages of an overlay, never twice.
    public struct ID: Hashable, Sendable {
        public let number: Int

        public init(number: Int) { self.number = number }
    }

    /// What a page may say at once, and in the long run each second.
    static let burst = 200.0
    static let messagesPerSecond = 100.0
    /// So much of what it says may be wrong.
    static let mostFaults = 16
    /// So much of that is told to the application.
    static let mostWarnings = 3

    let isController: Bool
    /// It listens: before that nothing is sent.
    var isListening = false
    var hasLoaded = false
    var heardAt: Instant
    /// When it is told that a sign of life is wanted.
    var nextKeepAlive: Instant?
    var queue = OverlayPageQueue()
    var closing: OverlayClosing?
    var faults = 0

    private var sent: Int64 = 0
    private var received: Int64 = -1
    private var credit = burst
    private var creditAt: Instant

    init(isController: Bool, at now: Instant) {
        self.isController = isController
        (heardAt, creditAt) = (now, now)
    }

    /// The text of what is sent next.
    mutating func takeText() -> String? {
        guard let entry = queue.take() else { return nil }
        sent += 1
        return OverlayEnvelope.text(
            entry.report.event, entry.report.metadata, sequence: sent, epoch: entry.epoch)
    }

    /// Whether it may say one more.
    mutating func maySpeak(at now: Instant) -> Bool {
        credit = min(credit + (now - creditAt).seconds * Self.messagesPerSecond, Self.burst)
        creditAt = now
        guard credit >= 1 else { return false }
        credit -= 1
        return true
    }

    /// Whether a message is newer than all before it.
    mutating func isNew(_ sequence: Int64) -> Bool {
        guard sequence > received else { return false }
        received = sequence
        return true
    }
}
