import PCastCore
import PCastSignaling
import PCastWeb

extension SignalingFrame {
    /// Creates the frame of a WebSocket message.
    init(_ message: WebSocketMessage) {
        switch message {
        case .text(let text): self = .text(text)
        case .binary(let bytes): self = .binary(bytes)
        }
    }
}

extension WebSocketMessage {
    /// Creates the WebSocket message of a frame.
    init(_ frame: SignalingFrame) {
        switch frame {
        case .text(let text): self = .text(text)
        case .binary(let bytes): self = .binary(bytes)
        }
    }
}

extension SignalingResponse {
    /// The stream that a `SetupStream` created; nil for other responses.
    var createdStream: StreamID? {
        guard case .setupStream(let response) = self, response.hasCreateStreamResponse,
            response.createStreamResponse.hasStreamID
        else { return nil }
        return StreamID(response.createStreamResponse.streamID)
    }
}
