import NIOCore
import PCastIO
import PCastMedia
import PCastWeb

/// The place of a WebSocket's connection, which counts for whoever is behind a proxy, too.
struct SessionPlace: Sendable {
    /// Nil for who comes to us directly: that connection is counted where it came in.
    let seat: Seat?
}

extension Admission {
    /// RFC 6455, section 7.4.1, and the registry it makes: try again later.
    private static let tryAgainLater: UInt16 = 1_013

    /// - Returns: nil when there is none, which its client was told.
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
