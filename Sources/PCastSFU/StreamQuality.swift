import PCastCore
import PCastRTP
import PCastWebRTC

/// What the relay watches of a publisher's way to it, each half second.
struct StreamQuality {
    static let interval = TimeSpan.milliseconds(500)
    /// The viewers' links are looked at more often: what they do not carry is lost until the publisher heeds it.
    static let linksInterval = TimeSpan.milliseconds(200)

    /// Nil before the publisher is connected.
    var nextLook: Instant?
    var nextLinksLook: Instant?
    /// Room for what the links are found to carry, so that a look allocates nothing.
    var links: [Bitrate] = []
    /// Viewers would take pictures, and none of their links has room for them.
    var isPictureLeftOut = false
    var machine = PublisherQuality()
    /// For its viewers' sake, where it has one layer.
    var sharedLimit = SharedLimit()
    /// Whatever its viewers could take.
    var ceiling = BitrateLimit()
    /// What was sent to viewers that have left.
    var departed = StreamMetrics.Counts()

    /// When it was last asked for less than before, or for more.
    private var limitChange: Instant?
    private var lastLimit: Bitrate?
    /// For so long afterwards what a publisher finds out of its uplink is what it was asked for.
    private static let limitEcho = TimeSpan.seconds(10 as Int64)

    private var loss = ArrivalLoss()
    private(set) var repair = RetransmissionLatency()
    private(set) var lowJitter = LowJitterDetector()
    private var video = SenderCount()
    private var audio = SenderCount()
    private var lastLook: Instant?
    private var lastBytes = 0
    private var lastPackets = 0

    /// What arrives, in bits on the wire: the mean of the last looks, the recent ones more; nil before the first.
    private(set) var bitrate: Bitrate?

    /// IPv4, UDP, RTP with a few extensions, and the cipher's tag.
    private static let overhead = 70

    mutating func measure(_ receiver: MediaReceiver, at now: Instant) {
        var bytes = receiver.audio?.bytesReceived ?? 0
        var packets = receiver.audio?.packetsReceived ?? 0
        for layer in receiver.layers.indices {
            bytes += receiver.layers[layer].bytesReceived
            packets += receiver.layers[layer].packetsReceived
        }
        defer { (lastLook, lastBytes, lastPackets) = (now, bytes, packets) }
        guard let lastLook, now > lastLook else { return }
        let sum = bytes - lastBytes + (packets - lastPackets) * Self.overhead
        let current = Double(sum) * 8 / (now - lastLook).seconds
        let mean = bitrate.map { Double($0.bitsPerSecond) + (current - Double($0.bitsPerSecond)) / 4 } ?? current
        bitrate = Bitrate(bitsPerSecond: Int64(mean))
    }

    /// What the stream has when nothing holds it back; nil while nobody knows.
    func wantedInFull(_ receiver: MediaReceiver) -> Bitrate? {
        receiver.publisherReport?.wanted ?? sharedLimit.wantedInFull ?? bitrate
    }

    /// Since when the publisher has been asked for less than it had; nil while it is not.
    var askedForLess: Instant? { sharedLimit.bitrate == nil ? nil : limitChange }

    /// Notes what the publisher is asked for.
    mutating func noteLimit(at now: Instant) {
        if sharedLimit.bitrate != lastLimit { limitChange = now }
        lastLimit = sharedLimit.bitrate
    }

    /// What the publisher is asked for, by whoever wants least of it; nil for nothing.
    var request: Bitrate? {
        guard let shared = sharedLimit.bitrate, let most = ceiling.request else {
            return sharedLimit.bitrate ?? ceiling.request
        }
        return min(shared, most)
    }

    mutating func observation(
        of receiver: MediaReceiver, isAway: Bool, at now: Instant
    ) -> PublisherQuality.Observation {
        let report = receiver.publisherReport
        let pictures = receiver.layers.reduce(0) { $0 + $1.packetsReceived }
        let sounds = receiver.audio?.packetsReceived ?? 0
        // Of several layers some rest; their counts are no matter of what arrives.
        if receiver.layers.count == 1 { video.observe(receiver.layers[0].senderReport, packets: pictures) }
        audio.observe(receiver.audio?.senderReport, packets: sounds)
        let isPicturePaused = receiver.layers.indices.allSatisfy { receiver.isResting(.video, layer: $0) }
        return PublisherQuality.Observation(
            video: receiver.layers.isEmpty
                ? nil
                : .init(
                    packets: pictures,
                    isWithheld: report.map { $0.isVideoWithheld } ?? (video.isIdle && !isPicturePaused),
                    isPaused: isPicturePaused),
            audio: receiver.audio == nil
                ? nil
                : .init(
                    packets: sounds,
                    isWithheld: report.map { $0.isAudioWithheld } ?? (audio.isIdle && !receiver.isResting(.audio)),
                    isPaused: receiver.isResting(.audio)),
            uplink: evidence(receiver, report, at: now), isVideoCut: report?.isVideoCut ?? false, isAway: isAway,
            isLowered: sharedLimit.bitrate != nil, isPictureLeftOut: isPictureLeftOut)
    }

    /// Of the pictures that come, the layer's that has the least: a layer's first ones after a rest come in a rush.
    private static func jitter(_ receiver: MediaReceiver) -> TimeSpan {
        var least: TimeSpan?
        for index in receiver.layers.indices {
            guard let jitter = receiver.layers[index].statistics?.jitter else { continue }
            let span = receiver.layers[index].media.format.clockRate.span(ofTicks: Int64(jitter))
            least = min(least ?? span, span)
        }
        return least ?? .zero
    }

    private mutating func evidence(
        _ receiver: MediaReceiver, _ report: PublisherReport?, at now: Instant
    ) -> LinkLimitation.Evidence {
        var expected = receiver.audio?.statistics?.expected ?? 0
        var received = receiver.audio?.statistics?.received ?? 0
        for layer in receiver.layers.indices {
            expected += receiver.layers[layer].statistics?.expected ?? 0
            received += receiver.layers[layer].statistics?.received ?? 0
        }
        var evidence = LinkLimitation.Evidence(loss: loss.observe(expected: expected, received: received))
        if let loss = evidence.loss {
            repair.observe(loss, at: now)
            lowJitter.observe(loss: loss, queue: .zero, jitter: Self.jitter(receiver), at: now)
        }
        if video.isLost || audio.isLost { evidence.loss = 1 }
        let isEcho =
            sharedLimit.bitrate != nil || ceiling.request != nil
            || limitChange.map { now - $0 < Self.limitEcho } ?? false
        if !isEcho {
            evidence.estimate = report?.estimate
            evidence.wanted = report?.wanted
        }
        return evidence
    }
}
