/// A complete WebSocket message, reassembled from its fragments (RFC 6455, section 5.6).
package enum WebSocketMessage: Sendable, Hashable {
    case text(String)
    case binary([UInt8])
}
