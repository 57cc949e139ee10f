import PCastMedia
import PCastWebRTC

/// A client of the relay in the same memory.
final class MemoryPeer {
    var connection: PeerConnection
    let address: TransportAddress
    private(set) var isConnected = false
    /// The platform wants a key frame.
    var wantsKeyFrame = false

    init(_ connection: consuming PeerConnection, address: TransportAddress) {
        self.connection = connection
        self.address = address
    }

    func followEvents() throws {
        while let event = connection.pollEvent() {
            switch event {
            case .connected: isConnected = true
            case .keyFrameRequested, .resumed(.video): wantsKeyFrame = true
            case .closed, .failed: throw BenchFailure("a peer in memory was lost: \(event)")
            default: break
            }
        }
    }
}
