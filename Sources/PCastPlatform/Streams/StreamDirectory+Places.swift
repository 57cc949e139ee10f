import PCastCore
import PCastIO

/// Quotas of streams and subscribers.
extension StreamDirectory {
    /// Counts a new stream or viewing. A job does not count, because the client that started it already did.
    ///
    /// - Throws: ``APIError``.
    func takeJoin(_ grant: Principal, _ clientContext: ClientContext) throws(APIError) {
        guard grant.work == nil else { return }
        try admission.takeJoin(from: clientContext.address, at: MonotonicClock.now())
    }

    func seat(_ kind: QuotaReservation.Kind, _ grant: Principal, _ clientContext: ClientContext) throws(APIError)
        -> QuotaReservation
    {
        let address = grant.work.map(\.address) ?? clientContext.address
        return try admission.seat(kind, of: grant.application, from: address)
    }

    /// Checks that there is a share of the bit rate for another publisher.
    ///
    /// - Throws: ``APIError`` with the kind `capacity`.
    func checkBitrate(for application: ApplicationID, _ seat: QuotaReservation) throws(APIError) {
        guard let limit = shares.exceeded(application, seat.block, in: admission.limits) else { return }
        admission.noteNoBitrate(limit)
        throw .noBitrate
    }
}
