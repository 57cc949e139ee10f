package import PCastCore
package import PCastSFU
package import PCastWebRTC

/// An SFU and its peers in the memory of one thread with virtual time. Connectivity checks, DTLS handshakes and SRTP
/// keys are real. Only sockets are missing: the caller transfers the datagrams.
package struct InMemoryHarness: Sendable {
    /// The duration of a step of the virtual time.
    package static let step = TimeSpan.milliseconds(1)
    /// The virtual time at the beginning.
    package static let beginning = Instant(nanoseconds: 1_000_000_000_000)
    /// The address of the SFU.
    package static let relayAddress = TransportAddress(ip: IPAddress(v4: 0x0A00_0001), port: 8189)

    private let certificate: DTLSCertificate
    private let clock: WallClockReference

    /// Creates a harness with one certificate for all peers.
    ///
    /// - Throws: An error if the certificate cannot be generated.
    package init() throws {
        let wallTime = WallTime(millisecondsSinceEpoch: 1_800_000_000_000)
        clock = WallClockReference(instant: Self.beginning, wallTime: wallTime)
        certificate = try DTLSCertificate.generate(at: wallTime)
    }

    /// Returns a new SFU with a fixed random seed.
    package func sfu() -> SFU {
        SFU(
            configuration: SFUConfiguration(
                certificate: certificate, advertised: [Self.relayAddress], offersTCP: false, clock: clock),
            generator: SeededGenerator(seed: 5))
    }

    /// Returns a new peer whose address is derived from its number, from 0 to 65,535.
    package func peer(_ number: Int, _ purpose: PeerConnection.Purpose) -> HarnessPeer {
        var generator = SeededGenerator(seed: UInt64(number))
        let address = TransportAddress(ip: IPAddress(v4: 0x0A01_0000 + UInt32(number)), port: 5_000)
        let configuration = PeerConnection.Configuration(
            certificate: certificate, addresses: [address], clock: clock, cname: "stage-\(number)")
        return HarnessPeer(PeerConnection(purpose, configuration: configuration, using: &generator), address: address)
    }

    /// Returns the number of the peer that has an address.
    package static func number(of address: TransportAddress) -> Int { Int((address.ip.v4 ?? 0) & 0xFFFF) }
}

/// A client of the SFU in the same memory.
package final class HarnessPeer {
    /// The connection to the SFU.
    package var connection: PeerConnection
    /// The local address of the peer.
    package let address: TransportAddress
    /// Whether the connection is established.
    package private(set) var isConnected = false
    /// Whether the SFU requested a key frame. The caller resets it.
    package var wantsKeyFrame = false
    /// The event that ended the connection; nil before.
    package private(set) var end: PeerConnection.Event?

    init(_ connection: consuming PeerConnection, address: TransportAddress) {
        self.connection = connection
        self.address = address
    }

    /// Processes all pending events of the connection.
    package func followEvents() {
        while let event = connection.pollEvent() {
            switch event {
            case .connected: isConnected = true
            case .keyFrameRequested, .resumed(.video): wantsKeyFrame = true
            case .closed, .failed: end = event
            default: break
            }
        }
    }
}
