import PCastIO
import PCastMedia

/// Quotas of streams and subscribers.
extension StreamDirectory {
    /// Counts a new stream or viewing. A job does not count, because the client that started it already did.
    ///
    /// - Throws: ``Refusal``.
    func takeJoin(_ grant: Grant, _ visitor: Visitor) throws(Refusal) {
        guard grant.work == nil else { return }
        try admission.takeJoin(from: visitor.address, at: MonotonicClock.now())
    }

    func seat(_ kind: Seat.Kind, _ grant: Grant, _ visitor: Visitor) throws(Refusal) -> Seat {
        let address = grant.work.map(\.address) ?? visitor.address
        return try admission.seat(kind, of: grant.application, from: address)
    }

    /// Checks that there is a share of the bit rate for another publisher.
    ///
    /// - Throws: ``Refusal`` with the kind `capacity`.
    func checkBitrate(for application: ApplicationID, _ seat: Seat) throws(Refusal) {
        guard let limit = shares.exceeded(application, seat.block, in: admission.limits) else { return }
        admission.noteNoBitrate(limit)
        throw .noBitrate
    }
}
