public import PCastCore

/// The addresses of a running platform.
public struct PlatformListening: Sendable {
    /// The URI, such as `http://127.0.0.1:8080`.
    public let uri: String
    /// The port for media.
    public let rtcPort: UInt16
    /// The addresses in candidates.
    public let advertised: [TransportAddress]
    /// The port for TLS; nil if there is none.
    public let tlsPort: Int?
    /// Whether programs of this host may publish and subscribe without a token.
    public let allowsAnonymousLoopback: Bool
    /// The applications whose tokens are valid.
    public let applications: [PlatformConfiguration.Application]
}
