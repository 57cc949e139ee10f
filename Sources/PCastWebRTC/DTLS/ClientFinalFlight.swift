/// What is known of a client's last flight, which ends with its Finished.
struct ClientFinalFlight {
    /// OpenSSL's timer of all other flights, in microseconds: an hour, which no handshake lasts.
    static let never: UInt32 = 3_600_000_000

    /// OpenSSL's timer of this flight, in microseconds: run out whenever it is asked to repeat the flight, the first
    /// time after 50 ms, and not while it reads what follows the flight's writing. Where less time has really passed, as
    /// in a test, it writes nothing, and a copy has to do.
    static let timer: UInt32 = 20_000

    /// OpenSSL ends a handshake after twelve repetitions.
    private static let renewalLimit = 10

    var hasBegun = false
    var isRenewing = false
    private var renewals = 0

    /// Whether OpenSSL may be asked for the flight again.
    mutating func claimRenewal() -> Bool {
        guard hasBegun, renewals < Self.renewalLimit else { return false }
        renewals += 1
        return true
    }
}
