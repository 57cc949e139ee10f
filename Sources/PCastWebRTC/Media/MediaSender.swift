package import PCastCore
package import PCastRTP

/// The sending half of a peer's media. It writes packets from the logs of tracks into datagrams and processes the
/// peer's reports and requests.
///
/// It is noncopyable, and methods that are called for each packet are `mutating` even if they change nothing. Swift
/// passes a large borrowed value as a bitwise copy otherwise.
///
/// It owns the memory of its tracks, which it frees in `deinit`. References to them are used only while it exists.
package struct MediaSender: ~Copyable, @unchecked Sendable {  // the tracks have no other owner
    /// The requests of the peer that the encoder must fulfill.
    package struct Requests: Sendable {
        /// The layers for which a key frame is requested, as a bit mask.
        package var layers: UInt8 = 0

        /// Whether a key frame is requested of any layer.
        package var keyFrame: Bool { layers != 0 }
    }

    /// The result of sending.
    package enum Sending: Sendable {
        /// A packet was sent.
        case sent
        /// No packet is queued.
        case idle
        /// A packet is queued and may be sent at the pacing deadline.
        case paced
        /// The batch is full.
        case full
    }

    /// The pause or resume of a track by the peer (RFC 7728).
    package enum PauseEvent: Hashable, Sendable {
        /// The peer has paused a track or layer.
        case paused(MediaType, layer: Int)
        /// The peer has resumed a track or layer.
        case resumed(MediaType, layer: Int)
    }

    // The next properties are accessed for each packet; see `prefetch`.

    /// The next transport-wide sequence number.
    var transportSequenceNumber: UInt16
    /// The first or only video layer; nil if no video is sent. The address does not change.
    package let video: MutableReference<OutboundTrack>?
    /// The audio track; nil if no audio is sent. The address does not change.
    package let audio: MutableReference<OutboundTrack>?
    /// The simulcast layers after the first one.
    package let moreLayers: [MutableReference<OutboundTrack>?]
    /// The states of tracks that the peer may pause; empty for the viewers of the SFU.
    var pauses: [PauseState] = []
    /// The time at which the report of the publisher is due; nil if it waits for a sender report.
    var publisherReportDue: Instant?
    var pacer: Pacer
    /// The bandwidth estimation of the path to the peer.
    var bandwidth: BandwidthEstimator

    // The next properties are accessed for reports and requests.

    /// The round-trip time from receiver reports.
    package internal(set) var roundTripTime = RoundTripTime()
    /// The bit rate limit of the peer for all tracks together (REMB); nil for none. If the peer sends transport-wide
    /// feedback it is a request, otherwise its estimate of the path.
    package internal(set) var receiverLimit: Bitrate?
    /// Whether the peer sends transport-wide feedback, so that the bandwidth is estimated here.
    package var reportsArrivals: Bool {
        mutating get { (video ?? audio)?.pointee.media.feedback.contains(.transportCC) ?? false }
    }
    /// The sequence numbers that the current datagram requests, at most
    /// `NegativeAcknowledgement.maximumCountPerDatagram`. No memory is reserved, because most viewers never request
    /// any.
    var asked: [(type: MediaType, layer: Int, sequenceNumber: UInt16)] = []
    /// The last receiver reference time of the peer, to be answered with the next report (RFC 3611, section 4.5).
    var referenceTime: (ssrc: UInt32, compact: UInt32, arrival: Instant)?
    /// The events that have not been polled.
    var pauseEvents: [PauseEvent] = []
    /// The SSRC of this side in RTCP packets without a sender report.
    let reporterSSRC: UInt32
    let cname: [UInt8]
    /// The report of the publisher about itself, sent with sender reports; nil in the SFU.
    var publisherReport: PublisherReport?

    /// The round-trip time that is assumed before the first report.
    static let assumedRoundTrip = TimeSpan.milliseconds(50)

    /// Creates a sender.
    ///
    /// - Parameters:
    ///   - media: The negotiated sections. Those that are not sent are ignored.
    ///   - cname: The canonical name of this side.
    ///   - playoutDelay: The playout delay to request of video receivers; nil for none.
    ///   - startBitrate: The bandwidth that is assumed before the first feedback.
    ///   - desiredBitrate: The bit rate that would be sent if bandwidth were unlimited (see ``desiredBitrate``).
    ///   - evensSizes: Whether packets of a frame are padded to one size, so that one GSO send can transmit them.
    ///   - generator: The generator for SSRCs and sequence numbers.
    package init(
        _ media: [NegotiatedMedia], cname: String, playoutDelay: PlayoutDelay?,
        startBitrate: Bitrate = Self.assumedBitrate, desiredBitrate: Bitrate = Self.assumedBitrate,
        evensSizes: Bool = false, using generator: inout some RandomNumberGenerator
    ) {
        self.cname = Array(cname.utf8.prefix(255))
        transportSequenceNumber = UInt16.random(in: 0..<0x8000, using: &generator)
        var (video, audio): (MutableReference<OutboundTrack>?, MutableReference<OutboundTrack>?)
        var moreLayers: [MutableReference<OutboundTrack>?] = []
        for section in media {
            let layers = section.direction.sends ? section.rids.map { RTPStreamIdentifier($0) } : []
            var tracks: [MutableReference<OutboundTrack>?] = []
            for layer in section.type == .video && layers.count > 1 ? layers : [layers.first ?? nil] {
                guard section.type == .video ? video == nil : audio == nil else { break }
                tracks.append(
                    Self.allocate(
                        OutboundTrack(
                            section, layer: layer, evensSizes: evensSizes, using: &generator,
                            playoutDelay: playoutDelay)))
            }
            guard let track = tracks.first else { continue }
            if section.type == .video {
                video = track
                moreLayers = Array(tracks.dropFirst())
            } else {
                audio = track
            }
            for (layer, track) in tracks.enumerated() {
                guard let track, section.feedback.contains(.pause) else { continue }
                pauses.append(
                    PauseState(
                        type: section.type, layer: layer, ssrc: track.pointee.stream.parameters.ssrc,
                        holdsOff: !section.feedback.contains(.pauseWithoutWait)))
            }
        }
        (self.video, self.moreLayers, self.audio) = (video, moreLayers, audio)
        reporterSSRC = (video ?? audio)?.pointee.stream.parameters.ssrc ?? 0
        let canProbe = video?.pointee.stream.canProbe ?? false
        bandwidth = BandwidthEstimator(
            start: startBitrate, wanted: desiredBitrate,
            reportsArrivals: media.contains { $0.direction.sends && $0.feedback.contains(.transportCC) },
            canProbe: canProbe)
        pacer = Pacer(target: startBitrate, opening: Self.openingPace, wanted: desiredBitrate)
    }

    deinit {
        for case let track? in [video, audio] + moreLayers {
            unsafe track.deallocate()
        }
    }

    /// Moves a track to its own memory. Returns nil if there is none.
    private static func allocate(_ track: consuming OutboundTrack?) -> MutableReference<OutboundTrack>? {
        guard let track else { return nil }
        return .allocate(track)
    }

    /// The sent tracks, video first.
    package var tracks: [MutableReference<OutboundTrack>] { ([video] + moreLayers + [audio]).compactMap { $0 } }

    /// The bandwidth that is assumed before any feedback. It is that of a typical stream, so that joining is not
    /// delayed.
    package static let assumedBitrate = Bitrate.kilobits(2_500)

    /// The maximum number of packets for which space in a batch is required, as many as one GSO send transmits.
    static let longestRun = 64

    /// The pacing rate of the first frame, before the first feedback.
    static let openingPace = Bitrate.kilobits(25_000)

    /// The smoothed round-trip time, or 50 ms before the first report.
    package var roundTrip: TimeSpan { roundTripTime.smoothed ?? Self.assumedRoundTrip }

    // MARK: Layers

    /// The number of sent video layers.
    package var layerCount: Int { video == nil ? 0 : 1 + moreLayers.count }

    /// Returns the track of a layer; nil if it is not sent.
    package func layer(_ index: Int) -> MutableReference<OutboundTrack>? {
        index == 0 ? video : moreLayers.indices.contains(index - 1) ? moreLayers[index - 1] : nil
    }

    /// Returns the layer with an SSRC; nil if there is none.
    func layer(of ssrc: UInt32) -> Int? {
        if ssrc == video?.pointee.stream.parameters.ssrc { return 0 }
        for index in moreLayers.indices where moreLayers[index]?.pointee.stream.parameters.ssrc == ssrc {
            return index + 1
        }
        return nil
    }

    /// Sends the next packet of one of several layers. It never sends a probe, which
    /// ``sendAll(_:from:through:into:capture:stopsAfterFrame:at:)`` does when no layer has packets.
    package mutating func send(
        layer index: Int, from log: borrowing PacketLog, through transport: inout SecureTransport,
        into batch: inout DatagramBatch, capture: CaptureClock?, at now: Instant
    ) -> Sending {
        guard let track = layer(index), let waiting = track.pointee.stream.waiting(in: log) else { return .idle }
        let waited = waiting.since.map { now - $0 } ?? .zero
        guard pacer.mayPass(queued: waiting.count, waited: waited, at: now) else { return .paced }
        return write(track, from: log, through: &transport, into: &batch, capture: capture, at: now)
    }

    /// Switches the video to another layer at a key frame (see `OutboundStream.change`). The mapping of timestamps in
    /// sender reports restarts, because the layers have different clocks (RFC 3550, section 6.4.1).
    package mutating func changeVideo(
        to log: borrowing PacketLog, at position: Int64, from former: borrowing PacketLog, alignment: UInt32?,
        repairsFormer: Bool
    ) {
        guard let video else { return }
        video.pointee.stream.change(
            to: log, at: position, from: former, codec: video.pointee.codec, alignment: alignment,
            repairsFormer: repairsFormer)
        video.pointee.restartsReports = true
    }

    /// Sends the next retransmission of the layer before the last switch.
    package mutating func resend(
        from former: borrowing PacketLog, through transport: inout SecureTransport,
        into batch: inout DatagramBatch, at now: Instant
    ) -> Sending {
        guard let video, let path = transport.path else { return .idle }
        let count = video.pointee.stream.formerResendCount
        guard count > 0 else { return .idle }
        guard pacer.mayPass(queued: count, waited: .zero, at: now) else { return .paced }
        guard let buffer = batch.reserve() else { return .full }
        let number = transportSequenceNumber
        let packet = video.pointee.stream.nextOfFormer(
            in: former, sendTime: AbsoluteSendTime(now), transportSequenceNumber: &transportSequenceNumber, into: buffer
        )
        guard let packet else { return .idle }
        let payload = former.payload(at: packet.position)
        let length = Self.protectCopy(packet, payload, in: buffer, by: &transport)
        if length > 0 { batch.commit(length: length, to: path) }
        noteSent(length, number: number, cluster: pacer.cluster, at: now)
        return .sent
    }

    // MARK: RTCP input

    /// Receives an RTCP packet, as far as it concerns the media that this side sends.
    ///
    /// - Parameters:
    ///   - packet: The packet.
    ///   - datagram: The bytes of the datagram.
    ///   - budget: The number of retransmission requests that the datagram may still make; it is decreased.
    ///   - wallTime: The wall-clock time of the arrival.
    ///   - waited: The time from the arrival to `now`.
    ///   - now: The current time.
    /// - Returns: The requests that the encoder must fulfill.
    package mutating func receive(
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

    /// Reads report blocks: losses and round-trip time.
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

    /// Collects the sequence numbers of a NACK.
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

    /// Returns the layers for which a FIR requests a new key frame, as a bit mask. A repeated request has the same
    /// sequence number (RFC 5104, section 4.3.1.2).
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

    /// Schedules the retransmissions that the last datagram requested of a track. It must be called for each track
    /// after a datagram was read.
    package mutating func resolveRequests(
        _ type: MediaType, layer: Int = 0, in log: borrowing PacketLog, at now: Instant
    ) {
        guard !asked.isEmpty else { return }
        // The minimum round-trip time is used: a request cannot concern a packet that was sent later than that, and
        // faster requests than usual are not rejected.
        let roundTrip = roundTripTime.minimum ?? .zero
        // Retransmission of audio on a congested link causes more audio loss, and retransmitted packets would arrive
        // too late.
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
