public import PCastMedia

/// The client's side of TURN (RFC 8656) over a stream: an allocation, and one channel to the one peer that there is.
///
/// A machine: the driver connects, hands the stream's bytes in and out, and the datagrams as well.
public struct TURNClient: Sendable {
    public enum State: Hashable, Sendable {
        case allocating
        case binding
        /// Datagrams pass.
        case ready
        case failed(code: Int)
    }

    public enum Output: Hashable, Sendable {
        /// Bytes for the stream.
        case send([UInt8])
        /// A datagram that the peer sent.
        case received([UInt8])
    }

    private struct Request: Sendable {
        let transactionID: STUNTransactionID
        let method: TURNMessage.Method
    }

    public private(set) var state = State.allocating

    private let credentials: TURNCredentials
    private let peer: TransportAddress
    private var generator: TransactionIDGenerator
    private var reader = TURNStreamReader()
    private var outputs: [Output] = []
    private var waiting: [[UInt8]] = []
    private var request: Request?
    private var realm = ""
    private var nonce = ""
    private var algorithms: [UInt8] = []
    private var key: TURNKey?
    private var challenges = 0
    private var refreshAt: Instant?
    private var bindAt: Instant?
    private var giveUpAt: Instant?

    private static let channel: UInt16 = 0x4000

    /// An answer is waited for so long: streams lose nothing.
    private static let patience = TimeSpan.seconds(10 as Int64)
    /// Long before the channel's ten minutes and the permission's five are over.
    private static let bindInterval = TimeSpan.seconds(240 as Int64)
    /// Datagrams kept until the channel is there; the oldest are dropped.
    private static let waitingLimit = 16

    /// - Parameter seed: for transactions; random.
    public init(credentials: TURNCredentials, peer: TransportAddress, seed: UInt64) {
        self.credentials = credentials
        self.peer = peer
        generator = TransactionIDGenerator(seed: seed)
    }

    public mutating func poll() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

    /// The stream is there.
    public mutating func connected(at now: Instant) { allocate(at: now) }

    /// Bytes of the stream.
    public mutating func received(_ bytes: some Sequence<UInt8>, at now: Instant) {
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

    /// Sends a datagram to the peer.
    public mutating func send(_ bytes: [UInt8]) {
        guard bytes.count <= TURNServer.maximumDatagramSize else { return }
        switch state {
        case .ready: outputs.append(.send(TURNStreamReader.channelData(Self.channel, bytes)))
        case .allocating, .binding:
            if waiting.count == Self.waitingLimit { waiting.removeFirst() }
            waiting.append(bytes)
        case .failed: break
        }
    }

    /// Gives the allocation back.
    public mutating func close() {
        guard state == .ready || state == .binding else { return }
        ask(.refresh) { $0.add(TURNAttributeType.lifetime, number: 0) }
    }

    // MARK: Time

    public var deadline: Instant? {
        if case .failed = state { return nil }
        return Instant.earlier(giveUpAt, Instant.earlier(refreshAt, bindAt))
    }

    public mutating func advance(to now: Instant) {
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

    // MARK: Asking

    private mutating func allocate(at now: Instant) {
        let family: UInt32 = peer.ip.family == .v4 ? 1 : 2
        ask(.allocate, at: now) { writer in
            writer.add(TURNAttributeType.requestedTransport, number: 17 << 24)
            if family == 2 { writer.add(TURNAttributeType.requestedAddressFamily, number: family << 24) }
        }
    }

    private mutating func bind(at now: Instant) {
        let peer = peer
        ask(.channelBind, at: now) { writer in
            writer.add(TURNAttributeType.channelNumber, number: UInt32(Self.channel) << 16)
            writer.add(TURNAttributeType.xorPeerAddress, address: peer)
        }
    }

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
        giveUpAt = now + Self.patience
    }

    // MARK: Answers

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
            // Nothing but an answer of the key's owner counts (RFC 8489, section 9.2.5).
            guard let key, message.verify(key) else { return }
            self.request = nil
            giveUpAt = nil
            challenges = 0
            succeeded(message, at: now)
        case .error: refused(message, at: now)
        case .request, .indication: break
        }
    }

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

    /// 401 tells realm and nonce, 438 a fresh nonce; then the same is asked again, twice at most.
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

    private mutating func fail(_ code: Int) {
        state = .failed(code: code)
        waiting.removeAll()
    }
}
