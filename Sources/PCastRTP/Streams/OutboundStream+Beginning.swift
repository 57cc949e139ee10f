package import PCastCore

/// The beginning of a stream at a position of a log, and the mapping of its sequence numbers and timestamps from there
/// on.
extension OutboundStream {
    /// Begins with the packet at a position, which gets the next sequence number. Packets after it in the sequence that
    /// arrived before it are sent too.
    ///
    /// The timestamps continue if the source's clock does. If it jumped, they advance by the time between the arrivals
    /// of the last packet and this one, so that no two frames have the same timestamp.
    package mutating func begin(at position: Int64, in log: borrowing PacketLog) {
        let entry = log[position]
        self.position = Self.firstReordered(position, in: log)
        evenEnd = 0
        awaitsFirst = false
        // Packets that were requested with numbers of the previous mapping have no number in the new one.
        resends.removeAll(keepingCapacity: true)
        formerResends.removeAll(keepingCapacity: true)
        former = nil
        mapping.newestSequence = nil
        mapping.firstSequence = entry.sequence
        // The rest of an incomplete frame is skipped; a gap shows the receiver that the frame is incomplete.
        if last?.endsFrame == false, parameters.marksFrameEnds { nextSequence += 1 }
        numberPackets(from: position, entry, in: log)
        if let last { setTimestampOffset(timestampOffset(continuing: last, with: entry)) }
    }

    /// Maps the sequence number of a packet to the next one, or to the one after the parameter sets that are sent
    /// before it.
    private mutating func numberPackets(
        from position: Int64, _ entry: PacketLog.Entry, in log: borrowing PacketLog
    ) {
        mapping.sets = log.parameterSets(ofKeyFrameAt: position) ?? 0..<0
        mapping.sequenceOffset = nextSequence + Int64(mapping.sets.count) - entry.sequence
        mapping.firstOutgoing = nextSequence
        mapping.cuts = SequenceCuts()
        if entry.descriptor.exists, let newestFrame {
            mapping.frameOffset = newestFrame &+ 1 &- entry.descriptor.frameNumber
        }
        filter.begin(at: entry.sequence)
        pendingSets = mapping.sets
        needsRestart = !pendingSets.isEmpty
    }

    /// Sets the difference between the receiver's and the source's timestamps.
    mutating func setTimestampOffset(_ offset: UInt32) {
        mapping.timestampOffset = offset
        mapping.alignedOffset = offset
    }

    /// Continues with the log of another layer of the same video at a key frame. For the receiver sequence numbers,
    /// timestamps and VP8 picture IDs continue.
    ///
    /// - Parameters:
    ///   - log: The log of the new layer.
    ///   - position: The position of the key frame, with its parameter sets.
    ///   - former: The log of the previous layer, from which retransmissions are still sent.
    ///   - codec: The codec of both layers.
    ///   - alignment: The difference from the new layer's timestamps to the previous one's according to the sender
    ///     reports of both; nil if unknown, so that the arrival times are used.
    ///   - repairsFormer: Whether packets of the previous layer are retransmitted; false if that layer exceeded the
    ///     available bandwidth, because retransmissions would congest the link further.
    package mutating func change(
        to log: borrowing PacketLog, at position: Int64, from former: borrowing PacketLog, codec: Codec,
        alignment: UInt32?, repairsFormer: Bool = true
    ) {
        let entry = log[position]
        let left = mapping
        if codec == .vp8 || codec == .vp9 {
            mapping.pictureOffset = pictureOffset(continuing: former, with: log.payload(at: position), codec)
        }
        self.former = left.newestSequence == nil || !repairsFormer ? nil : left
        if !repairsFormer { resends.removeAll(keepingCapacity: true) }
        formerResends.removeAll(keepingCapacity: true)
        swap(&formerResends, &resends)
        self.position = Self.firstReordered(position, in: log)
        evenEnd = 0
        awaitsFirst = false
        mapping.newestSequence = nil
        mapping.firstSequence = entry.sequence
        numberPackets(from: position, entry, in: log)
        guard let last else { return }
        guard let alignment else {
            return setTimestampOffset(Self.offset(following: last, with: entry, clockRate: parameters.clockRate))
        }
        mapping.alignedOffset = left.alignedOffset &+ alignment
        let step = Int64(Int32(bitPattern: entry.timestamp &+ mapping.alignedOffset &- last.timestamp))
        let passed = parameters.clockRate.ticks(in: entry.arrival - last.arrival)
        if abs(step - passed) > parameters.clockRate.ticks(in: Self.maximumTimestampStep) {
            // The sender reports are implausible, but the key frame is sent anyway.
            setTimestampOffset(Self.offset(following: last, with: entry, clockRate: parameters.clockRate))
        } else {
            mapping.timestampOffset = mapping.alignedOffset &+ UInt32(max(1 - step, 0))
        }
    }

    /// Returns the offset that continues the picture IDs after the newest frame that was sent, or after the newest one
    /// in the log if that is no longer present.
    func pictureOffset(
        continuing former: borrowing PacketLog, with payload: ByteView, _ codec: Codec
    ) -> VPXPictureOffset {
        let sent = mapping.newestSequence.flatMap { former.position(ofSequence: $0) }
        guard former.end > former.start, let next = VPXPictureNumbers(codec, payload.span) else {
            return mapping.pictureOffset
        }
        // Padding has no descriptor, so a preceding packet is used.
        var position = sent ?? former.end - 1
        while position > former.start, former[position].length == 0 { position -= 1 }
        let end = VPXPictureNumbers(codec, former.payload(at: position).span)
        guard let end else { return mapping.pictureOffset }
        var offset = mapping.pictureOffset
        // Coded pictures that were left out after this one are not counted.
        if sent != nil { offset.pictureID &+= mapping.cuts.after(former[position].sequence)?.pictures ?? 0 }
        return VPXPictureOffset(continuing: offset.applied(to: end), with: next, codec: codec)
    }

    /// Changes the format of the packets, because the source has another codec from now on. The stream stops until it
    /// begins at a key frame. Sequence numbers and timestamps continue then. Packets of the former format are not
    /// retransmitted, because receivers assign a retransmission to a codec by its payload type (RFC 4588, section 8.6).
    ///
    /// - Parameters:
    ///   - payloadType: The payload type.
    ///   - retransmission: The retransmission stream in the payload type of the format; nil for none.
    package mutating func change(payloadType: UInt8, retransmission: Parameters.Retransmission?) {
        parameters.payloadType = payloadType
        parameters.retransmission = retransmission
        limiter = retransmission == nil ? nil : limiter ?? ResendLimiter()
        resends.removeAll(keepingCapacity: true)
        formerResends.removeAll(keepingCapacity: true)
        former = nil
        mapping.newestSequence = nil
        // The numbers of frames belong to a codec, and the payload of another one must not be changed.
        mapping.pictureOffset = VPXPictureOffset()
        pause()
    }

    /// The maximum number of preceding packets among which later ones are searched; it suffices for a large key frame
    /// whose first packet was retransmitted.
    static let reorderSearchLimit: Int64 = 512

    /// Returns the position of the first packet that follows a packet in the sequence but arrived before it. If there
    /// is none, returns the position of the packet.
    static func firstReordered(_ position: Int64, in log: borrowing PacketLog) -> Int64 {
        let sequence = log[position].sequence
        var first = position
        var probe = position - 1
        while probe >= max(log.start, position - reorderSearchLimit) {
            if log[probe].sequence > sequence { first = probe }
            probe -= 1
        }
        return first
    }

    /// The maximum step of the source's timestamps that is not a change of its clock.
    static let maximumTimestampStep = TimeSpan.seconds(10 as Int64)

    /// Returns the timestamp offset with which a packet continues the stream: the present one, unless the source's
    /// clock jumped.
    func timestampOffset(continuing last: Last, with entry: PacketLog.Entry) -> UInt32 {
        let offset = mapping.timestampOffset
        let step = Int64(Int32(bitPattern: entry.timestamp &+ offset &- last.timestamp))
        let limit = parameters.clockRate.ticks(in: Self.maximumTimestampStep)
        if step > 0, step <= limit { return offset }
        return Self.offset(following: last, with: entry, clockRate: parameters.clockRate)
    }

    /// Returns the timestamp offset with which a packet follows the last one according to the arrival times.
    static func offset(following last: Last, with entry: PacketLog.Entry, clockRate: ClockRate) -> UInt32 {
        let passed = clockRate.ticks(in: entry.arrival - last.arrival)
        let step = min(max(passed, 1), clockRate.ticks(in: maximumTimestampStep))
        return last.timestamp &+ UInt32(step) &- entry.timestamp
    }

    // MARK: Layers

    /// Sets the layers that the peer receives, if the source has layers in one SSRC.
    package mutating func select(_ point: OperatingPoint) {
        guard point != filter.wanted else { return }
        let isWithinTemporalUnit = last?.endsFrame == false
        filter.select(
            point, after: mapping.newestSequence ?? mapping.firstSequence - 1,
            within: isWithinTemporalUnit ? last.map { $0.timestamp &- mapping.timestampOffset } : nil)
    }

    /// The layers that the peer receives.
    package var operatingPoint: OperatingPoint { filter.current }

    /// Whether a key frame is needed for the selected spatial layer.
    package var needsKeyFrameForLayer: Bool { filter.needsKeyFrame }
}
