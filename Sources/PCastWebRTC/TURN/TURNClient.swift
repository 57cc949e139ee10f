package import PCastCore

/// The client side of TURN over a stream (RFC 8656): an allocation and one channel to one peer.
///
/// The driver connects and exchanges the bytes of the stream and the datagrams with it.
package struct TURNClient: Sendable {
    /// The progress of the allocation.
    package enum State: Hashable, Sendable {
        /// The Allocate request has no response yet.
        case allocating
        /// The channel is being bound.
        case binding
        /// Datagrams can be exchanged.
        case ready
        /// The server rejected a request, or did not respond. The value is a TURN error code.
        case failed(code: Int)
    }

    /// An action for the driver.
    package enum Output: Hashable, Sendable {
        /// Send bytes to the stream.
        case send([UInt8])
        /// Deliver a datagram of the peer.
        case received([UInt8])
    }

    /// A request without a response.
    private struct Request: Sendable {
        let transactionID: STUNTransactionID
        let method: TURNMessage.Method
    }

    /// The progress of the allocation.
    package private(set) var state = State.allocating

    private let credentials: TURNCredentials
    private let peer: TransportAddress
    private var generator: TransactionIDGenerator
    private var reader = TURNStreamReader()
    private var outputs: [Output] = []
    /// The datagrams that wait for the channel.
    private var waiting: [[UInt8]] = []
    /// The request without a response; nil if there is none.
    private var request: Request?
    private var realm = ""
    private var nonce = ""
    /// The password algorithms that the server offers, as in its attribute.
    private var algorithms: [UInt8] = []
    /// The key of the credentials; nil before the first challenge.
    private var key: TURNKey?
    /// The number of consecutive challenges.
    private var challenges = 0
    /// The time at which the allocation is refreshed.
    private var refreshAt: Instant?
    /// The time at which the channel binding is refreshed.
    private var bindAt: Instant?
    /// The time at which a request without a response fails.
    private var giveUpAt: Instant?

    /// The number of the channel.
    private static let channel: UInt16 = 0x4000

    /// The time to wait for a response. Streams are reliable, so requests are not retransmitted.
    private static let timeout = TimeSpan.seconds(10 as Int64)
    /// The time between refreshes of the channel, well below the ten minutes of the channel and the five of the
    /// permission.
    private static let bindInterval = TimeSpan.seconds(240 as Int64)
    /// The maximum number of datagrams that wait for the channel; the oldest are dropped.
    private static let waitingLimit = 16

    /// Creates a client. `seed` is a random number for transaction IDs.
    package init(credentials: TURNCredentials, peer: TransportAddress, seed: UInt64) {
        self.credentials = credentials
        self.peer = peer
        generator = TransactionIDGenerator(seed: seed)
    }

    /// Returns the next output; nil if there is none.
    package mutating func poll() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

    /// Reports that the stream is connected, and sends the Allocate request.
    package mutating func connected(at now: Instant) { allocate(at: now) }

    /// Processes received bytes of the stream.
    package mutating func received(_ bytes: some Sequence<UInt8>, at now: Instant) {
        reader.append(bytes)
        while true {
            switch reader.next() {
            case .incomplete: return
            case .broken: return fail(TURNErrorCode.badRequest)
            case .frame(.channelData(let channel, let bytes)):
                if channel == Self.channel { outputs.append(.received(bytes)) }
            case .frame(.message(let bytes)):
                guard let message = TURNMessage(bytes) else { return fail(TURNErrorCode.badRequest) }
                handle(message, at: now)
            }
        }
    }

    /// Sends a datagram to the peer. It waits if the channel is not bound yet, and is dropped if it is too large.
    package mutating func send(_ bytes: [UInt8]) {
        guard bytes.count <= TURNServer.maximumDatagramSize else { return }
        switch state {
        case .ready: outputs.append(.send(TURNStreamReader.channelData(Self.channel, bytes)))
        case .allocating, .binding:
            if waiting.count == Self.waitingLimit { waiting.removeFirst() }
            waiting.append(bytes)
        case .failed: break
        }
    }

    /// Deletes the allocation, by a Refresh with a lifetime of zero.
    package mutating func close() {
        guard state == .ready || state == .binding else { return }
        ask(.refresh) { $0.add(TURNAttributeType.lifetime, number: 0) }
    }

    // MARK: Time

    /// The time at which ``advance(to:)`` must be called; nil if nothing is scheduled.
    package var deadline: Instant? {
        if case .failed = state { return nil }
        return Instant.earlier(giveUpAt, Instant.earlier(refreshAt, bindAt))
    }

    /// Sends refreshes that are due, and fails if a response is overdue.
    package mutating func advance(to now: Instant) {
        if let giveUpAt, giveUpAt <= now { return fail(TURNErrorCode.insufficientCapacity) }
        guard request == nil else { return }
        if let refreshAt, refreshAt <= now {
            self.refreshAt = nil
            ask(.refresh, at: now)
        } else if let bindAt, bindAt <= now {
            self.bindAt = nil
            bind(at: now)
        }
    }

    // MARK: Requests

    /// Sends an Allocate request for UDP and the address family of the peer.
    private mutating func allocate(at now: Instant) {
        let family: UInt32 = peer.ip.family == .v4 ? 1 : 2
        ask(.allocate, at: now) { writer in
            writer.add(TURNAttributeType.requestedTransport, number: 17 << 24)
            if family == 2 { writer.add(TURNAttributeType.requestedAddressFamily, number: family << 24) }
        }
    }

    /// Sends a ChannelBind request for the peer.
    private mutating func bind(at now: Instant) {
        let peer = peer
        ask(.channelBind, at: now) { writer in
            writer.add(TURNAttributeType.channelNumber, number: UInt32(Self.channel) << 16)
            writer.add(TURNAttributeType.xorPeerAddress, address: peer)
        }
    }

    /// Sends a request, with credentials after the first challenge. Without a time, its response is ignored.
    private mutating func ask(
        _ method: TURNMessage.Method, at now: Instant? = nil, _ body: (inout TURNMessageWriter) -> Void = { _ in }
    ) {
        let request = Request(transactionID: .random(using: &generator), method: method)
        var writer = TURNMessageWriter(method, .request, request.transactionID)
        body(&writer)
        if let key {
            writer.add(STUNAttributeType.username, text: credentials.username)
            writer.add(STUNAttributeType.realm, text: realm)
            writer.add(STUNAttributeType.nonce, text: nonce)
            if key.algorithm == .sha256 {
                writer.add(TURNAttributeType.passwordAlgorithms, algorithms)
                writer.add(TURNAttributeType.passwordAlgorithm, [0, UInt8(key.algorithm.rawValue), 0, 0])
            }
        }
        outputs.append(.send(writer.finish(key)))
        guard let now else { return }
        self.request = request
        giveUpAt = now + Self.timeout
    }

    // MARK: Responses

    /// Processes a message of the server.
    private mutating func handle(_ message: TURNMessage, at now: Instant) {
        if message.messageClass == .indication, message.method == .data {
            if let data = message.value(TURNAttributeType.data) { outputs.append(.received(Array(data))) }
            return
        }
        guard let request, message.transactionID == request.transactionID, message.method == request.method else {
            return
        }
        switch message.messageClass {
        case .success:
            // A success response must be authenticated (RFC 8489, section 9.2.5).
            guard let key, message.verify(key) else { return }
            self.request = nil
            giveUpAt = nil
            challenges = 0
            succeeded(message, at: now)
        case .error: refused(message, at: now)
        case .request, .indication: break
        }
    }

    /// Processes a success response.
    private mutating func succeeded(_ message: TURNMessage, at now: Instant) {
        switch message.method {
        case .allocate, .refresh:
            let lifetime = message.number32(TURNAttributeType.lifetime) ?? 600
            refreshAt = now + .seconds(Int64(max(lifetime, 60)) * 3 / 4)
            if state == .allocating {
                state = .binding
                bind(at: now)
            }
        case .channelBind:
            bindAt = now + Self.bindInterval
            guard state == .binding else { return }
            state = .ready
            for bytes in waiting { send(bytes) }
            waiting.removeAll()
        case .binding, .send, .data, .createPermission: break
        }
    }

    /// Processes an error response. A 401 contains realm and nonce, and a 438 a new nonce; the request is then
    /// repeated, at most twice.
    private mutating func refused(_ message: TURNMessage, at now: Instant) {
        let code = message.errorCode ?? TURNErrorCode.badRequest
        let isChallenge = code == TURNErrorCode.unauthenticated && key == nil || code == TURNErrorCode.staleNonce
        guard isChallenge, challenges < 2, let realm = message.text(STUNAttributeType.realm),
            let nonce = message.text(STUNAttributeType.nonce), let method = request?.method
        else { return fail(code) }
        challenges += 1
        self.realm = realm
        self.nonce = nonce
        algorithms = message.value(TURNAttributeType.passwordAlgorithms).map(Array.init) ?? []
        let isStrong = stride(from: 0, to: algorithms.count - 3, by: 4).contains { algorithms[$0 + 1] == 2 }
        key = TURNKey(
            isStrong ? .sha256 : .md5, username: credentials.username, realm: realm, password: credentials.password)
        switch method {
        case .allocate: allocate(at: now)
        case .channelBind: bind(at: now)
        default: ask(.refresh, at: now)
        }
    }

    /// Ends the client with an error code.
    private mutating func fail(_ code: Int) {
        state = .failed(code: code)
        waiting.removeAll()
    }
}
