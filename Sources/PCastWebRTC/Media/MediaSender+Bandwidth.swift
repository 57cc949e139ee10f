package import PCastCore
package import PCastRTP

/// The bandwidth estimation and pacing of the path to the peer.
extension MediaSender {
    /// The bandwidth estimate of the path to the peer. It is read several times per second for each viewer, so the
    /// getter is `mutating` to avoid a copy.
    package var estimate: BandwidthEstimate { mutating get { bandwidth.estimate } }

    /// Whether more was sent than the path carries, so that packets are queued in the network.
    package var isCongested: Bool { mutating get { bandwidth.isCongested } }

    /// The bit rate that may be sent, all tracks together, including headers.
    package var targetBitrate: Bitrate { mutating get { bandwidth.targetBitrate } }

    /// The bit rate that would be sent if bandwidth were unlimited. The estimate does not exceed twice this rate.
    package var desiredBitrate: Bitrate {
        get { bandwidth.wanted }
        set { bandwidth.wanted = newValue }
    }

    /// Resets the measurements of the path, because packets are sent on another one.
    package mutating func pathChanged(at now: Instant) { bandwidth.pathChanged(at: now) }

    /// Prefetches the memory that sending a packet needs. See `Prefetch`.
    @inline(__always)
    package mutating func prefetch(_ step: Prefetch) {
        switch step {
        case .own:
            Prefetch.fetch(AddressRange(from: &transportSequenceNumber, through: &pacer))
            Prefetch.fetch(bandwidth.ownMemory)
        case .objects:
            if let video { Prefetch.fetch(AddressRange(of: video)) }
            // Its stream and its reports are also accessed for each video frame.
            if let audio { Prefetch.fetch(AddressRange(of: audio)) }
        case .tables: if let records = bandwidth.records { Prefetch.fetch(arrayAt: records) }
        case .keys: if let next = bandwidth.nextRecord { Prefetch.fetch(next.prefix(128)) }
        }
    }

    /// Prefetches the memory that processing a report needs. See `Prefetch`.
    @inline(__always)
    package mutating func prefetchReporting(_ step: Prefetch) {
        switch step {
        case .objects: if let video { Prefetch.fetch(AddressRange(of: video)) }
        case .tables: if let records = bandwidth.records { Prefetch.fetch(arrayAt: records) }
        // The records cover a tenth of a second at 3 Mbit/s.
        case .keys: if let reported = bandwidth.reportedRecords { Prefetch.fetch(reported.prefix(512)) }
        case .own: break
        }
    }

    /// Sends a padding packet or retransmission for a bandwidth probe, when no media is queued.
    mutating func sendProbe(
        from log: borrowing PacketLog, through transport: inout SecureTransport, into batch: inout DatagramBatch,
        at now: Instant
    ) -> Sending {
        guard pacer.isProbing, !isVideoPaused, let video, let path = transport.path else {
            pacer.nothingWaits()
            return .idle
        }
        guard pacer.mayProbe(at: now) else { return pacer.isProbing ? .paced : .idle }
        guard let buffer = batch.reserve() else { return .full }
        let number = transportSequenceNumber
        let probe = video.pointee.stream.nextProbe(
            of: pacer.paddingSize ?? 0, in: log, sendTime: AbsoluteSendTime(now),
            transportSequenceNumber: &transportSequenceNumber, into: buffer)
        guard let probe else {
            pacer.nothingWaits()
            return .idle
        }
        var length = probe.headerSize + probe.paddingSize
        if let position = probe.position {
            let payload = log.payload(at: position)
            length += RTXEncapsulation.headerSize
            buffer.extracting(length...).copyMemory(from: payload)
            length += payload.count
        }
        length = transport.protectRTP(buffer, length: length, headerSize: probe.headerSize)
        guard length > 0 else {
            pacer.nothingWaits()
            return .idle
        }
        batch.commit(length: length, to: path)
        noteSent(length, number: number, cluster: pacer.cluster, at: now)
        return .sent
    }

    /// Begins a probe, if the estimator requests one.
    mutating func beginProbe(at now: Instant) {
        if let cluster = bandwidth.pollProbe() { pacer.begin(cluster, at: now) }
    }

    /// Sets the rate of the pacer and the redundancy from the estimate.
    mutating func followEstimate(at now: Instant) {
        let congestionState = bandwidth.congestionState
        pacer.setTarget(
            congestionState == .congested ? bandwidth.deliverableBitrate : bandwidth.targetBitrate,
            wanted: bandwidth.wanted,
            congestionState: congestionState)
        audio?.pointee.limitRedundancy(to: RedundancyLevel.maximum(within: bandwidth.targetBitrate))
        if !pacer.isProbing { beginProbe(at: now) }
    }
}
