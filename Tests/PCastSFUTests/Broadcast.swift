import PCastCore

/// Audio and video that a publisher sends, to be compared with what arrives.
struct Broadcast {
    static let interval = TimeSpan.milliseconds(20)

    var videoFrames: TestFrames
    var audio: TestFrames
    /// Whether the encoder answers requests for key frames.
    var answersRequests = true
    private var requestsSeen = 0
    private(set) var sent: [EncodedFrame] = []
    /// The time at which each frame was sent with its audio.
    private(set) var instants: [Instant] = []
    private var numbers: [[UInt8]: Int] = [:]

    init(_ codec: Codec, seed: UInt64 = 1, keyFrameInterval: Int = 0) {
        videoFrames = TestFrames(codec, seed: seed, keyFrameInterval: keyFrameInterval)
        videoFrames.timestampInterval = codec.clockRate.ticks(in: Self.interval)
        audio = TestFrames(.opus, seed: seed)
    }

    /// Sends frames, each with a packet of audio, every 20 ms.
    mutating func send(
        _ count: Int, from publisher: CallPeer, by network: VirtualNetwork, clockOffset: TimeSpan = .zero
    ) {
        for _ in 0..<count {
            let captured = VirtualNetwork.clock.wallTime(at: network.now) + clockOffset
            let isAsked = answersRequests && publisher.beginnings > requestsSeen
            requestsSeen = publisher.beginnings
            let frame = videoFrames.next(isKeyFrame: isAsked ? true : nil, captureTime: captured)
            let packet = audio.next(captureTime: captured)
            numbers[frame.bytes] = sent.count
            numbers[packet.bytes] = sent.count
            sent.append(frame)
            instants.append(network.now)
            network.send(packet, from: publisher)
            network.send(frame, from: publisher)
            network.run(for: Self.interval)
        }
    }

    /// The index of a frame in its track; nil if it was never sent.
    func number(of frame: EncodedFrame) -> Int? { numbers[frame.bytes] }

    func isSame(_ frame: EncodedFrame) -> Bool {
        number(of: frame).map { sent[$0].isKeyFrame == frame.isKeyFrame } ?? false
    }

    /// Whether the timestamps of frames differ as much as when they were sent.
    func keepsTime(_ frames: [EncodedFrame]) -> Bool {
        let duration = frames.first?.codec == .opus ? audio.timestampInterval : videoFrames.timestampInterval
        return zip(frames, frames.dropFirst()).allSatisfy { earlier, later in
            guard let first = number(of: earlier), let second = number(of: later) else { return false }
            return later.timestamp.ticks - earlier.timestamp.ticks == Int64(second - first) * duration
        }
    }
}
