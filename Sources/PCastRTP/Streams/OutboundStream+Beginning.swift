public import PCastMedia

/// Where a stream begins in a log, and which numbers and times the peer knows its packets by from then on.
extension OutboundStream {
    /// Begins with the packet at `position`, whose number becomes the peer's next. Packets behind it that overtook it
    /// on their way here are sent too.
    ///
    /// Time goes on as before where the source's clock does; where that jumped, by what lies between the arrivals of
    /// the last packet and this one, so that no two frames are of the same time (SW3).
    public mutating func begin(at position: Int64, in log: borrowing PacketLog) {
        let entry = log[position]
        self.position = Self.firstOvertaking(position, in: log)
        evenEnd = 0
        awaitsFirst = false
        // What was asked for by numbers of the former mapping has none in the new one.
        resends.removeAll(keepingCapacity: true)
        formerResends.removeAll(keepingCapacity: true)
        former = nil
        mapping.newestSequence = nil
        mapping.firstSequence = entry.sequence
        // The rest of a frame that was cut is missing, and not to be taken for whole.
        if last?.endsFrame == false, parameters.marksFrameEnds { nextSequence += 1 }
        numberPackets(from: position, entry, in: log)
        if let last { setTimestampOffset(timestampOffset(continuing: last, with: entry)) }
    }

    /// Makes the number of a packet the peer's next, or the one behind the parameter sets that are sent before it.
    private mutating func numberPackets(
        from position: Int64, _ entry: PacketLog.Entry, in log: borrowing PacketLog
    ) {
        mapping.sets = log.parameterSets(ofKeyFrameAt: position) ?? 0..<0
        mapping.sequenceOffset = nextSequence + Int64(mapping.sets.count) - entry.sequence
        pendingSets = mapping.sets
        beginsAnew = !pendingSets.isEmpty
    }

    mutating func setTimestampOffset(_ offset: UInt32) {
        mapping.timestampOffset = offset
        mapping.alignedOffset = offset
    }

    /// Goes on with another log, of another layer of the same pictures, at a key frame of it: sequence numbers as if
    /// nothing had happened, times and VP8's numbers as the peer knows them (SW1, SW3, SW5).
    ///
    /// - Parameters:
    ///   - position: where the key frame begins, its parameter sets first (SW6).
    ///   - former: the log that is left; it is asked for what the peer still lacks of it.
    ///   - alignment: what the new layer's timestamps need added to be the former's, as the sender reports of both
    ///     tell; nil while they do not, and then arrival has to tell (SW4).
    ///   - repairsFormer: false where the layer that is left was too much for the link, which what it lost would drown
    ///     further.
    public mutating func change(
        to log: borrowing PacketLog, at position: Int64, from former: borrowing PacketLog, codec: Codec,
        alignment: UInt32?, repairsFormer: Bool = true
    ) {
        let entry = log[position]
        let left = mapping
        if codec == .vp8 { mapping.pictures = pictures(continuing: former, with: log.payload(at: position)) }
        self.former = left.newestSequence == nil || !repairsFormer ? nil : left
        if !repairsFormer { resends.removeAll(keepingCapacity: true) }
        formerResends.removeAll(keepingCapacity: true)
        swap(&formerResends, &resends)
        self.position = Self.firstOvertaking(position, in: log)
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
            // The reports say what cannot be; the key frame is shown all the same (SW3).
            setTimestampOffset(Self.offset(following: last, with: entry, clockRate: parameters.clockRate))
        } else {
            mapping.timestampOffset = mapping.alignedOffset &+ UInt32(max(1 - step, 0))
        }
    }

    /// By the newest picture that was sent; where the log has it no more, by the newest that it has.
    func pictures(
        continuing former: borrowing PacketLog, with payload: UnsafeRawBufferPointer
    ) -> VP8PictureOffset {
        let sent = mapping.newestSequence.flatMap { former.position(ofSequence: $0) }
        guard former.end > former.start, let next = VP8PayloadDescriptor.parse(Span(_unsafeBytes: payload)) else {
            return mapping.pictures
        }
        // Padding has no descriptor; the packet before it has the frame's.
        var position = sent ?? former.end - 1
        while position > former.start, former[position].length == 0 { position -= 1 }
        let end = VP8PayloadDescriptor.parse(Span(_unsafeBytes: former.payload(at: position)))
        guard let end else { return mapping.pictures }
        return VP8PictureOffset(continuing: mapping.pictures.applied(to: end), with: next)
    }

    /// How far back a packet looks for others that overtook it: those of a large key frame whose first packet was sent again.
    static let overtakingLimit: Int64 = 512

    static func firstOvertaking(_ position: Int64, in log: borrowing PacketLog) -> Int64 {
        let sequence = log[position].sequence
        var first = position
        var probe = position - 1
        while probe >= max(log.start, position - overtakingLimit) {
            if log[probe].sequence > sequence { first = probe }
            probe -= 1
        }
        return first
    }

    /// Beyond this a step of the source's time is another clock's.
    static let maximumTimestampStep = TimeSpan.seconds(10 as Int64)

    func timestampOffset(continuing last: Last, with entry: PacketLog.Entry) -> UInt32 {
        let offset = mapping.timestampOffset
        let step = Int64(Int32(bitPattern: entry.timestamp &+ offset &- last.timestamp))
        let limit = parameters.clockRate.ticks(in: Self.maximumTimestampStep)
        if step > 0, step <= limit { return offset }
        return Self.offset(following: last, with: entry, clockRate: parameters.clockRate)
    }

    static func offset(following last: Last, with entry: PacketLog.Entry, clockRate: ClockRate) -> UInt32 {
        let passed = clockRate.ticks(in: entry.arrival - last.arrival)
        let step = min(max(passed, 1), clockRate.ticks(in: maximumTimestampStep))
        return last.timestamp &+ UInt32(step) &- entry.timestamp
    }
}
