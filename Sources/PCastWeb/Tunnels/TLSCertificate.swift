import Synchronization

/// The identity of a TLS server, which may be another one for connections to come.
public final class TLSCertificate: Sendable {
    private let current: Mutex<TLSIdentity>

    public init(_ identity: TLSIdentity) { current = Mutex(identity) }

    public var identity: TLSIdentity { current.withLock { $0 } }

    /// Connections from now on see that one; those that are open go on with theirs.
    public func replace(with identity: TLSIdentity) { current.withLock { $0 = identity } }
}
