import PCastCore
import PCastRTP
import Testing

/// Random networks, the same for each seed.
@Suite struct JitterBufferShuffleTests {
    private struct Arrival {
        var time: Int64
        var packet: JitterPacket
    }

    /// Returns arrivals of frames every 33 ms, with a key frame every `keyInterval`. Each packet is late by up to
    /// `jitter`, and some are lost or duplicated.
    private func network(
        _ source: inout JitterSource, frameCount: Int, keyInterval: Int, jitter: Int64, loss: Double, doubled: Double
    ) -> [Arrival] {
        var arrivals: [Arrival] = []
        for index in 0..<frameCount {
            let key = index % keyInterval == 0
            let size = Int.random(in: 2...(key ? 9000 : 4000), using: &source.random)
            for packet in source.frame(key: key, size: size) {
                let copies = Double.random(in: 0..<1, using: &source.random) < doubled ? 2 : 1
                for _ in 0..<copies where Double.random(in: 0..<1, using: &source.random) >= loss {
                    let delay = Int64.random(in: 0...jitter, using: &source.random)
                    arrivals.append(Arrival(time: Int64(index) * 33 + delay, packet: packet))
                }
            }
        }
        return arrivals.sorted { $0.time < $1.time }
    }

    private func run(_ arrivals: [Arrival], _ buffer: inout JitterBuffer) -> [JitterBuffer.Frame] {
        var frames: [JitterBuffer.Frame] = []
        for arrival in arrivals {
            while let deadline = buffer.deadline, deadline <= .at(arrival.time) {
                frames += buffer.frames(at: deadline)
                #expect(buffer.deadline != deadline, "a deadline that has passed is handled")
            }
            buffer.insert(arrival.packet, at: .at(arrival.time))
            frames += buffer.frames(at: .at(arrival.time))
        }
        while let deadline = buffer.deadline { frames += buffer.frames(at: deadline) }
        return frames
    }

    @Test("reordered and duplicated packets cause no loss", arguments: [Codec.h264, .vp8], 0..<12)
    func reorderedAndDuplicatedPackets(codec: Codec, seed: Int) {
        var source = JitterSource(codec, seed: UInt64(seed), sequenceNumber: 65_400, timestamp: 0xFFFF_0000)
        let arrivals = network(&source, frameCount: 60, keyInterval: 30, jitter: 80, loss: 0, doubled: 0.1)
        var buffer = JitterBuffer(codec: codec, timeout: .milliseconds(100))
        let frames = run(arrivals, &buffer)
        #expect(frames.map(\.bytes) == source.frames)
        #expect(buffer.statistics.framesDropped == 0)
        #expect(buffer.statistics.packetsDuplicate + buffer.statistics.packetsLate > 0)
    }

    @Test("whatever is lost, frames are complete and in order, and only a key frame follows a gap")
    func keyFrameFollowsEachGap() throws {
        for seed in 0..<30 {
            let codec = seed & 1 == 0 ? Codec.h264 : .vp8
            var source = JitterSource(
                codec, seed: UInt64(seed), sequenceNumber: UInt16(65_000 + seed * 7), timestamp: 0xFFFF_0000)
            let arrivals = network(
                &source, frameCount: 90, keyInterval: 10, jitter: Int64(seed * 5),
                loss: Double(seed % 5) * 0.01, doubled: 0.05)
            var buffer = JitterBuffer(codec: codec, timeout: .milliseconds(60))
            var previous: JitterBuffer.Frame?
            let frames = run(arrivals, &buffer)
            for frame in frames {
                let index = Int((frame.timestamp.ticks - 0x1_FFFF_0000) / 3000)
                try #require(source.frames.indices.contains(index))
                #expect(frame.bytes == source.frames[index])
                #expect(frame.isKeyFrame == (index % 10 == 0))
                if let previous {
                    let isContinuous = frame.sequenceNumbers.lowerBound == previous.sequenceNumbers.upperBound + 1
                    #expect(frame.isKeyFrame || isContinuous)
                    #expect(frame.sequenceNumbers.lowerBound > previous.sequenceNumbers.upperBound)
                    #expect(frame.timestamp.ticks > previous.timestamp.ticks)
                } else {
                    #expect(frame.isKeyFrame)
                }
                previous = frame
            }
            #expect(frames.count + buffer.statistics.framesDropped <= 90)
            #expect(frames.count >= (seed % 5 == 0 && seed * 5 <= 60 ? 90 : 2))
        }
    }

    @Test("audio is delivered in order, and the durations of packets and losses are complete")
    func audioOrderAndDuration() {
        for seed in 0..<30 {
            var source = JitterSource(.opus, seed: UInt64(seed), sequenceNumber: 65_500, timestamp: 0xFFFF_FF00)
            var arrivals: [Arrival] = []
            for index in 0..<200 {
                let packet = source.frame(size: 40)[0]
                if index > 0, index < 199, Double.random(in: 0..<1, using: &source.random) < 0.05 { continue }
                let delay = index == 0 ? 0 : Int64.random(in: 0...50, using: &source.random)
                arrivals.append(Arrival(time: Int64(index) * 20 + delay, packet: packet))
            }
            arrivals.sort { $0.time < $1.time }
            var buffer = JitterBuffer(codec: .opus)
            var expected: Int64?
            func check(_ outputs: [JitterBuffer.Output]) {
                for output in outputs {
                    switch output {
                    case .frame(let frame):
                        #expect(expected == nil || frame.timestamp.ticks == expected)
                        expected = frame.timestamp.ticks + 960
                    case .lost(let gap):
                        #expect(gap.timestamp.ticks == expected)
                        #expect(gap.duration == .milliseconds(20) * Int64(gap.packetCount))
                        expected = gap.timestamp.ticks + ClockRate.opus.ticks(in: gap.duration)
                    }
                }
            }
            for arrival in arrivals {
                while let deadline = buffer.deadline, deadline <= .at(arrival.time) {
                    check(buffer.outputs(at: deadline))
                }
                buffer.insert(arrival.packet, at: .at(arrival.time))
                check(buffer.outputs(at: .at(arrival.time)))
            }
            while let deadline = buffer.deadline { check(buffer.outputs(at: deadline)) }
            #expect(buffer.statistics.framesAssembled + buffer.statistics.packetsLost == 200)
        }
    }

    @Test("no sequence of arbitrary packets traps")
    func arbitraryPackets() {
        var random = PayloadRandom(seed: 77)
        for codec in Codec.allCases {
            var buffer = JitterBuffer(codec: codec, capacity: 32)
            var now: Int64 = 0
            for _ in 0..<20_000 {
                now += Int64.random(in: 0...3, using: &random)
                let packet = JitterPacket(
                    payload: (0..<Int.random(in: 0...6, using: &random)).map { _ in
                        [0x10, 0x11, 0x65, 0x67, 0x7C, 0x78, 0x85, 0x88, 0xFC].randomElement(using: &random)!
                    },
                    sequenceNumber: UInt16(truncatingIfNeeded: now + Int64.random(in: -40...40, using: &random)),
                    timestamp: UInt32(truncatingIfNeeded: now / 4 * 3000), marker: Bool.random(using: &random))
                buffer.insert(packet, at: .at(now))
                _ = buffer.outputs(at: .at(now))
                if let deadline = buffer.deadline { #expect(deadline > .at(now)) }
            }
            #expect(buffer.statistics.packetsInserted > 1000)
        }
    }
}
