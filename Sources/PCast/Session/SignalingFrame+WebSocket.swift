import PCastCore
import PCastSignaling
import PCastWeb

extension SignalingFrame {
    init(_ message: WebSocketMessage) {
        switch message {
        case .text(let text): self = .text(text)
        case .binary(let bytes): self = .binary(bytes)
        }
    }
}

extension WebSocketMessage {
    init(_ frame: SignalingFrame) {
        switch frame {
        case .text(let text): self = .text(text)
        case .binary(let bytes): self = .binary(bytes)
        }
    }
}

extension SignalingResponse {
    /// The stream that a `SetupStream` made; nil for anything else.
    var createdStream: StreamID? {
        guard case .setupStream(let response) = self, response.hasCreateStreamResponse,
            response.createStreamResponse.hasStreamID
        else { return nil }
        return StreamID(response.createStreamResponse.streamID)
    }
}
