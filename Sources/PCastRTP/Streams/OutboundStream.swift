public import PCastMedia

/// One track on its way to one peer: a place in the track's `PacketLog`, and the numbers under which the peer knows it.
///
/// It holds no packets. A viewer's stream is a few hundred bytes, and what it sends is written straight from the log
/// into the datagram, header by this type and payload by the cipher.
public struct OutboundStream: Sendable {
    /// What was negotiated with the peer.
    public struct Parameters: Sendable {
        public var ssrc: UInt32
        public var payloadType: UInt8
        /// The retransmission stream (RFC 4588); nil when the peer has none, and nothing is sent again.
        public var retransmission: Retransmission?
        /// Of packets of sound that repeat those before them (RFC 2198); nil when the peer does not take them.
        public var redundantPayloadType: UInt8?
        public var mid: RTPStreamIdentifier?
        /// The name of the layer, where the peer takes several (RFC 8852).
        public var rid: RTPStreamIdentifier?
        public var extensions: RTPHeaderExtensionMap
        public var clockRate: ClockRate
        /// Said on every packet at first (JB5).
        public var playoutDelay: PlayoutDelay?
        /// Whether packets of a frame are filled up to one size; see `paddingSize`.
        public var evensSizes: Bool
        /// Whether the marker says that a frame ends, as it does for video. Each packet of audio is a frame.
        public var marksFrameEnds: Bool

        public struct Retransmission: Sendable {
            public var ssrc: UInt32
            public var payloadType: UInt8
            public init(ssrc: UInt32, payloadType: UInt8) {
                self.ssrc = ssrc
                self.payloadType = payloadType
            }
        }

        public init(
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

    /// A packet to be protected and sent.
    public struct Packet {
        /// Bytes of header written into the room.
        public let headerSize: Int
        /// Where its payload stands in the log.
        public let position: Int64
        /// Bytes that stand between header and payload, already written into the room behind the header: the original
        /// sequence number of a retransmission (RFC 4588, section 4), or what a packet of sound repeats of those before
        /// it (RFC 2198).
        public let prefixSize: Int
        public let isRetransmission: Bool
        /// Bytes of padding that go behind the payload, so that packets of a frame are of one size.
        public var paddingSize = 0
        /// Of a VP8 payload, what changes in it.
        public let pictures: VP8PictureOffset

        /// Whether its payload is the log's, and nothing else.
        public var isAsLogged: Bool { prefixSize == 0 && paddingSize == 0 && pictures.isZero }
    }

    /// A packet that measures the path, whole in the room but for what it repeats.
    public struct Probe {
        public let headerSize: Int
        /// Where what it repeats stands in the log, behind the original number, as in a retransmission; nil where it
        /// is padding alone.
        public let position: Int64?
        /// Bytes of padding behind the header, already written.
        public let paddingSize: Int
    }

    public let parameters: Parameters

    /// Said on every packet while set (JB5).
    public var playoutDelay: PlayoutDelay?

    /// How headers look at the moment; none before the first.
    var template = HeaderTemplate()
    /// To which size packets are filled up, and of which position in the log that is no longer known.
    var evenSize = 0
    var evenEnd: Int64 = 0

    /// How many packets before it each packet repeats, as far as they fit; of effect where the peer takes it.
    public var redundancy = 0

    /// Where it stands in the log; nil while it waits for a key frame.
    public internal(set) var position: Int64?

    /// How the source's numbers become the peer's.
    var mapping = Mapping()
    /// Of the log that was left for this one: what was sent from it may be asked for again (SW1).
    var former: Mapping?
    var nextSequence: Int64
    var retransmissionSequence: UInt16

    /// By the peer's numbers, unwrapped.
    var resends: [Int64] = []
    var formerResends: [Int64] = []
    /// Nil where nothing is sent again.
    var limiter: ResendLimiter?

    /// Retransmissions asked for that wait to be sent; further requests are dropped and asked for again.
    static let resendLimit = 64

    /// Packets that measured the path.
    public internal(set) var probesSent = 0

    public internal(set) var packetsSent: UInt32 = 0
    public internal(set) var octetsSent: UInt32 = 0
    public internal(set) var packetsRetransmitted: Int = 0
    /// The number of the last packet sent, its wraps counted in the upper half; before any, one less than the first's.
    public var lastSequenceNumber: UInt32 { UInt32(truncatingIfNeeded: nextSequence - 1) }
    /// NACKed numbers that were no longer in the log, or never were.
    public internal(set) var retransmissionsMissed = 0

    /// - Parameters:
    ///   - firstSequenceNumber: below 2^15, so that no early loss hides the roll-over (SRTP3).
    public init(_ parameters: Parameters, firstSequenceNumber: UInt16, retransmissionSequenceNumber: UInt16) {
        precondition(firstSequenceNumber < 1 << 15 && retransmissionSequenceNumber < 1 << 15)
        self.parameters = parameters
        playoutDelay = parameters.playoutDelay
        limiter = parameters.retransmission == nil ? nil : ResendLimiter()
        nextSequence = Int64(firstSequenceNumber)
        retransmissionSequence = retransmissionSequenceNumber
    }

    // MARK: Where to begin

    struct Mapping: Sendable {
        /// Source sequence number plus this is the peer's.
        var sequenceOffset: Int64 = 0
        /// The first source packet that the peer was meant to get; earlier ones that arrive late are not sent (SW2).
        var firstSequence: Int64 = 0
        var newestSequence: Int64?
        /// Source timestamp plus this is the peer's.
        var timestampOffset: UInt32 = 0
        /// What `timestampOffset` would be, had it never had to give way to what was sent before.
        var alignedOffset: UInt32 = 0
        var pictures = VP8PictureOffset()
        /// The parameter sets that were sent before the first source packet; where they are in the log.
        var sets: Range<Int64> = 0..<0

        /// Where a packet is that the peer knows by `sequence`; nil for one that it did not get, and one that the log has no
        /// more.
        func position(of sequence: Int64, in log: borrowing PacketLog) -> Int64? {
            if let source = source(of: sequence) { return log.position(ofSequence: source) }
            guard newestSequence != nil else { return nil }
            let position = sequence - sequenceOffset - firstSequence + sets.upperBound
            return sets.contains(position) && position >= log.start ? position : nil
        }

        /// Whether the peer got a packet by that number.
        func maySend(_ sequence: Int64) -> Bool {
            guard let newestSequence else { return false }
            return (firstSequence - Int64(sets.count)...newestSequence).contains(sequence - sequenceOffset)
        }

        /// The source's number of a packet that the peer knows by `sequence`; nil for one that it did not get.
        func source(of sequence: Int64) -> Int64? {
            let source = sequence - sequenceOffset
            guard let newestSequence, source >= firstSequence, source <= newestSequence else { return nil }
            return source
        }
    }

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

    /// Whether the last packet sent ended a frame.
    public var isBetweenFrames: Bool { last?.endsFrame ?? true }

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

    /// Begins with whatever is appended next.
    public mutating func beginAtEnd(of log: borrowing PacketLog) {
        position = log.end
        awaitsFirst = true
        beginsAnew = true
        pendingSets = 0..<0
    }

    /// Leaves out all that the log has, what was asked for again as well; goes on with whatever is appended next.
    public mutating func leaveOut(of log: borrowing PacketLog) {
        beginAtEnd(of: log)
        resends.removeAll(keepingCapacity: true)
        formerResends.removeAll(keepingCapacity: true)
        former = nil
        mapping.newestSequence = nil
    }

    var awaitsFirst = false
    /// Parameter sets that are sent before the next packet.
    var pendingSets: Range<Int64> = 0..<0
    /// Whether anything is to be done before the next packet is sent: only then is it asked what.
    var beginsAnew = false
    var last: Last?

    /// The newest packet sent: its time as the peer knows it, and when it arrived here.
    struct Last: Sendable {
        var timestamp: UInt32
        var arrival: Instant
        var endsFrame: Bool
    }

    /// Stops until `begin` is called again, as when the peer fell too far behind.
    public mutating func pause() {
        position = nil
        pendingSets = 0..<0
    }

    /// Whether it waits for `begin`.
    public var isPaused: Bool { position == nil }

    /// Whether the log went on past the place where this stream stands.
    public func hasFallenBehind(_ log: borrowing PacketLog) -> Bool { position.map { $0 < log.start } ?? false }

    // MARK: Sending

    /// Whether `next` has anything to give.
    public func hasPackets(in log: borrowing PacketLog) -> Bool {
        guard let position else { return false }
        return position < log.end || hasResends
    }

    /// What waits to be sent.
    public struct Waiting: Sendable {
        /// Packets, those that were asked for again as well.
        public var count: Int
        /// Since when the first of the log's has waited; nil where all were sent before.
        public var since: Instant?
        /// Bytes on the wire, about, of the log's; nil where something is to be sent again, which goes first.
        public var bytes: Int?
    }

    /// Bytes of a packet on the wire beside its payload, about: IPv4, UDP, header, extensions and tag.
    static let overhead = 80

    /// What waits; nil where nothing does. It changes nothing; but what is asked for each packet is not asked of a copy.
    @inline(__always)
    public mutating func waiting(in log: borrowing PacketLog) -> Waiting? {
        guard let position, position >= log.start else { return nil }
        let count = Int(log.end - position)
        guard count > 0 else { return resends.isEmpty ? nil : Waiting(count: resends.count) }
        let since = log.address(of: position).pointee.arrival
        guard resends.isEmpty else { return Waiting(count: count + resends.count, since: since) }
        return Waiting(
            count: count, since: since, bytes: log.payloadSize(from: position) + count * Self.overhead)
    }

    public var hasResends: Bool { !resends.isEmpty }

    /// Whether anything is to be sent again, be it of this log or of the one that was left.
    public var waitsToResend: Bool { mutating get { !resends.isEmpty || !formerResends.isEmpty } }

    /// Writes the header of the next packet into `room`, and says which payload follows it; nil when there is none.
    ///
    /// - Parameter transportSequenceNumber: the transport's own counter, stamped and advanced when the peer counts
    ///   packets (CC1).
    public mutating func next(
        in log: borrowing PacketLog, at now: Instant, sendTime: AbsoluteSendTime,
        transportSequenceNumber: inout UInt16, into room: UnsafeMutableRawBufferPointer
    ) -> Packet? {
        guard position != nil else { return nil }
        while !resends.isEmpty {
            let sequence = resends.removeFirst()
            guard let position = mapping.position(of: sequence, in: log) else {
                retransmissionsMissed += 1
                continue
            }
            return writeRetransmission(
                of: log[position], at: position, as: sequence, by: mapping, sendTime: sendTime,
                transportSequenceNumber: &transportSequenceNumber, into: room)
        }
        return nextNew(
            in: log, sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber, into: room)
    }

    /// Like `next`, of what was never sent.
    @inline(__always)
    public mutating func nextNew(
        in log: borrowing PacketLog, sendTime: AbsoluteSendTime, transportSequenceNumber: inout UInt16,
        into room: UnsafeMutableRawBufferPointer
    ) -> Packet? {
        while let position, position < log.end {
            if beginsAnew {
                let sets = beginAnew(
                    at: position, in: log, sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber,
                    into: room)
                if let sets { return sets }
            }
            let entry = log.address(of: position)
            self.position = position + 1
            guard entry.pointee.sequence >= mapping.firstSequence else { continue }
            return write(
                entry, at: position, as: entry.pointee.sequence + mapping.sequenceOffset, in: log, sendTime: sendTime,
                transportSequenceNumber: &transportSequenceNumber, into: room)
        }
        return nil
    }

    /// Begins with the packet at `position` where that is to be the first; sends the parameter sets before it where it lacks
    /// them.
    @inline(never)
    private mutating func beginAnew(
        at position: Int64, in log: borrowing PacketLog, sendTime: AbsoluteSendTime,
        transportSequenceNumber: inout UInt16, into room: UnsafeMutableRawBufferPointer
    ) -> Packet? {
        if awaitsFirst, log.address(of: position).pointee.sequence != PacketLog.Entry.unnumbered {
            awaitsFirst = false
            begin(at: position, in: log)
            self.position = position
        }
        while let sets = pendingSets.first {
            pendingSets = sets + 1..<pendingSets.upperBound
            guard sets >= log.start else { continue }
            let sequence = mapping.firstSequence + mapping.sequenceOffset - (mapping.sets.upperBound - sets)
            return write(
                log.address(of: sets), at: sets, as: sequence, in: log, sendTime: sendTime,
                transportSequenceNumber: &transportSequenceNumber, into: room)
        }
        beginsAnew = awaitsFirst
        return nil
    }

    public var hasFormerResends: Bool { !formerResends.isEmpty }

    /// How many packets of the log that was left wait to be sent again.
    public var formerResendCount: Int { formerResends.count }

    /// Like `next`, of the log that was left with the last change, and only what is sent again.
    public mutating func nextOfFormer(
        in log: borrowing PacketLog, sendTime: AbsoluteSendTime, transportSequenceNumber: inout UInt16,
        into room: UnsafeMutableRawBufferPointer
    ) -> Packet? {
        while !formerResends.isEmpty {
            let sequence = formerResends.removeFirst()
            guard let former, let position = former.position(of: sequence, in: log) else {
                retransmissionsMissed += 1
                continue
            }
            return writeRetransmission(
                of: log[position], at: position, as: sequence, by: former, sendTime: sendTime,
                transportSequenceNumber: &transportSequenceNumber, into: room)
        }
        return nil
    }

    @inline(__always)
    private mutating func write(
        _ entry: UnsafePointer<PacketLog.Entry>, at position: Int64, as sequence: Int64, in log: borrowing PacketLog,
        sendTime: AbsoluteSendTime, transportSequenceNumber: inout UInt16, into room: UnsafeMutableRawBufferPointer
    ) -> Packet {
        let timestamp = entry.pointee.timestamp &+ mapping.timestampOffset
        var repeated = 0
        if sequence >= nextSequence {
            nextSequence = sequence + 1
            mapping.newestSequence = sequence - mapping.sequenceOffset
            last = Last(timestamp: timestamp, arrival: entry.pointee.arrival, endsFrame: entry.pointee.marker)
            if redundancy > 0, parameters.redundantPayloadType != nil {
                repeated = repeatableCount(before: entry, at: position, in: log)
            }
        }
        let payloadType = (repeated > 0 ? parameters.redundantPayloadType : nil) ?? parameters.payloadType
        let headerSize = writeHeader(
            of: entry, payloadType: payloadType, sequenceNumber: UInt16(truncatingIfNeeded: sequence),
            timestamp: timestamp, sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber, into: room)
        let prefixSize =
            repeated > 0 ? writeRepeated(repeated, before: entry, in: log, into: room, at: headerSize) : 0
        packetsSent &+= 1
        octetsSent &+= UInt32(prefixSize + entry.pointee.length)
        var packet = Packet(
            headerSize: headerSize, position: position, prefixSize: prefixSize, isRetransmission: false,
            pictures: mapping.pictures)
        if parameters.evensSizes {
            packet.paddingSize = paddingSize(of: headerSize + entry.pointee.length, entry, at: position, in: log)
            if packet.paddingSize > 0 { room[0] |= 0x20 }
        }
        return packet
    }

    // MARK: Feedback

    /// The peer reports that it lacks the packet it would know as `sequenceNumber`.
    ///
    /// - Parameter roundTrip: to the peer; the same number is sent at most once in it, and in 20 ms (NACK2), and twice where
    ///   it was lost before.
    public mutating func requestRetransmission(
        of sequenceNumber: UInt16, in log: borrowing PacketLog, roundTrip: TimeSpan, at now: Instant
    ) {
        guard parameters.retransmission != nil, mapping.newestSequence != nil || former != nil,
            resends.count + formerResends.count < Self.resendLimit
        else { return }
        let newest = nextSequence - 1
        let distance = Int16(truncatingIfNeeded: Int64(sequenceNumber) &- newest)
        let sequence = newest + Int64(distance)
        let isCurrent = sequence - mapping.sequenceOffset >= mapping.firstSequence - Int64(mapping.sets.count)
        let position = isCurrent ? mapping.position(of: sequence, in: log) : nil
        // Whether the log that was left still has it shows when it is sent.
        guard position != nil || !isCurrent && former?.maySend(sequence) == true else {
            retransmissionsMissed += 1
            return
        }
        guard limiter?.mayResend(sequence, roundTrip: roundTrip, at: now) == true else { return }
        // It left for the first time no sooner than it arrived here. Half a round trip, for that is a mean: nobody asks sooner
        // for what was lost, and who is refused asks again a round trip later.
        if let position,
            now - log.address(of: position).pointee.arrival < max(roundTrip / 2, ResendLimiter.minimumInterval)
        {
            return
        }
        limiter?.sent(sequence, roundTrip: roundTrip, at: now)
        if isCurrent { resends.append(sequence) } else { formerResends.append(sequence) }
    }

    /// The peer's RTP time for a time of the source.
    public func timestamp(of source: UInt32) -> UInt32 { source &+ mapping.timestampOffset }
}
