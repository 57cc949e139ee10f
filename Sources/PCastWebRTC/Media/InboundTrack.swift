public import PCastMedia
public import PCastRTP

/// One track that a peer sends: which SSRC it has, what was lost of it, and what to ask for again.
public struct InboundTrack: Sendable {
    public let media: NegotiatedMedia

    /// The layer's name, where the peer sends several (RFC 8852).
    public let rid: RTPStreamIdentifier?

    /// The SSRC it is heard under; announced, or learned from the first packet.
    public private(set) var ssrc: UInt32?

    /// The SSRC of a layer's retransmissions, learned from the first of them.
    public internal(set) var retransmissionSSRC: UInt32?

    public internal(set) var statistics: ReceiveStatistics?
    public internal(set) var missing = NACKRequester()
    public internal(set) var keyFrame = KeyFrameRequest()
    /// Nil where the sender does not pause, or could not be asked for the key frame that a pause of video ends with.
    public internal(set) var pause: PauseRequest?

    /// What its sender said last about time, and when that arrived.
    public internal(set) var senderReport: (information: SenderInformation, arrival: Instant)?

    /// Payload bytes received, retransmissions included.
    public private(set) var bytesReceived = 0
    public private(set) var packetsReceived = 0
    /// Packets of sound that were missing, and that a later one repeated (RFC 2198).
    public internal(set) var packetsRepeated = 0

    private var unwrapper = SequenceUnwrapper()
    /// Added to numbers after a restart of the source, so that they never go back.
    private var sequenceOffset: Int64 = 0
    private var newestSequence: Int64?
    private var newestTimestamp: UInt32 = 0
    private var lastPacket: Instant?

    /// The SSRCs before this one, the last four: packets of them may still be under way, or they send as well.
    private var formerSSRCs = SIMD4<UInt32>()
    private var formerCount = 0
    private var lastBinding: Instant?
    /// Its source said that it leaves, and has sent nothing since.
    private var hasLeft = false
    /// The number of the first packet of this source: retransmissions of earlier ones are another source's.
    private var firstSequence: Int64?

    /// A source that changes its SSRC, and does not say by MID or RID whose it is, is believed when the old one has been silent
    /// for so long: two sources may send at once.
    private static let silence = TimeSpan.milliseconds(500)
    /// A packet of a former SSRC is a late one until the new one has been silent for so long: some packets of audio, some
    /// frames of video.
    private static func formerSilence(_ type: MediaType) -> TimeSpan { .milliseconds(type == .audio ? 60 : 200) }
    /// Two bindings by MID or RID are so far apart: each makes all viewers begin anew.
    private static let bindingInterval = TimeSpan.milliseconds(100)
    /// Numbers left free before a new source's first packet, for those that it overtook.
    private static let restartGap: Int64 = 64

    /// In packets, five seconds of 20 ms.
    private static let longestAudioHole: Int64 = 250

    private static let longestVideoHole = TimeSpan.seconds(1 as Int64)

    /// What is missing between the newest packet and one that is about to be received; nil where it is not the newest.
    func hole(before header: RTPHeader) -> RedundantSequence.Hole? {
        guard header.ssrc == ssrc, let newestSequence else { return nil }
        let step = unwrapper.peek(header.sequenceNumber) + sequenceOffset - newestSequence
        let ticks = Int32(bitPattern: header.timestamp &- newestTimestamp)
        guard step > 0, ticks > 0 else { return nil }
        return RedundantSequence.Hole(packetCount: Int(step - 1), ticks: Int64(ticks))
    }

    /// The name of its section, as packets bear it.
    let mid: RTPStreamIdentifier?

    init(_ media: NegotiatedMedia, rid: RTPStreamIdentifier? = nil) {
        self.media = media
        mid = media.mid.flatMap { RTPStreamIdentifier($0) }
        self.rid = rid
        let canBeginAnew = media.type == .audio || !media.feedback.isDisjoint(with: [.pli, .fir])
        if media.feedback.contains(.pause), canBeginAnew { pause = PauseRequest() }
        if rid == nil, media.remoteSources.count == 1 { bind(media.remoteSources[0].ssrc) }
    }

    /// One for each layer that was agreed on, or the one that has no name.
    static func layers(of media: NegotiatedMedia) -> [InboundTrack] {
        let layers = media.rids.compactMap { RTPStreamIdentifier($0) }.map { InboundTrack(media, rid: $0) }
        return layers.isEmpty ? [InboundTrack(media)] : layers
    }

    private mutating func bind(_ ssrc: UInt32) {
        if let former = self.ssrc {
            formerSSRCs[formerCount & 3] = former
            formerCount += 1
        }
        self.ssrc = ssrc
        hasLeft = false
        statistics = ReceiveStatistics(ssrc: ssrc, clockRate: media.format.clockRate)
        senderReport = nil
        restart()
    }

    private mutating func restart() {
        unwrapper = SequenceUnwrapper()
        if let newestSequence { sequenceOffset = newestSequence + 1 - SequenceUnwrapper.origin }
        missing.restart()
    }

    /// How a packet stands to the track; the number is the source's, unwrapped and never going back.
    enum Arrival {
        case accepted(sequence: Int64)
        /// Accepted, and all before it belongs to another run of the source (RTP11).
        case restarted(sequence: Int64)
        case refused
    }

    /// - Parameter identification: whether the packet says that it is of this track (MID, RID); only that of an unknown SSRC
    ///   matters.
    mutating func receive(
        _ header: RTPHeader, identification: SourceIdentification, payloadSize: Int, at now: Instant
    ) -> Arrival {
        var isNewSource = false
        if header.ssrc != ssrc {
            guard mayBind(header.ssrc, identification, at: now) else { return .refused }
            isNewSource = newestSequence != nil
            bind(header.ssrc)
            lastBinding = now
        }
        let arrival = statistics?.received(
            sequenceNumber: header.sequenceNumber, timestamp: header.timestamp, at: now)
        switch arrival {
        case .suspicious, nil: return .refused
        case .restarted:
            restart()
            senderReport = nil
            isNewSource = true
        case .inOrder, .late: break
        }
        lastPacket = now
        hasLeft = false
        packetsReceived += 1
        bytesReceived += payloadSize
        if isNewSource { pause?.restart(at: now) }
        pause?.packetReceived(sequenceNumber: header.sequenceNumber, at: now)
        let sequence = unwrap(header.sequenceNumber, isFirst: isNewSource)
        if isNewSource || firstSequence == nil { firstSequence = sequence }
        if !isNewSource, isLeap(to: header, sequence) {
            missing.leaped(to: sequence)
        } else {
            missing.received(sequence, at: now)
        }
        // Sound that is so old nobody waits for.
        if media.type == .audio { missing.abandon(before: sequence - Self.longestAudioHole) }
        if newestSequence.map({ sequence >= $0 }) ?? true {
            newestSequence = sequence
            newestTimestamp = header.timestamp
        }
        return isNewSource ? .restarted(sequence: sequence) : .accepted(sequence: sequence)
    }

    /// Whether an SSRC becomes the track's. One whose packets name the track does at once (RFC 9143, section 9.2), as SSRCs may
    /// change at any time (RFC 3550, section 8).
    private func mayBind(_ new: UInt32, _ identification: SourceIdentification, at now: Instant) -> Bool {
        if identification == .other { return false }
        guard ssrc != nil, let lastPacket, !hasLeft else { return true }
        let silence = now - lastPacket
        if silence > Self.silence { return true }
        guard identification == .own else { return false }
        for index in 0..<min(formerCount, 4) where formerSSRCs[index] == new {
            return silence > Self.formerSilence(media.type)
        }
        return lastBinding.map { now - $0 >= Self.bindingInterval } ?? true
    }

    /// Its source said that it leaves (RFC 3550, section 6.3.4): another one may take over at once.
    mutating func goodbyeReceived() {
        hasLeft = true
        pause?.goodbyeReceived()
    }

    /// Whether pictures of more than a second were lost at once, as in an outage: whoever watches goes on with the newest,
    /// and what is asked for again would only come late (JB2).
    private func isLeap(to header: RTPHeader, _ sequence: Int64) -> Bool {
        guard media.type == .video, let newestSequence, sequence > newestSequence + 1 else { return false }
        let ticks = Int64(Int32(bitPattern: header.timestamp &- newestTimestamp))
        return ticks > media.format.clockRate.ticks(in: Self.longestVideoHole)
    }

    /// Its sender said something about a pause of it.
    mutating func receive(_ message: PauseResume.Message, at now: Instant) {
        let newest = newestSequence.map { UInt16(truncatingIfNeeded: $0 - sequenceOffset) }
        pause?.messageReceived(message, newest: newest, at: now)
        // What is missing of before the pause is of no use after it.
        if case .paused = message.kind, pause?.isResting == true { missing.abandon(before: .max) }
    }

    /// When `pollPause` has something to ask.
    var pauseDeadline: Instant? { ssrc == nil ? nil : pause?.deadline }

    /// What to ask of its sender now; nil when nothing is.
    mutating func pollPause(at now: Instant) -> PauseResume.Message? {
        guard let ssrc else { return nil }
        let roundTrip = missing.roundTrip
        return pause?.poll(ssrc: ssrc, roundTrip: roundTrip, at: now)
    }

    private mutating func unwrap(_ sequenceNumber: UInt16, isFirst: Bool) -> Int64 {
        let unwrapped = unwrapper.unwrap(sequenceNumber)
        if isFirst, let newestSequence { sequenceOffset = newestSequence + 1 + Self.restartGap - unwrapped }
        return unwrapped + sequenceOffset
    }

    /// A retransmission of the packet with that number came; nil when the number means nothing here.
    mutating func receiveRetransmission(of sequenceNumber: UInt16, payloadSize: Int, at now: Instant) -> Int64? {
        guard unwrapper.last != nil else { return nil }
        let sequence = unwrapper.peek(sequenceNumber) + sequenceOffset
        guard let newestSequence, sequence <= newestSequence else { return nil }
        // What is missing from before the first packet nobody asked for; it is of the former source.
        if sequenceOffset != 0, let firstSequence, sequence < firstSequence { return nil }
        missing.received(sequence, isRetransmission: true, at: now)
        bytesReceived += payloadSize
        return sequence
    }
}
