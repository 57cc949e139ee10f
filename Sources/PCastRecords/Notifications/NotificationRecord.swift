public import PCastMedia

/// An event of a stream, as backends are told it, and what became of that.
public struct NotificationRecord: Sendable, Hashable {
    public enum Kind: String, Sendable, CaseIterable { case starting, started, ended }

    /// `msg_…`: the same at each attempt and address.
    public var id: String
    public var stream: StreamID
    public var kind: Kind
    public var time: WallTime
    public var deliveries: [Delivery]

    /// Its way to one callback address.
    public struct Delivery: Sendable, Hashable {
        public enum State: String, Sendable, CaseIterable {
            case pending, delivered
            /// The last try failed: it is kept until somebody asks for another.
            case aside
        }

        /// The name of the address.
        public var callback: String
        public var state: State
        public var attempts: Int
        /// When it is tried next, while it is pending.
        public var due: WallTime
        /// What came of the last attempt: a status, or why there was none.
        public var answer: String?
    }
}

/// A notification that is to be sent now.
public struct DueDelivery: Sendable, Hashable {
    /// Where it stands in the outbox.
    public struct Place: Sendable, Hashable {
        let notification: Int64
        let callback: Int64
    }

    public let place: Place
    public let id: String
    public let stream: StreamID
    public let body: [UInt8]
    public let callback: CallbackRecord
    /// Those that failed.
    public let attempts: Int
}
