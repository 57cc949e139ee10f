import Synchronization

/// The current identity of a TLS server, which can be replaced for later connections.
package final class TLSCertificate: Sendable {
    private let current: Mutex<TLSIdentity>

    /// Creates a certificate with an initial identity.
    package init(_ identity: TLSIdentity) { current = Mutex(identity) }

    /// The current identity.
    package var identity: TLSIdentity { current.withLock { $0 } }

    /// Replaces the identity for new connections. Open connections keep theirs.
    package func replace(with identity: TLSIdentity) { current.withLock { $0 = identity } }
}
