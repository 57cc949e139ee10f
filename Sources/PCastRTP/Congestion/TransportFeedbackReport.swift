package import PCastCore

/// The part of the pending packets that fits into one feedback message, and its size.
struct TransportFeedbackReport: Sendable {
    /// The first number in the message.
    let start: Int64
    /// The number after the last one in the message.
    private(set) var end: Int64

    /// The reference time in units of 64 ms.
    let referenceTime: Int64
    private(set) var chunkCount = 0
    /// The size of the deltas in bytes.
    private(set) var deltaSize = 0

    /// The maximum size of chunks and deltas in bytes.
    static let maximumSize = 960

    /// The number of delta units in a unit of the reference time.
    private static let ticksPerReference: Int64 = 256

    /// Measures the packets from `start` to `last`, until the message is full or a delta exceeds 16 bits.
    init(from start: Int64, to last: Int64, capacity: Int, arrival: (Int64) -> Instant?) {
        self.start = start
        end = start
        var first = start
        while first < last, arrival(first) == nil { first += 1 }
        referenceTime = Self.floorDivide(Self.ticks(arrival(first)), Self.ticksPerReference)
        let bound = min(capacity - 20, Self.maximumSize) - 4
        precondition(bound > 16, "the buffer is too small for transport feedback")
        var previous = referenceTime * Self.ticksPerReference
        var encoder = PacketStatusEncoder()
        // The pending statuses of the encoder need at most two chunks, in addition to the one that becomes full.
        while end <= last, 2 * (chunkCount + 3) + deltaSize + 2 <= bound {
            guard let symbol = Self.symbol(arrival(end), after: &previous) else { break }
            if encoder.append(symbol) != nil { chunkCount += 1 }
            deltaSize += symbol.deltaSize
            end += 1
        }
        while encoder.finish() != nil { chunkCount += 1 }
    }

    /// Returns the status of a packet with an arrival time, and updates `previous` to it. Returns nil if the delta
    /// exceeds 16 bits.
    static func symbol(_ arrival: Instant?, after previous: inout Int64) -> PacketStatusChunk.Symbol? {
        guard let arrival else { return .notReceived }
        let ticks = ticks(arrival)
        let delta = ticks - previous
        guard Int16(exactly: delta) != nil else { return nil }
        previous = ticks
        return UInt8(exactly: delta) == nil ? .largeDelta : .smallDelta
    }

    /// Returns the arrival time in units of 250 µs, rounded down, so that rounding errors do not accumulate.
    static func ticks(_ arrival: Instant?) -> Int64 {
        floorDivide(arrival?.nanoseconds ?? 0, TransportFeedback.tick.nanoseconds)
    }

    private static func floorDivide(_ number: Int64, _ divisor: Int64) -> Int64 {
        let (quotient, rest) = number.quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? quotient - 1 : quotient
    }

    /// The size of chunks and deltas in bytes, with the padding of the message.
    var size: Int { (2 * chunkCount + deltaSize + 3) / 4 * 4 }

    /// The reference time in units of 250 µs.
    var referenceTicks: Int64 { referenceTime * Self.ticksPerReference }
}

extension RTCPWriter {
    /// Writes a feedback message. `arrival` must return the same values as when `report` was measured.
    mutating func transportFeedback(
        senderSSRC: UInt32, mediaSSRC: UInt32, count feedbackCount: UInt8, _ report: TransportFeedbackReport,
        arrival: (Int64) -> Instant?
    ) {
        let body = beginFeedback(
            type: RTCPPacket.PacketType.transportLayerFeedback, format: RTCPPacket.FeedbackFormat.transportWide,
            senderSSRC: senderSSRC, mediaSSRC: mediaSSRC, size: 8 + report.size)
        buffer.storeBigEndian(UInt16(truncatingIfNeeded: report.start), at: body)
        buffer.storeBigEndian(UInt16(report.end - report.start), at: body + 2)
        buffer.storeBigEndian24(UInt32(truncatingIfNeeded: report.referenceTime), at: body + 4)
        buffer[body + 7] = feedbackCount
        var chunks = body + 8
        var deltas = chunks + 2 * report.chunkCount
        var previous = report.referenceTicks
        var encoder = PacketStatusEncoder()
        for number in report.start..<report.end {
            let before = previous
            guard let symbol = TransportFeedbackReport.symbol(arrival(number), after: &previous) else { break }
            if let chunk = encoder.append(symbol) { store(chunk, at: &chunks) }
            storeDelta(previous - before, as: symbol, at: &deltas)
        }
        while let chunk = encoder.finish() { store(chunk, at: &chunks) }
        for index in deltas..<self.count { buffer[index] = 0 }
    }

    private func store(_ chunk: PacketStatusChunk, at offset: inout Int) {
        buffer.storeBigEndian(chunk.rawValue, at: offset)
        offset += 2
    }

    private func storeDelta(_ delta: Int64, as symbol: PacketStatusChunk.Symbol, at offset: inout Int) {
        switch symbol {
        case .notReceived, .reserved: return
        case .smallDelta: buffer[offset] = UInt8(truncatingIfNeeded: delta)
        case .largeDelta: buffer.storeBigEndian(Int16(truncatingIfNeeded: delta), at: offset)
        }
        offset += symbol.deltaSize
    }
}

/// Extends the 24-bit reference times of transport-wide feedback, which wrap around after 12.4 days, to a continuous
/// time of the receiver.
package struct ReferenceTimeUnwrapper: Sendable {
    /// The last time in units of 64 ms; nil before the first.
    private var last: Int64?
    /// The maximum absolute value, about two years.
    private static let limit: UInt64 = 1 << 30

    /// Creates an unwrapper without a reference.
    package init() {}

    /// Returns the receiver's time from which the arrivals of a message count. Only differences of these times have a
    /// meaning.
    package mutating func unwrap(_ referenceTime: Int32) -> TimeSpan {
        var unwrapped = Int64(referenceTime)
        if let last {
            let step = (Int32(truncatingIfNeeded: Int64(referenceTime) &- last) << 8) >> 8
            unwrapped = last &+ Int64(step)
        }
        // A clock that steps on and on starts again from the value of the message, before it exceeds 64 bits.
        if unwrapped.magnitude > Self.limit { unwrapped = Int64(referenceTime) }
        last = unwrapped
        return .milliseconds(unwrapped &* 64)
    }
}
