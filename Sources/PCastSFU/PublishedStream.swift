import PCastCore
import PCastRTP
import PCastWebRTC

/// A publisher and its stream, or the replica of a stream whose publisher is a peer of another shard.
struct PublishedStream: ~Copyable {
    let id: StreamID
    let peer: PeerID
    /// The publisher's transport; nil in a replica, and if the publisher is in this process.
    var transport: SecureTransport?
    /// Whether the stream remains without its link to another node; see `PeerOptions.keepsViewers`.
    let keepsViewers: Bool
    /// Whether the link has ended or was replaced. Its transport is closed, and removed when that is sent.
    var isDetached = false
    /// The shard that has the publisher; nil if this one has it.
    let publisherShard: Int?
    /// The replicas of the stream on other shards.
    var replicas: [StreamReplica] = []
    /// For a replica, the time of the last message from the publisher's shard.
    var lastUpdate: Instant?
    /// The media as negotiated with the publisher.
    let media: [NegotiatedMedia]
    var receiver: MediaReceiver
    var layers: VideoLayers
    var audio: PublishedTrack
    var clock = PublisherClock()
    /// The time from capture at which all viewers show the same frame; nil if each viewer has its own delay.
    let playout: TimeSpan?
    var deadlines: PeerDeadlines
    /// The layers in the order of their quality, as of the last review.
    var ladder = LayerLadder()
    /// The ladder of the review before.
    var formerLadder = LayerLadder()
    var nextReview: Instant?
    var quality = StreamQuality()
    var renditions = StreamRenditions()

    /// The indices of the viewers, in the order in which they are served.
    var viewers: [Int] = []
    /// The number of viewers that count in statistics.
    var countedViewers = 0
    /// The viewer to be served next in this round, and the first of the round. Each round begins with another viewer.
    var nextViewer = 0
    var firstViewer = 0

    var hasPackets = false
    /// The time until which the rest of a frame is awaited; nil if none is.
    var gathersUntil: Instant?
    var hasControl = false
    var hasMedia = false
    var isAway = false
    var isEnding = false
    var scheduled: Instant?

    init(
        id: StreamID, peer: PeerID, transport: consuming SecureTransport, session: NegotiatedSession,
        terms: PeerOptions, began: Instant, reporterSSRC: UInt32, renditionSSRCs: [UInt32], cname: String
    ) {
        var receiver = MediaReceiver(
            session.media, reporterSSRC: reporterSSRC, cname: cname, measuresRoundTrip: true)
        receiver.addRenditions(named: Rendition.all.map(\.name), ssrcs: renditionSSRCs)
        self.init(
            id: id, peer: peer, transport: transport, publisherShard: nil, media: session.media,
            playout: terms.playout, deadlines: PeerDeadlines(terms, began: began), receiver: receiver,
            keepsViewers: terms.keepsViewers)
    }

    /// Creates the stream of a publisher in this process, which has no transport.
    init(
        id: StreamID, peer: PeerID, ingesting media: [NegotiatedMedia], terms: PeerOptions, began: Instant,
        reporterSSRC: UInt32, renditionSSRCs: [UInt32], cname: String
    ) {
        var receiver = MediaReceiver(media, reporterSSRC: reporterSSRC, cname: cname, measuresRoundTrip: false)
        receiver.addRenditions(named: Rendition.all.map(\.name), ssrcs: renditionSSRCs)
        self.init(
            id: id, peer: peer, transport: nil, publisherShard: nil, media: media, playout: terms.playout,
            deadlines: PeerDeadlines(terms, began: began), receiver: receiver)
        clock = PublisherClock(isShared: true)
    }

    private init(
        id: StreamID, peer: PeerID, transport: consuming SecureTransport?, publisherShard: Int?,
        media: [NegotiatedMedia], playout: TimeSpan?, deadlines: PeerDeadlines, receiver: MediaReceiver,
        keepsViewers: Bool = false
    ) {
        self.id = id
        self.keepsViewers = keepsViewers
        self.peer = peer
        self.transport = transport
        self.publisherShard = publisherShard
        self.media = media
        self.playout = playout
        self.deadlines = deadlines
        self.receiver = receiver
        let layers = receiver.layers
        self.layers = VideoLayers(count: max(layers.count, 1)) { index in
            PublishedTrack(
                .video, layers.isEmpty ? nil : layers[index].media, isRendition: receiver.isRendition(index))
        }
        audio = PublishedTrack(.audio, receiver.audio?.media)
        for index in receiver.sentLayers {
            ladder.insert(LayerLadder.Rung(layer: index, bitrate: .kilobits(0), dimensions: nil, isAvailable: true))
        }
        prepareOtherCodec()
    }

    /// Creates a replica from a snapshot of the publisher's shard.
    init(_ snapshot: StreamSnapshot, publisherShard: Int, at now: Instant) {
        self.init(
            id: snapshot.id, peer: snapshot.publisher, transport: nil, publisherShard: publisherShard,
            media: snapshot.media, playout: snapshot.playout, deadlines: PeerDeadlines(PeerOptions(), began: now),
            receiver: snapshot.receiver)
        receiver.follow(snapshot.receiver.pausedTracks)
        clock = snapshot.clock
        ladder = snapshot.ladder
        quality = snapshot.quality
        quality.departed = StreamMetrics.Counts()
        quality.nextQualityCheck = now + StreamQuality.interval
        quality.nextLinksCheck = now + StreamQuality.linksInterval
        for index in layers.indices { layers[index].begin(as: snapshot.layers[index]) }
        audio.begin(as: snapshot.audio)
        prepareOtherCodec()
        // The publisher's shard has connected the publisher and reported its first packet.
        hasMedia = true
        lastUpdate = now
    }

    /// The snapshot from which another shard creates a replica.
    var snapshot: StreamSnapshot {
        var layers: [TrackSnapshot] = []
        for index in self.layers.indices { layers.append(self.layers[index].snapshot) }
        return StreamSnapshot(
            id: id, publisher: peer, media: media, playout: playout, receiver: receiver, clock: clock, ladder: ladder,
            quality: quality, layers: layers, audio: audio.snapshot)
    }

    /// The maximum bit rate that is sent to a viewer, with a margin for variations.
    var desiredBitrate: Bitrate {
        mutating get {
            let video = ladder.rungs.reduce(0) { max($0, $1.bitrate.bitsPerSecond) }
            let measured = video + (audio.bitrate?.bitsPerSecond ?? 0)
            guard measured > 0 else { return MediaSender.assumedBitrate }
            // A stream that was lowered for its viewers would otherwise have a higher bit rate.
            let full = max(measured, quality.sharedLimit.desiredBitrateInFull?.bitsPerSecond ?? 0)
            return max(Bitrate(bitsPerSecond: full * 5 / 4), Self.minimumDesiredBitrate)
        }
    }

    private static let minimumDesiredBitrate = Bitrate.kilobits(600)

    var deadline: Instant? {
        mutating get {
            var checks = Instant.earlier(transportDeadline, quality.nextQualityCheck)
            checks = Instant.earlier(checks, deadlines.next)
            checks = Instant.earlier(checks, quality.nextLinksCheck)
            checks = Instant.earlier(checks, gathersUntil)
            checks = Instant.earlier(checks, renditionDeadline)
            return canSend ? Instant.earlier(checks, receiver.deadline) : checks
        }
    }

    /// Writes checks, handshakes and reports that are due. Returns true if the batch is full.
    mutating func poll(into batch: inout DatagramBatch, wallTime: WallTime, at now: Instant) -> Bool {
        guard transport != nil else { return false }
        if transport!.poll(into: &batch, at: now) { return true }
        return receiver.poll(through: &transport!, into: &batch, wallTime: wallTime, at: now)
    }

    /// Removes a viewer. The current round restarts, so that no viewer is left out.
    mutating func removeViewer(_ viewerIndex: Int) {
        viewers.removeAll { $0 == viewerIndex }
        nextViewer = 0
    }
}

/// The capture times of a publisher's media by the SFU's clock. Viewers synchronize audio and video by them.
extension PublishedStream {
    /// Updates the capture clock of a track from its newest sender report. A report that states no time, or an
    /// impossible one, is ignored; arrival times are used instead.
    mutating func follow(_ type: MediaType, layer: Int, clock reference: WallClockReference, at now: Instant) {
        let track = type == .video ? receiver.layers[layer] : receiver.audio
        guard let report = track?.senderReport?.information, let rate = track?.media.format.clockRate else { return }
        let capture = capture(of: report, rate: rate, arrival: reference.wallTime(at: now))
        if type == .video {
            layers[layer].follow(report, capture, reference, at: now)
        } else {
            audio.follow(report, capture, reference, at: now)
        }
        shareCaptureClock()
    }

    private mutating func capture(
        of report: SenderInformation, rate: ClockRate, arrival: WallTime
    ) -> CaptureClock? {
        // A sender without a clock sends 0 (RFC 3550, section 6.4.1).
        guard report.ntpTimestamp != 0 else { return nil }
        let reported = WallTime(ntpTimestamp: report.ntpTimestamp)
        clock.observe(reported: reported, arrival: arrival)
        return clock.relayTime(of: reported, arrival: arrival).map {
            CaptureClock(timestamp: report.rtpTimestamp, wallTime: $0, rate: rate)
        }
    }

    /// Updates the capture clocks of tracks without usable sender reports from arrival times.
    mutating func followArrivals(_ clock: WallClockReference, at now: Instant) {
        for layer in layers.indices where !receiver.isRendition(layer) {
            layers[layer].followArrivals(clock, at: now)
        }
        audio.followArrivals(clock, at: now)
        shareCaptureClock()
    }
}

extension PublishedTrack {
    /// A sender report that differs more from the arrivals is wrong. Encoders and queues may delay by some seconds.
    private static let longestDisagreement = TimeSpan.seconds(10 as Int64)
    /// The time for which arrivals are comparable with a report.
    private static let arrivalMemory = TimeSpan.seconds(2 as Int64)
    /// The tolerated difference of both clocks between two reports, in addition to a tenth of the time that passed.
    private static let longestStep = TimeSpan.milliseconds(200)

    /// Updates the capture clock from a sender report. `capture` is the report's time by the SFU's clock; nil if it
    /// states no usable time.
    fileprivate mutating func follow(
        _ report: SenderInformation, _ capture: CaptureClock?, _ clock: WallClockReference, at now: Instant
    ) {
        let isConsistent = isConsistent(report, rate: capture?.rate)
        lastReport = report
        followsReports = false
        guard let capture, isConsistent, !contradictsArrivals(capture, clock, at: now) else { return }
        captureClock = capture
        followsReports = true
    }

    /// Whether timestamps and wall clock advanced equally since the last report.
    private func isConsistent(_ report: SenderInformation, rate: ClockRate?) -> Bool {
        guard let lastReport, let rate, lastReport.ntpTimestamp != 0 else { return true }
        let ticks = Int64(Int32(bitPattern: report.rtpTimestamp &- lastReport.rtpTimestamp))
        let passed = WallTime(ntpTimestamp: report.ntpTimestamp) - WallTime(ntpTimestamp: lastReport.ntpTimestamp)
        let difference = rate.span(ofTicks: ticks) - passed
        return max(difference, .zero - difference) <= Self.longestStep + max(passed, .zero - passed) / 10
    }

    private func contradictsArrivals(
        _ capture: CaptureClock, _ clock: WallClockReference, at now: Instant
    ) -> Bool {
        guard let last = arrivalClock.last, now - last < Self.arrivalMemory,
            let arrivals = arrivalClock.captureClock(rate: capture.rate, clock)
        else { return false }
        let difference = arrivals.wallTime(of: capture.timestamp) - capture.wallTime
        return max(difference, .zero - difference) > Self.longestDisagreement
    }

    fileprivate mutating func followArrivals(_ clock: WallClockReference, at now: Instant) {
        guard !followsReports, let rate = sourceFormat?.codec.clockRate, arrivalClock.isSettled(at: now) else { return }
        captureClock = arrivalClock.captureClock(rate: rate, clock)
    }
}

/// The state of a stream's layers.
extension PublishedStream {
    /// The interval at which the layers are reviewed.
    private static let reviewInterval = TimeSpan.milliseconds(200)
    /// A layer without packets for this time does not arrive.
    private static let silence = TimeSpan.milliseconds(1_200)
    /// A wanted layer that does not arrive within this time counts as unavailable for `missingTime`.
    private static let timeout = TimeSpan.seconds(3 as Int64)
    private static let missingTime = TimeSpan.seconds(10 as Int64)

    /// Reviews the layers if a review is due. Returns true if their availability or order changed.
    mutating func reviewLayers(_ clock: WallClockReference, at now: Instant) -> Bool {
        if let nextReview, now < nextReview { return false }
        nextReview = now + Self.reviewInterval
        followArrivals(clock, at: now)
        if let bitrate = audio.activity.bitrate(at: now) { audio.bitrate = bitrate }
        guard layers.exist else { return false }
        swap(&ladder, &formerLadder)
        ladder.removeAll()
        for layer in receiver.sentLayers {
            if let bitrate = layers[layer].activity.bitrate(at: now) { layers[layer].bitrate = bitrate }
            layers[layer].shares.review()
            layers[layer].keepsKeyFrame = receiver.ignoresKeyFrameRequests(layer: layer, at: now)
            let isAvailable = comes(layer, at: now)
            ladder.insert(
                LayerLadder.Rung(
                    layer: layer, bitrate: layers[layer].bitrate ?? .kilobits(0),
                    dimensions: layers[layer].dimensions, isAvailable: isAvailable))
        }
        insertRenditions(at: now)
        ladder.takeAllForAvailable()
        insertOperatingPoints()
        return !ladder.isOrdered(like: formerLadder) || !renditions.ladder.isOrdered(like: renditions.formerLadder)
    }

    /// Whether a layer arrives, or would arrive if a viewer wanted it.
    mutating func comes(_ layer: Int, at now: Instant) -> Bool {
        if let last = layers[layer].activity.lastArrival, now - last < Self.silence {
            layers[layer].missedSince = nil
            layers[layer].missingUntil = nil
            return true
        }
        if layers[layer].subscribers > 0 {
            let since = layers[layer].missedSince ?? now
            layers[layer].missedSince = since
            if now - since >= Self.timeout { layers[layer].missingUntil = now + Self.missingTime }
        } else {
            layers[layer].missedSince = nil
        }
        if let until = layers[layer].missingUntil, now < until { return false }
        return receiver.isPaused(.video, layer: layer)
    }

    /// Returns the name of a layer: its RID, or its index if it has none.
    func name(of layer: Int) -> String {
        receiver.layers.indices.contains(layer) ? receiver.layers[layer].rid?.text ?? String(layer) : String(layer)
    }

    /// Returns the newest key frame of a layer.
    ///
    /// - Parameters:
    ///   - layer: The layer; nil for none.
    ///   - former: The layer whose timestamps the key frame has to continue; nil for none.
    ///   - lastArrival: The arrival time of the newest packet that was sent to the viewer; nil before the first one.
    ///   - now: The current time.
    /// - Returns: The key frame; nil if there is none.
    func keyFrame(
        of layer: Int?, following former: Int?, after lastArrival: Instant?, at now: Instant
    ) -> LayerSwitch.KeyFrame? {
        guard let layer, let position = layers[layer].log.newestKeyFrame else { return nil }
        let isAligned = former.map { $0 == layer || alignment(from: $0, to: layer) != nil } ?? true
        let arrival = layers[layer].log[position].arrival
        return LayerSwitch.KeyFrame(
            position: position, arrival: arrival, isAligned: isAligned, replayAge: layers[layer].replayAge,
            newerKeyFrameWait: former == nil ? newerKeyFrameWait(layer, at: now) : nil,
            answerTime: receiver.answerTime(layer: layer),
            isAhead: lastArrival.map { arrival > $0 } ?? true)
    }

    /// Returns how long a new viewer waits for a key frame that is requested for it. Nil means that none is to be
    /// requested. The source makes none on request, or the key frames of new viewers have used their share of the bit
    /// rate.
    ///
    /// The wait is zero if the publisher is so far away that the viewer catches up sooner without the key frame.
    private func newerKeyFrameWait(_ layer: Int, at now: Instant) -> TimeSpan? {
        guard receiver.canRequestKeyFrames || receiver.isRendition(layer),
            layers[layer].keyFrameShare.allowsRequest(at: now)
        else { return nil }
        let isUnanswered = receiver.ignoresKeyFrameRequests(layer: layer, at: now)
        return isUnanswered || (receiver.roundTrip ?? .zero) > Self.nearPublisher ? .zero : Self.longestKeyFrameWait
    }

    /// The time for a round trip to a near publisher, for the capture of the next frame, and for its encoding.
    private static let longestKeyFrameWait = TimeSpan.milliseconds(100)
    /// The maximum round trip to a publisher for which a new viewer waits.
    private static let nearPublisher = TimeSpan.milliseconds(50)

    /// Returns the number of ticks to add to a layer's timestamps to continue those of another, according to the sender
    /// reports of both; nil while there are none.
    func alignment(from former: Int, to layer: Int) -> UInt32? {
        // A rendition has the timestamps of its source.
        if receiver.renditionCount > 0 { return 0 }
        guard let reference = receiver.layers[former].captureClock, let clock = receiver.layers[layer].captureClock
        else { return nil }
        let apart = reference.rate.ticks(in: clock.wallTime - reference.wallTime)
        return reference.timestamp &+ UInt32(truncatingIfNeeded: apart) &- clock.timestamp
    }
}

/// The transport of a publisher. A replica and a publisher in this process have none. A noncopyable value inside an optional can only be read by
/// `switch`.
extension PublishedStream {
    var isConnected: Bool {
        switch transport {
        case .some(let transport): transport.isConnected
        case .none: false
        }
    }

    var canSend: Bool { mutating get { transport?.canSend ?? false } }

    var transportDeadline: Instant? { mutating get { transport?.deadline } }

    var path: NetworkPath? {
        switch transport {
        case .some(let transport): transport.path
        case .none: nil
        }
    }

    var probedPath: NetworkPath? {
        switch transport {
        case .some(let transport): transport.probedPath
        case .none: nil
        }
    }

    func isValidated(_ path: NetworkPath) -> Bool {
        switch transport {
        case .some(let transport): transport.isValidated(path)
        case .none: false
        }
    }
}
