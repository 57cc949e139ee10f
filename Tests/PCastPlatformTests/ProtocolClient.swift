import PCastCore
import PCastIO
import PCastSignaling
import PCastWeb

/// A minimal client of the protocol: one WebSocket, requests out, responses and events in.
actor ProtocolClient {
    private let connection: WebSocketConnection
    private var conversation: ClientSignalingMachine
    private var answers: [SignalingRequestID: Result<SignalingResponse, SignalingFailure>] = [:]
    /// The requests in the order of their responses.
    private(set) var answered: [SignalingRequestID] = []
    private(set) var ended: [PCastStreamEnded] = []
    private(set) var captions: [PCastStreamCaptions] = []
    /// The events of rooms, each with the number of responses that had arrived before.
    private(set) var roomEvents: [(event: ChatRoomEvent, answers: Int)] = []
    private(set) var roomMessages: [(message: ChatChatMessage, answers: Int)] = []
    /// The frames in their order of arrival.
    private(set) var received: [SignalingFrame] = []
    private(set) var isClosed = false

    private init(_ connection: WebSocketConnection, form: SignalingFrame.Form) {
        self.connection = connection
        conversation = ClientSignalingMachine(form: form)
        conversation.handle(.connected, at: MonotonicClock.now())
    }

    /// Runs `body` with a client of the platform.
    static func run(
        _ platform: TestPlatform, form: SignalingFrame.Form = .text,
        _ body: @Sendable (ProtocolClient) async throws -> Void
    ) async throws {
        try await WebSocketClient().connect(to: platform.uri + "/ws") { connection in
            let client = ProtocolClient(connection, form: form)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await client.read() }
                try await body(client)
                group.cancelAll()
            }
        }
    }

    private func read() async {
        try? await connection.forEachMessage { message in
            switch message {
            case .text(let text): await self.take(.text(text))
            case .binary(let bytes): await self.take(.binary(bytes))
            }
        }
        isClosed = true
    }

    private func take(_ frame: SignalingFrame) {
        received.append(frame)
        conversation.handle(.received(frame), at: MonotonicClock.now())
        while let output = conversation.poll() {
            switch output {
            case .answered(let id, let result):
                answers[id] = result
                answered.append(id)
            case .event(.streamEnded(let message)): ended.append(message)
            case .event(.streamCaptions(let message)): captions.append(message)
            case .event(.room(let event)): roomEvents.append((event, answered.count))
            case .event(.roomConversation(let event)):
                roomMessages += event.chatMessages.map { ($0, answered.count) }
            default: break
            }
        }
    }

    // MARK: Asking

    /// Sends requests without waiting for responses.
    func send(_ requests: SignalingRequest...) async throws -> [SignalingRequestID] {
        var ids: [SignalingRequestID] = []
        for request in requests {
            ids.append(conversation.request(request, at: MonotonicClock.now()))
            while case .send(let frame)? = conversation.poll() { try await sendRaw(frame) }
        }
        return ids
    }

    /// Sends a frame with any content.
    func sendRaw(_ frame: SignalingFrame) async throws {
        switch frame {
        case .text(let text): try await connection.send(.text(text))
        case .binary(let bytes): try await connection.send(.binary(bytes))
        }
    }

    /// Waits for the response to a request.
    func answer(_ id: SignalingRequestID) async throws -> Result<SignalingResponse, SignalingFailure>? {
        _ = try await eventually { answers[id] != nil || isClosed }
        return answers[id]
    }

    /// Returns the status of the response to a request.
    func ask(_ request: SignalingRequest) async throws -> RequestStatus? {
        try await response(request)?.status
    }

    func response(_ request: SignalingRequest) async throws -> SignalingResponse? {
        guard let id = try await send(request).first else { return nil }
        return try await answer(id)?.get()
    }

    /// Opens a session.
    ///
    /// - Returns: Its ID; nil if it was rejected.
    func authenticate(_ token: String = "", session: String? = nil) async throws -> String? {
        guard case .authenticate(let response)? = try await response(Requests.authenticate(token, session: session)),
            response.status == "ok"
        else { return nil }
        return response.sessionID
    }

    /// Publishes or subscribes.
    ///
    /// - Returns: The stream's ID; nil if the request was rejected.
    func setUp(_ request: SignalingRequest) async throws -> String? {
        guard case .setupStream(let response)? = try await response(request), response.status == "ok" else {
            return nil
        }
        return response.createStreamResponse.streamID
    }

    /// Waits for the reason of a stream's end.
    func reason(_ stream: String) async throws -> String? {
        _ = try await eventually { ended.contains { $0.streamID == stream } }
        return ended.first { $0.streamID == stream }?.reason
    }

    /// Closes the connection with a close frame.
    func close() async { await connection.close() }

    /// Breaks the connection without a close frame.
    func cut() { connection.cut() }

    func closes() async throws -> Bool { try await eventually { isClosed } }
}
