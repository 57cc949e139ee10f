public import PCastCore
public import PCastWebRTC

/// What a relay is made with.
public struct SFUConfiguration: Sendable {
    public var certificate: DTLSCertificate
    /// Where peers reach us, as they shall see it (ICE9): written into every answer, datagrams first.
    public var advertised: [TransportAddress]
    /// Offer ICE-TCP on the same addresses.
    public var offersTCP: Bool
    /// The clock of every sender report (RTCP3).
    public var clock: WallClockReference
    /// Further ones are refused.
    public var maximumPeers: Int
    /// A peer that has not passed a check by then is gone.
    public var setupTimeout: TimeSpan
    public var shard: Shard

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

    /// Values of `a=candidate` for all addresses.
    var candidates: [String] {
        let datagrams = hosts(.udp)
        return offersTCP ? datagrams + hosts(.tcp(.passive)) : datagrams
    }

    /// The addresses listed first are preferred, and each has a priority of its own (RFC 8445, section 5.1.2.1). TCP drops
    /// the last three bits of a preference.
    private func hosts(_ transport: ICECandidate.Transport) -> [String] {
        advertised.enumerated().map { index, address in
            let preference = UInt16(clamping: 65_535 - 8 * index)
            return ICECandidate.host(address, transport: transport, preference: preference).description
        }
    }
}
