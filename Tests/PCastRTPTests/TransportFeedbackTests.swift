import PCastCore
import PCastRTP
import PCastTestSupport
import Testing

@Suite struct TransportFeedbackTests {
    private func milliseconds(_ count: Int64) -> Instant { Instant(nanoseconds: count * 1_000_000) }

    private func poll(
        _ recorder: inout TransportFeedbackRecorder, at now: Instant, capacity: Int = 1200
    ) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0xEE, count: capacity)
        let count = bytes.withMutableByteView { buffer in
            var writer = RTCPWriter(buffer)
            return recorder.poll(into: &writer, senderSSRC: 1, mediaSSRC: 2, at: now) ? writer.count : nil
        }
        return count.map { Array(bytes[..<$0]) }
    }

    private func parse(_ bytes: [UInt8]) -> TransportFeedback? {
        var reader = RTCPReader()
        guard case .transportFeedback(let feedback)? = reader.next(in: bytes.span) else { return nil }
        return feedback
    }

    /// Returns each packet with its arrival in microseconds since the origin of the receiver's clock.
    private func statuses(_ bytes: [UInt8]) throws -> [(number: UInt16, arrival: Int64?)] {
        let feedback = try #require(parse(bytes))
        var unwrapper = ReferenceTimeUnwrapper()
        let reference = unwrapper.unwrap(feedback.referenceTime)
        var reader = TransportFeedback.Reader(feedback)
        var statuses: [(UInt16, Int64?)] = []
        while let status = reader.next(in: bytes.span) {
            statuses.append((status.sequenceNumber, status.arrival.map { ($0 + reference).nanoseconds / 1000 }))
        }
        return statuses
    }

    @Test("a run, a gap and a large delta, byte for byte")
    func vector() {
        var recorder = TransportFeedbackRecorder()
        recorder.received(10, at: milliseconds(130))
        recorder.received(11, at: milliseconds(131))
        recorder.received(13, at: milliseconds(231))
        // Reference 2 × 64 ms = 128 ms; deltas 2 ms = 8, 1 ms = 4, 100 ms = 400 ticks of 250 µs.
        #expect(
            poll(&recorder, at: milliseconds(231)) == [
                0x8F, 205, 0, 6, 0, 0, 0, 1, 0, 0, 0, 2, 0, 10, 0, 4, 0, 0, 2, 0, 0xD4, 0x80, 8, 4, 1, 0x90, 0, 0,
            ])
    }

    @Test("a run of arrivals is one chunk")
    func runLength() throws {
        var recorder = TransportFeedbackRecorder()
        for number: UInt16 in 0..<100 { recorder.received(number, at: milliseconds(Int64(number))) }
        let bytes = try #require(poll(&recorder, at: milliseconds(100)))
        #expect(bytes[20..<22] == [0x20, 100])
        #expect(bytes.count == 124)
        #expect(parse(bytes)?.packetCount == 100)
    }

    @Test("fourteen arrivals and losses without large deltas fit one chunk")
    func oneBitVector() throws {
        var recorder = TransportFeedbackRecorder()
        for number: UInt16 in [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13] {
            recorder.received(number, at: milliseconds(Int64(number)))
        }
        let bytes = try #require(poll(&recorder, at: milliseconds(100)))
        #expect(bytes[20..<22] == [0xAF, 0xFF])
    }

    @Test("a report is sent 100 ms after the first waiting packet")
    func cadence() {
        var recorder = TransportFeedbackRecorder()
        #expect(recorder.deadline == nil)
        recorder.received(1, at: milliseconds(1000))
        #expect(recorder.deadline == milliseconds(1100))
        #expect(poll(&recorder, at: milliseconds(1099)) == nil)
        #expect(poll(&recorder, at: milliseconds(1100)) != nil)
        #expect(recorder.deadline == nil)
        #expect(poll(&recorder, at: milliseconds(1300)) == nil)
        recorder.interval = .milliseconds(10)
        #expect(recorder.interval == .milliseconds(50))
        recorder.interval = .milliseconds(1000)
        #expect(recorder.interval == .milliseconds(250))
    }

    @Test("reports are numbered")
    func numbering() throws {
        var recorder = TransportFeedbackRecorder()
        for index in 0..<257 {
            let now = milliseconds(Int64(index) * 200)
            recorder.received(UInt16(index), at: now)
            let bytes = try #require(poll(&recorder, at: now + .milliseconds(100)))
            #expect(parse(bytes)?.feedbackCount == UInt8(truncatingIfNeeded: index))
        }
    }

    @Test("a packet that was reported missing is reported again if it arrives within half a second")
    func latePacket() throws {
        var recorder = TransportFeedbackRecorder()
        recorder.received(1, at: milliseconds(0))
        recorder.received(3, at: milliseconds(10))
        let first = try statuses(#require(poll(&recorder, at: milliseconds(100))))
        #expect(first.map(\.arrival) == [0, nil, 10_000])
        recorder.received(2, at: milliseconds(300))
        recorder.received(4, at: milliseconds(301))
        let second = try statuses(#require(poll(&recorder, at: milliseconds(400))))
        #expect(second.map(\.number) == [2, 3, 4])
        #expect(second.map(\.arrival) == [300_000, 10_000, 301_000])
    }

    @Test("a report is final after half a second")
    func tooLatePacket() throws {
        var recorder = TransportFeedbackRecorder()
        recorder.received(1, at: milliseconds(0))
        recorder.received(3, at: milliseconds(10))
        #expect(poll(&recorder, at: milliseconds(100)) != nil)
        recorder.received(4, at: milliseconds(600))
        #expect(poll(&recorder, at: milliseconds(700)) != nil)
        recorder.received(2, at: milliseconds(710))
        #expect(recorder.deadline == nil)
        #expect(poll(&recorder, at: milliseconds(900)) == nil)
    }

    @Test("numbers continue after 2^16, and reference times after 2^24")
    func wraps() throws {
        var recorder = TransportFeedbackRecorder()
        let late: Int64 = (1 << 24) * 64
        recorder.received(65_535, at: milliseconds(late - 1))
        recorder.received(0, at: milliseconds(late))
        let bytes = try #require(poll(&recorder, at: milliseconds(late + 100)))
        #expect(try statuses(bytes).map(\.number) == [65_535, 0])
        #expect(parse(bytes)?.referenceTime == -1)
        var unwrapper = ReferenceTimeUnwrapper()
        #expect(unwrapper.unwrap(0x7F_FFFF) == .milliseconds(0x7F_FFFF * 64))
        #expect(unwrapper.unwrap(-0x80_0000) == .milliseconds(0x80_0000 * 64))
    }

    @Test("a silence longer than the largest delta starts another report")
    func silence() throws {
        var recorder = TransportFeedbackRecorder()
        recorder.received(1, at: milliseconds(0))
        recorder.received(2, at: milliseconds(9_000))
        let first = try #require(poll(&recorder, at: milliseconds(9_100)))
        let second = try #require(poll(&recorder, at: milliseconds(9_100)))
        #expect(try statuses(first).map(\.number) == [1])
        #expect(try statuses(second).map(\.arrival) == [9_000_000])
        #expect(poll(&recorder, at: milliseconds(9_100)) == nil)
    }

    @Test("a jump larger than the memory drops the previous packets and stays within bounds")
    func jump() throws {
        var recorder = TransportFeedbackRecorder()
        recorder.received(0, at: milliseconds(0))
        recorder.received(30_000, at: milliseconds(1))
        let bytes = try #require(poll(&recorder, at: milliseconds(100)))
        let statuses = try statuses(bytes)
        #expect(statuses.count == TransportFeedbackRecorder.capacity)
        #expect(statuses.last?.number == 30_000)
        #expect(statuses.last?.arrival == 1_000)
        recorder.received(20_000, at: milliseconds(200))
        let again = try #require(poll(&recorder, at: milliseconds(300)))
        #expect(try self.statuses(again).map(\.number) == [20_000])
    }

    @Test("random arrivals are reported to the tick, for every size of buffer")
    func randomRoundTrip() throws {
        var generator = SeededGenerator(seed: 5)
        for _ in 0..<60 {
            var recorder = TransportFeedbackRecorder()
            var sent: [UInt16: Int64] = [:]
            var number = UInt16.random(in: 0...(.max), using: &generator)
            var time: Int64 = .random(in: 0...1_000_000_000, using: &generator)
            let large = Int64.random(in: 1...200_000, using: &generator)
            for _ in 0..<Int.random(in: 1...800, using: &generator) {
                number &+= Int.random(in: 0..<10, using: &generator) == 0 ? 30 : 1
                time += .random(in: 0...large, using: &generator)
                recorder.received(number, at: Instant(nanoseconds: time * 1000))
                sent[number] = time
            }
            var reported: [UInt16: Int64] = [:]
            let capacity = Int.random(in: 100...1200, using: &generator)
            while let bytes = poll(&recorder, at: Instant(nanoseconds: (time + 100_000) * 1000), capacity: capacity) {
                for case (let number, let arrival?) in try statuses(bytes) { reported[number] = arrival }
            }
            #expect(reported == sent.mapValues { $0 / 250 * 250 })
        }
    }

    private func message(count: UInt16, chunks: [UInt8]) -> [UInt8] {
        let words = UInt16(4 + chunks.count / 4)
        return [0x8F, 205, UInt8(words >> 8), UInt8(words & 255), 0, 0, 0, 1, 0, 0, 0, 2, 0, 10]
            + [UInt8(count >> 8), UInt8(count & 255), 0xFF, 0xFF, 0xFF, 7] + chunks
    }

    @Test("the reference time and large deltas are signed")
    func negative() throws {
        let bytes = message(count: 2, chunks: [0xC9 | 0x10, 0x00, 0, 4, 0xFF, 0xFC, 0, 0])
        let feedback = try #require(parse(bytes))
        #expect(feedback.referenceTime == -1)
        #expect(feedback.feedbackCount == 7)
        // Symbols 01 10: a small delta of 0, a large one of 0x04FF.
        #expect(try statuses(bytes).map(\.arrival) == [-64_000, -64_000 + 0x04FF * 250])
        let back = message(count: 1, chunks: [0x40, 1, 0xFF, 0xFC])
        #expect(try statuses(back).map(\.arrival) == [-65_000])
    }

    @Test("chunks that do not cover the count, and missing deltas, are rejected")
    func incomplete() {
        #expect(parse(message(count: 65_535, chunks: [0x20, 4, 1, 1])) == nil)
        #expect(parse(message(count: 65_535, chunks: [0x3F, 0xFF, 0, 0])) == nil)
        #expect(parse(message(count: 3, chunks: [0x20, 3, 1, 1])) == nil)
        #expect(parse(message(count: 3, chunks: [0x20, 0, 0, 0])) == nil)
        #expect(parse(message(count: 2, chunks: [0x20, 2, 1, 1]))?.packetCount == 2)
    }

    @Test("the largest count is read completely without arrivals")
    func largestCount() throws {
        let run: [UInt8] = [0x1F, 0xFF]
        let bytes = message(
            count: 65_535, chunks: run + run + run + run + run + run + run + run + [0, 7, 0, 0])
        let statuses = try statuses(bytes)
        #expect(statuses.count == 65_535)
        #expect(statuses.allSatisfy { $0.arrival == nil })
    }
}

extension TransportFeedbackRecorder {
    /// Returns a report that is due, as a datagram.
    mutating func report(at now: Instant) -> [UInt8]? {
        guard let deadline, deadline <= now else { return nil }
        var bytes = [UInt8](repeating: 0, count: 1200)
        let count = bytes.withMutableByteView { buffer in
            var writer = RTCPWriter(buffer)
            while poll(into: &writer, senderSSRC: 1, mediaSSRC: 2, at: now), writer.remaining > 200 {}
            return writer.count
        }
        return Array(bytes[..<count])
    }
}

extension BandwidthEstimator {
    /// Reads the reports of a datagram.
    mutating func read(_ bytes: [UInt8], waited: TimeSpan = .zero, at now: Instant) {
        var reader = RTCPReader()
        while let packet = reader.next(in: bytes.span) {
            if case .transportFeedback(let feedback) = packet {
                receive(feedback, in: bytes.span, waited: waited, at: now)
            }
        }
    }
}
