import PCastCore

/// VP8 frames of one packet each, with sequence numbers and timestamps that the test chooses.
struct ScriptedVideo {
    var sequence: UInt16
    var timestamp: UInt32
    var ssrc: UInt32?
    /// The frames without their payload descriptors.
    private(set) var frames: [[UInt8]] = []
    private var count: UInt32 = 0

    init(sequence: UInt16 = 1000, timestamp: UInt32 = 90_000) {
        self.sequence = sequence
        self.timestamp = timestamp
    }

    /// Sends a frame and lets it arrive at the SFU.
    mutating func send(
        isKeyFrame: Bool = false, from peer: ScriptedPeer, by network: VirtualNetwork,
        interval: TimeSpan = .milliseconds(33)
    ) {
        say(isKeyFrame: isKeyFrame, from: peer)
        network.deliverAll(peer)
        network.run(for: interval)
    }

    mutating func say(isKeyFrame: Bool = false, from peer: ScriptedPeer) {
        let number = withUnsafeBytes(of: count.bigEndian) { Array($0) }
        let start: [UInt8] = isKeyFrame ? [0x10, 0x02, 0x00, 0x9D, 0x01, 0x2A, 0x80, 0x02, 0xE0, 0x01] : [0x11, 2, 0]
        let frame = start + number + [UInt8](repeating: 7, count: 40)
        peer.say(.video, sequence: sequence, timestamp: timestamp, payload: [0x10] + frame, ssrc: ssrc)
        frames.append(frame)
        sequence &+= 1
        timestamp &+= 3000
        count += 1
    }

    mutating func sendPadding(from peer: ScriptedPeer, by network: VirtualNetwork) {
        peer.say(
            .video, sequence: sequence, timestamp: timestamp &- 3000, payload: [], marker: false, ssrc: ssrc,
            paddingSize: 200)
        sequence &+= 1
        network.deliverAll(peer)
    }
}
