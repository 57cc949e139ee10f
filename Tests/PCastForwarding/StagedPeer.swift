import PCastMedia
import PCastNetwork
import PCastWebRTC

/// A client of the relay in the same memory.
final class StagedPeer {
    var connection: PeerConnection
    let address: TransportAddress
    private(set) var isConnected = false
    /// The relay wants a key frame.
    var wantsKeyFrame = false

    init(
        _ number: Int, _ purpose: PeerConnection.Purpose, certificate: DTLSCertificate, clock: WallClockReference
    ) {
        var generator = SeededGenerator(seed: UInt64(number))
        address = TransportAddress(ip: IPAddress(v4: 0x0A01_0000 + UInt32(number)), port: 5_000)
        connection = PeerConnection(
            purpose,
            configuration: PeerConnection.Configuration(
                certificate: certificate, addresses: [address], clock: clock, cname: "stage-\(number)"),
            using: &generator)
    }

    func followEvents() {
        while let event = connection.pollEvent() {
            switch event {
            case .connected: isConnected = true
            case .keyFrameRequested, .resumed(.video): wantsKeyFrame = true
            default: break
            }
        }
    }
}
