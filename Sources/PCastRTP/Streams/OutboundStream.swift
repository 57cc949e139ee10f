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

    /// Whether the last packet sent ended a frame.
    public var isBetweenFrames: Bool { last?.endsFrame ?? true }

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

    /// When the newest packet that was sent arrived here; nil before the first.
    public var lastArrival: Instant? { last?.arrival }

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
