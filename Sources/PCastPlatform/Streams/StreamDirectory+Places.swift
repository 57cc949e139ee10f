import PCastCore
import PCastIO

/// Quotas of streams and subscribers.
extension StreamDirectory {
    /// Counts a new stream or viewing. A job does not count, because the client that started it already did.
    ///
    /// - Throws: ``APIError``.
    func takeJoin(_ principal: Principal, _ clientContext: ClientContext) throws(APIError) {
        guard principal.job == nil else { return }
        try limiter.takeJoin(from: clientContext.address, at: MonotonicClock.now())
    }

    func reserve(_ kind: QuotaReservation.Kind, _ principal: Principal, _ clientContext: ClientContext) throws(APIError)
        -> QuotaReservation
    {
        let address = principal.job.map(\.address) ?? clientContext.address
        return try limiter.reservation(kind, of: principal.application, from: address)
    }

    /// Checks that there is a share of the bit rate for another publisher.
    ///
    /// - Throws: ``APIError`` with the kind `capacity`.
    func checkBitrate(for application: ApplicationID, _ reservation: QuotaReservation) throws(APIError) {
        guard let limit = shares.exceeded(application, reservation.block, in: limiter.limits) else { return }
        limiter.noteNoBitrate(limit)
        throw .noBitrate
    }
}
