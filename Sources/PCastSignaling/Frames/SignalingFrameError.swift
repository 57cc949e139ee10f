/// The reason for which a WebSocket message cannot be read.
public enum SignalingFrameError: Error, Hashable, Sendable {
    /// The message is longer than ``SignalingFrame/maximumSize``.
    case tooLarge(byteCount: Int)
    /// The text message is not Base64.
    case notBase64
    /// The content is not a protobuf message, or lacks required fields.
    case notAnEnvelope
}
