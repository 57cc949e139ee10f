import PCastCore

/// A reservation of a client's place in the quotas. It ends when the object is released.
final class QuotaReservation: Sendable {
    enum Kind: Hashable, Sendable {
        case session, stream, viewer, connection
        /// A preview on the dashboard, or a slate, which count towards no quota.
        case preview

        /// Returns the name of the exceeded limit; nil if the kind has no such limit.
        func limit(_ exceeded: UsageCounter.Exceeded) -> PlatformLimits.Name? {
            switch (self, exceeded) {
            case (.session, .all): .sessions
            case (.session, .application): .sessionsPerApplication
            case (.session, .address): .sessionsPerAddress
            case (.stream, .all): .streams
            case (.stream, .application): .streamsPerApplication
            case (.stream, .address): .streamsPerAddress
            case (.viewer, .all): .viewers
            case (.viewer, .application): .viewersPerApplication
            case (.viewer, .address): .viewersPerAddress
            case (.connection, .all): .connections
            case (.connection, .address): .connectionsPerAddress
            case (.connection, .application), (.preview, _): nil
            }
        }
    }

    let kind: Kind
    let application: ApplicationID?
    /// Nil if the client does not count towards the limit of an address.
    let block: AddressBlock?
    private let limiter: RequestLimiter

    fileprivate init(
        _ kind: Kind, _ application: ApplicationID?, _ block: AddressBlock?, _ limiter: RequestLimiter
    ) {
        self.kind = kind
        self.application = application
        self.block = block
        self.limiter = limiter
    }

    deinit { limiter.release(self) }
}

extension RequestLimiter {
    /// Reserves a place in the quotas. `application` is nil if it is not known yet. `countsAddress` is whether the
    /// client counts towards the limit of its address.
    ///
    /// - Throws: ``APIError`` with the kind `capacity`.
    func reserve(
        _ kind: QuotaReservation.Kind, of application: ApplicationID?, from address: IPAddress?,
        countsAddress: Bool = true
    ) throws(APIError) -> QuotaReservation {
        let block = countsAddress ? AddressBlock(address) : nil
        try enter(kind, application, block)
        return QuotaReservation(kind, application, block, self)
    }
}

/// The current number of clients of a kind: all, per application and per address.
struct UsageCounter: Sendable {
    /// The maximum numbers.
    struct Bounds: Sendable {
        var all: Int64
        var application: Int64
        var address: Int64
    }

    /// The limit that was exceeded.
    enum Exceeded: Error { case all, application, address }

    private(set) var count: Int64 = 0
    private var applications: [ApplicationID: Int64] = [:]
    private var addresses: [AddressBlock: Int64] = [:]

    /// Counts a client. `address` is nil if it does not count towards the limit of an address.
    ///
    /// - Throws: ``Exceeded`` if a maximum is reached. Nothing is counted then.
    mutating func enter(
        _ application: ApplicationID?, _ address: AddressBlock?, within bounds: Bounds
    ) throws(Exceeded) {
        guard count < bounds.all else { throw .all }
        if let application, applications[application, default: 0] >= bounds.application { throw .application }
        if let address, addresses[address, default: 0] >= bounds.address { throw .address }
        count += 1
        if let application { applications[application, default: 0] += 1 }
        if let address { addresses[address, default: 0] += 1 }
    }

    mutating func leave(_ application: ApplicationID?, _ address: AddressBlock?) {
        count -= 1
        precondition(count >= 0, "a count must not be decremented below zero")
        if let application { Self.decrease(&applications[application]) }
        if let address { Self.decrease(&addresses[address]) }
    }

    private static func decrease(_ count: inout Int64?) {
        count = count.flatMap { $0 > 1 ? $0 - 1 : nil }
    }

    /// The number of stored applications and addresses.
    var size: Int { applications.count + addresses.count }
}
