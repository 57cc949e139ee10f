import PCastCore

/// A reservation of a client's place in the quotas. It ends when the object is released.
final class QuotaReservation: Sendable {
    enum Kind: Hashable, Sendable {
        case session, stream, viewer, connection
        /// A preview on the dashboard, which counts towards no quota.
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
