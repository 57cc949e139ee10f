import PCastCore
import PCastRTP
import Testing

@Suite struct PacketLogTests {
    private func entry(_ sequence: Int64, timestamp: UInt32 = 0, key: Bool = false) -> PacketLog.Entry {
        PacketLog.Entry(
            sequence: sequence, timestamp: timestamp, marker: false, startsKeyFrame: key,
            arrival: Instant(nanoseconds: sequence))
    }

    @Test("packets are stored in the order of their arrival, and found by their sequence numbers")
    func arrivalOrder() {
        var log = PacketLog(capacity: 8)
        for sequence in [70, 72, 71] as [Int64] { log.append(entry(sequence), payload: [UInt8(sequence)]) }
        #expect(log.start == 0 && log.end == 3)
        #expect((0..<3).map { log[$0].sequence } == [70, 72, 71])
        #expect((0..<3).map { log.bytes(at: $0) } == [[70], [72], [71]])
        #expect(log.position(ofSequence: 71) == 2 && log.position(ofSequence: 72) == 1)
        #expect(log.position(ofSequence: 73) == nil && log.position(ofSequence: 79) == nil)
        #expect(log.newestSequence == 72)
    }

    @Test("a log that grows keeps its packets, their positions and the newest key frame")
    func grows() {
        var log = PacketLog(capacity: 32)
        for sequence in 0..<40 as Range<Int64> {
            log.append(
                entry(sequence, timestamp: UInt32(sequence), key: sequence == 10), payload: [UInt8(sequence)])
        }
        #expect(log.start == 8 && log.losesKeyFrameNext)
        log.grow()
        #expect(log.capacity == 64 && log.start == 8 && log.end == 40 && !log.losesKeyFrameNext)
        #expect((8..<40).map { log.bytes(at: $0) } == (8..<40).map { [UInt8($0)] })
        #expect((0..<8).allSatisfy { log.position(ofSequence: $0) == nil })
        #expect((8..<40).allSatisfy { log.position(ofSequence: $0) == $0 })
        #expect(log.newestKeyFrame == 10 && log.payloadSize(from: 10) == 30)
        for sequence in 40..<80 as Range<Int64> {
            let losesKeyFrame = log.losesKeyFrameNext
            #expect(losesKeyFrame == (sequence >= 58 && sequence <= 74))
            log.append(entry(sequence), payload: [UInt8(sequence)])
        }
        #expect(log.start == 16 && log.newestKeyFrame == nil && log.bytes(at: 79) == [79])
        // It grows again before it is full.
        for capacity in [128, 256] {
            log.grow()
            #expect(log.capacity == capacity && log.start == 16 && log.end == 80)
            #expect((16..<80).map { log.bytes(at: $0) } == (16..<80).map { [UInt8($0)] })
        }
    }

    @Test("a full log overwrites the oldest packet")
    func overwritesOldest() {
        var log = PacketLog(capacity: 4)
        for sequence in 0..<10 as Range<Int64> { log.append(entry(sequence), payload: [UInt8(sequence)]) }
        #expect(log.start == 6 && log.end == 10)
        #expect((6..<10).map { log[$0].sequence } == [6, 7, 8, 9])
        #expect((6..<10).map { log.bytes(at: $0) } == [[6], [7], [8], [9]])
        #expect(log.position(ofSequence: 5) == nil)
        #expect(log.position(ofSequence: 6) == 6)
    }

    @Test("negative sequence numbers and those at the wrap are found")
    func unusualSequenceNumbers() {
        var log = PacketLog(capacity: 4)
        for sequence in [-1, 0, 65_535, 65_536] as [Int64] { log.append(entry(sequence), payload: []) }
        #expect(log.position(ofSequence: -1) == nil)
        #expect(log.position(ofSequence: 65_535) == 2 && log.position(ofSequence: 65_536) == 3)
    }

    @Test("the newest key frame begins at the packet of it that arrived first")
    func startOfNewestKeyFrame() {
        var log = PacketLog(capacity: 8)
        let none = log.newestKeyFrame
        #expect(none == nil)
        log.append(entry(1, timestamp: 10), payload: [])
        log.append(entry(2, timestamp: 20, key: true), payload: [])
        log.append(entry(3, timestamp: 20, key: true), payload: [])
        #expect(log.newestKeyFrame == 1)
        log.append(entry(4, timestamp: 30, key: true), payload: [])
        #expect(log.newestKeyFrame == 3)
    }

    @Test("an overwritten key frame is forgotten")
    func overwrittenKeyFrame() {
        var log = PacketLog(capacity: 4)
        log.append(entry(0, timestamp: 7, key: true), payload: [])
        for sequence in 1..<4 as Range<Int64> { log.append(entry(sequence), payload: []) }
        #expect(log.newestKeyFrame == 0)
        log.append(entry(4), payload: [])
        #expect(log.newestKeyFrame == nil)
        log.append(entry(5, timestamp: 7, key: true), payload: [])
        #expect(log.newestKeyFrame == 5)
    }

    @Test("a payload that is too large for every path is rejected")
    func oversizedPayload() {
        var log = PacketLog(capacity: 2)
        let largest = [UInt8](repeating: 9, count: PacketLog.maximumPayloadSize)
        #expect(log.append(entry(0), payload: largest + [9]) == nil)
        #expect(log.end == 0)
        #expect(log.append(entry(0), payload: largest) == 0)
        #expect(log.bytes(at: 0) == largest)
    }
}

extension PacketLog {
    @discardableResult
    mutating func append(_ entry: Entry, payload: [UInt8]) -> Int64? {
        payload.withByteView { append(entry, payload: $0) }
    }

    func bytes(at position: Int64) -> [UInt8] { Array(payload(at: position)) }
}
