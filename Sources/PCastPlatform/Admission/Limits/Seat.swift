import PCastMedia

/// A place that somebody takes up among a limited number, until it is let go of.
final class Seat: Sendable {
    enum Kind: Hashable, Sendable { case session, stream, viewer, connection }

    let kind: Kind
    let application: ApplicationID?
    let block: AddressBlock
    private let admission: Admission

    fileprivate init(
        _ kind: Kind, _ application: ApplicationID?, _ block: AddressBlock, _ admission: Admission
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
    /// - Parameter application: nil where it is not known yet.
    /// - Throws: `Refusal`, of kind `capacity`.
    func seat(
        _ kind: Seat.Kind, of application: ApplicationID?, from address: IPAddress?
    ) throws(Refusal) -> Seat {
        let block = AddressBlock(address)
        try enter(kind, application, block)
        return Seat(kind, application, block, self)
    }
}
