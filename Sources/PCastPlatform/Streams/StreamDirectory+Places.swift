import PCastIO
import PCastMedia

/// Places among those that there may be, and who takes none.
extension StreamDirectory {
    /// A worker joins for somebody who has begun the stream already.
    func takeJoin(_ grant: Grant, _ visitor: Visitor) throws(Refusal) {
        guard grant.work == nil else { return }
        try admission.takeJoin(from: visitor.address, at: MonotonicClock.now())
    }

    func seat(_ kind: Seat.Kind, _ grant: Grant, _ visitor: Visitor) throws(Refusal) -> Seat {
        let address = grant.work.map(\.address) ?? visitor.address
        return try admission.seat(kind, of: grant.application, from: address)
    }

    /// Whether there is bitrate left for one more.
    func checkBitrate(for application: ApplicationID, _ seat: Seat) throws(Refusal) {
        guard let limit = shares.exceeded(application, seat.block, in: admission.limits) else { return }
        admission.noteNoBitrate(limit)
        throw .noBitrate
    }
}
