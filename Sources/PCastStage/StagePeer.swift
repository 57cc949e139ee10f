public import PCastMedia
public import PCastWebRTC

/// A client of the relay in the same memory.
public final class StagePeer {
    public var connection: PeerConnection
    public let address: TransportAddress
    public private(set) var isConnected = false
    /// The relay wants a key frame.
    public var wantsKeyFrame = false
    /// How its connection ended; nil before.
    public private(set) var end: PeerConnection.Event?

    init(_ connection: consuming PeerConnection, address: TransportAddress) {
        self.connection = connection
        self.address = address
    }

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
