import PCastCore
import PCastIO
import PCastSignaling
import PCastWeb
import PCastWebRTC
import Synchronization

/// A signaling session with one subscription: a WebSocket that stays open while its task runs.
enum LightSession {
    /// Opens a session and sets up a stream in it. Returns the platform's answer, and the task whose cancellation ends
    /// the session. Throws `BenchFailure` if the platform rejects it.
    static func view(
        _ offer: SessionDescription, at uri: String, authenticationToken: String, token: String
    ) async throws -> (answer: SessionDescription, session: Task<Void, any Error>) {
        let (answers, continuation) = AsyncThrowingStream<String, any Error>.makeStream()
        let requests = [
            SignalingRequest.authenticate(authentication(authenticationToken)),
            .setupStream(setup(offer.text, token: token)),
        ]
        let session = Task {
            do {
                try await WebSocketClient().connect(to: uri + "/ws") { connection in
                    let exchange = SignalingExchange(connection, continuation)
                    try await exchange.advance { exchange in
                        exchange.handle(.connected, at: MonotonicClock.now())
                        for request in requests { _ = exchange.request(request, at: MonotonicClock.now()) }
                    }
                    try await connection.forEachMessage { message in
                        let frame: SignalingFrame =
                            switch message {
                            case .text(let text): .text(text)
                            case .binary(let bytes): .binary(bytes)
                            }
                        try await exchange.advance { $0.handle(.received(frame), at: MonotonicClock.now()) }
                    }
                }
                continuation.finish(throwing: BenchFailure("the session ended"))
            } catch {
                continuation.finish(throwing: error)
                throw error
            }
        }
        do {
            for try await answer in answers { return (try SessionDescription(parsing: answer), session) }
            throw BenchFailure("the session ended")
        } catch {
            session.cancel()
            throw error
        }
    }

    /// The client's part of the signaling on one connection.
    private final class SignalingExchange: Sendable {
        private let machine = Mutex(ClientSignalingMachine())
        private let connection: WebSocketConnection
        private let answers: AsyncThrowingStream<String, any Error>.Continuation

        init(_ connection: WebSocketConnection, _ answers: AsyncThrowingStream<String, any Error>.Continuation) {
            self.connection = connection
            self.answers = answers
        }

        func advance(_ change: @Sendable (inout ClientSignalingMachine) -> Void) async throws {
            let outputs = machine.withLock { machine in
                change(&machine)
                var outputs: [ClientSignalingMachine.Output] = []
                while let output = machine.poll() { outputs.append(output) }
                return outputs
            }
            for output in outputs { try await follow(output) }
        }

        private func follow(_ output: ClientSignalingMachine.Output) async throws {
            switch output {
            case .send(.text(let text)): try await connection.send(.text(text))
            case .send(.binary(let bytes)): try await connection.send(.binary(bytes))
            case .answered(_, .success(.setupStream(let response))):
                let answer = response.createStreamResponse.createAnswerDescriptionResponse
                guard answer.hasSessionDescription else {
                    throw BenchFailure("SetupStream answered “\(response.status)”")
                }
                answers.yield(answer.sessionDescription.sdp)
            case .answered(_, .failure(let failure)):
                throw BenchFailure("a request of the session failed: \(failure)")
            case .answered, .event, .roundTripTime, .unresponsive: break
            }
        }
    }

    private static func authentication(_ token: String) -> PCastAuthenticate {
        var message = PCastAuthenticate()
        message.apiVersion = 1
        message.clientVersion = "1.0.0"
        message.deviceID = "light"
        message.platform = "Linux"
        message.platformVersion = "1"
        message.authenticationToken = token
        return message
    }

    private static func setup(_ offer: String, token: String) -> PCastSetupStream {
        var description = PCastSetRemoteDescription()
        description.streamID = ""
        description.apiVersion = 1
        description.sessionDescription = PCastSessionDescription()
        description.sessionDescription.type = .offer
        description.sessionDescription.sdp = offer
        var answer = PCastCreateAnswerDescription()
        answer.streamID = ""
        answer.options = ["download"]
        answer.apiVersion = 1
        var stream = PCastCreateStream()
        stream.sessionID = ""
        stream.options = []
        stream.tags = []
        stream.userAgent = "light"
        stream.setRemoteDescription = description
        stream.createAnswerDescription = answer
        var message = PCastSetupStream()
        message.streamToken = token
        message.createStream = stream
        return message
    }
}
