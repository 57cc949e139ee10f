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
    /// Whether a page without a token may send messages to the application, which do not concern the player.
    let sendsMessages: Bool
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

    init(isController: Bool, sendsMessages: Bool, at now: Instant) {
        (self.isController, self.sendsMessages) = (isController, sendsMessages)
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

/// The reason why the overlay closes a page's WebSocket connection. The raw values are close codes for applications
/// (RFC 6455, section 7.4.2).
public enum OverlayClosing: UInt16, Hashable, Sendable, CaseIterable {
    /// The producer has disabled the overlay of the programme. It is not loaded again by itself.
    case disabled = 4_001
    /// The application or a fatal error has destroyed the overlay.
    case destroyed = 4_002
    /// The queue of messages for the page was full.
    case queueOverflowed = 4_003
    /// The page sent messages at too high a rate.
    case tooManyMessages = 4_004
    /// Too many messages of the page were invalid.
    case malformed = 4_005
    /// The overlay is unknown or not loaded yet.
    case notLoaded = 4_006
    /// The overlay has the maximum number of connected pages.
    case tooManyPages = 4_007
    /// The token of the page is invalid.
    case wrongToken = 4_008

    /// The WebSocket close code.
    public var code: UInt16 { rawValue }

    /// The reason for the close frame, at most 123 bytes (RFC 6455, section 5.5).
    public var reason: String {
        switch self {
        case .disabled: "the overlay was disabled"
        case .destroyed: "the overlay was destroyed"
        case .queueOverflowed: "the page does not read its messages: \(OverlayPageQueue.messageLimit) are waiting"
        case .tooManyMessages: "the page sends too many messages"
        case .malformed: "the page sent too many malformed messages"
        case .notLoaded: "the overlay is not loaded"
        case .tooManyPages: "too many pages are open"
        case .wrongToken: "the token is not valid here"
        }
    }
}

/// The queue of messages for one page, in order. Of time reports only the newest is kept. All others are kept up to a
/// limit, after which the page has to be closed.
struct OverlayPageQueue {
    /// The maximum number of messages.
    static let messageLimit = 256
    /// The maximum size of all messages in bytes.
    static let sizeLimit = 1 << 20

    /// A message and the epoch that it belongs to.
    struct Entry: Hashable {
        var report: OverlayReport
        var epoch: Int64
    }

    private var entries: [Entry] = []
    /// The size of all messages in bytes.
    private var size = 0

    var count: Int { entries.count }

    /// Adds a message. Returns false if the queue is full and the message was not added.
    mutating func add(_ report: OverlayReport, epoch: Int64) -> Bool {
        if report.isReplaceable, let index = entries.lastIndex(where: { $0.report.isReplaceable }) {
            size -= entries.remove(at: index).report.size
        }
        guard entries.count < Self.messageLimit, size + report.size <= Self.sizeLimit else { return false }
        entries.append(Entry(report: report, epoch: epoch))
        size += report.size
        return true
    }

    /// Removes and returns the oldest message; nil if the queue is empty.
    mutating func take() -> Entry? {
        guard !entries.isEmpty else { return nil }
        let entry = entries.removeFirst()
        size -= entry.report.size
        return entry
    }

    mutating func removeAll() {
        entries.removeAll()
        size = 0
    }
}
