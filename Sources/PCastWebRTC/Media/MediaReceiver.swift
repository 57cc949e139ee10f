public import PCastMedia
public import PCastRTP

/// The receiving half of a peer's media: sorts packets by track, and tells the sender what arrived, what is missing,
/// and that a key frame is wanted.
///
/// At most one audio track and one of video, which is what a stream is here; video may come in several layers
/// (simulcast, RFC 8853), each a track of its own.
///
/// What is asked for each packet is `mutating` though it changes nothing: nothing is asked of a copy, which would count
/// the references of all that it has.
public struct MediaReceiver: Sendable {
    /// A packet of media, or a retransmission put back in its place.
    public struct Packet: Sendable {
        public let type: MediaType
        /// Which of `layers`; 0 for sound.
        public let layer: Int
        public let sequence: Int64
        public let timestamp: UInt32
        /// The number on the wire, of the original packet.
        public let sequenceNumber: UInt16
        public let marker: Bool
        /// Where the payload lies in the datagram; empty for padding.
        public let payload: Range<Int>
        public let codec: Codec
        public let isRetransmission: Bool
        /// The source started over with this packet.
        public let isRestart: Bool
        /// The header extensions that a relay passes on.
        public let forwarded: RTPExtensionValues
    }

    /// What a payload type says; nothing whose references are counted, for it is looked up for each packet.
    struct Route {
        /// What stands behind the header: the payload, or something around it.
        enum Wrapping { case none, retransmission, redundancy }

        let type: MediaType
        let codec: Codec
        /// Of what is not wrapped.
        let payloadType: UInt8
        let wrapping: Wrapping

        init(_ type: MediaType, _ format: PayloadFormat, wrapping: Wrapping = .none) {
            self.type = type
            codec = format.codec
            payloadType = format.payloadType
            self.wrapping = wrapping
        }
    }

    /// Video, in the order in which its layers were offered, which says nothing of their quality; one without a name
    /// where there is no simulcast, none where there is no video.
    public internal(set) var layers: [InboundTrack] = []
    public internal(set) var audio: InboundTrack?

    /// The first layer.
    public var video: InboundTrack? { layers.first }

    /// Whether the peer understands requests for key frames at all (FFmpeg's WHIP does not).
    public internal(set) var canRequestKeyFrames = false

    /// Packets of no negotiated payload type, or not acceptable to their track.
    public internal(set) var refused = 0

    /// Our own SSRC in what we report.
    public let reporterSSRC: UInt32
    let cname: [UInt8]
    let measuresRoundTrip: Bool

    var routes = [Route?](repeating: nil, count: 128)
    var arrivals: TransportFeedbackRecorder?
    var nextReport: Instant?
    /// What the peer is asked to send at most, and when to say so again.
    var bitrateLimit: Bitrate?
    var limitDue: Instant?
    /// How often it is still to be said that there is none any more.
    var liftings = 0
    var lost: [UInt16] = []
    /// Packets that were missing and that the last one repeated, the newest first.
    var recovered: [Packet] = []
    var delays = RoundTripTime()
    var clock = SenderClock()
    /// What rests, where another asks the peer for it.
    var told: RestingTracks?

    /// The bounds of playout that the sender of the video asked for last (WebRTC's playout-delay header extension).
    public internal(set) var playoutDelay: PlayoutDelay?

    /// As good as no limit.
    static let noLimit = Bitrate.kilobits(1_000_000)
    /// The end of a limit is said so often, for each may be lost.
    static let liftingCount = 3

    /// What the peer said last of what it publishes; nil for those that do not.
    public internal(set) var publisherReport: PublisherReport?

    static let reportInterval = TimeSpan.seconds(Int64(1))

    /// - Parameters:
    ///   - media: the sections in which the peer sends.
    ///   - measuresRoundTrip: sends a receiver reference time with each report (RFC 3611), as an end that sends
    ///     nothing of its own does.
    public init(_ media: [NegotiatedMedia], reporterSSRC: UInt32, cname: String, measuresRoundTrip: Bool) {
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

    mutating func addRoutes(_ format: PayloadFormat, type: MediaType) {
        routes[Int(format.payloadType & 0x7F)] = Route(type, format)
        if let retransmission = format.rtxPayloadType {
            routes[Int(retransmission & 0x7F)] = Route(type, format, wrapping: .retransmission)
        }
        if let redundancy = format.redPayloadType {
            routes[Int(redundancy & 0x7F)] = Route(type, format, wrapping: .redundancy)
        }
    }

    /// The time to the peer and back, as far as it is known.
    public var roundTrip: TimeSpan? { delays.smoothed }

    /// Our monotonic clock less the peer's wall clock, as its sender reports tell it; nil before it can be known.
    public var senderClockOffset: TimeSpan? { delays.minimum.flatMap { clock.offset(roundTrip: $0) } }

    // MARK: Packets in

    /// Takes in a packet in the clear. Every one counts towards the transport's feedback, of whatever stream (RTP2).
    ///
    /// What came before it and is repeated in it, `takeRecovered` gives.
    public mutating func receive(_ datagram: UnsafeRawBufferPointer, at now: Instant) -> Packet? {
        recovered.removeAll(keepingCapacity: true)
        let bytes = Span<UInt8>(_unsafeBytes: datagram)
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

    /// The oldest packet that was missing and that the packet received last repeats, to be taken before that one; nil when
    /// there is none more. Its payload lies in the same datagram.
    public mutating func takeRecovered() -> Packet? { recovered.popLast() }

    /// A packet that repeats those before it (RFC 2198). One that breaks the format, or is of another codec, fills its
    /// number and no more, like padding.
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

    /// What an id means is a section's own affair, and not every section has transport numbers (Firefox numbers its
    /// video and not its sound). A packet of no known section is a probe of either.
    mutating func transportSequenceNumber(_ header: RTPHeader, of type: MediaType?, in bytes: Span<UInt8>) -> UInt16? {
        if let type { return header.extensions.transportSequenceNumber(in: bytes, by: extensions(of: type)) }
        return header.extensions.transportSequenceNumber(in: bytes, by: extensions(of: .video))
            ?? header.extensions.transportSequenceNumber(in: bytes, by: extensions(of: .audio))
    }

    mutating func extensions(of type: MediaType) -> RTPHeaderExtensionMap {
        if type == .audio { return audio == nil ? RTPHeaderExtensionMap() : audio!.media.extensionMap }
        return layers.isEmpty ? RTPHeaderExtensionMap() : layers[0].media.extensionMap
    }

    /// By the source's number, once that is known; before, by the name that packets bear until our first report of them
    /// arrives (RFC 8852, section 3.1). Nil for a packet of nobody known.
    mutating func layer(of header: RTPHeader, _ route: Route, in bytes: Span<UInt8>) -> Int? {
        guard route.type == .video, layers[0].rid != nil else { return 0 }
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
        let forwarded = RTPExtensionValues.forwarded(header.extensions, in: bytes, by: extensions(of: route.type))
        if let asked = forwarded.playoutDelay { playoutDelay = asked }
        return Packet(
            type: route.type, layer: layer, sequence: sequence, timestamp: header.timestamp,
            sequenceNumber: header.sequenceNumber, marker: header.marker, payload: payload, codec: route.codec,
            isRetransmission: false, isRestart: isRestart, forwarded: forwarded)
    }

    /// What a packet of an unknown SSRC says of the track that it is of.
    private static func identification(
        _ header: RTPHeader, _ track: InboundTrack?, in bytes: Span<UInt8>
    ) -> SourceIdentification {
        guard let track else { return .none }
        // A layer of unknown SSRC was found by its RID.
        let byRID = track.rid == nil ? SourceIdentification.none : .own
        guard let mid = track.mid, let range = header.extensions.mid(in: bytes, by: track.media.extensionMap) else {
            return byRID
        }
        return RTPStreamIdentifier(bytes: bytes.extracting(range)) == mid ? .own : .other
    }

    mutating func receiveRetransmission(
        _ header: RTPHeader, _ payload: Range<Int>, _ route: Route, _ layer: Int, _ bytes: Span<UInt8>,
        at now: Instant
    ) -> Packet? {
        guard case .packet(let original, let range) = RTXEncapsulation.decapsulate(bytes, payload: payload) else {
            return nil
        }
        let sequence =
            route.type == .video
            ? layers[layer].receiveRetransmission(of: original, payloadSize: range.count, at: now)
            : audio?.receiveRetransmission(of: original, payloadSize: range.count, at: now)
        guard let sequence else { return nil }
        return Packet(
            type: route.type, layer: layer, sequence: sequence, timestamp: header.timestamp,
            sequenceNumber: original, marker: header.marker, payload: range, codec: route.codec, isRetransmission: true,
            isRestart: false,
            forwarded: .forwarded(header.extensions, in: bytes, by: extensions(of: route.type)))
    }

    // MARK: Control in

    /// Takes in a control packet of the peer's, as far as it concerns what the peer sends.
    ///
    /// - Returns: the track whose sender report this was.
    @discardableResult
    public mutating func receive(
        _ packet: RTCPPacket, in datagram: Span<UInt8>, wallTime: WallTime, at now: Instant
    ) -> (type: MediaType, layer: Int)? {
        switch packet {
        case .senderReport(let information, _):
            // A sender without a clock says 0 (RFC 3550, section 6.4.1).
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

    /// The time to the peer and back, measured elsewhere.
    public mutating func setRoundTrip(_ roundTrip: TimeSpan) {
        for index in layers.indices { layers[index].missing.roundTrip = roundTrip }
        audio?.missing.roundTrip = roundTrip
    }

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

    /// Says whether anybody takes a track. One that nobody does is asked to pause after a while, if its sender can.
    public mutating func setWanted(_ type: MediaType, layer: Int = 0, _ isWanted: Bool, at now: Instant) {
        switch type {
        case .video where layers.indices.contains(layer): layers[layer].pause?.setWanted(isWanted, at: now)
        case .audio: audio?.pause?.setWanted(isWanted, at: now)
        default: break
        }
    }

    /// Tells what rests, where it is another receiver that asks the peer to.
    public mutating func follow(_ resting: RestingTracks) { told = resting }

    /// What rests.
    public var resting: RestingTracks {
        var resting = RestingTracks()
        for layer in layers.indices where isResting(.video, layer: layer) { resting.layers |= 1 << UInt8(layer) }
        resting.audio = isResting(.audio)
        return resting
    }

    /// Whether the track's sender was asked to pause and is not known to play again.
    public func isResting(_ type: MediaType, layer: Int = 0) -> Bool {
        if let told { return type == .audio ? told.audio : told.layers & 1 << UInt8(layer) != 0 }
        if type == .audio { return audio?.pause?.isResting ?? false }
        return layers.indices.contains(layer) && layers[layer].pause?.isResting ?? false
    }

    /// The same of a layer that there is, asked all the time.
    mutating func rests(layer: Int) -> Bool {
        told.map { $0.layers & 1 << UInt8(layer) != 0 } ?? (layers[layer].pause?.isResting ?? false)
    }

    // MARK: Key frames

    /// Requests a key frame of that layer.
    ///
    /// - Parameter isTentative: somebody would skip to it, and nobody waits for it.
    public mutating func requestKeyFrame(layer: Int = 0, isTentative: Bool = false) {
        guard layers.indices.contains(layer) else { return }
        if isTentative { layers[layer].keyFrame.wantTentatively() } else { layers[layer].keyFrame.want() }
    }

    /// Whether no key frame of that layer is to be expected on request: the peer cannot be asked, or leaves requests
    /// unanswered.
    public func leavesRequestsUnanswered(layer: Int = 0, at now: Instant) -> Bool {
        !canRequestKeyFrames || layers.indices.contains(layer) && isUnanswered(layer, at: now)
    }

    private func isUnanswered(_ layer: Int, at now: Instant) -> Bool {
        layers[layer].keyFrame.isUnanswered(roundTrip: layers[layer].missing.roundTrip, at: now)
    }

    /// How long a key frame of that layer takes at most to come, where the peer answers requests.
    public func answerTime(layer: Int) -> TimeSpan {
        KeyFrameRequest.answerTime + (layers.indices.contains(layer) ? layers[layer].missing.roundTrip : .zero)
    }

    /// The layers whose requests for key frames are left unanswered, as bits.
    public func unansweredLayers(at now: Instant) -> UInt8 {
        layers.indices.reduce(0) { $0 | (isUnanswered($1, at: now) ? 1 << UInt8($1) : 0) }
    }

    /// Follows which requests for key frames are left unanswered, where another receiver sends them.
    public mutating func follow(unansweredLayers: UInt8) {
        for index in layers.indices {
            layers[index].keyFrame.note(leavesUnanswered: unansweredLayers & 1 << UInt8(index) != 0)
        }
    }

    /// The round trip to a peer that is far away: while none has been measured, a key frame within it counts as an answer.
    private static let longRoundTrip = TimeSpan.milliseconds(500)

    /// A key frame began to arrive with the packet of that number.
    public mutating func keyFrameArrived(layer: Int = 0, sequence: Int64, at now: Instant) {
        guard layers.indices.contains(layer) else { return }
        layers[layer].keyFrame.granted(roundTrip: delays.smoothed ?? Self.longRoundTrip, at: now)
        layers[layer].missing.keyFrameReceived(upTo: sequence)
    }
}
