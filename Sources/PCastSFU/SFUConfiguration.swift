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

/// The position of an SFU among several that share the same addresses, each on its own thread.
///
/// A datagram may arrive at any shard, which determines the peer's shard. The first character of the ufrag in a check
/// encodes the shard. Each shard notifies the others of the paths on which its peers have passed checks. Datagrams of
/// another shard's peer are forwarded (`ShardMessageBatch`).
public struct Shard: Hashable, Sendable {
    /// The maximum number of shards, which is what one character of a ufrag can encode.
    public static let maximumCount = 64

    /// The number of this shard, starting at 0.
    public let number: Int
    /// The number of shards.
    public let count: Int

    /// Creates the position of a shard. `number` must be less than `count`.
    public init(_ number: Int, of count: Int) {
        precondition((1...Self.maximumCount).contains(count) && (0..<count).contains(number))
        self.number = number
        self.count = count
    }

    /// The position of an SFU without other shards.
    public static let only = Shard(0, of: 1)

    var isAlone: Bool { count == 1 }

    /// The value of the first character of the SFU's ufrags; nil if there are no other shards.
    var mark: Int? { isAlone ? nil : number }
}
