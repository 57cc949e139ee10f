package import PCastCore

/// Records the arrival of the packets of a transport, of all streams, and reports them to their sender
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01).
///
/// It holds the arrivals of the last `capacity` numbers. Older ones are dropped without a report.
package struct TransportFeedbackRecorder: Sendable {
    /// The maximum number of remembered packets.
    package static let capacity = 4096

    /// The time for which a late packet is still reported.
    package static let reach = TimeSpan.milliseconds(500)

    /// The interval of reports, from 50 to 250 ms, which limits their share of the bit rate.
    package var interval: TimeSpan {
        get { boundedInterval }
        set { boundedInterval = min(max(newValue, .milliseconds(50)), .milliseconds(250)) }
    }

    private var boundedInterval = TimeSpan.milliseconds(100)

    /// The arrival times in nanoseconds by the low bits of the number; `missing` if the packet has not arrived.
    private var arrivals = [Int64](repeating: Self.missing, count: Self.capacity)
    private var unwrapper = SequenceUnwrapper()

    /// The highest number; -1 before the first packet.
    private var newest: Int64 = -1
    /// The first number that may still be reported.
    private var floor: Int64 = 0

    /// The first number of the next report.
    private var next: Int64 = 0
    /// The time of the next report; nil if there is nothing to report.
    private var due: Instant?
    private var feedbackCount: UInt8 = 0

    /// The value of a packet that has not arrived.
    private static let missing = Int64.min

    /// Creates a recorder without arrivals.
    package init() {}

    /// The time at which ``poll(into:senderSSRC:mediaSSRC:at:)`` must be called; nil if there is nothing to report.
    package var deadline: Instant? { next <= newest ? due : nil }

    /// Records a packet: media, a retransmission or padding, whether its stream is known or not.
    package mutating func received(_ sequenceNumber: UInt16, at now: Instant) {
        let number = unwrapper.unwrap(sequenceNumber)
        if newest < 0 || number <= newest - Int64(Self.capacity) { startOver(at: number) }
        guard number >= floor else { return }
        if number > newest { extend(to: number) }
        guard self[number] == Self.missing else { return }
        self[number] = now.nanoseconds
        next = min(next, number)
        if due == nil { due = now + interval }
    }

    /// Writes a report if one is due.
    ///
    /// - Parameters:
    ///   - writer: The writer, with space for at least 100 bytes. A report uses up to about 1000.
    ///   - senderSSRC: The SSRC of this side.
    ///   - mediaSSRC: The SSRC of a media stream of the transport.
    ///   - now: The current time.
    /// - Returns: Whether a report was written. The caller then calls it again with space for another one.
    package mutating func poll(
        into writer: inout RTCPWriter, senderSSRC: UInt32, mediaSSRC: UInt32, at now: Instant
    ) -> Bool {
        guard let due, now >= due, next <= newest else { return false }
        let report = TransportFeedbackReport(from: next, to: newest, capacity: writer.remaining) { arrival(of: $0) }
        writer.transportFeedback(
            senderSSRC: senderSSRC, mediaSSRC: mediaSSRC, count: feedbackCount, report
        ) { arrival(of: $0) }
        feedbackCount &+= 1
        next = report.end
        if next > newest {
            removeOld(before: now - Self.reach)
            self.due = nil
        }
        return true
    }

    /// Returns the arrival time of a packet; nil if it has not arrived.
    private func arrival(of number: Int64) -> Instant? {
        let nanoseconds = self[number]
        return nanoseconds == Self.missing ? nil : Instant(nanoseconds: nanoseconds)
    }

    /// Begins with the first packet, or with one so far behind that the sender must have restarted.
    private mutating func startOver(at number: Int64) {
        floor = number
        next = number
        newest = number - 1
    }

    /// Makes space for the numbers up to `number`, whose packets have not arrived.
    private mutating func extend(to number: Int64) {
        let first = max(newest + 1, number - Int64(Self.capacity) + 1)
        for index in first...number { self[index] = Self.missing }
        newest = number
        floor = max(floor, number - Int64(Self.capacity) + 1)
        next = max(next, floor)
    }

    /// Moves `floor` after the last packet that arrived before a time. Missing packets before it are lost.
    private mutating func removeOld(before limit: Instant) {
        var number = floor
        while number <= newest {
            if let arrival = arrival(of: number) {
                guard arrival < limit else { return }
                floor = number + 1
            }
            number += 1
        }
    }

    /// The arrival time in the ring.
    private subscript(number: Int64) -> Int64 {
        get { arrivals[Int(number & Int64(Self.capacity - 1))] }
        set { arrivals[Int(number & Int64(Self.capacity - 1))] = newValue }
    }
}
