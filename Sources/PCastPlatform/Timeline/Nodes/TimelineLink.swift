import PCastCore
import PCastEdgeAuth
import PCastWeb
import Synchronization

/// A link between a node and the home of timelines.
final class TimelineLink<Outgoing: Codable & Sendable>: Sendable {
    let number: Int
    /// The address of the home.
    let uri: String
    let queue = RoomLinkQueue<Outgoing>()

    init(number: Int, uri: String = "") { (self.number, self.uri) = (number, uri) }
}

extension TimelineLink<TimelineLinkRequest> {
    /// Connects to the home, and processes its messages until the link is lost.
    ///
    /// - Throws: An error of the connection.
    func run(_ transport: RoomLinkTransport, handle: @escaping @Sendable (TimelineLinkEvent) async -> Void) async throws
    {
        let own = RandomIdentifier.make()
        try await WebSocketClient().connect(
            to: uri + TimelineLinkServer.path,
            headers: RoomLinkTransport.fields(own, .timelineLink, by: transport.signer)
        ) { [queue] connection in
            await transport.run(connection, nonce: nil, ownNonce: own, queue, handle: handle)
        }
    }
}

/// The links of other nodes to this node, as the home of timelines. The requests of a link are processed one after another.
final class TimelineLinkServer: Sendable {
    private struct State {
        var count = 0
        var lastNumber = 0
        var nonces = ReceivedNonces()
    }

    private let timelines: ClusterTimelines
    private let transport: RoomLinkTransport
    private let state = Mutex(State())

    /// The path of the WebSocket.
    static let path = "/pcast/node/timelines"
    /// The maximum number of links. Further ones are closed. Only nodes with the secret have links.
    private static let maximumCount = 256

    init(timelines: ClusterTimelines, signer: NodeSignature, silence: TimeSpan) {
        self.timelines = timelines
        transport = RoomLinkTransport(
            silence: silence, signer: signer, sends: .timelineEvents, receives: .timelineRequests)
    }

    /// Whether a WebSocket is a link.
    static func isOpen(at path: String) -> Bool { path == Self.path }

    /// Runs until the connection ends.
    func run(_ connection: WebSocketConnection) async throws {
        guard let request = connection.request, let other = transport.nonce(of: request.fields, .timelineLink) else {
            return
        }
        let number = state.withLock { state -> Int? in
            // A request that was recorded on the network is not accepted again.
            guard state.nonces.insert(other), state.count < Self.maximumCount else { return nil }
            state.count += 1
            state.lastNumber += 1
            return state.lastNumber
        }
        guard let number else { return }
        defer { state.withLock { $0.count -= 1 } }
        let own = RandomIdentifier.make()
        try await connection.send(.text(own))
        let link = TimelineLink<TimelineLinkEvent>(number: number)
        await transport.run(connection, nonce: "\(other)-\(own)", ownNonce: own, link.queue) { [timelines] request in
            await timelines.receive(request, link)
        }
        await timelines.ended(link)
    }
}
