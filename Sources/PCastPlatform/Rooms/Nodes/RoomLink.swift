import PCastWeb
import Synchronization

/// A link of this node to the home of rooms.
final class RoomLink: Sendable {
    let number: Int
    /// The address of the home.
    let uri: String
    let queue = RoomLinkQueue<RoomLinkRequest>()

    private static let lastNumber = Mutex(0)

    init(uri: String) {
        self.uri = uri
        number = Self.lastNumber.withLock { last in
            last += 1
            return last
        }
    }

    /// Connects, and processes the messages of the home until the link is lost.
    ///
    /// - Throws: An error of the connection.
    func run(_ transport: RoomLinkTransport, handle: @escaping @Sendable (RoomLinkEvent) async -> Void) async throws {
        let own = RandomIdentifier.make()
        try await WebSocketClient().connect(
            to: uri + RoomLinkTransport.path, headers: RoomLinkTransport.fields(own, by: transport.signer)
        ) { [queue] connection in
            await transport.run(connection, nonce: nil, ownNonce: own, queue, handle: handle)
        }
    }
}
