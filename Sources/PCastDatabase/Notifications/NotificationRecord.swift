public import PCastCore

/// A notification about an event of a stream or of a name, with its deliveries.
public struct NotificationRecord: Sendable, Hashable {
    /// The kind of event.
    public enum Kind: String, Sendable, CaseIterable {
        case starting, started, playlist, ended
        /// The stream's recording can be watched.
        case onDemand = "on-demand"
        /// An event of a name. A name has the kind `ended`, too.
        case ready, demanded, switched
    }

    /// The identifier `msg_…`, which is the same in each attempt and for each callback.
    public var id: String
    /// The stream. For an event of a name, it is the one that viewers receive, and empty while there is none.
    public var stream: StreamID
    /// The name of a named stream; nil for an event of a stream itself.
    public var name: String?
    /// The kind of event.
    public var kind: Kind
    /// The time of the event.
    public var time: WallTime
    /// The deliveries to the callbacks that existed at that time.
    public var deliveries: [Delivery]

    /// The delivery of a notification to one callback.
    public struct Delivery: Sendable, Hashable {
        /// The state of a delivery.
        public enum State: String, Sendable, CaseIterable {
            case pending, delivered
            /// The last attempt failed. The notification is stored until a retry is requested.
            case failed
        }

        /// The name of the callback.
        public var callback: String
        /// The state of the delivery.
        public var state: State
        /// The number of attempts.
        public var attempts: Int
        /// The time of the next attempt; only valid while the delivery is pending.
        public var due: WallTime
        /// The result of the last attempt: an HTTP status, or the reason why there was no response. Nil before the
        /// first attempt.
        public var answer: String?
    }
}

/// A notification that is due for delivery.
public struct DueDelivery: Sendable, Hashable {
    /// The primary key of a delivery in the outbox.
    public struct OutboxKey: Sendable, Hashable {
        let notification: Int64
        let callback: Int64
    }

    /// The primary key of the delivery.
    public let outboxKey: OutboxKey
    /// The identifier of the notification.
    public let id: String
    /// The stream, or the tag `name:NAME` of a name.
    public let stream: StreamID
    /// The body of the request.
    public let body: [UInt8]
    /// The callback to send to.
    public let callback: CallbackRecord
    /// The number of failed attempts.
    public let attempts: Int
}

/// The delays between attempts to deliver a notification.
public struct RetrySchedule: Sendable, Hashable {
    /// The delay after each failed attempt. A failure after the last delay is final.
    public var waits: [TimeSpan]

    /// Creates a schedule from its delays.
    public init(waits: [TimeSpan]) { self.waits = waits }

    /// The default schedule, after the recommendation of Standard Webhooks. The first delays are short, because most
    /// failures are restarts. The later ones cover three days, because other failures last a weekend.
    public static let standard = RetrySchedule(
        waits: [1, 5, 30, 120, 600, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map { .seconds($0) })

    /// Returns the outcome of a failed attempt: the time of the next one, or a final failure. `attempts` is the number of
    /// earlier failed attempts.
    ///
    /// `random`, from 0 to below 1, extends the delay by up to a fifth, so that deliveries that failed together are not
    /// retried together. `asked` is the delay that the receiver requested; at most a day is used.
    public func outcome(
        afterAttempts attempts: Int, at now: WallTime, random: Double, asked: TimeSpan? = nil
    ) -> Records.Outcome {
        guard waits.indices.contains(attempts) else { return .failed }
        let wait = TimeSpan(seconds: waits[attempts].seconds * (1 + 0.2 * random))
        return .retry(at: now + max(wait, min(asked ?? .zero, .seconds(86_400))))
    }
}
