public import PCastMedia
public import PCastRTP

/// The sending half of a peer's media: writes packets from the tracks' logs into datagrams, and answers what the peer
/// reports, asks for again, or cannot go on without.
///
/// It is never copied, and what is done for each packet is `mutating` even where nothing changes: Swift hands over a large
/// value that is merely lent as a copy of its bits.
public struct MediaSender: ~Copyable, @unchecked Sendable {  // the tracks are nobody else's
    /// What the peer asks of whoever makes the media.
    public struct Requests: Sendable {
        /// Key frames of the video's layers, as bits.
        public var layers: UInt8 = 0

        public var keyFrame: Bool { layers != 0 }
    }

    /// What became of an attempt to send.
    public enum Sending: Sendable {
        case sent
        /// Nothing waits.
        case idle
        /// Something waits, and may leave at the deadline.
        case paced
        /// The batch is full.
        case full
    }

    /// What the peer had a track do (RFC 7728).
    public enum PauseEvent: Hashable, Sendable {
        case paused(MediaType, layer: Int)
        case resumed(MediaType, layer: Int)
    }

    // What each packet asks for, together; see `bringNear`.

    var transportSequenceNumber: UInt16
    /// The only layer, or the first; where it stands as long as the sender does.
    public let video: UnsafeMutablePointer<OutboundTrack>?
    public let audio: UnsafeMutablePointer<OutboundTrack>?
    /// The layers after the first, where several are sent side by side.
    public let moreLayers: [UnsafeMutablePointer<OutboundTrack>?]
    /// Of the tracks that the peer may pause; empty for a relay's viewers, of which there are many.
    var pauses: [PauseState] = []
    var publisherReportDue: Instant?
    var pacer: Pacer
    /// What the path to the peer carries.
    var bandwidth: BandwidthEstimator

    // What reports and requests ask for as well.

    public internal(set) var roundTripTime = RoundTripTime()
    /// What the peer wants to be sent at most, all tracks together (REMB): its estimate of the link, or its wish where
    /// it reports arrivals.
    public internal(set) var receiverLimit: Bitrate?
    /// Whether the peer reports when packets arrive, so that its link is estimated here.
    public var reportsArrivals: Bool {
        mutating get { (video ?? audio)?.pointee.media.feedback.contains(.transportCC) ?? false }
    }
    /// Sequence numbers asked for in the datagram that is being read, `NegativeAcknowledgement.maximumCountPerDatagram`
    /// at most. Most viewers ask for none in all their life, so no memory is set aside.
    var asked: [(type: MediaType, layer: Int, sequenceNumber: UInt16)] = []
    /// The peer's receiver reference time, to be answered with the next report (RTCP5).
    var referenceTime: (ssrc: UInt32, compact: UInt32, arrival: Instant)?
    var pauseEvents: [PauseEvent] = []
    let reporterSSRC: UInt32
    let cname: [UInt8]
    /// What is said beside sender reports; nil for who says nothing, as a relay does to its viewers.
    var publisherReport: PublisherReport?

    /// The round trip assumed before any report.
    static let assumedRoundTrip = TimeSpan.milliseconds(50)

    /// - Parameters:
    ///   - media: the sections in which we send.
    ///   - playoutDelay: asked of video receivers; nil leaves it to them.
    ///   - startBitrate: what the path is taken to carry before anything is known of it.
    ///   - wantedBitrate: what is sent when the path carries it; see `wantedBitrate`.
    ///   - evensSizes: whether packets of a picture are filled up to one size, so that they leave in one system call.
    public init(
        _ media: [NegotiatedMedia], cname: String, playoutDelay: PlayoutDelay?,
        startBitrate: Bitrate = Self.assumedBitrate, wantedBitrate: Bitrate = Self.assumedBitrate,
        evensSizes: Bool = false, using generator: inout some RandomNumberGenerator
    ) {
        self.cname = Array(cname.utf8.prefix(255))
        transportSequenceNumber = UInt16.random(in: 0..<0x8000, using: &generator)
        var (video, audio): (OutboundTrack?, OutboundTrack?)
        var moreLayers: [OutboundTrack?] = []
        var canProbe = false
        for section in media {
            let layers = section.direction.sends ? section.rids.map { RTPStreamIdentifier($0) } : []
            let track = OutboundTrack(
                section, layer: layers.first ?? nil, evensSizes: evensSizes, using: &generator,
                playoutDelay: playoutDelay)
            switch section.type {
            case .video where video == nil:
                video = track
                canProbe = track?.stream.canProbe ?? false
                moreLayers = layers.dropFirst().map { layer in
                    OutboundTrack(
                        section, layer: layer, evensSizes: evensSizes, using: &generator, playoutDelay: playoutDelay)
                }
            case .audio where audio == nil: audio = track
            default: continue
            }
            for (layer, track) in ([track] + (section.type == .video ? moreLayers : [])).enumerated() {
                guard let track, section.feedback.contains(.pause) else { continue }
                pauses.append(
                    PauseState(
                        type: section.type, layer: layer, ssrc: track.stream.parameters.ssrc,
                        holdsOff: !section.feedback.contains(.pauseWithoutWait)))
            }
        }
        self.video = video.map(Self.place)
        self.moreLayers = moreLayers.map { $0.map(Self.place) }
        self.audio = audio.map(Self.place)
        reporterSSRC = video?.stream.parameters.ssrc ?? audio?.stream.parameters.ssrc ?? 0
        bandwidth = BandwidthEstimator(
            start: startBitrate, wanted: wantedBitrate,
            reportsArrivals: media.contains { $0.direction.sends && $0.feedback.contains(.transportCC) },
            canProbe: canProbe)
        pacer = Pacer(target: startBitrate, opening: Self.openingPace, wanted: wantedBitrate)
    }

    deinit {
        for case let track? in [video, audio] + moreLayers {
            track.deinitialize(count: 1)
            track.deallocate()
        }
    }

    private static func place(_ track: OutboundTrack) -> UnsafeMutablePointer<OutboundTrack> {
        let address = UnsafeMutablePointer<OutboundTrack>.allocate(capacity: 1)
        address.initialize(to: track)
        return address
    }

    /// The tracks that are sent, video first.
    public var tracks: [UnsafeMutablePointer<OutboundTrack>] { ([video] + moreLayers + [audio]).compactMap { $0 } }

    /// What a path is taken to carry before anything is known of it: a usual stream, so that joining is not slower
    /// for it (CC12).
    public static let assumedBitrate = Bitrate.kilobits(2_500)

    /// Packets that are looked ahead for room: as many as leave in one message (IO4).
    static let longestRun = 64

    /// How fast the first picture leaves, before the peer reports anything.
    static let openingPace = Bitrate.kilobits(25_000)

    public var roundTrip: TimeSpan { roundTripTime.smoothed ?? Self.assumedRoundTrip }

    // MARK: Layers

    /// How many layers of video are sent side by side.
    public var layerCount: Int { video == nil ? 0 : 1 + moreLayers.count }

    /// A layer's track; nil where it is not sent.
    public func layer(_ index: Int) -> UnsafeMutablePointer<OutboundTrack>? {
        index == 0 ? video : moreLayers.indices.contains(index - 1) ? moreLayers[index - 1] : nil
    }

    /// Which layer has that source; nil for none.
    func layer(of ssrc: UInt32) -> Int? {
        if ssrc == video?.pointee.stream.parameters.ssrc { return 0 }
        for index in moreLayers.indices where moreLayers[index]?.pointee.stream.parameters.ssrc == ssrc {
            return index + 1
        }
        return nil
    }

    /// Sends the next packet of one of several layers; never a probe, which goes by `sendAll` when no layer has anything.
    public mutating func send(
        layer index: Int, from log: borrowing PacketLog, through transport: inout SecureTransport,
        into batch: inout DatagramBatch, capture: CaptureClock?, at now: Instant
    ) -> Sending {
        guard let track = layer(index), let waiting = track.pointee.stream.waiting(in: log) else { return .idle }
        let waited = waiting.since.map { now - $0 } ?? .zero
        guard pacer.mayPass(queued: waiting.count, waited: waited, at: now) else { return .paced }
        return write(track, from: log, through: &transport, into: &batch, capture: capture, at: now)
    }

    /// Goes on with another layer of the video at a key frame of it; see `OutboundStream.change`. Reports begin anew,
    /// for they tell the times of what is sent now (RTCP1).
    public mutating func changeVideo(
        to log: borrowing PacketLog, at position: Int64, from former: borrowing PacketLog, alignment: UInt32?,
        repairsFormer: Bool
    ) {
        guard let video else { return }
        video.pointee.stream.change(
            to: log, at: position, from: former, codec: video.pointee.media.codec, alignment: alignment,
            repairsFormer: repairsFormer)
        video.pointee.reportsAnew = true
    }

    /// Sends again what the peer lacks of the layer that was left, one packet each time.
    public mutating func resend(
        from former: borrowing PacketLog, through transport: inout SecureTransport,
        into batch: inout DatagramBatch, at now: Instant
    ) -> Sending {
        guard let video, let path = transport.path else { return .idle }
        let count = video.pointee.stream.formerResendCount
        guard count > 0 else { return .idle }
        guard pacer.mayPass(queued: count, waited: .zero, at: now) else { return .paced }
        guard let room = batch.reserve() else { return .full }
        let number = transportSequenceNumber
        let packet = video.pointee.stream.nextOfFormer(
            in: former, sendTime: AbsoluteSendTime(now), transportSequenceNumber: &transportSequenceNumber, into: room)
        guard let packet else { return .idle }
        let payload = former.payload(at: packet.position)
        let length = Self.protectCopy(packet, payload, in: room, by: &transport)
        if length > 0 { batch.commit(length: length, to: path) }
        noteSent(length, number: number, cluster: pacer.cluster, at: now)
        return .sent
    }

    // MARK: Control in

    /// Takes in a control packet of the peer's, as far as it concerns what we send.
    ///
    /// - Parameters:
    ///   - wallTime: when it came.
    ///   - waited: how long before `now` that was.
    public mutating func receive(
        _ packet: RTCPPacket, in datagram: Span<UInt8>, budget: inout Int, wallTime: WallTime,
        waited: TimeSpan = .zero, at now: Instant
    ) -> Requests {
        var requests = Requests()
        switch packet {
        case .receiverReport(_, let blocks), .senderReport(_, let blocks):
            read(blocks, in: datagram, wallTime, at: now)
        case .transportFeedback(let feedback):
            bandwidth.receive(feedback, in: datagram, waited: waited, at: now)
            followEstimate(at: now)
        case .receiverEstimatedBitrate(let limit):
            receiverLimit = limit.bitrate
            bandwidth.receive(receiverLimit: limit.bitrate, at: now)
            followEstimate(at: now)
        case .negativeAcknowledgement(let nack): read(nack, in: datagram, budget: &budget)
        case .pictureLossIndication(_, let ssrc):
            guard let layer = layer(of: ssrc) else { break }
            self.layer(layer)?.pointee.pliCount += 1
            requests.layers |= 1 << UInt8(layer)
        case .fullIntraRequest(let request): requests.layers |= read(request, in: datagram)
        case .pauseResume(let packet) where !pauses.isEmpty: read(packet, in: datagram, at: now)
        case .goodbye(let goodbye) where !pauses.isEmpty:
            for index in 0..<goodbye.count {
                let ssrc = goodbye.ssrc(index, in: datagram)
                changePauses { $0.goodbyeReceived(from: ssrc) }
            }
        case .extendedReport(let report):
            if let time = report.receiverReferenceTime(in: datagram) {
                referenceTime = (report.senderSSRC, UInt32(truncatingIfNeeded: time >> 16), now)
            }
        default: break
        }
        return requests
    }

    mutating func read(_ blocks: ReportBlocks, in datagram: Span<UInt8>, _ wallTime: WallTime, at now: Instant) {
        for index in 0..<blocks.count {
            let block = blocks.block(index, in: datagram)
            let previous: ReportBlock?
            if let layer = layer(of: block.ssrc) {
                previous = self.layer(layer)?.pointee.receiverReport
                self.layer(layer)?.pointee.receiverReport = block
            } else if let audio, block.ssrc == audio.pointee.stream.parameters.ssrc {
                previous = audio.pointee.receiverReport
                audio.pointee.receiverReport = block
                audio.pointee.followLoss(block)
            } else {
                continue
            }
            if roundTripTime.update(from: block, at: wallTime) != nil, let smoothed = roundTripTime.smoothed {
                bandwidth.measured(roundTrip: smoothed)
            }
            if let previous {
                bandwidth.receive(
                    lost: Int(block.cumulativeLost) - Int(previous.cumulativeLost),
                    expected: Int(block.highestSequenceNumber &- previous.highestSequenceNumber), at: now)
            }
        }
        followEstimate(at: now)
    }

    mutating func read(_ nack: NegativeAcknowledgement, in datagram: Span<UInt8>, budget: inout Int) {
        let type: MediaType
        var layer = 0
        if let index = self.layer(of: nack.mediaSSRC) {
            type = .video
            layer = index
            self.layer(index)?.pointee.nackCount += 1
        } else if let audio, nack.mediaSSRC == audio.pointee.stream.parameters.ssrc {
            type = .audio
            audio.pointee.nackCount += 1
        } else {
            return
        }
        nack.forEach(in: datagram, budget: &budget) { number in asked.append((type, layer, number)) }
    }

    /// Answers the layers of which something new is requested, as bits.
    mutating func read(_ request: FullIntraRequest, in datagram: Span<UInt8>) -> UInt8 {
        var layers: UInt8 = 0
        for index in 0..<request.count {
            let entry = request.entry(index, in: datagram)
            guard let layer = layer(of: entry.ssrc), let track = self.layer(layer),
                entry.sequenceNumber != track.pointee.lastIntraRequest
            else { continue }
            track.pointee.lastIntraRequest = entry.sequenceNumber
            track.pointee.pliCount += 1
            layers |= 1 << UInt8(layer)
        }
        return layers
    }

    /// Looks the numbers asked for up in the track's log. To be called for each type after a datagram was read.
    public mutating func resolveRequests(
        _ type: MediaType, layer: Int = 0, in log: borrowing PacketLog, at now: Instant
    ) {
        guard !asked.isEmpty else { return }
        // The shortest measured: no request can be about a packet that left later, and one that took less than usual
        // is not refused.
        let roundTrip = roundTripTime.minimum ?? .zero
        // A link that is full loses more sound the more of it is sent again, and what waits there comes too late (NACK3).
        if type == .audio, isCongested {
            asked.removeAll { $0.type == .audio }
            return
        }
        let track = type == .video ? self.layer(layer) : audio
        for request in asked where request.type == type && request.layer == layer {
            track?.pointee.stream.requestRetransmission(
                of: request.sequenceNumber, in: log, roundTrip: roundTrip, at: now)
        }
        asked.removeAll { $0.type == type && $0.layer == layer }
    }
}
