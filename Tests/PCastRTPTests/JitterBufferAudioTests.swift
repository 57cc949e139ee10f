import PCastCore
import PCastRTP
import Testing

@Suite struct JitterBufferAudioTests {
    private func gaps(_ outputs: [JitterBuffer.Output]) -> [JitterBuffer.Gap] {
        outputs.compactMap { output in
            if case .lost(let gap) = output { return gap }
            return nil
        }
    }

    @Test("packets are delivered at once and in order")
    func deliversInOrder() {
        var source = JitterSource(.opus, sequenceNumber: 65_534, timestamp: 0xFFFF_FF00)
        var buffer = JitterBuffer(codec: .opus)
        let packets = (0..<6).flatMap { _ in source.frame(size: 80) }
        var frames: [JitterBuffer.Frame] = []
        for index in [0, 2, 1, 3, 5, 4] {
            buffer.insert(packets[index], at: .at(Int64(index)))
            frames += buffer.frames(at: .at(Int64(index)))
        }
        #expect(frames.map(\.bytes) == source.frames)
        #expect(zip(frames, frames.dropFirst()).allSatisfy { $1.timestamp.ticks == $0.timestamp.ticks + 960 })
        #expect(buffer.needsKeyFrame == false)
    }

    @Test("a missing packet is awaited and then reported as lost")
    func reportsLossAfterTimeout() {
        var source = JitterSource(.opus)
        var buffer = JitterBuffer(codec: .opus)
        let packets = (0..<5).flatMap { _ in source.frame(size: 80) }
        buffer.insert(packets[0], at: .at(0))
        let first = buffer.frames(at: .at(0))[0]
        buffer.insert(packets[3], at: .at(60))
        #expect(buffer.deadline == .at(120))
        #expect(buffer.outputs(at: .at(119)).isEmpty)
        let outputs = buffer.outputs(at: .at(120))
        #expect(outputs.count == 2)
        let start = MediaTime(ticks: first.timestamp.ticks + 960, rate: .opus)
        #expect(
            gaps(outputs) == [JitterBuffer.Gap(packetCount: 2, timestamp: start, duration: .milliseconds(40))])
        #expect(buffer.insert(packets[1], at: .at(121)) == .late)
        buffer.insert(packets[4], at: .at(121))
        #expect(buffer.frames(at: .at(121)).map(\.bytes) == [source.frames[4]])
        #expect(buffer.deadline == nil)
        #expect(buffer.statistics.packetsLost == 2)
    }

    @Test("a gap of DTX is not a loss, and timestamps show how much was lost")
    func dtxGapIsNoLoss() {
        var source = JitterSource(.opus)
        var buffer = JitterBuffer(codec: .opus)
        buffer.insert(all: source.frame(), at: .at(0))
        source.timestamp += 48_000
        buffer.insert(all: source.frame(), at: .at(1000))
        let outputs = buffer.outputs(at: .at(1000))
        #expect(outputs.count == 2)
        #expect(gaps(outputs).isEmpty)
        // This packet is lost but has no duration: it was padding.
        source.sequenceNumber += 1
        buffer.insert(all: source.frame(), at: .at(1020))
        #expect(gaps(buffer.outputs(at: .at(1080))).isEmpty)
        // One packet is lost before a pause of ten seconds. At most the duration of one packet is concealed.
        source.sequenceNumber += 1
        source.timestamp += 480_000
        buffer.insert(all: source.frame(), at: .at(11_000))
        #expect(gaps(buffer.outputs(at: .at(11_060))).map(\.duration) == [.milliseconds(120)])
    }

    @Test("the oldest packet is lost when the slots are full")
    func fullSlots() {
        var source = JitterSource(.opus)
        var buffer = JitterBuffer(codec: .opus, timeout: .seconds(60 as Int64), capacity: 8)
        buffer.insert(all: source.frame(), at: .at(0))
        #expect(buffer.outputs(at: .at(0)).count == 1)
        _ = source.frame()
        for index in 0..<8 { buffer.insert(all: source.frame(), at: .at(Int64(index))) }
        let outputs = buffer.outputs(at: .at(9))
        #expect(gaps(outputs).map(\.packetCount) == [1])
        #expect(outputs.count == 9)
    }

    @Test("an invalid Opus packet counts as lost")
    func invalidOpusPacket() {
        var source = JitterSource(.opus)
        var buffer = JitterBuffer(codec: .opus)
        buffer.insert(all: source.frame(), at: .at(0))
        var bad = source.frame()
        bad[0].payload = [0xFF]
        buffer.insert(all: bad, at: .at(20))
        buffer.insert(all: source.frame(), at: .at(40))
        let outputs = buffer.outputs(at: .at(40))
        #expect(outputs.count == 3)
        #expect(gaps(outputs).map(\.duration) == [.milliseconds(20)])
        #expect(buffer.statistics.malformedUnits == 1)
    }
}
