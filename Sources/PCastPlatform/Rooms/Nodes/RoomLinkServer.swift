import Logging
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastSignaling
import PCastWeb
import Synchronization

/// The links of other nodes to this node, as the home of rooms. Requests of a link are processed one after another, and their
/// responses are sent between the events in the order in which they occurred.
final class RoomLinkServer: Sendable {
    private let rooms: RoomService
    private let transport: RoomLinkTransport
    private let logger: Logger
    private struct State {
        var count = 0
        var nonces = ReceivedNonces()
    }

    private let state = Mutex(State())

    /// The maximum number of links. Further ones are closed. Only nodes with the secret have links, so that other clients
    /// cannot take their places.
    private static let maximumCount = 256

    init(rooms: RoomService, signer: NodeSignature, silence: TimeSpan, logger: Logger) {
        self.rooms = rooms
        self.logger = logger
        transport = RoomLinkTransport(silence: silence, signer: signer, sends: .roomEvents, receives: .roomRequests)
    }

    /// Whether a WebSocket is a link.
    static func isOpen(at path: String) -> Bool { path == RoomLinkTransport.path }

    /// Runs until the connection ends.
    func run(_ connection: WebSocketConnection) async throws {
        guard let request = connection.request, let other = transport.nonce(of: request.fields) else { return }
        let isAccepted = state.withLock { state in
            // A request that was recorded on the network is not accepted again.
            guard state.nonces.insert(other), state.count < Self.maximumCount else { return false }
            state.count += 1
            return true
        }
        guard isAccepted else { return }
        defer { state.withLock { $0.count -= 1 } }
        let own = RandomIdentifier.make()
        try await connection.send(.text(own))
        let queue = RoomLinkQueue<RoomLinkEvent>()
        let node = RoomConnection(forward: { event in _ = queue.append(.event(RoomLinkMessage(event))) })
        await transport.run(connection, nonce: "\(other)-\(own)", ownNonce: own, queue) { [self] request in
            await receive(request, node, queue)
        }
        node.close()
        await rooms.nodeLost(node)
    }

    private func receive(
        _ request: RoomLinkRequest, _ node: RoomConnection, _ queue: RoomLinkQueue<RoomLinkEvent>
    ) async {
        switch request {
        case .announce(let key, let own, let listed):
            let application = key.applicationID
            await rooms.announce(
                key, own: own?.room(of: application)?.members ?? [],
                listed: listed?.room(of: application)?.members ?? [], by: node, queue)
        case .call(let call): await answer(call, node, queue)
        case .lost(let keys, let session, let leaves):
            await rooms.lost(SessionID(session), in: keys, of: node, leaves: leaves)
        case .streamEnded(let stream, let session):
            await rooms.streamEnded(StreamID(stream), of: SessionID(session))
        case .close(let key): await rooms.close(key, of: node)
        }
    }

    private func answer(
        _ call: RoomLinkCall, _ node: RoomConnection, _ queue: RoomLinkQueue<RoomLinkEvent>
    ) async {
        guard await rooms.isHome(of: call.room), let request = call.message.request, request.roomNames != nil else {
            queue.append(.absent(call.room, call: call.number))
            return
        }
        var streams: [StreamID: [String]?] = [:]
        for stream in call.streams {
            streams.updateValue(stream.isOwned ? stream.tags : nil, forKey: StreamID(stream.stream))
        }
        let session = SessionID(call.session)
        let pending = RoomNodeCall(streams: streams) { response, member in
            queue.append(.response(call.number, RoomLinkMessage(response), member: member))
        }
        let client = RoomClient(
            session: session, connection: node, access: call.access, address: nil, call: pending)
        let response = await rooms.respond(to: request, client)
        await rooms.finish(pending, response, of: session, by: node, in: call.room)
    }
}
