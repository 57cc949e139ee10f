public import PCastMedia

/// Where a platform that has started is reached.
public struct PlatformListening: Sendable {
    /// Such as `http://127.0.0.1:8080`.
    public let uri: String
    /// The port of media.
    public let rtcPort: UInt16
    /// What candidates name.
    public let advertised: [TransportAddress]
    /// The port of TLS, where there is one.
    public let tlsPort: Int?
    /// Anyone on this machine may watch and publish without a token.
    public let isOpenToThisMachine: Bool
    /// Whose tokens count.
    public let applications: [PlatformConfiguration.Application]
}
