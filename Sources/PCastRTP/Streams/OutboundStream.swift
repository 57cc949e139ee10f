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
        public var extensions: RTPHeaderExtensionMap
        public var clockRate: ClockRate
        /// Said on every packet while set (JB5).
        public var playoutDelay: PlayoutDelay?

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
            extensions: RTPHeaderExtensionMap, clockRate: ClockRate, playoutDelay: PlayoutDelay? = nil,
            redundantPayloadType: UInt8? = nil
        ) {
            self.ssrc = ssrc
            self.payloadType = payloadType
            self.retransmission = retransmission
            self.mid = mid
            self.extensions = extensions
            self.clockRate = clockRate
            self.playoutDelay = playoutDelay
            self.redundantPayloadType = redundantPayloadType
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

    /// How many packets before it each packet repeats, as far as they fit; of effect where the peer takes it.
    public var redundancy = 0

    /// Where it stands in the log; nil while it waits for a key frame.
    public private(set) var position: Int64?

    /// Source sequence number plus this is the peer's.
    private var sequenceOffset: Int64 = 0
    /// The first source packet that the peer was meant to get; earlier ones that arrive late are not sent (SW2).
    private var firstSequence: Int64 = 0
    private var newestSequence: Int64?
    private var timestampOffset: UInt32 = 0
    private var nextSequence: Int64
    private var retransmissionSequence: UInt16

    private var resends: [Int64] = []
    /// Nil where nothing is sent again.
    private var limiter: ResendLimiter?

    /// Retransmissions asked for that wait to be sent; further requests are dropped and asked for again.
    private static let resendLimit = 64

    public private(set) var packetsSent: UInt32 = 0
    public private(set) var octetsSent: UInt32 = 0
    public private(set) var packetsRetransmitted: Int = 0
    /// The number of the last packet sent, its wraps counted in the upper half; before any, one less than the first's.
    public var lastSequenceNumber: UInt32 { UInt32(truncatingIfNeeded: nextSequence - 1) }
    /// NACKed numbers that were no longer in the log, or never were.
    public private(set) var retransmissionsMissed = 0

    /// - Parameters:
    ///   - firstSequenceNumber: below 2^15, so that no early loss hides the roll-over (SRTP3).
    public init(_ parameters: Parameters, firstSequenceNumber: UInt16, retransmissionSequenceNumber: UInt16) {
        precondition(firstSequenceNumber < 1 << 15 && retransmissionSequenceNumber < 1 << 15)
        self.parameters = parameters
        limiter = parameters.retransmission == nil ? nil : ResendLimiter()
        nextSequence = Int64(firstSequenceNumber)
        retransmissionSequence = retransmissionSequenceNumber
    }

    // MARK: Where to begin

    /// Begins with the packet at `position`, whose number becomes the peer's next. Packets behind it that overtook it
    /// on their way here are sent too.
    ///
    /// Time goes on as before where the source's clock does; where that jumped, by what lies between the arrivals of
    /// the last packet and this one, so that no two frames are of the same time (SW3).
    public mutating func begin(at position: Int64, in log: borrowing PacketLog) {
        let entry = log[position]
        self.position = Self.firstOvertaking(position, in: log)
        awaitsFirst = false
        // What was asked for by numbers of the former mapping has none in the new one.
        resends.removeAll(keepingCapacity: true)
        newestSequence = nil
        firstSequence = entry.sequence
        sequenceOffset = nextSequence - entry.sequence
        if let last { timestampOffset = timestampOffset(continuing: last, with: entry) }
    }

    /// How far back a packet looks for others that overtook it.
    private static let overtakingLimit: Int64 = 64

    private static func firstOvertaking(_ position: Int64, in log: borrowing PacketLog) -> Int64 {
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
    private static let maximumTimestampStep = TimeSpan.seconds(10 as Int64)

    private func timestampOffset(continuing last: Last, with entry: PacketLog.Entry) -> UInt32 {
        let step = Int64(Int32(bitPattern: entry.timestamp &+ timestampOffset &- last.timestamp))
        let limit = parameters.clockRate.ticks(in: Self.maximumTimestampStep)
        if step > 0, step <= limit { return timestampOffset }
        let passed = parameters.clockRate.ticks(in: entry.arrival - last.arrival)
        return last.timestamp &+ UInt32(min(max(passed, 1), limit)) &- entry.timestamp
    }

    /// Begins with whatever is appended next.
    public mutating func beginAtEnd(of log: borrowing PacketLog) {
        position = log.end
        awaitsFirst = true
    }

    private var awaitsFirst = false
    private var last: Last?

    /// The newest packet sent: its time as the peer knows it, and when it arrived here.
    private struct Last: Sendable {
        var timestamp: UInt32
        var arrival: Instant
    }

    /// Stops until `begin` is called again, as when the peer fell too far behind.
    public mutating func pause() { position = nil }

    /// Whether it waits for `begin`.
    public var isPaused: Bool { position == nil }

    /// Whether the log went on past the place where this stream stands.
    public func hasFallenBehind(_ log: borrowing PacketLog) -> Bool { position.map { $0 < log.start } ?? false }

    // MARK: Sending

    /// Whether `next` has anything to give.
    @inlinable
    public func hasPackets(in log: borrowing PacketLog) -> Bool {
        guard let position else { return false }
        return position < log.end || hasResends
    }

    /// How many packets wait, and since when the first of the log's has; nil where none does.
    @inline(__always)
    public func waiting(in log: borrowing PacketLog) -> (count: Int, since: Instant?)? {
        guard let position, position >= log.start else { return nil }
        let count = Int(log.end - position)
        if count > 0 { return (count + resends.count, log[position].arrival) }
        return resends.isEmpty ? nil : (resends.count, nil)
    }

    public var hasResends: Bool { !resends.isEmpty }

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
            guard let position = log.position(ofSequence: sequence) else {
                retransmissionsMissed += 1
                continue
            }
            return writeRetransmission(
                of: log[position], at: position, sendTime: sendTime,
                transportSequenceNumber: &transportSequenceNumber, into: room)
        }
        while let position, position < log.end {
            let entry = log[position]
            self.position = position + 1
            if awaitsFirst {
                awaitsFirst = false
                begin(at: position, in: log)
                self.position = position + 1
            }
            guard entry.sequence >= firstSequence else { continue }
            limiter?.sent(entry.sequence, at: now)
            return write(
                entry, at: position, in: log, sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber,
                into: room)
        }
        return nil
    }

    private mutating func write(
        _ entry: PacketLog.Entry, at position: Int64, in log: borrowing PacketLog, sendTime: AbsoluteSendTime,
        transportSequenceNumber: inout UInt16, into room: UnsafeMutableRawBufferPointer
    ) -> Packet {
        let sequence = entry.sequence + sequenceOffset
        let timestamp = entry.timestamp &+ timestampOffset
        var repeated = 0
        if sequence >= nextSequence {
            nextSequence = sequence + 1
            newestSequence = entry.sequence
            last = Last(timestamp: timestamp, arrival: entry.arrival)
            repeated = repeatableCount(before: entry, at: position, in: log)
        }
        let payloadType = repeated > 0 ? parameters.redundantPayloadType : nil
        let header = RTPHeader(
            marker: entry.marker, payloadType: payloadType ?? parameters.payloadType,
            sequenceNumber: UInt16(truncatingIfNeeded: sequence), timestamp: timestamp, ssrc: parameters.ssrc)
        let layout = header.write(
            into: room,
            extensions: values(entry, sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber),
            map: parameters.extensions)
        let prefixSize = repeated > 0 ? writeRepeated(repeated, before: entry, in: log, into: room, at: layout.size) : 0
        packetsSent &+= 1
        octetsSent &+= UInt32(prefixSize + entry.length)
        return Packet(
            headerSize: layout.size, position: position, prefixSize: prefixSize, isRetransmission: false)
    }

    // MARK: Redundancy

    /// How many of the packets just before one it repeats. Only such as follow each other without a hole, for what is
    /// behind one could not be told by its time (see `RedundantSequence`), and none that is still to be sent by itself.
    private func repeatableCount(
        before entry: PacketLog.Entry, at place: Int64, in log: borrowing PacketLog
    ) -> Int {
        guard redundancy > 0, parameters.redundantPayloadType != nil, entry.length > 0 else { return 0 }
        var count = 0
        var size = RedundantPayload.primaryHeaderSize + entry.length
        while count < redundancy, entry.sequence - Int64(count + 1) >= firstSequence,
            let position = log.position(ofSequence: entry.sequence - Int64(count + 1)), position < place
        {
            let earlier = log[position]
            let offset = entry.timestamp &- earlier.timestamp
            size += RedundantPayload.blockHeaderSize + earlier.length
            guard (1...RedundantPayload.maximumTimestampOffset).contains(offset),
                (1...RedundantPayload.maximumBlockSize).contains(earlier.length),
                size <= PayloadPacketizer.defaultMaximumPayloadSize
            else { break }
            count += 1
        }
        return count
    }

    /// Writes what stands before the packet's own data: the headers, then the data of those before it, the oldest first.
    private func writeRepeated(
        _ count: Int, before entry: PacketLog.Entry, in log: borrowing PacketLog,
        into room: UnsafeMutableRawBufferPointer, at start: Int
    ) -> Int {
        var header = start
        var data = start + count * RedundantPayload.blockHeaderSize + RedundantPayload.primaryHeaderSize
        for distance in stride(from: count, to: 0, by: -1) {
            guard let position = log.position(ofSequence: entry.sequence - Int64(distance)) else {
                preconditionFailure("a packet that was just there")
            }
            let earlier = log[position]
            RedundantPayload.writeHeader(
                payloadType: parameters.payloadType, timestampOffset: entry.timestamp &- earlier.timestamp,
                size: earlier.length, into: room, at: header)
            UnsafeMutableRawBufferPointer(rebasing: room[data..<data + earlier.length])
                .copyMemory(from: log.payload(at: position))
            header += RedundantPayload.blockHeaderSize
            data += earlier.length
        }
        room[header] = parameters.payloadType
        return data - start
    }

    private mutating func writeRetransmission(
        of entry: PacketLog.Entry, at position: Int64, sendTime: AbsoluteSendTime,
        transportSequenceNumber: inout UInt16, into room: UnsafeMutableRawBufferPointer
    ) -> Packet? {
        guard let retransmission = parameters.retransmission else { return nil }
        let header = RTPHeader(
            marker: entry.marker, payloadType: retransmission.payloadType, sequenceNumber: retransmissionSequence,
            timestamp: entry.timestamp &+ timestampOffset, ssrc: retransmission.ssrc)
        retransmissionSequence &+= 1
        let layout = header.write(
            into: room,
            extensions: values(entry, sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber),
            map: parameters.extensions)
        let original = UInt16(truncatingIfNeeded: entry.sequence + sequenceOffset)
        room.storeBigEndian(original, at: layout.size)
        packetsRetransmitted += 1
        return Packet(
            headerSize: layout.size, position: position, prefixSize: RTXEncapsulation.headerSize,
            isRetransmission: true)
    }

    // MARK: Probing

    /// Whether it can send what no decoder sees: padding goes on a retransmission stream alone (CC8).
    public var canProbe: Bool { parameters.retransmission != nil }

    /// Below this a probe is padding, which may be as small as is wanted; above it repeats what was sent last, which
    /// may even be of use.
    private static let smallProbeSize = 1000
    /// Around padding: IPv4, UDP, header, extensions and tag.
    private static let probeOverhead = 75

    public private(set) var probesSent = 0

    /// Writes a packet that measures the path, of about `size` bytes on the wire; nil where the peer has no retransmission stream.
    public mutating func nextProbe(
        of size: Int, in log: borrowing PacketLog, sendTime: AbsoluteSendTime,
        transportSequenceNumber: inout UInt16, into room: UnsafeMutableRawBufferPointer
    ) -> Probe? {
        guard let retransmission = parameters.retransmission else { return nil }
        probesSent += 1
        if size > Self.smallProbeSize, let newestSequence, let newest = log.position(ofSequence: newestSequence) {
            let position = fullestPosition(upTo: newest, in: log)
            let packet = writeRetransmission(
                of: log[position], at: position, sendTime: sendTime,
                transportSequenceNumber: &transportSequenceNumber, into: room)
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
        let layout = header.write(into: room, extensions: values, map: parameters.extensions)
        header.writePadding(into: room, at: layout.size)
        return Probe(headerSize: layout.size, position: nil, paddingSize: header.paddingSize)
    }

    /// Of the last packets sent the largest, the newest first.
    private func fullestPosition(upTo newest: Int64, in log: borrowing PacketLog) -> Int64 {
        var fullest = newest
        var position = newest
        while position >= max(log.start, newest - 7), log[position].sequence >= firstSequence {
            if log[position].length > log[fullest].length { fullest = position }
            position -= 1
        }
        return fullest
    }

    private func stamp(
        _ values: inout RTPExtensionValues, sendTime: AbsoluteSendTime, transportSequenceNumber: inout UInt16
    ) {
        values.mid = parameters.mid
        values.absoluteSendTime = sendTime
        if parameters.extensions.id(of: .transportSequenceNumber) != nil {
            values.transportSequenceNumber = transportSequenceNumber
            transportSequenceNumber &+= 1
        }
    }

    private func values(
        _ entry: PacketLog.Entry, sendTime: AbsoluteSendTime, transportSequenceNumber: inout UInt16
    ) -> RTPExtensionValues {
        var values = entry.forwarded
        stamp(&values, sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber)
        if let playoutDelay = parameters.playoutDelay { values.playoutDelay = playoutDelay }
        if entry.length > Self.roomyPayloadSize {
            values.playoutDelay = nil
            values.absoluteCaptureTime = nil
        }
        return values
    }

    /// A path of 1280 bytes, the least of IPv6 (RFC 8200, section 5), has 1232 for UDP's payload, of which the tag takes
    /// 16, a retransmission's number 2, the header 12 and all extensions 44. Browsers make payloads of up to 1170 bytes;
    /// these go without the extensions that others of the same frame carry as well.
    static let roomyPayloadSize = 1232 - 16 - 2 - 12 - 44

    // MARK: Feedback

    /// The peer reports that it lacks the packet it would know as `sequenceNumber`.
    ///
    /// - Parameter roundTrip: to the peer; the same number is sent at most once in it, and in 20 ms (NACK2).
    public mutating func requestRetransmission(
        of sequenceNumber: UInt16, in log: borrowing PacketLog, roundTrip: TimeSpan, at now: Instant
    ) {
        guard parameters.retransmission != nil, let newestSequence, resends.count < Self.resendLimit else { return }
        let newest = newestSequence + sequenceOffset
        let distance = Int16(truncatingIfNeeded: Int64(sequenceNumber) &- newest)
        let sequence = newest + Int64(distance) - sequenceOffset
        guard sequence >= firstSequence, sequence <= newestSequence, log.position(ofSequence: sequence) != nil else {
            retransmissionsMissed += 1
            return
        }
        guard limiter?.mayResend(sequence, roundTrip: roundTrip, at: now) == true else { return }
        limiter?.sent(sequence, at: now)
        resends.append(sequence)
    }

    /// The peer's RTP time for a time of the source.
    public func timestamp(of source: UInt32) -> UInt32 { source &+ timestampOffset }
}
