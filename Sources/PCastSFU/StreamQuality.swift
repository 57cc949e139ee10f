import PCastCore
import PCastRTP
import PCastWebRTC

/// The SFU's measurements of a publisher's path, taken each half second.
struct StreamQuality {
    static let interval = TimeSpan.milliseconds(500)
    /// The interval at which viewers' links are examined. It is shorter, because packets beyond a link's rate are lost
    /// until the publisher reacts.
    static let linksInterval = TimeSpan.milliseconds(200)

    /// The time of the next measurement; nil before the publisher is connected.
    var nextQualityCheck: Instant?
    var nextLinksCheck: Instant?
    /// Reused memory for the viewers' estimates, which avoids allocations.
    var links: [Bitrate] = []
    /// Whether viewers subscribe to video but no link can carry it.
    var isVideoDropped = false
    var machine = PublisherQuality()
    /// The limit of a single layer because of its viewers' links.
    var sharedLimit = SharedLimit()
    /// The limit of a publisher because of the links of viewers of a stream that receives its packets; nil for none.
    private(set) var splicedLimit: (bitrate: Bitrate, at: Instant)?
    /// The limit regardless of its viewers.
    var ceiling = BitrateLimit()
    /// The findings of which the publisher was notified.
    var reported = (order: false, keyFrames: false)
    /// The counters of viewers that have left.
    var departed = StreamMetrics.Counts()

    /// The time of the last change of the requested limit.
    private var limitChange: Instant?
    private var lastLimit: Bitrate?
    /// The time after which the limit of a stream that receives the packets no longer applies, because another publisher was
    /// selected. It is renewed at each examination of the links.
    private static let splicedLimitAge = TimeSpan.seconds(1 as Int64)
    /// The time after a change during which the publisher's estimate of its uplink only reflects the requested limit.
    private static let limitEcho = TimeSpan.seconds(10 as Int64)

    private var loss = ArrivalLoss()
    private(set) var repair = RetransmissionLatency()
    private(set) var lowJitter = LowJitterDetector()
    private var video = SenderCount()
    private var audio = SenderCount()
    private var lastLook: Instant?
    private var lastBytes = 0
    private var lastPackets = 0

    /// The bit rate that arrives, measured on the wire: a mean that favors recent values; nil before the first.
    private(set) var bitrate: Bitrate?

    /// The headers of IPv4, UDP and RTP with a few extensions, and the authentication tag, in bytes.
    private static let overhead = 70

    mutating func measure(_ receiver: MediaReceiver, at now: Instant) {
        var bytes = receiver.audio?.bytesReceived ?? 0
        var packets = receiver.audio?.packetsReceived ?? 0
        for layer in receiver.sentLayers {
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

    /// The bit rate of the stream without any limit; nil while it is unknown.
    func desiredBitrateInFull(_ receiver: MediaReceiver) -> Bitrate? {
        receiver.publisherReport?.wanted ?? sharedLimit.desiredBitrateInFull ?? bitrate
    }

    /// The time since which the publisher has been asked for a lower bit rate; nil if it is not.
    var askedForLess: Instant? { linksLimit == nil ? nil : limitChange }

    /// The limit because of viewers' links: those of the stream, or of one that receives its packets; nil for none.
    private var linksLimit: Bitrate? { Self.lower(sharedLimit.bitrate, splicedLimit?.bitrate) }

    /// Sets the limit because of the links of viewers of a stream that receives the packets; nil for none.
    mutating func setSplicedLimit(_ limit: Bitrate?, at now: Instant) { splicedLimit = limit.map { ($0, now) } }

    /// Records when the requested limit changes.
    mutating func noteLimit(at now: Instant) {
        if let splicedLimit, now - splicedLimit.at > Self.splicedLimitAge { self.splicedLimit = nil }
        if linksLimit != lastLimit { limitChange = now }
        lastLimit = linksLimit
    }

    /// The bit rate to request from the publisher, which is the lowest of the limits; nil if there is none.
    var request: Bitrate? { Self.lower(linksLimit, ceiling.request) }

    private static func lower(_ one: Bitrate?, _ other: Bitrate?) -> Bitrate? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }

    mutating func observation(
        of receiver: MediaReceiver, isAway: Bool, at now: Instant
    ) -> PublisherQuality.Observation {
        let report = receiver.publisherReport
        let videoPackets = receiver.layers[receiver.sentLayers].reduce(0) { $0 + $1.packetsReceived }
        let audioPackets = receiver.audio?.packetsReceived ?? 0
        // Some of several layers are paused, so their sender reports do not show whether packets are lost.
        if receiver.sentLayers.count == 1 { video.observe(receiver.layers[0].senderReport, packets: videoPackets) }
        audio.observe(receiver.audio?.senderReport, packets: audioPackets)
        let isVideoPaused = receiver.sentLayers.allSatisfy { receiver.isPaused(.video, layer: $0) }
        return PublisherQuality.Observation(
            video: receiver.layers.isEmpty
                ? nil
                : .init(
                    packets: videoPackets,
                    isWithheld: report.map { $0.isVideoWithheld } ?? (video.isIdle && !isVideoPaused),
                    isPaused: isVideoPaused),
            audio: receiver.audio == nil
                ? nil
                : .init(
                    packets: audioPackets,
                    isWithheld: report.map { $0.isAudioWithheld } ?? (audio.isIdle && !receiver.isPaused(.audio)),
                    isPaused: receiver.isPaused(.audio)),
            uplink: evidence(receiver, report, at: now), isVideoCut: report?.isVideoCut ?? false, isAway: isAway,
            isLowered: linksLimit != nil, isVideoDropped: isVideoDropped)
    }

    /// The lowest jitter of all layers. The first packets of a layer after a pause arrive in a burst.
    private static func jitter(_ receiver: MediaReceiver) -> TimeSpan {
        var least: TimeSpan?
        for index in receiver.sentLayers {
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
        for layer in receiver.sentLayers {
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
            linksLimit != nil || ceiling.request != nil
            || limitChange.map { now - $0 < Self.limitEcho } ?? false
        if !isEcho {
            evidence.estimate = report?.estimate
            evidence.wanted = report?.wanted
        }
        return evidence
    }
}

/// The maximum bit rate of a publisher, regardless of what its viewers could receive.
///
/// The publisher is asked to keep to it (REMB) as soon as it sends half of it, and from then on. A publisher that
/// exceeds it by half for ten seconds ignores the request and must be removed.
struct BitrateLimit {
    /// The limit; nil if there is none.
    private(set) var bitrate: Bitrate?
    private var isNear = false
    private var exceededSince: Instant?

    private static let timeout = TimeSpan.seconds(10 as Int64)

    mutating func change(to bitrate: Bitrate?) {
        guard bitrate != self.bitrate else { return }
        self.bitrate = bitrate
        exceededSince = nil
    }

    /// The bit rate to request from the publisher; nil if nothing is to be requested.
    var request: Bitrate? { isNear ? bitrate : nil }

    /// Compares a measured bit rate with the limit. The measurement is nil while it is unknown.
    /// Returns true if the limit has been exceeded by too much for too long.
    mutating func observe(_ measured: Bitrate?, at now: Instant) -> Bool {
        guard let bitrate, let measured else { return false }
        if measured.bitsPerSecond * 2 >= bitrate.bitsPerSecond { isNear = true }
        guard measured.bitsPerSecond * 2 > bitrate.bitsPerSecond * 3 else {
            exceededSince = nil
            return false
        }
        let since = exceededSince ?? now
        exceededSince = since
        return now - since >= Self.timeout
    }
}

/// The properties of a publisher's video that cost its viewers latency.
extension PublishedStream {
    /// The number of packets whose order is examined at a time, which have several frames.
    private static let examinedCount: Int64 = 64

    /// Returns the properties that were not reported yet; nil if there are none.
    mutating func takeFindings(at now: Instant) -> (isReordered: Bool, keyFrameInterval: TimeSpan?)? {
        // A publisher in this process has no transport.
        guard transport != nil, layers.exist, !isAway, !(quality.reported.order && quality.reported.keyFrames) else {
            return nil
        }
        var (isReordered, interval) = (false, TimeSpan?.none)
        if !quality.reported.order, hasReorderedFrames(at: now) {
            quality.reported.order = true
            isReordered = true
        }
        if !quality.reported.keyFrames, receiver.ignoresKeyFrameRequests(layer: 0, at: now),
            let keyFrame = layers[0].log.newestKeyFrame
        {
            let age = now - layers[0].log[keyFrame].arrival
            if age > IngestReview.longestKeyFrameInterval {
                quality.reported.keyFrames = true
                interval = age
            }
        }
        return isReordered || interval != nil ? (isReordered, interval) : nil
    }

    private func hasReorderedFrames(at now: Instant) -> Bool {
        var order = FrameOrder()
        let end = layers[0].log.end
        for position in max(layers[0].log.start, end - Self.examinedCount)..<end {
            let entry = layers[0].log[position]
            // Parameter sets that the SFU repeats have no sequence number.
            if entry.sequence >= 0 { order.observe(sequence: entry.sequence, timestamp: entry.timestamp, at: now) }
        }
        return order.isReordered(at: now)
    }
}
