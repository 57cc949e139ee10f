public import PCastCore

/// A track that is sent to a peer: its position in the ``PacketLog`` of the track, and the mapping to the sequence
/// numbers of the peer.
///
/// It stores no packets, and needs a few hundred bytes per viewer. Its headers are written directly into the datagram,
/// and the payloads are encrypted from the log. It cannot be copied, because the compiler would otherwise copy it for
/// calls from other modules, for each packet.
public struct OutboundStream: ~Copyable, Sendable {
    /// The negotiated parameters.
    package struct Parameters: Sendable {
        /// The SSRC of the stream.
        package var ssrc: UInt32
        /// The payload type.
        package var payloadType: UInt8
        /// The retransmission stream (RFC 4588); nil if the peer does not support it, so that nothing is retransmitted.
        package var retransmission: Retransmission?
        /// The payload type of redundant audio (RFC 2198); nil if the peer does not support it.
        package var redundantPayloadType: UInt8?
        /// The MID of the media section; nil if none is sent.
        package var mid: RTPStreamIdentifier?
        /// The RID of the layer (RFC 8852); nil if none is sent.
        package var rid: RTPStreamIdentifier?
        /// The header extension ids.
        package var extensions: RTPHeaderExtensionMap
        /// The clock rate of the codec.
        package var clockRate: ClockRate
        /// The initial value of ``OutboundStream/playoutDelay``.
        package var playoutDelay: PlayoutDelay?
        /// Whether the packets of a frame are padded to the same size.
        package var evensSizes: Bool
        /// Whether the marker bit ends a frame, as for video. For audio each packet is a frame.
        package var marksFrameEnds: Bool

        /// The parameters of a retransmission stream.
        package struct Retransmission: Sendable {
            /// The SSRC of the retransmission stream.
            package var ssrc: UInt32
            /// The payload type of retransmissions.
            package var payloadType: UInt8
            /// Creates the parameters of a retransmission stream.
            package init(ssrc: UInt32, payloadType: UInt8) {
                self.ssrc = ssrc
                self.payloadType = payloadType
            }
        }

        /// Creates parameters.
        package init(
            ssrc: UInt32, payloadType: UInt8, retransmission: Retransmission?, mid: RTPStreamIdentifier?,
            rid: RTPStreamIdentifier? = nil, extensions: RTPHeaderExtensionMap, clockRate: ClockRate,
            playoutDelay: PlayoutDelay? = nil, redundantPayloadType: UInt8? = nil, evensSizes: Bool = false,
            marksFrameEnds: Bool = true
        ) {
            self.ssrc = ssrc
            self.payloadType = payloadType
            self.retransmission = retransmission
            self.mid = mid
            self.rid = rid
            self.extensions = extensions
            self.clockRate = clockRate
            self.playoutDelay = playoutDelay
            self.redundantPayloadType = redundantPayloadType
            self.evensSizes = evensSizes
            self.marksFrameEnds = marksFrameEnds
        }
    }

    /// A packet to be encrypted and sent.
    public struct Packet {
        /// The size of the header in bytes, which was written into the buffer.
        package let headerSize: Int
        /// The position of the payload in the log.
        package let position: Int64
        /// The number of bytes between header and payload, which were written into the buffer. They are the original
        /// sequence number of a retransmission (RFC 4588, section 4), or the repeated packets of redundant audio (RFC
        /// 2198).
        public let prefixSize: Int
        /// Whether the packet is a retransmission.
        package let isRetransmission: Bool
        /// The padding after the payload in bytes, with which the packets of a frame have the same size.
        public var paddingSize = 0
        /// The offset of the picture IDs of a VP8 or VP9 payload.
        public internal(set) var pictureOffset: VPXPictureOffset
        /// Whether the packet is sent without its payload, because the receiver cannot decode it. The packet itself is
        /// needed, because a gap in the sequence numbers would be a loss.
        public var omitsPayload = false

        /// Whether the payload is sent unchanged from the log.
        @inlinable @inline(__always)
        public var isAsLogged: Bool { prefixSize == 0 && paddingSize == 0 && pictureOffset.isZero && !omitsPayload }
    }

    /// A bandwidth probe, which was written into the buffer except for a repeated payload.
    package struct Probe {
        /// The size of the header in bytes.
        package let headerSize: Int
        /// The position of the repeated payload in the log, which follows the original sequence number; nil if the
        /// probe is padding.
        package let position: Int64?
        /// The padding after the header in bytes, which was written into the buffer.
        package let paddingSize: Int
    }

    /// The negotiated parameters. Those of the format may change; see ``change(payloadType:retransmission:)``.
    package internal(set) var parameters: Parameters

    /// The limits for the playout delay that each packet contains; nil for none.
    package var playoutDelay: PlayoutDelay?

    /// The header of the last packet; empty before the first.
    var template = HeaderTemplate()
    /// Whether the peer receives the dependency descriptor.
    package let sendsDescriptors: Bool
    /// Whether packets state the active decode targets, because the peer does not receive all layers, or has not
    /// received a structure since.
    var restrictsTargets = false
    /// The number of the newest frame that was sent with a descriptor; nil before the first.
    var newestFrame: UInt16?
    /// The common size of packets in bytes.
    var evenSize = 0
    /// The position in the log up to which the common size is known.
    var evenEnd: Int64 = 0

    /// The maximum number of packets that each packet repeats, if the peer supports redundant audio.
    package var redundancy = 0

    /// The position of the next packet in the log; nil while the stream waits for a key frame.
    public internal(set) var position: Int64?

    /// The mapping of the source's sequence numbers and timestamps to those that the peer receives.
    var mapping = Mapping()
    /// The layers that the peer receives, if the source has layers in one SSRC.
    var filter = LayerFilter()
    /// The mapping of the previous log, from which packets may still be requested; nil if there is none.
    var former: Mapping?
    /// The next sequence number, unwrapped.
    var nextSequence: Int64
    /// The next sequence number of the retransmission stream.
    var retransmissionSequence: UInt16

    /// The peer's unwrapped sequence numbers of packets to be retransmitted.
    @usableFromInline
    var resends: [Int64] = []
    /// The peer's unwrapped sequence numbers of packets to be retransmitted from the previous log.
    @usableFromInline
    var formerResends: [Int64] = []
    /// The limiter of retransmissions; nil if nothing is retransmitted.
    var limiter: ResendLimiter?

    /// The maximum number of waiting retransmissions; further requests are dropped, and the peer repeats them.
    static let resendLimit = 64

    /// The total number of bandwidth probes.
    package internal(set) var probesSent = 0

    /// The total number of packets without retransmissions and probes, modulo 2^32.
    package internal(set) var packetsSent: UInt32 = 0
    /// The total number of payload bytes of these packets, modulo 2^32.
    package internal(set) var octetsSent: UInt32 = 0
    /// The total number of retransmissions.
    package internal(set) var packetsRetransmitted: Int = 0
    /// The sequence number of the last packet, with the number of wraparounds in the upper half; before the first
    /// packet, its number minus 1.
    package var lastSequenceNumber: UInt32 { UInt32(truncatingIfNeeded: nextSequence - 1) }
    /// The total number of requested packets that were not in the log.
    package internal(set) var retransmissionsMissed = 0

    /// Creates a stream that waits for its beginning.
    ///
    /// - Parameters:
    ///   - parameters: The negotiated parameters.
    ///   - firstSequenceNumber: The first sequence number, less than 2^15, so that the loss of the first packets cannot
    ///     hide a rollover of SRTP (RFC 3711, section 3.3.1).
    ///   - retransmissionSequenceNumber: The first sequence number of the retransmission stream, less than 2^15.
    package init(_ parameters: Parameters, firstSequenceNumber: UInt16, retransmissionSequenceNumber: UInt16) {
        precondition(firstSequenceNumber < 1 << 15 && retransmissionSequenceNumber < 1 << 15)
        self.parameters = parameters
        playoutDelay = parameters.playoutDelay
        sendsDescriptors =
            parameters.extensions.allowsTwoByte && parameters.extensions.id(of: .dependencyDescriptor) != nil
        limiter = parameters.retransmission == nil ? nil : ResendLimiter()
        nextSequence = Int64(firstSequenceNumber)
        retransmissionSequence = retransmissionSequenceNumber
    }

    // MARK: Beginning

    /// The mapping of the source's sequence numbers and timestamps to those that the peer receives.
    struct Mapping: Sendable {
        /// The value that is added to the source's sequence numbers.
        var sequenceOffset: Int64 = 0
        /// The first sequence number of the source that is sent; earlier packets that arrive later are not.
        var firstSequence: Int64 = 0
        /// The newest sequence number of the source that was sent; nil before the first.
        var newestSequence: Int64?
        /// The value that is added to the source's timestamps.
        var timestampOffset: UInt32 = 0
        /// The timestamp offset without the corrections that keep timestamps increasing.
        var alignedOffset: UInt32 = 0
        /// The offset of the picture IDs of VP8 and VP9.
        var pictureOffset = VPXPictureOffset()
        /// The value that is added to the source's frame numbers in dependency descriptors.
        var frameOffset: UInt16 = 0
        /// The positions of the parameter sets that were sent before the first packet of the source.
        var sets: Range<Int64> = 0..<0
        /// The first sequence number that the peer received, or that of the first parameter set.
        var firstOutgoing: Int64 = 0
        /// The packets of the source that were left out. ``sequenceOffset`` and ``pictureOffset`` are those after all of
        /// them.
        var cuts = SequenceCuts()

        /// Returns the position of the packet that was sent with a sequence number; nil if none was or it is no longer
        /// in the log.
        func position(of sequence: Int64, in log: borrowing PacketLog) -> Int64? {
            if let source = source(of: sequence) { return log.position(ofSequence: source) }
            guard newestSequence != nil else { return nil }
            let position = sequence - firstOutgoing + sets.lowerBound
            return sets.contains(position) && position >= log.start ? position : nil
        }

        /// Returns whether a packet was sent with a sequence number.
        func maySend(_ sequence: Int64) -> Bool {
            guard newestSequence != nil else { return false }
            return source(of: sequence) != nil || (firstOutgoing..<firstOutgoing + Int64(sets.count)).contains(sequence)
        }

        /// Returns the source's sequence number of the packet that was sent with a sequence number; nil if none was.
        func source(of sequence: Int64) -> Int64? {
            guard let source = cuts.source(ofShifted: sequence - sequenceOffset), let newestSequence,
                source >= firstSequence, source <= newestSequence
            else { return nil }
            return source
        }

        /// Returns the sequence number of a packet of the source; nil if it was left out.
        func outgoing(_ source: Int64) -> Int64? { cuts.after(source).map { source + sequenceOffset + $0.packets } }

        /// Returns whether a packet is the last one of its coded picture because the layers above were left out.
        func endsTemporalUnit(_ entry: PacketLog.Entry, in log: borrowing PacketLog) -> Bool {
            guard !cuts.isEmpty, entry.layers.endsFrame, cuts.contains(entry.sequence + 1) else { return false }
            return log.position(ofSequence: entry.sequence + 1).map { log[$0].timestamp == entry.timestamp } ?? true
        }
    }

    /// Whether the last packet ended a frame.
    @inlinable @inline(__always)
    public var isBetweenFrames: Bool { last?.endsFrame ?? true }

    /// Begins with the next packet that is appended.
    package mutating func beginAtEnd(of log: borrowing PacketLog) {
        position = log.end
        awaitsFirst = true
        needsRestart = true
        pendingSets = 0..<0
    }

    /// Skips everything in the log, including retransmissions, and continues with the next packet that is appended.
    package mutating func dropFrame(of log: borrowing PacketLog) {
        beginAtEnd(of: log)
        resends.removeAll(keepingCapacity: true)
        formerResends.removeAll(keepingCapacity: true)
        former = nil
        mapping.newestSequence = nil
    }

    /// Whether the stream begins with the next packet.
    var awaitsFirst = false
    /// The positions of parameter sets that are sent before the next packet.
    var pendingSets: Range<Int64> = 0..<0
    /// Whether something must be done before the next packet, which is only checked then.
    var needsRestart = false
    /// The newest packet that was sent; nil before the first.
    @usableFromInline
    var last: Last?

    /// The newest packet that was sent.
    @usableFromInline
    struct Last: Sendable {
        /// The timestamp that was sent.
        var timestamp: UInt32
        /// The time at which the packet arrived.
        @usableFromInline
        var arrival: Instant
        /// Whether the packet ended a frame.
        @usableFromInline
        var endsFrame: Bool
    }

    /// The arrival time of the newest packet that was sent; nil before the first.
    @inlinable @inline(__always)
    public var lastArrival: Instant? { last?.arrival }

    /// Stops until the next beginning, for example because the peer is too slow.
    package mutating func pause() {
        position = nil
        pendingSets = 0..<0
    }

    /// Whether the stream waits for its beginning.
    @inlinable @inline(__always)
    public var isPaused: Bool { position == nil }

    /// Returns whether the log no longer contains the next packet of the stream.
    @inlinable @inline(__always)
    public func isBehindLog(_ log: borrowing PacketLog) -> Bool { position.map { $0 < log.start } ?? false }

    // MARK: Sending

    /// Returns whether there is a packet to send.
    @inlinable @inline(__always)
    public func hasPackets(in log: borrowing PacketLog) -> Bool {
        guard let position else { return false }
        return position < log.end || hasResends
    }

    /// The packets that are waiting to be sent.
    public struct Waiting: Sendable {
        /// The number of packets, with retransmissions.
        public var count: Int
        /// The arrival time of the first new packet; nil if there is none.
        public var since: Instant?
        /// The approximate size of the new packets with headers in bytes; nil if there are retransmissions, which are
        /// sent first.
        public var bytes: Int?

        @inlinable @inline(__always)
        init(count: Int, since: Instant? = nil, bytes: Int? = nil) {
            self.count = count
            self.since = since
            self.bytes = bytes
        }
    }

    /// The approximate size of everything but the payload of a packet in bytes: IPv4, UDP, header, extensions and SRTP
    /// tag.
    @usableFromInline
    static var overhead: Int { 80 }

    /// Returns the packets that are waiting; nil if there are none.
    @inlinable @inline(__always)
    public func waiting(in log: borrowing PacketLog) -> Waiting? {
        guard let position, position >= log.start else { return nil }
        let count = Int(log.end - position)
        guard count > 0 else { return resends.isEmpty ? nil : Waiting(count: resends.count) }
        let since = log.address(of: position).pointee.arrival
        guard resends.isEmpty else { return Waiting(count: count + resends.count, since: since) }
        return Waiting(
            count: count, since: since, bytes: log.payloadSize(from: position) + count * Self.overhead)
    }

    /// Whether retransmissions from the current log are waiting.
    @inlinable @inline(__always)
    public var hasResends: Bool { !resends.isEmpty }

    /// Whether retransmissions are waiting, from the current or the previous log.
    @inlinable @inline(__always)
    public var waitsToResend: Bool { !resends.isEmpty || !formerResends.isEmpty }

    /// Writes the header of the next packet into a buffer; retransmissions are first.
    ///
    /// - Parameters:
    ///   - log: The log of the track.
    ///   - now: The current time.
    ///   - sendTime: The time at which the packet is sent.
    ///   - transportSequenceNumber: The next transport-wide sequence number, which is advanced if the peer supports it.
    ///   - buffer: The buffer of the packet.
    /// - Returns: The packet, which refers to its payload; nil if there is none.
    package mutating func next(
        in log: borrowing PacketLog, at now: Instant, sendTime: AbsoluteSendTime,
        transportSequenceNumber: inout UInt16, into buffer: MutableByteView
    ) -> Packet? {
        guard position != nil else { return nil }
        while !resends.isEmpty {
            let sequence = resends.removeFirst()
            guard let position = mapping.position(of: sequence, in: log) else {
                retransmissionsMissed += 1
                continue
            }
            return writeRetransmission(
                of: log.address(of: position), at: position, as: sequence, by: mapping, in: log, sendTime: sendTime,
                transportSequenceNumber: &transportSequenceNumber, into: buffer)
        }
        return nextNew(
            in: log, sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber, into: buffer)
    }

    /// Writes the header of the next packet that has not been sent, and returns it; nil if there is none.
    @inline(__always)
    package mutating func nextNew(
        in log: borrowing PacketLog, sendTime: AbsoluteSendTime, transportSequenceNumber: inout UInt16,
        into buffer: MutableByteView
    ) -> Packet? {
        while let position, position < log.end {
            if needsRestart {
                let sets = restart(
                    at: position, in: log, sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber,
                    into: buffer)
                if let sets { return sets }
            }
            let entry = log.address(of: position)
            self.position = position + 1
            guard entry.pointee.sequence >= mapping.firstSequence else { continue }
            if filter.isActive {
                let packet = writeFiltered(
                    entry, at: position, in: log, sendTime: sendTime,
                    transportSequenceNumber: &transportSequenceNumber, into: buffer)
                if let packet { return packet }
                continue
            }
            return write(
                entry, at: position, as: entry.pointee.sequence + mapping.sequenceOffset,
                marker: entry.pointee.marker, in: log, sendTime: sendTime,
                transportSequenceNumber: &transportSequenceNumber, into: buffer)
        }
        return nil
    }

    /// Writes the header of the next packet if it belongs to the layers that the peer receives; nil if it does not.
    @inline(never)
    private mutating func writeFiltered(
        _ entry: Reference<PacketLog.Entry>, at position: Int64, in log: borrowing PacketLog,
        sendTime: AbsoluteSendTime, transportSequenceNumber: inout UInt16, into buffer: MutableByteView
    ) -> Packet? {
        let source = entry.pointee.sequence
        let layers = entry.pointee.layers
        let decision = filter.decide(entry)
        if filter.current != .all { restrictsTargets = true }
        switch decision {
        case .leaveOut(let missing, let beginsTemporalUnit):
            mapping.cuts.append(source - missing..<source + 1, pictures: beginsTemporalUnit ? 1 : 0)
            mapping.sequenceOffset -= missing + 1
            if beginsTemporalUnit { mapping.pictureOffset.pictureID &-= 1 }
            return nil
        case .send:
            let isTop = layers.endsFrame && layers.point.spatial == filter.current.spatial
            return write(
                entry, at: position, as: source + mapping.sequenceOffset, marker: entry.pointee.marker || isTop,
                in: log, sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber, into: buffer)
        case .late:
            guard let after = mapping.cuts.after(source) else { return nil }
            var packet = write(
                entry, at: position, as: source + mapping.sequenceOffset + after.packets,
                marker: entry.pointee.marker || mapping.endsTemporalUnit(log[position], in: log), in: log,
                sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber, into: buffer)
            packet.pictureOffset.pictureID &+= after.pictures
            // The number is kept for the packet, because its layer was unknown when later packets were sent.
            packet.omitsPayload = layers.isKnown && !filter.current.contains(layers.point)
            return packet
        }
    }

    /// Begins with the packet at a position if the stream waits for it. Returns the next parameter set to be sent
    /// before the packet; nil if there is none.
    @inline(never)
    private mutating func restart(
        at position: Int64, in log: borrowing PacketLog, sendTime: AbsoluteSendTime,
        transportSequenceNumber: inout UInt16, into buffer: MutableByteView
    ) -> Packet? {
        if awaitsFirst, log.address(of: position).pointee.sequence != PacketLog.Entry.unnumbered {
            awaitsFirst = false
            begin(at: position, in: log)
            self.position = position
        }
        while let sets = pendingSets.first {
            pendingSets = sets + 1..<pendingSets.upperBound
            guard sets >= log.start else { continue }
            let sequence = mapping.firstOutgoing + sets - mapping.sets.lowerBound
            return write(
                log.address(of: sets), at: sets, as: sequence, marker: false, in: log, sendTime: sendTime,
                transportSequenceNumber: &transportSequenceNumber, into: buffer)
        }
        needsRestart = awaitsFirst
        return nil
    }

    /// Whether retransmissions from the previous log are waiting.
    @inlinable @inline(__always)
    public var hasFormerResends: Bool { !formerResends.isEmpty }

    /// The number of retransmissions from the previous log that are waiting.
    package var formerResendCount: Int { formerResends.count }

    /// Writes the header of the next retransmission from the previous log, and returns it; nil if there is none.
    package mutating func nextOfFormer(
        in log: borrowing PacketLog, sendTime: AbsoluteSendTime, transportSequenceNumber: inout UInt16,
        into buffer: MutableByteView
    ) -> Packet? {
        while !formerResends.isEmpty {
            let sequence = formerResends.removeFirst()
            guard let former, let position = former.position(of: sequence, in: log) else {
                retransmissionsMissed += 1
                continue
            }
            return writeRetransmission(
                of: log.address(of: position), at: position, as: sequence, by: former, in: log, sendTime: sendTime,
                transportSequenceNumber: &transportSequenceNumber, into: buffer)
        }
        return nil
    }

    /// Writes the header of a packet.
    @inline(__always)
    private mutating func write(
        _ entry: Reference<PacketLog.Entry>, at position: Int64, as sequence: Int64, marker: Bool,
        in log: borrowing PacketLog, sendTime: AbsoluteSendTime, transportSequenceNumber: inout UInt16,
        into buffer: MutableByteView
    ) -> Packet {
        let timestamp = entry.pointee.timestamp &+ mapping.timestampOffset
        var repeated = 0
        if sequence >= nextSequence {
            nextSequence = sequence + 1
            let source = entry.pointee.sequence
            mapping.newestSequence = source == PacketLog.Entry.unnumbered ? sequence - mapping.sequenceOffset : source
            last = Last(timestamp: timestamp, arrival: entry.pointee.arrival, endsFrame: marker)
            if sendsDescriptors, entry.pointee.descriptor.exists {
                newestFrame = entry.pointee.descriptor.frameNumber &+ mapping.frameOffset
            }
            if redundancy > 0, parameters.redundantPayloadType != nil {
                repeated = repeatableCount(before: entry, at: position, in: log)
            }
        }
        let payloadType = (repeated > 0 ? parameters.redundantPayloadType : nil) ?? parameters.payloadType
        let headerSize = writeHeader(
            of: entry, at: position, in: log, marker: marker, payloadType: payloadType,
            sequenceNumber: UInt16(truncatingIfNeeded: sequence), timestamp: timestamp, sendTime: sendTime,
            transportSequenceNumber: &transportSequenceNumber, into: buffer)
        let prefixSize =
            repeated > 0 ? writeRepeated(repeated, before: entry, in: log, into: buffer, at: headerSize) : 0
        packetsSent &+= 1
        octetsSent &+= UInt32(prefixSize + entry.pointee.length)
        var packet = Packet(
            headerSize: headerSize, position: position, prefixSize: prefixSize, isRetransmission: false,
            pictureOffset: mapping.pictureOffset)
        if entry.pointee.leads(to: mapping.firstSequence) {
            packet.omitsPayload = true
        } else if parameters.evensSizes {
            packet.paddingSize = paddingSize(of: headerSize + entry.pointee.length, entry, at: position, in: log)
            if packet.paddingSize > 0 { buffer[0] |= 0x20 }
        }
        return packet
    }

    // MARK: Feedback

    /// Handles the request of the peer for a packet: it is retransmitted if it is in the log and was not sent too
    /// recently.
    ///
    /// - Parameters:
    ///   - sequenceNumber: The sequence number that the peer misses.
    ///   - log: The log of the track.
    ///   - roundTrip: The round-trip time to the peer, within which a packet is retransmitted once, or twice if a
    ///     retransmission was lost.
    ///   - now: The current time.
    package mutating func requestRetransmission(
        of sequenceNumber: UInt16, in log: borrowing PacketLog, roundTrip: TimeSpan, at now: Instant
    ) {
        guard parameters.retransmission != nil, mapping.newestSequence != nil || former != nil,
            resends.count + formerResends.count < Self.resendLimit
        else { return }
        let newest = nextSequence - 1
        let distance = Int16(truncatingIfNeeded: Int64(sequenceNumber) &- newest)
        let sequence = newest + Int64(distance)
        let isCurrent = sequence >= mapping.firstOutgoing
        let position = isCurrent ? mapping.position(of: sequence, in: log) : nil
        // Whether the previous log contains the packet is checked when it is sent.
        guard position != nil || !isCurrent && former?.maySend(sequence) == true else {
            retransmissionsMissed += 1
            return
        }
        guard limiter?.mayResend(sequence, roundTrip: roundTrip, at: now) == true else { return }
        // The packet was sent after its arrival. Half of the round-trip time is used because that is an average. No
        // peer can miss a packet sooner, and a rejected peer repeats its request after a round-trip time.
        if let position,
            now - log.address(of: position).pointee.arrival < max(roundTrip / 2, ResendLimiter.minimumInterval)
        {
            return
        }
        limiter?.sent(sequence, roundTrip: roundTrip, at: now)
        if isCurrent { resends.append(sequence) } else { formerResends.append(sequence) }
    }

    /// Returns the peer's timestamp for a timestamp of the source.
    package func timestamp(of source: UInt32) -> UInt32 { source &+ mapping.timestampOffset }
}
