/// Why a WebSocket message cannot be read.
public enum SignalingFrameError: Error, Hashable, Sendable {
    /// Longer than ``SignalingFrame/maximumSize``.
    case tooLarge(byteCount: Int)
    case notBase64
    /// No protobuf message, or one that lacks required fields.
    case notAnEnvelope
}
