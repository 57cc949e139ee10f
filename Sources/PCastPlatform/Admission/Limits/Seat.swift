import PCastMedia

/// A place that somebody takes up among a limited number, until it is let go of.
final class Seat: Sendable {
    enum Kind: Hashable, Sendable {
        case session, stream, viewer, connection
        /// A picture on the dashboard, whose viewer counts nowhere.
        case preview

        /// What there are no more places by; nil where there is no such limit.
        func limit(_ exceeded: Census.Exceeded) -> PlatformLimits.Name? {
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
    /// Nil for who counts at no address.
    let block: AddressBlock?
    private let admission: Admission

    fileprivate init(
        _ kind: Kind, _ application: ApplicationID?, _ block: AddressBlock?, _ admission: Admission
    ) {
        self.kind = kind
        self.application = application
        self.block = block
        self.admission = admission
    }

    deinit { admission.leave(self) }
}

extension Admission {
    /// A place for one more, held for as long as the seat is.
    ///
    /// - Parameters:
    ///   - application: nil where it is not known yet.
    ///   - countsAddress: whether it is one of those that there may be at an address.
    /// - Throws: `Refusal`, of kind `capacity`.
    func seat(
        _ kind: Seat.Kind, of application: ApplicationID?, from address: IPAddress?, countsAddress: Bool = true
    ) throws(Refusal) -> Seat {
        let block = countsAddress ? AddressBlock(address) : nil
        try enter(kind, application, block)
        return Seat(kind, application, block, self)
    }
}
