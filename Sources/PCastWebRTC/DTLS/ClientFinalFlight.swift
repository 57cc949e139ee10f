/// The state of a client's last flight, which ends with its Finished message.
struct ClientFinalFlight {
    /// The duration of OpenSSL's timer for all other flights, in microseconds. It is one hour, which no handshake
    /// lasts, because this module keeps the time.
    static let never: UInt32 = 3_600_000_000

    /// The duration of OpenSSL's timer for this flight, in microseconds.
    ///
    /// It has expired when OpenSSL is asked to retransmit the flight, which is after 50 ms at the earliest. It has not
    /// expired while OpenSSL reads the datagrams that arrive right after the flight. If less time has really passed, as
    /// in a test, OpenSSL writes nothing and a copy is retransmitted.
    static let timer: UInt32 = 20_000

    /// The maximum number of flights that OpenSSL rewrites; it aborts a handshake after twelve timeouts.
    private static let renewalLimit = 10

    /// Whether OpenSSL has written the flight.
    var hasBegun = false
    /// Whether OpenSSL is rewriting the flight at the moment.
    var isRenewing = false
    private var renewals = 0

    /// Returns whether OpenSSL may rewrite the flight, and counts it.
    mutating func claimRenewal() -> Bool {
        guard hasBegun, renewals < Self.renewalLimit else { return false }
        renewals += 1
        return true
    }
}
