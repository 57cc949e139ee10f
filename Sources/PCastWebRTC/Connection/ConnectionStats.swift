import PCastCore
import PCastRTP

/// Converts the statistics of a connection to W3C webrtc-stats. Values that are not measured are absent.
struct ConnectionStats {
    private let clock: WallClockReference
    private let now: Instant
    private let timestamp: Double
    private static let transport = "T"
    /// The report so far.
    var report = RTCStatsReport()

    init(clock: WallClockReference, now: Instant) {
        self.clock = clock
        self.now = now
        timestamp = Self.milliseconds(clock.wallTime(at: now))
    }

    private static func milliseconds(_ time: WallTime) -> Double { Double(time.nanosecondsSinceEpoch) / 1e6 }

    // MARK: Sent media

    /// Adds the statistics of sent tracks.
    mutating func add(_ sender: UniqueBox<MediaSender>?) {
        guard let sender else { return }
        for track in sender.value.tracks {
            add(
                track.pointee, isPaused: sender.value.isPaused(track.pointee.media.type),
                roundTrip: sender.value.roundTripTime.smoothed)
        }
    }

    private mutating func add(_ track: borrowing OutboundTrack, isPaused: Bool, roundTrip: TimeSpan?) {
        let parameters = track.stream.parameters
        let codec = addCodec(track.media.format(of: track.codec), of: track.media.type, direction: "O")
        var stats = RTCOutboundRTPStreamStats(
            id: "OT\(parameters.ssrc)", timestamp: timestamp, ssrc: parameters.ssrc, kind: track.media.type,
            transportId: Self.transport, codecId: codec, mid: track.media.mid)
        stats.rid = parameters.rid?.text
        stats.rtxSsrc = parameters.retransmission?.ssrc
        stats.packetsSent = Int(track.stream.packetsSent)
        stats.bytesSent = Int(track.stream.octetsSent)
        stats.retransmittedPacketsSent = track.stream.packetsRetransmitted
        stats.nackCount = track.nackCount
        if track.media.type == .video { stats.pliCount = track.pliCount }
        stats.active = !isPaused
        if let block = track.receiverReport {
            let remote = RTCRemoteInboundRTPStreamStats(
                id: "RI\(parameters.ssrc)", timestamp: timestamp, ssrc: parameters.ssrc, kind: track.media.type,
                transportId: Self.transport, codecId: codec, localId: stats.id,
                packetsLost: Int(block.cumulativeLost),
                jitter: track.media.format.clockRate.span(ofTicks: Int64(block.jitter)).seconds,
                fractionLost: Double(block.fractionLost) / 256, roundTripTime: roundTrip?.seconds)
            stats.remoteId = remote.id
            report.remoteInbound.append(remote)
        }
        report.outbound.append(stats)
    }

    // MARK: Received media

    /// Adds the statistics of received tracks and their jitter buffers.
    mutating func add(_ receiver: MediaReceiver?, video: JitterBufferStatistics?, audio: JitterBufferStatistics?) {
        for layer in receiver?.layers ?? [] { add(layer, video) }
        if let track = receiver?.audio { add(track, audio) }
    }

    private mutating func add(_ track: InboundTrack, _ buffer: JitterBufferStatistics?) {
        guard let ssrc = track.ssrc else { return }
        let codec = addCodec(track.media.format(of: track.codec), of: track.media.type, direction: "I")
        var stats = RTCInboundRTPStreamStats(
            id: "IT\(ssrc)", timestamp: timestamp, ssrc: ssrc, kind: track.media.type, transportId: Self.transport,
            codecId: codec, mid: track.media.mid)
        stats.packetsReceived = track.packetsReceived
        stats.bytesReceived = track.bytesReceived
        stats.packetsLost = Int(track.statistics?.lost ?? 0)
        if let jitter = track.statistics?.jitter {
            stats.jitter = track.media.format.clockRate.span(ofTicks: Int64(jitter)).seconds
        }
        stats.nackCount = Int(track.missing.requested)
        stats.packetsDiscarded = buffer.map { $0.packetsLate + $0.packetsDuplicate }
        if track.media.type == .video {
            stats.pliCount = track.keyFrame.sentCount
            stats.framesReceived = buffer?.framesAssembled
        }
        if let (information, _) = track.senderReport {
            let remote = RTCRemoteOutboundRTPStreamStats(
                id: "RO\(ssrc)", timestamp: timestamp, ssrc: ssrc, kind: track.media.type,
                transportId: Self.transport, codecId: codec, localId: stats.id,
                packetsSent: Int(information.packetCount), bytesSent: Int(information.octetCount),
                remoteTimestamp: Self.milliseconds(WallTime(ntpTimestamp: information.ntpTimestamp)))
            stats.remoteId = remote.id
            report.remoteOutbound.append(remote)
        }
        report.inbound.append(stats)
    }

    /// Adds the statistics of a codec, unless they were added before. Returns their ID.
    private mutating func addCodec(_ format: PayloadFormat, of type: MediaType, direction: String) -> String {
        let id = "C\(direction)\(format.payloadType)"
        guard !report.codecs.contains(where: { $0.id == id }) else { return id }
        report.codecs.append(
            RTCCodecStats(
                id: id, timestamp: timestamp, payloadType: format.payloadType, transportId: Self.transport,
                mimeType: "\(type.rawValue)/\(format.codec.rawValue)", clockRate: Int(format.clockRate.hertz),
                channels: format.codec == .opus ? 2 : nil))
        return id
    }

    // MARK: Transport

    /// Adds the statistics of the transport and of the selected candidate pair.
    mutating func addTransport(
        _ traffic: TransportTraffic, path: NetworkPath?, profile: SRTPProfile?, lastReceivedAt: Instant?,
        roundTrip: TimeSpan?, estimate: Bitrate?
    ) {
        var transport = RTCTransportStats(id: Self.transport, timestamp: timestamp)
        transport.packetsSent = traffic.packetsSent
        transport.bytesSent = traffic.bytesSent
        transport.packetsReceived = traffic.packetsReceived
        transport.bytesReceived = traffic.bytesReceived
        if let profile {
            transport.dtlsState = "connected"
            transport.srtpCipher = profile.registeredName
        }
        if let path {
            let local = candidate(path.local, isRemote: false, path)
            let remote = candidate(path.remote, isRemote: true, path)
            var pair = RTCIceCandidatePairStats(
                id: "CP", timestamp: timestamp, transportId: Self.transport, localCandidateId: local.id,
                remoteCandidateId: remote.id)
            pair.currentRoundTripTime = roundTrip?.seconds
            pair.availableOutgoingBitrate = estimate.map { Double($0.bitsPerSecond) }
            pair.lastPacketReceivedTimestamp = lastReceivedAt.map { Self.milliseconds(clock.wallTime(at: $0)) }
            transport.selectedCandidatePairId = pair.id
            report.candidates = [local, remote]
            report.candidatePairs = [pair]
        }
        report.transports = [transport]
    }

    private func candidate(_ address: TransportAddress, isRemote: Bool, _ path: NetworkPath) -> RTCIceCandidateStats {
        RTCIceCandidateStats(
            isRemote: isRemote, id: isRemote ? "CR" : "CL", timestamp: timestamp, transportId: Self.transport,
            address: address.ip.description, port: address.port, protocol: path.transport == .udp ? "udp" : "tcp")
    }
}

extension SRTPProfile {
    /// The name in the registry of DTLS-SRTP protection profiles (RFC 5764, RFC 7714).
    fileprivate var registeredName: String {
        switch self {
        case .aes128CMHMACSHA1: "SRTP_AES128_CM_HMAC_SHA1_80"
        case .aeadAES128GCM: "SRTP_AEAD_AES_128_GCM"
        case .aeadAES256GCM: "SRTP_AEAD_AES_256_GCM"
        }
    }
}

/// The number of datagrams of all kinds and their bytes.
struct TransportTraffic: Sendable {
    var packetsSent = 0
    var bytesSent = 0
    var packetsReceived = 0
    var bytesReceived = 0
}
