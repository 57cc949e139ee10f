import NIOCore
import PCastIO
import PCastMedia
import PCastWeb

/// The reservation of a WebSocket's connection. Connections through a proxy count for the client that the proxy
/// reports.
struct SessionPlace: Sendable {
    /// Nil for a client without a proxy, whose connection was already counted when it was accepted.
    let seat: Seat?
}

extension Admission {
    /// The close status "try again later" of the WebSocket registry (RFC 6455, section 11.7).
    private static let tryAgainLater: UInt16 = 1_013

    /// Reserves a place for a connection; nil if there is none, after a close frame was sent.
    func place(for connection: WebSocketConnection) async -> SessionPlace? {
        let peer = connection.remoteAddress?.ipAddress.flatMap { IPAddress($0) }
        let client = address(of: peer, fields: connection.request?.fields ?? { _ in [] })
        do throws(Refusal) {
            try takeRequest(from: client, at: MonotonicClock.now())
            guard isTrustedProxy(peer) else { return SessionPlace(seat: nil) }
            return SessionPlace(seat: try seat(.connection, of: nil, from: client))
        } catch {
            await connection.close(status: Self.tryAgainLater)
            return nil
        }
    }
}
