package import PCastCore
package import PCastWebRTC

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
