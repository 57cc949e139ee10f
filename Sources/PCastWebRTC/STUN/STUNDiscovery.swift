package import PCastCore

/// Finds the server-reflexive address by a binding request to a STUN server (RFC 8445, section 5.1.1.2).
///
/// The request is transmitted up to seven times, first after 500 ms and then after twice the time before (RFC 8489,
/// section 6.2.1).
package struct STUNDiscovery: Sendable {
    private static let maximumTries = 7

    /// The local address and that of the server.
    package let path: NetworkPath

    /// The address that the server sees; nil before its response.
    package private(set) var publicAddress: TransportAddress?

    /// Whether the server did not respond or rejected the request.
    package private(set) var hasFailed = false

    /// The time at which ``advance(to:)`` and ``poll(into:at:)`` must be called; nil after the end.
    package private(set) var deadline: Instant?

    private let transactionID: STUNTransactionID
    private var tries = 0
    private var timeout = TimeSpan.milliseconds(500)

    /// Creates a request, which is due at once. `seed` is a random number for the transaction ID.
    package init(path: NetworkPath, seed: UInt64, at now: Instant) {
        var generator = TransactionIDGenerator(seed: seed)
        transactionID = .random(using: &generator)
        self.path = path
        deadline = now
    }

    /// Fails if there is no response after the last transmission.
    package mutating func advance(to now: Instant) {
        guard let deadline, deadline <= now, tries == Self.maximumTries else { return }
        fail()
    }

    /// Writes the request if it is due. Returns its size in bytes; nil if it is not due.
    package mutating func poll(into buffer: MutableByteView, at now: Instant) -> Int? {
        guard let due = deadline, due <= now, tries < Self.maximumTries else { return nil }
        tries += 1
        deadline = now + timeout
        timeout = timeout * 2
        var writer = STUNMessageWriter(.request, transactionID: transactionID, into: buffer)
        return writer.finish(key: nil)
    }

    /// Processes a message. Returns whether it is the response to the request.
    package mutating func handle(_ message: STUNMessage, from path: NetworkPath) -> Bool {
        guard deadline != nil, path.remote == self.path.remote, message.transactionID == transactionID,
            message.fingerprint != .invalid
        else { return false }
        switch message.messageClass {
        case .success:
            guard let address = message.mappedAddress else { return false }
            publicAddress = address
            deadline = nil
        case .error: fail()
        case .request, .indication: return false
        }
        return true
    }

    /// Ends the request without an address.
    private mutating func fail() {
        hasFailed = true
        deadline = nil
    }
}
