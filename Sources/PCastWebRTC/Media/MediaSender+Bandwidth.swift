public import PCastMedia
public import PCastRTP

/// What the path to the peer carries, and how what leaves follows it.
extension MediaSender {
    /// What is known of the path to the peer. Asked of every viewer several times a second, and so `mutating`: nothing is asked
    /// of a copy.
    public var estimate: BandwidthEstimate { mutating get { bandwidth.estimate } }

    /// Whether more was sent than the path carries, and waits on it.
    public var isCongested: Bool { mutating get { bandwidth.isCongested } }

    /// What may be sent, all tracks together, on the wire.
    public var targetBitrate: Bitrate { mutating get { bandwidth.targetBitrate } }

    /// What would be sent if the path carried it: the path is not asked for more than twice as much.
    public var wantedBitrate: Bitrate {
        get { bandwidth.wanted }
        set { bandwidth.wanted = newValue }
    }

    /// Packets go another way from now on: what was known of the old path's rate says little of the new one's.
    public mutating func pathChanged(at now: Instant) { bandwidth.pathChanged(at: now) }

    /// See `Nearness`.
    @inline(__always)
    public mutating func bringNear(_ step: Nearness) {
        switch step {
        case .own:
            Nearness.bring(&transportSequenceNumber, through: &pacer)
            bandwidth.bringNear { Nearness.bring($0, $1) }
        case .objects:
            if let video { Nearness.bring(video, MemoryLayout<OutboundTrack>.size) }
            // Its place and its reports are looked at with each picture as well.
            if let audio { Nearness.bring(audio, MemoryLayout<OutboundTrack>.size) }
        case .tables: if let records = bandwidth.records { Nearness.bring(arrayAt: records) }
        case .keys: if let next = bandwidth.nextRecord { Nearness.bring(next, 128) }
        }
    }

    /// Has brought near what a report needs. See `Nearness`.
    @inline(__always)
    public mutating func bringReportingNear(_ step: Nearness) {
        switch step {
        case .objects: if let video { Nearness.bring(video, MemoryLayout<OutboundTrack>.size) }
        case .tables: if let records = bandwidth.records { Nearness.bring(arrayAt: records) }
        // A tenth of a second at 3 Mbit/s.
        case .keys: bandwidth.bringReportedNear(512) { Nearness.bring($0, $1) }
        case .own: break
        }
    }

    /// Padding that a probe wants while no media waits.
    mutating func sendProbe(
        from log: borrowing PacketLog, through transport: inout SecureTransport, into batch: inout DatagramBatch,
        at now: Instant
    ) -> Sending {
        guard pacer.isProbing, !isVideoPaused, let video, let path = transport.path else {
            pacer.nothingWaits()
            return .idle
        }
        guard pacer.mayProbe(at: now) else { return pacer.isProbing ? .paced : .idle }
        guard let room = batch.reserve() else { return .full }
        let number = transportSequenceNumber
        let probe = video.pointee.stream.nextProbe(
            of: pacer.paddingSize ?? 0, in: log, sendTime: AbsoluteSendTime(now),
            transportSequenceNumber: &transportSequenceNumber, into: room)
        guard let probe else {
            pacer.nothingWaits()
            return .idle
        }
        var length = probe.headerSize + probe.paddingSize
        if let position = probe.position {
            let payload = log.payload(at: position)
            length += RTXEncapsulation.headerSize
            UnsafeMutableRawBufferPointer(rebasing: room[length...]).copyMemory(from: payload)
            length += payload.count
        }
        length = transport.protectRTP(room, length: length, headerSize: probe.headerSize)
        guard length > 0 else {
            pacer.nothingWaits()
            return .idle
        }
        batch.commit(length: length, to: path)
        noteSent(length, number: number, cluster: pacer.cluster, at: now)
        return .sent
    }

    mutating func beginProbe(at now: Instant) {
        if let cluster = bandwidth.pollProbe() { pacer.begin(cluster, at: now) }
    }

    /// The pacer follows the estimate.
    mutating func followEstimate(at now: Instant) {
        let pressure = bandwidth.pressure
        pacer.setTarget(
            pressure == .congested ? bandwidth.passingBitrate : bandwidth.targetBitrate, wanted: bandwidth.wanted,
            pressure: pressure)
        audio?.pointee.limitRedundancy(to: RedundancyLevel.maximum(within: bandwidth.targetBitrate))
        if !pacer.isProbing { beginProbe(at: now) }
    }
}
