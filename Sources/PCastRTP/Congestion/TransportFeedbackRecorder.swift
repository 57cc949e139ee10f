public import PCastMedia

/// Remembers when the packets of a transport arrived, whatever their stream, and reports it to their sender
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01).
///
/// It holds the arrivals of the last `capacity` numbers; older ones are forgotten unreported.
public struct TransportFeedbackRecorder: Sendable {
    /// How many numbers are remembered.
    public static let capacity = 4096

    /// How far a report reaches back for a packet that was late (CC2).
    public static let reach = TimeSpan.milliseconds(500)

    /// From one report to the next; bounded to 50...250 ms, so that reports stay a small part of the rate.
    public var interval: TimeSpan {
        get { boundedInterval }
        set { boundedInterval = min(max(newValue, .milliseconds(50)), .milliseconds(250)) }
    }

    private var boundedInterval = TimeSpan.milliseconds(100)

    /// Arrivals in nanoseconds by the low bits of the number; `missing` where there is none.
    private var arrivals = [Int64](repeating: Self.missing, count: Self.capacity)
    private var unwrapper = SequenceUnwrapper()

    /// The numbers remembered, `floor` the first that may still be reported.
    private var newest: Int64 = -1
    private var floor: Int64 = 0

    /// The next report begins here.
    private var next: Int64 = 0
    private var due: Instant?
    private var feedbackCount: UInt8 = 0

    private static let missing = Int64.min

    public init() {}

    /// When `poll` wants to be called; nil when nothing waits to be reported.
    public var deadline: Instant? { next <= newest ? due : nil }

    /// Notes a packet: media, retransmission or padding, of a stream known or not (RTP2, NACK6).
    public mutating func received(_ sequenceNumber: UInt16, at now: Instant) {
        let number = unwrapper.unwrap(sequenceNumber)
        if newest < 0 || number <= newest - Int64(Self.capacity) { startOver(at: number) }
        guard number >= floor else { return }
        if number > newest { extend(to: number) }
        guard self[number] == Self.missing else { return }
        self[number] = now.nanoseconds
        next = min(next, number)
        if due == nil { due = now + interval }
    }

    /// Writes a report if one is due, and answers whether it did: then call again with room for another.
    ///
    /// The writer has room for at least 100 bytes; a report takes what there is, up to about 1000.
    public mutating func poll(
        into writer: inout RTCPWriter, senderSSRC: UInt32, mediaSSRC: UInt32, at now: Instant
    ) -> Bool {
        guard let due, now >= due, next <= newest else { return false }
        let report = TransportFeedbackReport(from: next, to: newest, room: writer.remaining) { arrival(of: $0) }
        writer.transportFeedback(
            senderSSRC: senderSSRC, mediaSSRC: mediaSSRC, count: feedbackCount, report
        ) { arrival(of: $0) }
        feedbackCount &+= 1
        next = report.end
        if next > newest {
            forgetOld(before: now - Self.reach)
            self.due = nil
        }
        return true
    }

    private func arrival(of number: Int64) -> Instant? {
        let nanoseconds = self[number]
        return nanoseconds == Self.missing ? nil : Instant(nanoseconds: nanoseconds)
    }

    /// The first packet, or one so far behind that the sender must have begun anew.
    private mutating func startOver(at number: Int64) {
        floor = number
        next = number
        newest = number - 1
    }

    /// Makes room for the numbers up to `number`, all of them missing as yet.
    private mutating func extend(to number: Int64) {
        let first = max(newest + 1, number - Int64(Self.capacity) + 1)
        for index in first...number { self[index] = Self.missing }
        newest = number
        floor = max(floor, number - Int64(Self.capacity) + 1)
        next = max(next, floor)
    }

    /// Moves `floor` behind the last packet that arrived before `limit`: what is missing before it is lost.
    private mutating func forgetOld(before limit: Instant) {
        var number = floor
        while number <= newest {
            if let arrival = arrival(of: number) {
                guard arrival < limit else { return }
                floor = number + 1
            }
            number += 1
        }
    }

    private subscript(number: Int64) -> Int64 {
        get { arrivals[Int(number & Int64(Self.capacity - 1))] }
        set { arrivals[Int(number & Int64(Self.capacity - 1))] = newValue }
    }
}
