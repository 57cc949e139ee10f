public import PCastMedia
public import PCastRTP

/// Packets out: what waits of a track becomes datagrams of a batch.
extension MediaSender {
    /// What became of sending all that waits.
    public struct Turn: Sendable {
        /// Packets that left.
        public var packets = 0
        /// Those of them that were data, and not there to measure the path.
        public var data = 0
        /// Why no more left; `sent` where a frame ended.
        public var end = Sending.idle
    }

    /// Sends what waits of a track, as far as the pacer lets it.
    ///
    /// - Parameters:
    ///   - capture: tells the wall time at which a source timestamp was captured, nil while nobody knows.
    ///   - stopsAfterFrame: no more than up to the end of a frame.
    ///   - backlog: what waits, where the pacer is asked.
    public mutating func sendAll(
        _ type: MediaType, from log: borrowing PacketLog, through transport: inout SecureTransport,
        into batch: inout DatagramBatch, capture: CaptureClock?, stopsAfterFrame: Bool = false,
        backlog: Pacer.Backlog = .live, at now: Instant
    ) -> Turn {
        var turn = Turn()
        guard let track = type == .video ? video : audio else { return turn }
        while true {
            if let path = transport.path, !pacer.isProbing, let waiting = track.pointee.stream.waiting(in: log),
                waiting.bytes != nil
            {
                turn.end = sendRun(
                    waiting, isPaced: type == .video, track, from: log, through: &transport, to: path, into: &batch,
                    capture: capture, stopsAfterFrame: stopsAfterFrame, backlog: backlog, &turn, at: now)
                guard case .sent = turn.end else { return turn }
                if stopsAfterFrame, track.pointee.stream.isBetweenFrames { return turn }
                continue
            }
            var hasData = false
            turn.end = send(
                type, track, from: log, through: &transport, into: &batch, capture: capture, backlog: backlog,
                hasData: &hasData, at: now)
            guard case .sent = turn.end else { return turn }
            turn.packets += 1
            if hasData { turn.data += 1 }
            if stopsAfterFrame, track.pointee.stream.isBetweenFrames { return turn }
        }
    }

    /// Sends what waits of a track and was never sent, one packet behind the other: what concerns the peer and not the
    /// packet is asked and noted once for all of them.
    @inline(__always)
    private mutating func sendRun(
        _ waiting: OutboundStream.Waiting, isPaced: Bool, _ track: UnsafeMutablePointer<OutboundTrack>,
        from log: borrowing PacketLog, through transport: inout SecureTransport, to path: NetworkPath,
        into batch: inout DatagramBatch, capture: CaptureClock?, stopsAfterFrame: Bool, backlog: Pacer.Backlog,
        _ turn: inout Turn, at now: Instant
    ) -> Sending {
        var allowed = Int.max
        if isPaced {
            let waited = waiting.since.map { now - $0 } ?? .zero
            let grant = pacer.grant(
                queued: waiting.count, waited: waited, bytes: waiting.bytes, backlog: backlog, at: now)
            guard let grant else { return .paced }
            allowed = grant
        }
        // What leaves in one message stands in one batch.
        guard batch.hasRoom(forAll: min(waiting.count, Self.longestRun)) else { return .full }
        let sendTime = AbsoluteSendTime(now)
        var (bytes, packets) = (0, 0)
        var end = Sending.sent
        while bytes <= allowed {
            guard let room = batch.reserve() else {
                end = .full
                break
            }
            let number = transportSequenceNumber
            let packet = track.pointee.stream.nextNew(
                in: log, sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber, into: room)
            guard let packet else {
                // What waited was not for this peer.
                if packets == 0 { end = .idle }
                break
            }
            packets += 1
            let length = Self.protect(packet, from: log, in: room, by: &transport)
            Self.note(track, log.address(of: packet.position), capture: capture, at: now)
            if length > 0 {
                if bytes == 0 { batch.commit(length: length, to: path) } else { batch.commitMore(length: length) }
                bytes += length + BandwidthEstimator.datagramOverhead
                bandwidth.note(number == transportSequenceNumber ? nil : number, size: length, at: now)
            }
            if stopsAfterFrame, track.pointee.stream.isBetweenFrames { break }
        }
        turn.packets += packets
        turn.data += packets
        guard bytes > 0 else { return end }
        pacer.sent(bytes: bytes, at: now)
        bandwidth.finishRun(bytes: bytes, at: now)
        beginProbe(at: now)
        return end
    }

    /// Encrypts a packet whose header stands in the room already; answers its length, and zero when it was refused.
    @inline(__always)
    private static func protect(
        _ packet: OutboundStream.Packet, from log: borrowing PacketLog, in room: UnsafeMutableRawBufferPointer,
        by transport: inout SecureTransport
    ) -> Int {
        let payload = log.payload(at: packet.position)
        guard packet.isAsLogged else { return protectCopy(packet, payload, in: room, by: &transport) }
        return transport.protectRTP(
            header: UnsafeRawBufferPointer(rebasing: room[..<packet.headerSize]), payload: payload, into: room)
    }

    /// Sends the next packet of a track, or one that measures the path.
    @inline(__always)
    private mutating func send(
        _ type: MediaType, _ track: UnsafeMutablePointer<OutboundTrack>, from log: borrowing PacketLog,
        through transport: inout SecureTransport, into batch: inout DatagramBatch, capture: CaptureClock?,
        backlog: Pacer.Backlog, hasData: inout Bool, at now: Instant
    ) -> Sending {
        guard let waiting = track.pointee.stream.waiting(in: log) else {
            guard type == .video else { return .idle }
            return sendProbe(from: log, through: &transport, into: &batch, at: now)
        }
        hasData = true
        if type == .video {
            let waited = waiting.since.map { now - $0 } ?? .zero
            guard pacer.mayPass(queued: waiting.count, waited: waited, backlog: backlog, at: now) else { return .paced }
        }
        switch write(track, from: log, through: &transport, into: &batch, capture: capture, at: now) {
        case .idle:
            // What waited was gone from the log, or not for this peer: a probe goes on without it.
            hasData = false
            guard type == .video, pacer.isProbing else { return .idle }
            return sendProbe(from: log, through: &transport, into: &batch, at: now)
        case let sending: return sending
        }
    }

    /// A datagram left, and bears the number if the counter went on.
    @inline(__always)
    mutating func noteSent(_ length: Int, number: UInt16, cluster: UInt16, at now: Instant) {
        guard length > 0 else { return }
        pacer.sent(bytes: length + BandwidthEstimator.datagramOverhead, at: now)
        bandwidth.sent(number == transportSequenceNumber ? nil : number, size: length, cluster: cluster, at: now)
        if !pacer.isProbing { beginProbe(at: now) }
    }

    /// Writes the next packet of a track into the batch.
    @inline(__always)
    mutating func write(
        _ track: UnsafeMutablePointer<OutboundTrack>, from log: borrowing PacketLog,
        through transport: inout SecureTransport, into batch: inout DatagramBatch, capture: CaptureClock?,
        at now: Instant
    ) -> Sending {
        guard let path = transport.path else { return .idle }
        guard let room = batch.reserve() else { return .full }
        let number = transportSequenceNumber
        let packet = track.pointee.stream.next(
            in: log, at: now, sendTime: AbsoluteSendTime(now), transportSequenceNumber: &transportSequenceNumber,
            into: room)
        guard let packet else { return .idle }
        let length = Self.protect(packet, from: log, in: room, by: &transport)
        if !packet.isRetransmission { Self.note(track, log.address(of: packet.position), capture: capture, at: now) }
        if length > 0 { batch.commit(length: length, to: path) }
        noteSent(length, number: number, cluster: pacer.cluster, at: now)
        return .sent
    }

    /// Copies the payload, which is not sent as it stands in the log or not alone: that takes less than to encrypt it in
    /// parts.
    static func protectCopy(
        _ packet: OutboundStream.Packet, _ payload: UnsafeRawBufferPointer, in room: UnsafeMutableRawBufferPointer,
        by transport: inout SecureTransport
    ) -> Int {
        let start = packet.headerSize + packet.prefixSize
        packet.pictures.copy(payload, into: UnsafeMutableRawBufferPointer(rebasing: room[start...]))
        let end = start + payload.count
        RTPHeader.writePadding(packet.paddingSize, into: room, at: end)
        return transport.protectRTP(room, length: end + packet.paddingSize, headerSize: packet.headerSize)
    }

    @inline(__always)
    private static func note(
        _ track: UnsafeMutablePointer<OutboundTrack>, _ entry: UnsafePointer<PacketLog.Entry>, capture: CaptureClock?,
        at now: Instant
    ) {
        guard let capture else { return track.pointee.report.count(payloadSize: entry.pointee.length) }
        if track.pointee.reportsAnew {
            track.pointee.reportsAnew = false
            track.pointee.report.mappingChanged(at: now)
        }
        let timestamp = track.pointee.stream.timestamp(of: entry.pointee.timestamp)
        let isCounted = track.pointee.report.sentMore(
            sequence: entry.pointee.sequence, timestamp: timestamp, payloadSize: entry.pointee.length)
        if isCounted { return }
        track.pointee.report.sent(
            sequence: entry.pointee.sequence, timestamp: timestamp,
            capturedAt: capture.wallTime(of: entry.pointee.timestamp), payloadSize: entry.pointee.length, at: now)
    }
}
