/// One whole WebSocket message (RFC 6455, section 5.6), fragments put together.
public enum WebSocketMessage: Sendable, Hashable {
    case text(String)
    case binary([UInt8])
}
