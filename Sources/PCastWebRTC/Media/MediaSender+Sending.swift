package import PCastCore
package import PCastRTP

/// The sending of RTP packets from packet logs into datagrams.
extension MediaSender {
    /// The result of sending the queued packets of a track.
    package struct SendResult: Sendable {
        /// The number of packets sent.
        package var packets = 0
        /// The number of packets sent that are not bandwidth probes.
        package var data = 0
        /// The reason why sending ended; `sent` at the end of a frame.
        package var end = Sending.idle
    }

    /// Sends the queued packets of a track, as far as the pacer allows.
    ///
    /// - Parameters:
    ///   - type: The track; the first layer of video.
    ///   - log: The packets.
    ///   - transport: The transport that encrypts them.
    ///   - batch: The batch to append datagrams to.
    ///   - capture: The mapping from RTP timestamps to wall-clock time, for sender reports; nil if it is unknown.
    ///   - stopsAfterFrame: Whether to stop at the end of a frame.
    ///   - backlog: The kind of queued packets, for the pacer.
    ///   - now: The current time.
    /// - Returns: The number of packets sent and the reason why sending ended.
    package mutating func sendAll(
        _ type: MediaType, from log: borrowing PacketLog, through transport: inout SecureTransport,
        into batch: inout DatagramBatch, capture: CaptureClock?, stopsAfterFrame: Bool = false,
        backlog: Pacer.Backlog = .live, at now: Instant
    ) -> SendResult {
        var result = SendResult()
        guard let track = type == .video ? video : audio else { return result }
        while true {
            if let path = transport.path, !pacer.isProbing, let waiting = track.pointee.stream.waiting(in: log),
                waiting.bytes != nil
            {
                result.end = sendRun(
                    waiting, isPaced: type == .video, track, from: log, through: &transport, to: path, into: &batch,
                    capture: capture, stopsAfterFrame: stopsAfterFrame, backlog: backlog, &result, at: now)
                guard case .sent = result.end else { return result }
                if stopsAfterFrame, track.pointee.stream.isBetweenFrames { return result }
                continue
            }
            var hasData = false
            result.end = send(
                type, track, from: log, through: &transport, into: &batch, capture: capture, backlog: backlog,
                hasData: &hasData, at: now)
            guard case .sent = result.end else { return result }
            result.packets += 1
            if hasData { result.data += 1 }
            if stopsAfterFrame, track.pointee.stream.isBetweenFrames { return result }
        }
    }

    /// Sends the queued packets of one of several layers, as far as the pacer allows. It sends no probes, which
    /// ``sendAll(_:from:through:into:capture:stopsAfterFrame:backlog:at:)`` does.
    package mutating func sendAll(
        layer index: Int, from log: borrowing PacketLog, through transport: inout SecureTransport,
        into batch: inout DatagramBatch, capture: CaptureClock?, at now: Instant
    ) -> SendResult {
        var result = SendResult()
        guard let track = layer(index) else { return result }
        while let path = transport.path, let waiting = track.pointee.stream.waiting(in: log) {
            if waiting.bytes != nil, !pacer.isProbing {
                result.end = sendRun(
                    waiting, isPaced: true, track, from: log, through: &transport, to: path, into: &batch,
                    capture: capture, stopsAfterFrame: false, backlog: .live, &result, at: now)
                guard case .sent = result.end else { return result }
                continue
            }
            result.end = send(
                layer: index, from: log, through: &transport, into: &batch, capture: capture, at: now)
            guard case .sent = result.end else { return result }
            result.packets += 1
            result.data += 1
        }
        result.end = .idle
        return result
    }

    /// Sends the queued new packets of a track. State that concerns the peer is read and updated once for all of them.
    @inline(__always)
    private mutating func sendRun(
        _ waiting: OutboundStream.Waiting, isPaced: Bool, _ track: MutableReference<OutboundTrack>,
        from log: borrowing PacketLog, through transport: inout SecureTransport, to path: NetworkPath,
        into batch: inout DatagramBatch, capture: CaptureClock?, stopsAfterFrame: Bool, backlog: Pacer.Backlog,
        _ result: inout SendResult, at now: Instant
    ) -> Sending {
        var allowed = Int.max
        if isPaced {
            let waited = waiting.since.map { now - $0 } ?? .zero
            let grant = pacer.grant(
                queued: waiting.count, waited: waited, bytes: waiting.bytes, backlog: backlog, at: now)
            guard let grant else { return .paced }
            allowed = grant
        }
        // All packets of one GSO send must be in the same batch.
        guard batch.hasSpace(forAll: min(waiting.count, Self.longestRun)) else { return .full }
        let sendTime = AbsoluteSendTime(now)
        var (bytes, packets) = (0, 0)
        var end = Sending.sent
        while bytes <= allowed {
            guard let buffer = batch.reserve() else {
                end = .full
                break
            }
            let number = transportSequenceNumber
            let packet = track.pointee.stream.nextNew(
                in: log, sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber, into: buffer)
            guard let packet else {
                // The queued packets are not for this peer.
                if packets == 0 { end = .idle }
                break
            }
            packets += 1
            let length = Self.protect(packet, from: log, in: buffer, by: &transport)
            Self.note(track, log.address(of: packet.position), capture: capture, at: now)
            if length > 0 {
                if bytes == 0 { batch.commit(length: length, to: path) } else { batch.commitMore(length: length) }
                bytes += length + BandwidthEstimator.datagramOverhead
                bandwidth.note(number == transportSequenceNumber ? nil : number, size: length, cluster: 0, at: now)
            }
            if stopsAfterFrame, track.pointee.stream.isBetweenFrames { break }
        }
        result.packets += packets
        result.data += packets
        guard bytes > 0 else { return end }
        pacer.sent(bytes: bytes, at: now)
        bandwidth.finishRun(bytes: bytes, at: now)
        beginProbe(at: now)
        return end
    }

    /// Encrypts a packet whose header is already in the buffer. Returns its size in bytes; 0 if it failed.
    @inline(__always)
    private static func protect(
        _ packet: OutboundStream.Packet, from log: borrowing PacketLog, in buffer: MutableByteView,
        by transport: inout SecureTransport
    ) -> Int {
        let payload = log.payload(at: packet.position)
        guard packet.isAsLogged else { return protectCopy(packet, payload, in: buffer, by: &transport) }
        return transport.protectRTP(
            header: ByteView(buffer.extracting(0..<packet.headerSize)), payload: payload, into: buffer)
    }

    /// Sends the next packet of a track, or a bandwidth probe if no video is queued.
    @inline(__always)
    private mutating func send(
        _ type: MediaType, _ track: MutableReference<OutboundTrack>, from log: borrowing PacketLog,
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
            // The queued packets have left the log or are not for this peer, so a probe continues without them.
            hasData = false
            guard type == .video, pacer.isProbing else { return .idle }
            return sendProbe(from: log, through: &transport, into: &batch, at: now)
        case let sending: return sending
        }
    }

    /// Records a sent datagram. It has the transport-wide sequence number `number` if the counter has changed.
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
        _ track: MutableReference<OutboundTrack>, from log: borrowing PacketLog,
        through transport: inout SecureTransport, into batch: inout DatagramBatch, capture: CaptureClock?,
        at now: Instant
    ) -> Sending {
        guard let path = transport.path else { return .idle }
        guard let buffer = batch.reserve() else { return .full }
        let number = transportSequenceNumber
        let packet = track.pointee.stream.next(
            in: log, at: now, sendTime: AbsoluteSendTime(now), transportSequenceNumber: &transportSequenceNumber,
            into: buffer)
        guard let packet else { return .idle }
        let length = Self.protect(packet, from: log, in: buffer, by: &transport)
        if !packet.isRetransmission { Self.note(track, log.address(of: packet.position), capture: capture, at: now) }
        if length > 0 { batch.commit(length: length, to: path) }
        noteSent(length, number: number, cluster: pacer.cluster, at: now)
        return .sent
    }

    /// Copies and encrypts a packet whose payload is modified or omitted, or has a prefix or padding. Copying costs less
    /// than encrypting in parts. Returns its size in bytes; 0 if it failed.
    static func protectCopy(
        _ packet: OutboundStream.Packet, _ payload: ByteView, in buffer: MutableByteView,
        by transport: inout SecureTransport
    ) -> Int {
        let start = packet.headerSize + packet.prefixSize
        let payload = packet.omitsPayload ? ByteView() : payload
        packet.pictureOffset.copy(payload, into: buffer.extracting(start...))
        let end = start + payload.count
        RTPHeader.writePadding(packet.paddingSize, into: buffer, at: end)
        return transport.protectRTP(buffer, length: end + packet.paddingSize, headerSize: packet.headerSize)
    }

    /// Records a sent packet for sender reports.
    @inline(__always)
    private static func note(
        _ track: MutableReference<OutboundTrack>, _ entry: Reference<PacketLog.Entry>, capture: CaptureClock?,
        at now: Instant
    ) {
        guard let capture else { return track.pointee.report.count(payloadSize: entry.pointee.length) }
        if track.pointee.restartsReports {
            track.pointee.restartsReports = false
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
