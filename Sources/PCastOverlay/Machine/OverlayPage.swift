import PCastCore

/// The state of one connected page.
public struct OverlayPage: Sendable {
    /// The ID of a page, which is unique in its overlay.
    public struct ID: Hashable, Sendable {
        /// The number of the page.
        public let number: Int

        /// Creates an ID from a number.
        public init(number: Int) { self.number = number }
    }

    /// The maximum number of messages that a page may send at once.
    static let burst = 200.0
    /// The number of messages that a page may send per second in the long run.
    static let messagesPerSecond = 100.0
    /// The number of invalid messages after which a page is closed.
    static let maximumFaults = 16
    /// The number of invalid messages that are reported to the application.
    static let maximumWarnings = 3

    /// Whether the page has a controller token.
    let isController: Bool
    /// Whether the page receives messages, which it does after `bridge.ready`.
    var isListening = false
    /// Whether the page has loaded its content.
    var hasLoaded = false
    /// The time of the last valid message.
    var lastReceivedAt: Instant
    /// The time of the next keep-alive request; nil if none is scheduled.
    var nextKeepAlive: Instant?
    var queue = OverlayPageQueue()
    /// The reason for which the page is being closed; nil if it is not.
    var closing: OverlayClosing?
    /// The number of invalid messages so far.
    var faults = 0

    /// The sequence number of the last message that was sent.
    private var sent: Int64 = 0
    /// The highest sequence number that was received, -1 before the first.
    private var received: Int64 = -1
    /// The tokens of the rate limiter, at `tokensAt`.
    private var tokens = burst
    private var tokensAt: Instant

    init(isController: Bool, at now: Instant) {
        self.isController = isController
        (lastReceivedAt, tokensAt) = (now, now)
    }

    /// Returns the text of the next queued message; nil if there is none.
    mutating func takeText() -> String? {
        guard let entry = queue.take() else { return nil }
        sent += 1
        return OverlayEnvelope.text(
            entry.report.event, entry.report.metadata, sequence: sent, epoch: entry.epoch)
    }

    /// Returns whether the rate limit allows another message, and counts it.
    mutating func maySendMessage(at now: Instant) -> Bool {
        tokens = min(tokens + (now - tokensAt).seconds * Self.messagesPerSecond, Self.burst)
        tokensAt = now
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    /// Returns whether a sequence number is higher than all before it, and records it.
    mutating func isNew(_ sequence: Int64) -> Bool {
        guard sequence > received else { return false }
        received = sequence
        return true
    }
}
