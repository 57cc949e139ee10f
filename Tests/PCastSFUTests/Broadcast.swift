import PCastCore

/// Sound and picture on their way from a publisher, and what is to be compared with them.
struct Broadcast {
    static let interval = TimeSpan.milliseconds(20)

    var pictures: TestFrames
    var sound: TestFrames
    /// Whether the encoder heeds requests for key frames.
    var answersRequests = true
    private var requestsSeen = 0
    private(set) var sent: [EncodedFrame] = []
    /// When each of them was, with its sound.
    private(set) var instants: [Instant] = []
    private var numbers: [[UInt8]: Int] = [:]

    init(_ codec: Codec, seed: UInt64 = 1, keyFrameInterval: Int = 0) {
        pictures = TestFrames(codec, seed: seed, keyFrameInterval: keyFrameInterval)
        pictures.timestampInterval = codec.clockRate.ticks(in: Self.interval)
        sound = TestFrames(.opus, seed: seed)
    }

    /// Sends so many pictures and as many packets of sound, one each 20 ms.
    mutating func send(
        _ count: Int, from publisher: CallPeer, by network: VirtualNetwork, clockOffset: TimeSpan = .zero
    ) {
        for _ in 0..<count {
            let captured = VirtualNetwork.clock.wallTime(at: network.now) + clockOffset
            let isAsked = answersRequests && publisher.beginnings > requestsSeen
            requestsSeen = publisher.beginnings
            let picture = pictures.next(isKeyFrame: isAsked ? true : nil, captureTime: captured)
            let packet = sound.next(captureTime: captured)
            numbers[picture.bytes] = sent.count
            numbers[packet.bytes] = sent.count
            sent.append(picture)
            instants.append(network.now)
            network.send(packet, from: publisher)
            network.send(picture, from: publisher)
            network.run(for: Self.interval)
        }
    }

    /// Which frame of its track it was; nil for one that was never sent.
    func number(of frame: EncodedFrame) -> Int? { numbers[frame.bytes] }

    func isSame(_ frame: EncodedFrame) -> Bool {
        number(of: frame).map { sent[$0].isKeyFrame == frame.isKeyFrame } ?? false
    }

    /// Whether the frames are as far apart in time as they were when sent.
    func keepsTime(_ frames: [EncodedFrame]) -> Bool {
        let duration = frames.first?.codec == .opus ? sound.timestampInterval : pictures.timestampInterval
        return zip(frames, frames.dropFirst()).allSatisfy { earlier, later in
            guard let first = number(of: earlier), let second = number(of: later) else { return false }
            return later.timestamp.ticks - earlier.timestamp.ticks == Int64(second - first) * duration
        }
    }
}
