package import PCastCore
package import PCastRTP

/// The receiving state of a peer's track: its SSRC, its lost packets, and the requests for retransmissions and key
/// frames.
package struct InboundTrack: Sendable {
    /// The negotiated media section.
    package let media: NegotiatedMedia

    /// The codec of the newest packet, or that of the section before the first one.
    package private(set) var codec: Codec

    /// The RID of the simulcast layer (RFC 8852); nil if the peer sends only one.
    package let rid: RTPStreamIdentifier?

    /// The SSRC of the track, announced in SDP or learned from the first packet; nil before.
    package private(set) var ssrc: UInt32?

    /// The SSRC of the retransmissions of a layer, learned from the first one.
    package internal(set) var retransmissionSSRC: UInt32?

    /// The reception statistics of the SSRC; nil before the first packet.
    package internal(set) var statistics: ReceiveStatistics?
    /// The missing packets and their retransmission requests.
    package internal(set) var missing = NACKRequester()
    /// The state of key-frame requests.
    package internal(set) var keyFrame = KeyFrameRequester()
    /// The state of pause requests; nil if the sender does not support them, or video cannot be resumed because key
    /// frames cannot be requested.
    package internal(set) var pause: PauseRequest?

    /// The state of a layer that a process of the platform makes of another one; nil if the peer sends the layer.
    package internal(set) var rendition: RenditionState?

    /// The last sender report and its arrival time; nil if there is none.
    package internal(set) var senderReport: (information: SenderInformation, arrival: Instant)?

    /// The number of payload bytes received, including retransmissions.
    package private(set) var bytesReceived = 0
    /// The number of packets received, without retransmissions.
    package private(set) var packetsReceived = 0
    /// The number of missing audio packets that a later one repeated (RFC 2198).
    package internal(set) var packetsRepeated = 0

    /// The unwrapper of the current source's sequence numbers.
    private var unwrapper = SequenceUnwrapper()
    /// The offset of sequence numbers after a restart of the source, so that they never decrease.
    private var sequenceOffset: Int64 = 0
    /// The highest sequence number; nil before the first packet.
    private var newestSequence: Int64?
    private var newestTimestamp: UInt32 = 0
    /// The time of the last packet; nil before the first.
    private var lastPacket: Instant?

    /// The last four SSRCs before the current one. Their packets may still arrive, or their sources may still send.
    private var formerSSRCs = SIMD4<UInt32>()
    private var formerCount = 0
    /// The time of the last change of the SSRC by a packet.
    private var lastBinding: Instant?
    /// Whether the source has sent BYE, and no packet since.
    private var hasLeft = false
    /// The number of the first packet of the current source. Retransmissions of earlier ones belong to another source.
    private var firstSequence: Int64?

    /// The silence of the current source after which another SSRC is accepted without a matching MID or RID. Two
    /// sources may send at the same time.
    private static let silence = TimeSpan.milliseconds(500)
    /// Returns the silence of the current SSRC after which a packet of a former one means that its source has returned.
    /// It is the time of some packets; before that, the packet is just late.
    private static func maximumFormerSilence(_ type: MediaType) -> TimeSpan { .milliseconds(type == .audio ? 60 : 200) }
    /// The minimum time between changes of the SSRC by MID or RID. Each change makes all subscribers resume at a key
    /// frame.
    private static let bindingInterval = TimeSpan.milliseconds(100)
    /// The number of sequence numbers that are left free before the first packet of a new source, for packets that it
    /// overtook.
    private static let restartGap: Int64 = 64

    /// The maximum gap of audio in packets; 250 packets of 20 ms are 5 s.
    private static let maximumAudioGap: Int64 = 250

    /// The maximum gap of video that is repaired.
    private static let maximumVideoGap = TimeSpan.seconds(1 as Int64)

    /// Returns the gap between the newest packet and one that is about to be received; nil if that is not newer.
    func hole(before header: RTPHeader) -> RedundantSequence.Gap? {
        guard header.ssrc == ssrc, let newestSequence else { return nil }
        let step = unwrapper.peek(header.sequenceNumber) + sequenceOffset - newestSequence
        let ticks = Int32(bitPattern: header.timestamp &- newestTimestamp)
        guard step > 0, ticks > 0 else { return nil }
        return RedundantSequence.Gap(packetCount: Int(step - 1), ticks: Int64(ticks))
    }

    /// The MID of the media section, as in RTP header extensions; nil if there is none.
    let mid: RTPStreamIdentifier?

    /// Creates a track or one of its layers. A single announced SSRC is used from the start.
    init(_ media: NegotiatedMedia, rid: RTPStreamIdentifier? = nil) {
        self.media = media
        codec = media.codec
        mid = media.mid.flatMap { RTPStreamIdentifier($0) }
        self.rid = rid
        let canRestart = media.type == .audio || !media.feedback.isDisjoint(with: [.pli, .fir])
        if media.feedback.contains(.pause), canRestart { pause = PauseRequest() }
        if rid == nil, media.remoteSources.count == 1 { bind(media.remoteSources[0].ssrc) }
    }

    /// Creates a layer that a process of the platform makes of the only layer of a section, and that the peer does not
    /// send.
    init(renditionOf media: NegotiatedMedia, rid: RTPStreamIdentifier, ssrc: UInt32) {
        self.init(media, rid: rid)
        pause = nil
        rendition = RenditionState()
        bind(ssrc)
    }

    /// Whether the track does not arrive, and would arrive if it were wanted.
    var isPaused: Bool {
        if let rendition { return rendition.isOffered && !rendition.isArriving }
        return pause?.isPaused ?? false
    }

    /// Returns a track for each negotiated layer, or one without a RID.
    static func layers(of media: NegotiatedMedia) -> [InboundTrack] {
        let layers = media.rids.compactMap { RTPStreamIdentifier($0) }.map { InboundTrack(media, rid: $0) }
        return layers.isEmpty ? [InboundTrack(media)] : layers
    }

    /// Changes the SSRC of the track.
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

    /// Continues the sequence numbers after a restart of the source.
    private mutating func restart() {
        unwrapper = SequenceUnwrapper()
        if let newestSequence { sequenceOffset = newestSequence + 1 - SequenceUnwrapper.origin }
        missing.restart()
    }

    /// The result of receiving a packet. The sequence number is unwrapped and never decreases.
    enum Arrival {
        case accepted(sequence: Int64)
        /// The packet is accepted, and earlier ones belong to another source or to the time before a restart.
        case restarted(sequence: Int64)
        case refused
    }

    /// Receives the header of a packet.
    ///
    /// - Parameters:
    ///   - header: The header.
    ///   - identification: Whether MID and RID name this track. It matters only for a new SSRC.
    ///   - payloadSize: The size of the payload in bytes.
    ///   - now: The current time.
    /// - Returns: Whether the packet belongs to the track, and its sequence number.
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
        if !isNewSource, isLargeGap(to: header, sequence) {
            missing.skip(to: sequence)
        } else {
            missing.received(sequence, at: now)
        }
        // Older audio would arrive too late to be played.
        if media.type == .audio { missing.abandon(before: sequence - Self.maximumAudioGap) }
        if newestSequence.map({ sequence >= $0 }) ?? true {
            newestSequence = sequence
            newestTimestamp = header.timestamp
        }
        return isNewSource ? .restarted(sequence: sequence) : .accepted(sequence: sequence)
    }

    /// Returns whether a new SSRC may become that of the track. One whose packets name the track may do so at once (RFC
    /// 9143, section 9.2), because an SSRC may change at any time (RFC 3550, section 8).
    private func mayBind(_ new: UInt32, _ identification: SourceIdentification, at now: Instant) -> Bool {
        if identification == .other { return false }
        guard ssrc != nil, let lastPacket, !hasLeft else { return true }
        let silence = now - lastPacket
        if silence > Self.silence { return true }
        guard identification == .own else { return false }
        for index in 0..<min(formerCount, 4) where formerSSRCs[index] == new {
            return silence > Self.maximumFormerSilence(media.type)
        }
        return lastBinding.map { now - $0 >= Self.bindingInterval } ?? true
    }

    /// Records a BYE of the source (RFC 3550, section 6.3.4), after which another source is accepted at once.
    mutating func goodbyeReceived() {
        hasLeft = true
        pause?.goodbyeReceived()
    }

    /// Follows the codec of a received packet of video, if it is another one than before.
    ///
    /// - Parameters:
    ///   - codec: The codec of the packet.
    ///   - sequence: The sequence number of the packet.
    /// - Returns: Whether the packet belongs to the track. One that arrives after a newer packet in another codec does
    ///   not, because no frame after the change refers to it.
    mutating func follow(_ codec: Codec, sequence: Int64) -> Bool {
        guard sequence == newestSequence else { return false }
        self.codec = codec
        return true
    }

    /// Returns whether a gap has more than a second of video, as after an outage. Subscribers then resume with the
    /// newest frames, and retransmissions of the gap would arrive too late.
    private func isLargeGap(to header: RTPHeader, _ sequence: Int64) -> Bool {
        guard media.type == .video, let newestSequence, sequence > newestSequence + 1 else { return false }
        let ticks = Int64(Int32(bitPattern: header.timestamp &- newestTimestamp))
        return ticks > media.format.clockRate.ticks(in: Self.maximumVideoGap)
    }

    /// Receives a pause message of the sender (RFC 7728).
    mutating func receive(_ message: PauseResume.Message, at now: Instant) {
        let newest = newestSequence.map { UInt16(truncatingIfNeeded: $0 - sequenceOffset) }
        pause?.messageReceived(message, newest: newest, at: now)
        // Packets that are missing from before the pause are useless after it.
        if case .paused = message.kind, pause?.isPaused == true { missing.abandon(before: .max) }
    }

    /// The time at which ``pollPause(at:)`` has a message; nil if none is scheduled.
    var pauseDeadline: Instant? { ssrc == nil ? nil : pause?.deadline }

    /// Returns the pause message that is due; nil if there is none.
    mutating func pollPause(at now: Instant) -> PauseResume.Message? {
        guard let ssrc else { return nil }
        let roundTrip = missing.roundTrip
        return pause?.poll(ssrc: ssrc, roundTrip: roundTrip, at: now)
    }

    /// Returns the sequence number without wraparounds and restarts.
    private mutating func unwrap(_ sequenceNumber: UInt16, isFirst: Bool) -> Int64 {
        let unwrapped = unwrapper.unwrap(sequenceNumber)
        if isFirst, let newestSequence { sequenceOffset = newestSequence + 1 + Self.restartGap - unwrapped }
        return unwrapped + sequenceOffset
    }

    /// Receives a retransmission of the packet with a sequence number. Returns the unwrapped number; nil if it does not
    /// belong to this source.
    mutating func receiveRetransmission(of sequenceNumber: UInt16, payloadSize: Int, at now: Instant) -> Int64? {
        guard unwrapper.last != nil else { return nil }
        let sequence = unwrapper.peek(sequenceNumber) + sequenceOffset
        guard let newestSequence, sequence <= newestSequence else { return nil }
        // Packets before the first one of this source were not requested; they belong to the former source.
        if sequenceOffset != 0, let firstSequence, sequence < firstSequence { return nil }
        missing.received(sequence, isRetransmission: true, at: now)
        bytesReceived += payloadSize
        return sequence
    }
}

/// The state of a layer that a process of the platform makes of another one.
package struct RenditionState: Hashable, Sendable {
    /// Whether it can be made.
    package var isOffered = false
    /// Whether its frames arrive.
    package var isArriving = false
}

/// The track that a packet names by MID or RID.
enum SourceIdentification {
    /// No track.
    case none
    /// The track in question.
    case own
    /// Another track.
    case other
}
