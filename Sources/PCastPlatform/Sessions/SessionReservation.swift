import NIOCore
import PCastCore
import PCastIO
import PCastWeb

/// The reservation of a WebSocket's connection. Connections through a proxy count for the client that the proxy
/// reports.
struct SessionReservation: Sendable {
    /// Nil for a client without a proxy, whose connection was already counted when it was accepted.
    let reservation: QuotaReservation?
}

extension RequestLimiter {
    /// The close status "try again later" of the WebSocket registry (RFC 6455, section 11.7).
    private static let tryAgainLater: UInt16 = 1_013

    /// Reserves a place for a connection; nil if there is none, after a close frame was sent.
    func reserve(for connection: WebSocketConnection) async -> SessionReservation? {
        let peer = connection.remoteAddress?.ipAddress.flatMap { IPAddress($0) }
        let client = address(of: peer, fields: connection.request?.fields ?? { _ in [] })
        do throws(APIError) {
            try takeRequest(from: client, at: MonotonicClock.now())
            guard isTrustedProxy(peer) else { return SessionReservation(reservation: nil) }
            return SessionReservation(reservation: try reserve(.connection, of: nil, from: client))
        } catch {
            await connection.close(status: Self.tryAgainLater)
            return nil
        }
    }
}
