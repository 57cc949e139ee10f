import Logging
import PCastCore
import PCastIO
import PCastSignaling

/// The requests and events of rooms.
extension SignalingSession {
    func respondInRoom(to request: SignalingRequest) async -> SignalingResponse {
        guard let client = clientOfRooms else { return request.response(.unauthorized) }
        return await rooms.respond(to: request, client)
    }

    /// The client for requests of rooms; nil if there is no session, or if it may enter no room.
    private var clientOfRooms: RoomClient? {
        guard let session, let roomAccess, !isOver else { return nil }
        let connection =
            roomConnection ?? RoomConnection { [weak self] in Task { await self?.sendRoomEvents() } }
        roomConnection = connection
        return RoomClient(
            session: session.id, connection: connection, access: roomAccess, address: remoteAddress)
    }

    /// Returns the response to a stream that was refused. After the status of a stream that has ended, Phenix's Web SDK
    /// selects the next presenter of a channel at once, and not the same one again.
    func rejection(of message: PCastSetupStream, _ error: APIError) async -> PCastSetupStreamResponse {
        logger.info("stream rejected", metadata: ["error": "\(error.detail)"])
        let create = message.createStream
        let origin = create.hasOriginStreamID ? create.originStreamID : create.originStreamIds.first
        if error.kind == .noStreamPlaying, let origin, let application = roomAccess?.application,
            await directory.hasEnded(StreamID(origin), of: application)
        {
            return PCastSetupStreamResponse(refusal: "origin-stream-ended", because: "The stream has ended.")
        }
        return PCastSetupStreamResponse(refusal: error.wire, because: error.message)
    }

    /// Sends the events of rooms that have occurred.
    func sendRoomEvents() {
        guard let roomConnection, !isOver, !isClosing else { return }
        guard let events = roomConnection.takeAll() else {
            logger.info("closing a connection whose client does not read the events of its rooms")
            return close(status: Self.tryAgainLater)
        }
        for event in events { feed(.sharedEvent(event)) }
    }

    /// Sends the events that waited for the response with the state of a room.
    func releaseRoomEvents(after response: SignalingResponse) {
        guard response.status == .ok, let roomConnection else { return }
        switch response {
        case .joinRoom, .fetchRoomConversation:
            roomConnection.release()
            sendRoomEvents()
        default: break
        }
    }

    /// Records that the client has closed the connection. A browser whose page is closed sends the status “going away”.
    func closed(_ status: UInt16) {
        hasLeft = hasLeft || status == Self.normalClosure || status == Self.goingAway
    }

    /// Leaves the rooms of a session. If the client may return, only its connection is removed.
    func leaveRooms(_ session: SessionID) async {
        guard let roomConnection else { return }
        self.roomConnection = nil
        roomConnection.close()
        if hasLeft {
            await rooms.leaveAll(session, roomConnection)
        } else {
            await rooms.connectionLost(session, roomConnection)
        }
    }
}
