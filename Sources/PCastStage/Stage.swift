public import PCastMedia
internal import PCastNetwork
public import PCastRelay
public import PCastWebRTC

/// Where a relay and its peers stand in one thread's memory and on virtual time, with real checks, handshakes and keys:
/// only sockets are missing, and who drives it carries the datagrams.
public struct Stage: Sendable {
    /// Time goes by in steps of this.
    public static let step = TimeSpan.milliseconds(1)
    public static let beginning = Instant(nanoseconds: 1_000_000_000_000)
    public static let relayAddress = TransportAddress(ip: IPAddress(v4: 0x0A00_0001), port: 8189)

    private let certificate: DTLSCertificate
    private let clock: WallClockReference

    /// - Throws: when no certificate can be made.
    public init() throws {
        let wallTime = WallTime(millisecondsSinceEpoch: 1_800_000_000_000)
        clock = WallClockReference(instant: Self.beginning, wallTime: wallTime)
        certificate = try DTLSCertificate.generate(at: wallTime)
    }

    public func relay() -> Relay {
        Relay(
            configuration: RelayConfiguration(
                certificate: certificate, advertised: [Self.relayAddress], offersTCP: false, clock: clock),
            generator: SeededGenerator(seed: 5))
    }

    /// - Parameter number: 0 to 65,535, of which its address is made.
    public func peer(_ number: Int, _ purpose: PeerConnection.Purpose) -> StagePeer {
        var generator = SeededGenerator(seed: UInt64(number))
        let address = TransportAddress(ip: IPAddress(v4: 0x0A01_0000 + UInt32(number)), port: 5_000)
        let configuration = PeerConnection.Configuration(
            certificate: certificate, addresses: [address], clock: clock, cname: "stage-\(number)")
        return StagePeer(PeerConnection(purpose, configuration: configuration, using: &generator), address: address)
    }

    /// Which peer has that address.
    public static func number(of address: TransportAddress) -> Int { Int((address.ip.v4 ?? 0) & 0xFFFF) }
}
