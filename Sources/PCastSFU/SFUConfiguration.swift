public import PCastCore
public import PCastWebRTC

/// The configuration of an SFU.
public struct SFUConfiguration: Sendable {
    /// The certificate for DTLS.
    public var certificate: DTLSCertificate
    /// The addresses at which peers reach the SFU, as peers see them. They are the candidates of every answer and
    /// offer.
    public var advertised: [TransportAddress]
    /// Whether ICE-TCP (RFC 6544) is offered on the same addresses.
    public var offersTCP: Bool
    /// The reference by which all wall-clock times are calculated, such as those of sender reports.
    public var clock: WallClockReference
    /// The maximum number of peers and unanswered offers. Further peers are rejected.
    public var maximumPeers: Int
    /// The time within which a peer must pass a check.
    public var setupTimeout: TimeSpan
    /// The shard that this SFU is.
    public var shard: Shard

    /// Creates a configuration. By default the SFU is the only shard and admits 20,000 peers.
    public init(
        certificate: DTLSCertificate, advertised: [TransportAddress], offersTCP: Bool, clock: WallClockReference,
        maximumPeers: Int = 20_000, setupTimeout: TimeSpan = .seconds(30),
        shard: Shard = .only
    ) {
        self.certificate = certificate
        self.advertised = advertised
        self.offersTCP = offersTCP
        self.clock = clock
        self.maximumPeers = maximumPeers
        self.setupTimeout = setupTimeout
        self.shard = shard
    }

    /// The values of `a=candidate` for all addresses.
    var candidates: [String] {
        let datagrams = hosts(.udp)
        return offersTCP ? datagrams + hosts(.tcp(.passive)) : datagrams
    }

    /// Returns host candidates. Addresses that are listed first are preferred, and each has its own priority (RFC 8445,
    /// section 5.1.2.1). For TCP, a preference has three bits less.
    private func hosts(_ transport: ICECandidate.Transport) -> [String] {
        advertised.enumerated().map { index, address in
            let preference = UInt16(clamping: 65_535 - 8 * index)
            return ICECandidate.host(address, transport: transport, preference: preference).description
        }
    }
}
