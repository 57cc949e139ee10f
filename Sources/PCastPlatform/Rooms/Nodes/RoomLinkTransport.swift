import FoundationEssentials
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastWeb
import Synchronization

/// The messages that wait to be sent on a link between two nodes. If more than ``capacity`` wait, the link is closed. The
/// nodes then connect again and compare their members.
final class RoomLinkQueue<Item: Codable & Sendable>: Sendable {
    private struct State {
        var items: [Item] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// The maximum number of waiting messages.
    static var capacity: Int { 8_192 }
    /// The number of messages that are sent together.
    private static var batchSize: Int { 64 }

    init() { (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    /// Adds a message. Returns false if the link is closed, or is closed because too many wait.
    @discardableResult
    func append(_ item: Item) -> Bool {
        let isAdded = state.withLock { state in
            guard !state.isClosed else { return false }
            if state.items.count >= Self.capacity {
                (state.items, state.isClosed) = ([], true)
                return false
            }
            state.items.append(item)
            return true
        }
        if isAdded { wake.yield() } else { wake.finish() }
        return isAdded
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Adds no more messages, and lets the sender end.
    func close() {
        state.withLock { ($0.items, $0.isClosed) = ([], true) }
        wake.finish()
    }

    /// Lets the sender send an empty batch, which shows that the link works.
    func keepAlive() { wake.yield() }

    /// Calls a function with batches of messages until the link is closed. A batch may be empty.
    func forEachBatch(_ body: ([Item]) async throws -> Void) async rethrows {
        for await _ in wakes {
            repeat {
                let batch = state.withLock { state in
                    let batch = Array(state.items.prefix(Self.batchSize))
                    state.items.removeFirst(batch.count)
                    return batch
                }
                try await body(batch)
            } while state.withLock({ !$0.items.isEmpty })
        }
    }
}

/// The exchange of messages between two nodes over a WebSocket. Each message is signed with the secret of the nodes, a value
/// of both nodes and its number, so that none can be recorded, repeated or omitted.
struct RoomLinkTransport: Sendable {
    /// A part of a batch.
    private struct Piece: Codable {
        let isLast: Bool
        /// The bytes in Base64.
        let bytes: String
    }

    /// The time without a message after which a link counts as lost.
    let silence: TimeSpan
    let signer: NodeSignature
    let sends: NodeEnvelope.Purpose
    let receives: NodeEnvelope.Purpose

    /// The path of the WebSocket.
    static let path = "/pcast/node/rooms"
    /// The field of the request with the value of the connecting node.
    private static let nonceField = "PCast-Nonce"
    /// The field of the request with the signature of that value.
    private static let signatureField = "PCast-Signature"
    /// The bytes of a batch that one message has.
    private static let pieceSize = 48 * 1_024
    /// The maximum number of bytes of a received batch.
    static let maximumBatch = 64 << 20
    private static let interval = Duration.seconds(1)

    /// Returns the fields of a request that opens a link.
    static func fields(
        _ nonce: String, _ purpose: NodeEnvelope.Purpose = .roomLink, by signer: NodeSignature
    ) -> [(name: String, value: String)] {
        let signature = signer.sign("", purpose: purpose.rawValue, nonce: nonce)
        return [(nonceField, nonce), (signatureField, signature)]
    }

    /// Returns the value of the connecting node; nil if the request is not signed with the secret of the nodes.
    func nonce(of fields: (String) -> [String], _ purpose: NodeEnvelope.Purpose = .roomLink) -> String? {
        let (nonces, signatures) = (fields(Self.nonceField), fields(Self.signatureField))
        guard nonces.count == 1, signatures.count == 1, ReceivedNonces.sizes.contains(nonces[0].utf8.count),
            signer.isValid(signatures[0], of: "", purpose: purpose.rawValue, nonce: nonces[0])
        else { return nil }
        return nonces[0]
    }

    /// Exchanges messages until the link is lost or closed.
    ///
    /// - Parameters:
    ///   - connection: The WebSocket.
    ///   - nonce: The value of both nodes; nil if the peer's part is its first message.
    ///   - ownNonce: The value of this node.
    ///   - queue: The messages to send.
    ///   - handle: Processes a message of the peer. Calls are in order.
    func run<Outgoing, Incoming: Codable & Sendable>(
        _ connection: WebSocketConnection, nonce: String?, ownNonce: String, _ queue: RoomLinkQueue<Outgoing>,
        handle: @escaping @Sendable (Incoming) async -> Void
    ) async {
        let (nonces, ready) = AsyncStream<String>.makeStream()
        if let nonce { ready.yield(nonce) }
        let reader = RoomLinkReader(
            nonce: nonce, ownNonce: ownNonce, purpose: receives, signer: signer, at: MonotonicClock.now())
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                try? await connection.forEachMessage { message in
                    guard case .text(let text) = message else { throw RoomLinkError() }
                    if let nonce = try await reader.begin(text) {
                        ready.yield(nonce)
                    } else {
                        let items: [Incoming] = try await reader.receive(text)
                        for item in items { await handle(item) }
                    }
                }
            }
            group.addTask {
                guard let nonce = await nonces.first(where: { _ in true }) else { return }
                var count = 0
                try? await queue.forEachBatch { batch in
                    for text in try messages(batch, nonce, &count) { try await connection.send(.text(text)) }
                }
            }
            group.addTask {
                while (try? await Task.sleep(for: Self.interval)) != nil {
                    let last = await reader.lastReceived
                    guard MonotonicClock.now() - last < silence else { return }
                    queue.keepAlive()
                }
            }
            // The first task that ends, ends the link.
            await group.next()
            queue.close()
            ready.finish()
            connection.cut()
            group.cancelAll()
        }
    }

    /// Returns the signed messages of a batch.
    private func messages(_ batch: [some Codable], _ nonce: String, _ count: inout Int) throws -> [String] {
        let bytes = Array(try JSONEncoder().encode(batch))
        var texts: [String] = []
        var start = 0
        repeat {
            let end = min(start + Self.pieceSize, bytes.count)
            let piece = Piece(isLast: end == bytes.count, bytes: Base64.encode(Array(bytes[start..<end])))
            count += 1
            let envelope = NodeEnvelope(piece, sends, nonce: "\(nonce)-\(count)", by: signer)
            texts.append(String(decoding: envelope.bytes, as: UTF8.self))
            start = end
        } while start < bytes.count
        return texts
    }

    fileprivate static func bytes(
        of text: String, _ nonce: String, _ purpose: NodeEnvelope.Purpose, _ signer: NodeSignature
    ) throws -> (bytes: [UInt8], isLast: Bool) {
        guard let envelope = NodeEnvelope(Array(text.utf8)), envelope.nonce == nonce,
            let piece = try? envelope.message(Piece.self, purpose, by: signer), let bytes = Base64.decode(piece.bytes)
        else { throw RoomLinkError() }
        return (bytes, piece.isLast)
    }
}

/// A message of a node that is not signed with the secret of the nodes, or malformed.
struct RoomLinkError: Error {}

/// The messages that a node receives on a link.
private actor RoomLinkReader {
    private var nonce: String?
    private let ownNonce: String
    private let purpose: NodeEnvelope.Purpose
    private let signer: NodeSignature
    private var count = 0
    private var pending: [UInt8] = []
    private(set) var lastReceived: Instant

    init(
        nonce: String?, ownNonce: String, purpose: NodeEnvelope.Purpose, signer: NodeSignature, at now: Instant
    ) {
        (self.nonce, self.ownNonce, self.purpose, self.signer) = (nonce, ownNonce, purpose, signer)
        lastReceived = now
    }

    /// Returns the value of both nodes if the message is the peer's part of it; nil for all later messages.
    func begin(_ text: String) throws -> String? {
        guard nonce == nil else { return nil }
        guard ReceivedNonces.sizes.contains(text.utf8.count) else { throw RoomLinkError() }
        let both = "\(ownNonce)-\(text)"
        nonce = both
        lastReceived = MonotonicClock.now()
        return both
    }

    /// Returns the items that a message completes.
    func receive<Item: Codable & Sendable>(_ text: String) throws -> [Item] {
        guard let nonce else { throw RoomLinkError() }
        count += 1
        let piece = try RoomLinkTransport.bytes(of: text, "\(nonce)-\(count)", purpose, signer)
        lastReceived = MonotonicClock.now()
        guard pending.count + piece.bytes.count <= RoomLinkTransport.maximumBatch else { throw RoomLinkError() }
        pending += piece.bytes
        guard piece.isLast else { return [] }
        defer { pending = [] }
        return try JSONDecoder().decode([Item].self, from: Data(pending))
    }
}
