package import PCastCore

/// Retransmissions, redundant audio and bandwidth probes.
extension OutboundStream {
    // MARK: Redundancy

    /// Returns how many of the packets before a packet it can repeat: contiguous ones, because others cannot be
    /// identified by their timestamps (see ``RedundantSequence``), which have been sent.
    mutating func repeatableCount(
        before entry: Reference<PacketLog.Entry>, at packetPosition: Int64, in log: borrowing PacketLog
    ) -> Int {
        guard entry.pointee.length > 0 else { return 0 }
        var count = 0
        var size = RedundantPayload.primaryHeaderSize + entry.pointee.length
        while count < redundancy, entry.pointee.sequence - Int64(count + 1) >= mapping.firstSequence,
            let position = log.position(ofSequence: entry.pointee.sequence - Int64(count + 1)),
            position < packetPosition
        {
            let earlier = log.address(of: position)
            let offset = entry.pointee.timestamp &- earlier.pointee.timestamp
            size += RedundantPayload.blockHeaderSize + earlier.pointee.length
            guard (1...RedundantPayload.maximumTimestampOffset).contains(offset),
                (1...RedundantPayload.maximumBlockSize).contains(earlier.pointee.length),
                size <= PayloadPacketizer.defaultMaximumPayloadSize
            else { break }
            count += 1
        }
        return count
    }

    /// Writes everything before the packet's own data: the headers and the data of the repeated packets, beginning with
    /// the oldest. Returns its size.
    mutating func writeRepeated(
        _ count: Int, before entry: Reference<PacketLog.Entry>, in log: borrowing PacketLog,
        into buffer: MutableByteView, at start: Int
    ) -> Int {
        var header = start
        var data = start + count * RedundantPayload.blockHeaderSize + RedundantPayload.primaryHeaderSize
        for distance in stride(from: count, to: 0, by: -1) {
            guard let position = log.position(ofSequence: entry.pointee.sequence - Int64(distance)) else {
                preconditionFailure("the packet must exist")
            }
            let earlier = log.address(of: position)
            RedundantPayload.writeHeader(
                payloadType: parameters.payloadType,
                timestampOffset: entry.pointee.timestamp &- earlier.pointee.timestamp, size: earlier.pointee.length,
                into: buffer, at: header)
            buffer.extracting(data..<data + earlier.pointee.length)
                .copyMemory(from: log.payload(at: position))
            header += RedundantPayload.blockHeaderSize
            data += earlier.pointee.length
        }
        buffer[header] = parameters.payloadType
        return data - start
    }

    // MARK: Retransmission

    /// Retransmits packets of the log that were sent in a period without a request, at most as many as may be waiting.
    ///
    /// - Parameters:
    ///   - span: The period in which the packets arrived, and so were sent.
    ///   - log: The log of the track.
    ///   - roundTrip: The round-trip time to the peer, within which no packet is retransmitted twice.
    ///   - now: The current time.
    package mutating func resend(
        arrivedIn span: Range<Instant>, of log: borrowing PacketLog, roundTrip: TimeSpan, at now: Instant
    ) {
        guard parameters.retransmission != nil, let position, position >= log.start else { return }
        var first = position
        while first > log.start, log.address(of: first - 1).pointee.arrival >= span.lowerBound { first -= 1 }
        while first < position, resends.count + formerResends.count < Self.resendLimit {
            let entry = log.address(of: first)
            first += 1
            guard entry.pointee.arrival < span.upperBound else { return }
            guard let sequence = mapping.outgoing(entry.pointee.sequence), mapping.source(of: sequence) != nil,
                limiter?.mayResend(sequence, roundTrip: roundTrip, at: now) == true
            else { continue }
            limiter?.sent(sequence, roundTrip: roundTrip, at: now)
            resends.append(sequence)
        }
    }

    /// Drops the waiting retransmissions of packets above the layers that the peer should receive, if they are too many.
    ///
    /// Retransmissions are sent first. Those of layers that the path does not carry any more delay all other frames.
    ///
    /// - Parameters:
    ///   - log: The log of the track.
    ///   - limit: The size in bytes up to which they are kept.
    /// - Returns: The source's sequence number of the newest packet that was dropped; nil if none was.
    package mutating func dropResends(aboveLayersIn log: borrowing PacketLog, over limit: Int) -> Int64? {
        guard filter.wanted != .all, !resends.isEmpty else { return nil }
        var size = 0
        for sequence in resends { size += sizeAboveLayers(sequence, in: log) }
        guard size > limit else { return nil }
        var newest: Int64?
        var kept = 0
        for index in resends.indices {
            let sequence = resends[index]
            if sizeAboveLayers(sequence, in: log) > 0 {
                newest = max(newest ?? .min, mapping.source(of: sequence) ?? .min)
            } else {
                resends[kept] = sequence
                kept += 1
            }
        }
        resends.removeLast(resends.count - kept)
        return newest
    }

    /// Returns the size of a packet with its headers in bytes if it is above the layers that the peer should receive;
    /// otherwise 0.
    private func sizeAboveLayers(_ sequence: Int64, in log: borrowing PacketLog) -> Int {
        guard let position = mapping.position(of: sequence, in: log) else { return 0 }
        let entry = log.address(of: position)
        guard entry.pointee.layers.isKnown, !filter.wanted.contains(entry.pointee.layers.point) else { return 0 }
        return entry.pointee.length + Self.overhead
    }

    /// Writes the header of a retransmission and the original sequence number; nil if the peer has no retransmission
    /// stream.
    mutating func writeRetransmission(
        of entry: Reference<PacketLog.Entry>, at position: Int64, as sequence: Int64, by mapping: Mapping,
        in log: borrowing PacketLog, sendTime: AbsoluteSendTime,
        transportSequenceNumber: inout UInt16, into buffer: MutableByteView
    ) -> Packet? {
        guard let retransmission = parameters.retransmission else { return nil }
        var pictureOffset = mapping.pictureOffset
        pictureOffset.pictureID &+= mapping.cuts.after(entry.pointee.sequence)?.pictures ?? 0
        let header = RTPHeader(
            marker: entry.pointee.marker || mapping.endsTemporalUnit(entry.pointee, in: log),
            payloadType: retransmission.payloadType,
            sequenceNumber: retransmissionSequence,
            timestamp: entry.pointee.timestamp &+ mapping.timestampOffset, ssrc: retransmission.ssrc)
        retransmissionSequence &+= 1
        var values = values(entry, sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber)
        swap(&values.rid, &values.repairedRid)
        let layout = header.write(
            into: buffer, extensions: values, descriptor: descriptor(entry, at: position, in: log, by: mapping),
            map: parameters.extensions)
        let original = UInt16(truncatingIfNeeded: sequence)
        buffer.storeBigEndian(original, at: layout.size)
        packetsRetransmitted += 1
        return Packet(
            headerSize: layout.size, position: position, prefixSize: RTXEncapsulation.headerSize,
            isRetransmission: true, pictureOffset: pictureOffset,
            omitsPayload: entry.pointee.leads(to: mapping.firstSequence))
    }

    // MARK: Probing

    /// Whether bandwidth probes can be sent: padding is only sent in a retransmission stream, which no decoder
    /// receives.
    package var canProbe: Bool { parameters.retransmission != nil }

    /// The size in bytes up to which a probe is padding, whose size is arbitrary; a larger one repeats a recent packet,
    /// which may be useful.
    static let smallProbeSize = 1000
    /// The size of everything around the padding in bytes: IPv4, UDP, header, extensions and SRTP tag.
    static let probeOverhead = 75

    /// Writes a bandwidth probe of about a size on the network. Returns nil if the peer has no retransmission stream.
    ///
    /// - Parameters:
    ///   - size: The size in bytes with all headers.
    ///   - log: The log of the track.
    ///   - sendTime: The time at which the packet is sent.
    ///   - transportSequenceNumber: The next transport-wide sequence number, which is advanced if the peer supports it.
    ///   - buffer: The buffer of the packet.
    /// - Returns: The probe.
    package mutating func nextProbe(
        of size: Int, in log: borrowing PacketLog, sendTime: AbsoluteSendTime,
        transportSequenceNumber: inout UInt16, into buffer: MutableByteView
    ) -> Probe? {
        guard let retransmission = parameters.retransmission else { return nil }
        probesSent += 1
        if size > Self.smallProbeSize, mapping.pictureOffset.isZero,
            let newest = mapping.newestSequence.flatMap({
                $0 >= mapping.firstSequence ? log.position(ofSequence: $0) : nil
            })
        {
            // The largest packet may be one that was left out.
            let fullest = fullestPosition(upTo: newest, in: log)
            let position = mapping.cuts.contains(log[fullest].sequence) ? newest : fullest
            let packet = writeRetransmission(
                of: log.address(of: position), at: position,
                as: mapping.outgoing(log[position].sequence) ?? log[position].sequence + mapping.sequenceOffset,
                by: mapping, in: log, sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber,
                into: buffer)
            packetsRetransmitted -= 1
            return packet.map { Probe(headerSize: $0.headerSize, position: position, paddingSize: 0) }
        }
        let header = RTPHeader(
            payloadType: retransmission.payloadType, sequenceNumber: retransmissionSequence,
            timestamp: last?.timestamp ?? 0, ssrc: retransmission.ssrc,
            paddingSize: min(max(size - Self.probeOverhead, 1), 255))
        retransmissionSequence &+= 1
        var values = RTPExtensionValues()
        stamp(&values, sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber)
        swap(&values.rid, &values.repairedRid)
        let layout = header.write(into: buffer, extensions: values, map: parameters.extensions)
        header.writePadding(into: buffer, at: layout.size)
        return Probe(headerSize: layout.size, position: nil, paddingSize: header.paddingSize)
    }

    /// Returns the position of the largest of the last packets; the newest one if several are.
    func fullestPosition(upTo newest: Int64, in log: borrowing PacketLog) -> Int64 {
        var fullest = newest
        var position = newest
        while position >= max(log.start, newest - 7), log[position].sequence >= mapping.firstSequence {
            if log[position].length > log[fullest].length { fullest = position }
            position -= 1
        }
        return fullest
    }

    /// Adds the extensions of each packet.
    func stamp(
        _ values: inout RTPExtensionValues, sendTime: AbsoluteSendTime, transportSequenceNumber: inout UInt16
    ) {
        values.mid = parameters.mid
        values.rid = parameters.rid
        values.absoluteSendTime = sendTime
        if parameters.extensions.id(of: .transportSequenceNumber) != nil {
            values.transportSequenceNumber = transportSequenceNumber
            transportSequenceNumber &+= 1
        }
    }

    /// Returns the extensions of a packet of the log.
    func values(
        _ entry: Reference<PacketLog.Entry>, sendTime: AbsoluteSendTime, transportSequenceNumber: inout UInt16
    ) -> RTPExtensionValues {
        var values = entry.pointee.forwarded
        stamp(&values, sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber)
        if let playoutDelay { values.playoutDelay = playoutDelay }
        if !hasSpaceForExtensions(entry) {
            values.playoutDelay = nil
            values.absoluteCaptureTime = nil
        }
        return values
    }

    /// The maximum size of a payload in bytes with all extensions.
    ///
    /// IPv6 requires a path MTU of 1280 bytes (RFC 8200, section 5), of which 1232 are for the UDP payload. The SRTP
    /// tag needs 16, the original sequence number of a retransmission 2, the header 12 and all extensions 44. Browsers
    /// send payloads of up to 1170 bytes, which omit extensions that other packets of the frame contain.
    static let maximumPayloadSizeWithExtensions = 1232 - 16 - 2 - 12 - 44
}
