public import PCastMedia

/// Asks a STUN server which address our datagrams come from: the server-reflexive address (RFC 8445, section 5.1.1.2).
///
/// One binding request, sent again after 500 ms and then twice as long each time, seven times (RFC 8489, 6.2.1).
public struct STUNDiscovery: Sendable {
    private static let maximumTries = 7

    /// From which of our addresses to which server.
    public let path: NetworkPath

    /// The address that the server saw, once it has answered.
    public private(set) var publicAddress: TransportAddress?

    /// No answer came to any of the requests, or the server refused.
    public private(set) var hasFailed = false

    /// When `advance(to:)` and `poll(into:at:)` want to be called next; nil when all is done.
    public private(set) var deadline: Instant?

    private let transactionID: STUNTransactionID
    private var tries = 0
    private var timeout = TimeSpan.milliseconds(500)

    /// `seed` is a random number of the caller's, for the transaction.
    public init(path: NetworkPath, seed: UInt64, at now: Instant) {
        var generator = TransactionIDGenerator(seed: seed)
        transactionID = .random(using: &generator)
        self.path = path
        deadline = now
    }

    public mutating func advance(to now: Instant) {
        guard let deadline, deadline <= now, tries == Self.maximumTries else { return }
        fail()
    }

    /// Writes the request when it is due. Answers its size in bytes.
    public mutating func poll(into buffer: UnsafeMutableRawBufferPointer, at now: Instant) -> Int? {
        guard let due = deadline, due <= now, tries < Self.maximumTries else { return nil }
        tries += 1
        deadline = now + timeout
        timeout = timeout * 2
        var writer = STUNMessageWriter(.request, transactionID: transactionID, into: buffer)
        return writer.finish(key: nil)
    }

    /// Takes in a message; answers whether it was the answer to the request.
    public mutating func handle(_ message: STUNMessage, from path: NetworkPath) -> Bool {
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

    private mutating func fail() {
        hasFailed = true
        deadline = nil
    }
}
