public import PCastCore
public import PCastWebRTC

/// A client of the SFU in the same memory.
public final class HarnessPeer {
    /// The connection to the SFU.
    public var connection: PeerConnection
    /// The local address of the peer.
    public let address: TransportAddress
    /// Whether the connection is established.
    public private(set) var isConnected = false
    /// Whether the SFU requested a key frame. The caller resets it.
    public var wantsKeyFrame = false
    /// The event that ended the connection; nil before.
    public private(set) var end: PeerConnection.Event?

    init(_ connection: consuming PeerConnection, address: TransportAddress) {
        self.connection = connection
        self.address = address
    }

    /// Processes all pending events of the connection.
    public func followEvents() {
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
