package import PCastCore
package import PCastRTP

/// The receiving half of a peer's media. It assigns packets to tracks and sends reports, retransmission requests and
/// key-frame requests.
///
/// It receives at most one audio track and one video track, of which the video may have several simulcast layers (RFC
/// 8853) with a track each.
///
/// Methods that are called for each packet are `mutating` even if they change nothing. A nonmutating call would copy
/// the value and retain all its references.
package struct MediaReceiver: Sendable {
    /// A received RTP packet, or a retransmitted or recovered one with its original properties.
    package struct Packet: Sendable {
        /// The media type.
        package let type: MediaType
        /// The index in `layers`; 0 for audio.
        package let layer: Int
        /// The unwrapped sequence number, which never decreases when a source restarts.
        package let sequence: Int64
        /// The RTP timestamp.
        package let timestamp: UInt32
        /// The RTP sequence number of the original packet.
        package let sequenceNumber: UInt16
        /// The marker bit.
        package let marker: Bool
        /// The range of the payload in the datagram; empty for padding.
        package let payload: Range<Int>
        /// The codec of the payload.
        package let codec: Codec
        /// Whether the packet was retransmitted (RFC 4588) or recovered from redundancy (RFC 2198).
        package let isRetransmission: Bool
        /// Whether the source has restarted with this packet.
        package let isRestart: Bool
        /// Whether the codec of the video has changed with this packet.
        package var changesCodec = false
        /// The header extensions that the SFU forwards.
        package let forwarded: RTPExtensionValues
        /// The range of the dependency descriptor in the datagram; empty if the packet has none.
        package var dependencyDescriptor: Range<Int> = 0..<0
    }

    /// The meaning of a payload type. It has no references to count, because it is accessed for each packet.
    struct Route {
        /// The encapsulation of the payload.
        enum Wrapping { case none, retransmission, redundancy }

        let type: MediaType
        let codec: Codec
        /// The payload type without encapsulation.
        let payloadType: UInt8
        let wrapping: Wrapping

        init(_ type: MediaType, _ format: PayloadFormat, wrapping: Wrapping = .none) {
            self.type = type
            codec = format.codec
            payloadType = format.payloadType
            self.wrapping = wrapping
        }
    }

    /// The video layers, in the order of the offer, which is not that of their quality. There is one without a RID if
    /// the peer sends no simulcast, and none if it sends no video.
    package internal(set) var layers: [InboundTrack] = []
    /// The audio track; nil if the peer sends no audio.
    package internal(set) var audio: InboundTrack?

    /// The number of layers at the end of `layers` that the peer does not send; see ``addRenditions(named:ssrcs:)``.
    package internal(set) var renditionCount = 0
    /// The payload type of these layers if the peer does not use it; nil for none.
    var renditionPayloadType: UInt8?

    /// The first video layer; nil if the peer sends no video.
    package var video: InboundTrack? { layers.first }

    /// Whether the peer supports PLI or FIR, which FFmpeg's WHIP does not.
    package internal(set) var canRequestKeyFrames = false

    /// The number of packets that had no negotiated payload type or did not belong to their track.
    package internal(set) var refused = 0

    /// The SSRC of this side in RTCP packets.
    package let reporterSSRC: UInt32
    let cname: [UInt8]
    let measuresRoundTrip: Bool

    /// The meaning of each payload type; nil if it was not negotiated.
    var routes = [Route?](repeating: nil, count: 128)
    var arrivals: TransportFeedbackRecorder?
    /// The time of the next receiver report; nil before the first packet.
    var nextReport: Instant?
    /// The bit rate limit that was requested of the peer; nil for none.
    var bitrateLimit: Bitrate?
    /// The time of the next REMB message; nil if none is scheduled.
    var limitDue: Instant?
    /// The number of messages still to send that remove the limit.
    var remainingLimitRemovals = 0
    /// The sequence numbers for a NACK, kept to reuse the memory.
    var lost: [UInt16] = []
    /// The missing packets that the last packet repeated, the newest first.
    var recovered: [Packet] = []
    /// The round-trip time from extended reports (RFC 3611).
    var delays = RoundTripTime()
    /// The relation to the clock of the peer, from its sender reports.
    var clock = SenderClock()
    /// The paused tracks, if another receiver requests the pauses; nil if this one does.
    var externalPause: PausedTracks?

    /// The playout delay that the sender of the video requested last (WebRTC's playout-delay header extension); nil if
    /// it has not.
    package internal(set) var playoutDelay: PlayoutDelay?

    /// The bit rate that a message which removes the limit contains.
    static let noLimit = Bitrate.kilobits(1_000_000)
    /// The number of messages that remove the limit, because each may be lost.
    static let limitRemovalCount = 3

    /// The last report of the publisher about itself; nil if it does not send any.
    package internal(set) var publisherReport: PublisherReport?

    /// The interval of receiver reports.
    static let reportInterval = TimeSpan.seconds(Int64(1))

    /// Creates a receiver.
    ///
    /// - Parameters:
    ///   - media: The negotiated sections. Those that are not received are ignored.
    ///   - reporterSSRC: The SSRC of this side.
    ///   - cname: The canonical name of this side.
    ///   - measuresRoundTrip: Whether to send a receiver reference time with each report (RFC 3611, section 4.4). It is
    ///     needed if this side sends no media.
    package init(_ media: [NegotiatedMedia], reporterSSRC: UInt32, cname: String, measuresRoundTrip: Bool) {
        self.reporterSSRC = reporterSSRC
        self.cname = Array(cname.utf8.prefix(255))
        self.measuresRoundTrip = measuresRoundTrip
        lost.reserveCapacity(NACKRequester.maximumMissing)
        recovered.reserveCapacity(RedundantPayload.maximumBlockCount)
        for section in media where section.direction.receives {
            switch section.type {
            case .video where layers.isEmpty: layers = InboundTrack.layers(of: section)
            case .audio where audio == nil: audio = InboundTrack(section)
            default: continue
            }
            if section.feedback.contains(.transportCC) { arrivals = arrivals ?? TransportFeedbackRecorder() }
            for format in section.acceptablePayloads { addRoutes(format, type: section.type) }
        }
        canRequestKeyFrames = layers.first.map { !$0.media.feedback.isDisjoint(with: [.pli, .fir]) } ?? false
    }

    /// Sets the meaning of a format's payload types.
    mutating func addRoutes(_ format: PayloadFormat, type: MediaType) {
        routes[Int(format.payloadType & 0x7F)] = Route(type, format)
        if let retransmission = format.rtxPayloadType {
            routes[Int(retransmission & 0x7F)] = Route(type, format, wrapping: .retransmission)
        }
        if let redundancy = format.redPayloadType {
            routes[Int(redundancy & 0x7F)] = Route(type, format, wrapping: .redundancy)
        }
    }

    /// The smoothed round-trip time; nil before it was measured.
    package var roundTrip: TimeSpan? { delays.smoothed }

    /// The local monotonic time minus the wall-clock time of the peer, from its sender reports; nil if it is unknown.
    package var senderClockOffset: TimeSpan? { delays.minimum.flatMap { clock.offset(roundTrip: $0) } }

    // MARK: RTP input

    /// Receives a decrypted RTP packet. Returns nil if it does not belong to a track. Packets of all streams count for
    /// transport-wide feedback.
    ///
    /// Earlier packets that it repeats are available from ``takeRecovered()``.
    ///
    /// - Parameters:
    ///   - datagram: The packet.
    ///   - now: The time of its arrival.
    /// - Returns: The packet with its payload range.
    package mutating func receive(_ datagram: ByteView, at now: Instant) -> Packet? {
        recovered.removeAll(keepingCapacity: true)
        let bytes = datagram.span
        guard let header = RTPHeader.parse(bytes) else {
            refused += 1
            return nil
        }
        let route = routes[Int(header.payloadType)]
        if let number = transportSequenceNumber(header, of: route?.type, in: bytes) {
            arrivals?.received(number, at: now)
        }
        guard let route, let layer = layer(of: header, route, in: bytes) else {
            refused += 1
            return nil
        }
        if nextReport == nil { nextReport = now + Self.reportInterval }
        let payload = header.payloadRange(packetSize: datagram.count)
        switch route.wrapping {
        case .none: return receiveOriginal(header, payload, route, layer, bytes, at: now)
        case .retransmission: return receiveRetransmission(header, payload, route, layer, bytes, at: now)
        case .redundancy: return receiveRedundant(header, payload, route, bytes, at: now)
        }
    }

    /// Returns the oldest missing packet that the last one repeated, which must be processed before it; nil if there is
    /// no other. Its payload is in the same datagram.
    package mutating func takeRecovered() -> Packet? { recovered.popLast() }

    /// Receives an audio packet with redundancy (RFC 2198). One that is malformed or has another codec counts as a
    /// packet with an empty payload.
    mutating func receiveRedundant(
        _ header: RTPHeader, _ payload: Range<Int>, _ route: Route, _ bytes: Span<UInt8>, at now: Instant
    ) -> Packet? {
        guard route.type == .audio else { return nil }
        let nothing = payload.lowerBound..<payload.lowerBound
        guard let redundant = RedundantPayload(bytes, payload: payload) else {
            if !payload.isEmpty { refused += 1 }
            return receiveOriginal(header, nothing, route, 0, bytes, at: now)
        }
        let isOurs = redundant.primary.payloadType == route.payloadType
        let hole = audio?.hole(before: header)
        let own = isOurs ? redundant.primary.range : nothing
        let primary = receiveOriginal(header, own, route, 0, bytes, at: now)
        guard let primary else { return nil }
        var sequences = RedundantSequence(redundant, after: hole, in: bytes)
        while let (block, distance) = sequences.next(in: bytes) {
            let sequence = primary.sequence - distance
            guard block.payloadType == route.payloadType, audio?.missing.isMissing(sequence) == true else {
                continue
            }
            audio?.missing.received(sequence, isRetransmission: true, at: now)
            audio?.packetsRepeated += 1
            recovered.append(
                Packet(
                    type: .audio, layer: 0, sequence: sequence, timestamp: header.timestamp &- block.timestampOffset,
                    sequenceNumber: header.sequenceNumber &- UInt16(truncatingIfNeeded: distance), marker: false,
                    payload: block.range, codec: route.codec, isRetransmission: true, isRestart: false,
                    forwarded: RTPExtensionValues()))
        }
        return primary
    }

    /// Returns the transport-wide sequence number of a packet; nil if it has none. Extension IDs belong to a section,
    /// and Firefox numbers only video. A packet of an unknown section is a probe, for which the sections are tried.
    mutating func transportSequenceNumber(_ header: RTPHeader, of type: MediaType?, in bytes: Span<UInt8>) -> UInt16? {
        if let type { return header.extensions.transportSequenceNumber(in: bytes, by: extensions(of: type)) }
        return header.extensions.transportSequenceNumber(in: bytes, by: extensions(of: .video))
            ?? header.extensions.transportSequenceNumber(in: bytes, by: extensions(of: .audio))
    }

    /// Returns the header extension IDs of a media type.
    mutating func extensions(of type: MediaType) -> RTPHeaderExtensionMap {
        if type == .audio { return audio == nil ? RTPHeaderExtensionMap() : audio!.media.extensionMap }
        return layers.isEmpty ? RTPHeaderExtensionMap() : layers[0].media.extensionMap
    }

    /// Returns the layer of a packet by its SSRC, or if that is unknown, by its RID. Packets have a RID until the first
    /// report arrives at the sender (RFC 8852, section 3.1). Returns nil if neither is known.
    mutating func layer(of header: RTPHeader, _ route: Route, in bytes: Span<UInt8>) -> Int? {
        guard route.type == .video else { return 0 }
        if renditionCount > 0 {
            for index in 1..<layers.count where layers[index].ssrc == header.ssrc { return index }
            // The peer does not send the format of its renditions.
            guard route.payloadType != renditionPayloadType else { return nil }
        }
        guard layers[0].rid != nil else { return 0 }
        for index in layers.indices {
            let known = route.wrapping == .retransmission ? layers[index].retransmissionSSRC : layers[index].ssrc
            if known == header.ssrc { return index }
        }
        let map = layers[0].media.extensionMap
        let range =
            route.wrapping == .retransmission
            ? header.extensions.repairedRid(in: bytes, by: map) : header.extensions.rid(in: bytes, by: map)
        guard let range, let name = RTPStreamIdentifier(bytes: bytes.extracting(range)),
            let index = layers.firstIndex(where: { $0.rid == name })
        else { return nil }
        if route.wrapping == .retransmission { layers[index].retransmissionSSRC = header.ssrc }
        return index
    }

    /// Receives a packet that is not a retransmission.
    mutating func receiveOriginal(
        _ header: RTPHeader, _ payload: Range<Int>, _ route: Route, _ layer: Int, _ bytes: Span<UInt8>,
        at now: Instant
    ) -> Packet? {
        let arrival: InboundTrack.Arrival?
        if route.type == .video {
            let isKnown = layers[layer].ssrc == header.ssrc
            let named = isKnown ? .none : Self.identification(header, layers[layer], in: bytes)
            arrival = layers[layer].receive(header, identification: named, payloadSize: payload.count, at: now)
        } else {
            let isKnown = audio?.ssrc == header.ssrc
            let named = isKnown ? .none : Self.identification(header, audio, in: bytes)
            arrival = audio?.receive(header, identification: named, payloadSize: payload.count, at: now)
        }
        let sequence: Int64
        var isRestart = false
        switch arrival {
        case .accepted(let number): sequence = number
        case .restarted(let number):
            sequence = number
            isRestart = true
        case .refused, nil:
            refused += 1
            return nil
        }
        var changesCodec = false
        // The operator `!=` would compare the names of the codecs.
        if route.type == .video, !(layers[layer].codec == route.codec) {
            guard layers[layer].follow(route.codec, sequence: sequence) else {
                refused += 1
                return nil
            }
            changesCodec = true
        }
        let forwarded = RTPExtensionValues.forwarded(header.extensions, in: bytes, by: extensions(of: route.type))
        if let asked = forwarded.playoutDelay { playoutDelay = asked }
        let descriptor = header.extensions.dependencyDescriptor(in: bytes, by: extensions(of: route.type))
        return Packet(
            type: route.type, layer: layer, sequence: sequence, timestamp: header.timestamp,
            sequenceNumber: header.sequenceNumber, marker: header.marker, payload: payload, codec: route.codec,
            isRetransmission: false, isRestart: isRestart, changesCodec: changesCodec, forwarded: forwarded,
            dependencyDescriptor: descriptor ?? 0..<0)
    }

    /// Returns whether a packet with an unknown SSRC names a track by its MID or RID.
    private static func identification(
        _ header: RTPHeader, _ track: InboundTrack?, in bytes: Span<UInt8>
    ) -> SourceIdentification {
        guard let track else { return .none }
        // The layer of a packet with an unknown SSRC was found by its RID.
        let byRID = track.rid == nil ? SourceIdentification.none : .own
        guard let mid = track.mid, let range = header.extensions.mid(in: bytes, by: track.media.extensionMap) else {
            return byRID
        }
        return RTPStreamIdentifier(bytes: bytes.extracting(range)) == mid ? .own : .other
    }

    /// Receives a retransmission (RFC 4588). Returns nil if it is padding or does not belong to the current source.
    mutating func receiveRetransmission(
        _ header: RTPHeader, _ payload: Range<Int>, _ route: Route, _ layer: Int, _ bytes: Span<UInt8>,
        at now: Instant
    ) -> Packet? {
        guard case .packet(let original, let range) = RTXEncapsulation.decapsulate(bytes, payload: payload) else {
            return nil
        }
        // No frame after a change of the codec refers to frames before it.
        if route.type == .video, layers[layer].codec != route.codec { return nil }
        let sequence =
            route.type == .video
            ? layers[layer].receiveRetransmission(of: original, payloadSize: range.count, at: now)
            : audio?.receiveRetransmission(of: original, payloadSize: range.count, at: now)
        guard let sequence else { return nil }
        return Packet(
            type: route.type, layer: layer, sequence: sequence, timestamp: header.timestamp,
            sequenceNumber: original, marker: header.marker, payload: range, codec: route.codec, isRetransmission: true,
            isRestart: false,
            forwarded: .forwarded(header.extensions, in: bytes, by: extensions(of: route.type)),
            dependencyDescriptor: header.extensions.dependencyDescriptor(
                in: bytes, by: extensions(of: route.type)) ?? 0..<0)
    }

    // MARK: RTCP input

    /// Receives an RTCP packet, as far as it concerns the media that the peer sends.
    ///
    /// - Parameters:
    ///   - packet: The packet.
    ///   - datagram: The bytes of the datagram.
    ///   - wallTime: The wall-clock time of its arrival.
    ///   - now: The time of its arrival.
    /// - Returns: The track whose sender report the packet is; nil for other packets.
    @discardableResult
    package mutating func receive(
        _ packet: RTCPPacket, in datagram: Span<UInt8>, wallTime: WallTime, at now: Instant
    ) -> (type: MediaType, layer: Int)? {
        switch packet {
        case .senderReport(let information, _):
            // A sender without a wall clock sends 0 (RFC 3550, section 6.4.1).
            if information.ntpTimestamp != 0 { clock.received(information, at: now) }
            for index in layers.indices where layers[index].ssrc == information.ssrc {
                layers[index].senderReport = (information, now)
                layers[index].statistics?.received(information, at: now)
                return (.video, index)
            }
            if audio?.ssrc == information.ssrc {
                audio?.senderReport = (information, now)
                audio?.statistics?.received(information, at: now)
                return (.audio, 0)
            }
        case .pauseResume(let packet): receive(packet, in: datagram, at: now)
        case .publisherReport(let report): publisherReport = report
        case .goodbye(let goodbye):
            for index in 0..<goodbye.count {
                let ssrc = goodbye.ssrc(index, in: datagram)
                for layer in layers.indices where layers[layer].ssrc == ssrc { layers[layer].goodbyeReceived() }
                if ssrc == audio?.ssrc { audio?.goodbyeReceived() }
            }
        case .extendedReport(let report):
            let own = reporterSSRC
            var measured = delays
            report.forEachDelay(in: datagram) { delay in
                if delay.ssrc == own { _ = measured.update(from: delay, at: wallTime) }
            }
            delays = measured
            if let roundTrip = delays.smoothed { setRoundTrip(roundTrip) }
        default: break
        }
        return nil
    }

    /// Sets the round-trip time for retransmission requests, if it was measured elsewhere.
    package mutating func setRoundTrip(_ roundTrip: TimeSpan) {
        for index in layers.indices { layers[index].missing.roundTrip = roundTrip }
        audio?.missing.roundTrip = roundTrip
    }

    /// Receives the pause messages of the peer (RFC 7728).
    mutating func receive(_ packet: PauseResume, in datagram: Span<UInt8>, at now: Instant) {
        var reader = PauseResume.Reader(packet)
        while let message = reader.next(in: datagram) {
            for index in layers.indices where layers[index].ssrc == message.ssrc {
                layers[index].receive(message, at: now)
            }
            if message.ssrc == audio?.ssrc { audio?.receive(message, at: now) }
        }
    }

    // MARK: Pauses

    /// Sets whether a track has subscribers. The sender of a track without any is asked to pause after a while, if it
    /// supports this.
    package mutating func setDemanded(_ type: MediaType, layer: Int = 0, _ isWanted: Bool, at now: Instant) {
        switch type {
        case .video where layers.indices.contains(layer): layers[layer].pause?.setDemanded(isWanted, at: now)
        case .audio: audio?.pause?.setDemanded(isWanted, at: now)
        default: break
        }
    }

    /// Sets the paused tracks, if another receiver requests the pauses.
    package mutating func follow(_ pausedTracks: PausedTracks) { externalPause = pausedTracks }

    /// The paused tracks.
    package var pausedTracks: PausedTracks {
        var pausedTracks = PausedTracks()
        for layer in layers.indices where isPaused(.video, layer: layer) { pausedTracks.layers |= 1 << UInt8(layer) }
        pausedTracks.audio = isPaused(.audio)
        return pausedTracks
    }

    /// Returns whether the sender of a track was asked to pause and has not resumed.
    package func isPaused(_ type: MediaType, layer: Int = 0) -> Bool {
        if let externalPause {
            return type == .audio ? externalPause.audio : externalPause.layers & 1 << UInt8(layer) != 0
        }
        if type == .audio { return audio?.pause?.isPaused ?? false }
        return layers.indices.contains(layer) && layers[layer].isPaused
    }

    /// Returns whether an existing layer is paused, without the checks of ``isPaused(_:layer:)``.
    mutating func isLayerPaused(layer: Int) -> Bool {
        externalPause.map { $0.layers & 1 << UInt8(layer) != 0 } ?? layers[layer].isPaused
    }

    // MARK: Key frames

    /// Requests a key frame of a layer.
    ///
    /// - Parameters:
    ///   - layer: The index of the layer.
    ///   - isTentative: Whether a viewer would skip to the key frame, but none depends on it.
    package mutating func requestKeyFrame(layer: Int = 0, isTentative: Bool = false) {
        guard layers.indices.contains(layer) else { return }
        if isTentative { layers[layer].keyFrame.requestTentatively() } else { layers[layer].keyFrame.request() }
    }

    /// Returns whether no key frame of a layer is to be expected on request: requests cannot be sent to the peer, or it
    /// leaves them unanswered.
    package func ignoresKeyFrameRequests(layer: Int = 0, at now: Instant) -> Bool {
        if isRendition(layer) { return false }
        return !canRequestKeyFrames || layers.indices.contains(layer) && isUnanswered(layer, at: now)
    }

    private func isUnanswered(_ layer: Int, at now: Instant) -> Bool {
        layers[layer].keyFrame.isUnanswered(roundTrip: layers[layer].missing.roundTrip, at: now)
    }

    /// Returns the maximum time until a requested key frame of a layer arrives from a peer that answers requests.
    package func answerTime(layer: Int) -> TimeSpan {
        KeyFrameRequester.answerTime + (layers.indices.contains(layer) ? layers[layer].missing.roundTrip : .zero)
    }

    /// Returns a bit mask of the layers whose key-frame requests are left unanswered.
    package func unansweredLayers(at now: Instant) -> UInt8 {
        layers.indices.reduce(0) { $0 | (isUnanswered($1, at: now) ? 1 << UInt8($1) : 0) }
    }

    /// Takes over which key-frame requests are left unanswered from the receiver that sends them.
    package mutating func follow(unansweredLayers: UInt8) {
        for index in layers.indices {
            layers[index].keyFrame.note(ignoresRequests: unansweredLayers & 1 << UInt8(index) != 0)
        }
    }

    /// The round-trip time that is assumed until one has been measured, so that a distant peer counts as responsive.
    private static let longRoundTrip = TimeSpan.milliseconds(500)

    /// Records that a key frame begins with a sequence number, which ends the request for one.
    package mutating func keyFrameArrived(layer: Int = 0, sequence: Int64, at now: Instant) {
        guard layers.indices.contains(layer) else { return }
        layers[layer].keyFrame.received(roundTrip: delays.smoothed ?? Self.longRoundTrip, at: now)
        layers[layer].missing.keyFrameReceived(upTo: sequence)
    }
}
