import PCastCore
import PCastRTP
import Testing

@Suite struct JitterBufferVideoTests {
    @Test("a complete frame is returned at once, without sender reports")
    func completeFrameWithoutDelay() {
        var source = JitterSource(.h264)
        var buffer = JitterBuffer(codec: .h264)
        let key = source.frame(key: true, size: 3000)
        for packet in key.dropLast() {
            buffer.insert(packet, at: .at(0))
            #expect(buffer.frames(at: .at(0)).isEmpty)
        }
        buffer.insert(key.last!, at: .at(7))
        let frames = buffer.frames(at: .at(7))
        #expect(frames.map(\.bytes) == source.frames)
        #expect(frames[0].isKeyFrame)
        #expect(frames[0].firstArrival == .at(0))
        #expect(frames[0].lastArrival == .at(7))
        #expect(frames[0].sequenceNumbers.count == key.count)
        #expect(UInt16(truncatingIfNeeded: frames[0].sequenceNumbers.lowerBound) == 100)
        #expect(frames[0].timestamp.ticks & 0xFFFF_FFFF == 9000)
        #expect(buffer.deadline == nil)
        buffer.insert(all: source.frame(), at: .at(33))
        #expect(buffer.frames(at: .at(33)).map(\.isKeyFrame) == [false])
    }

    @Test("without a marker a frame ends where the timestamp changes")
    func frameEndWithoutMarker() {
        var source = JitterSource(.h264)
        var buffer = JitterBuffer(codec: .h264)
        for index in 0..<3 {
            for var packet in source.frame(key: index == 0, size: 2500) {
                packet.marker = false
                buffer.insert(packet, at: .at(0))
            }
        }
        #expect(buffer.frames(at: .at(0)).map(\.bytes) == Array(source.frames.prefix(2)))
    }

    @Test("after a change of the codec, frames continue with a key frame, and an incomplete one is dropped")
    func changeOfCodec() {
        var source = JitterSource(.h264)
        var buffer = JitterBuffer(codec: .h264)
        buffer.insert(all: source.frame(key: true, size: 2000), at: .at(0))
        let before = buffer.frames(at: .at(0))
        #expect(before.map(\.bytes) == source.frames)
        buffer.insert(source.frame(size: 3000)[0], at: .at(33))
        #expect(buffer.frames(at: .at(33)).isEmpty)
        buffer.change(to: .vp8)
        #expect(buffer.codec == .vp8)
        var other = JitterSource(.vp8, sequenceNumber: source.sequenceNumber, timestamp: source.timestamp)
        buffer.insert(all: other.frame(key: true, size: 2000), at: .at(66))
        buffer.insert(all: other.frame(), at: .at(99))
        let after = buffer.frames(at: .at(99))
        #expect(after.map(\.bytes) == other.frames)
        #expect(after.map(\.isKeyFrame) == [true, false])
        #expect(after[0].timestamp.ticks - before[0].timestamp.ticks == 6000)
        #expect(buffer.deadline == nil)
    }

    @Test("padding uses a sequence number and makes no frame")
    func paddingMakesNoFrame() {
        var source = JitterSource(.vp8)
        var buffer = JitterBuffer(codec: .vp8)
        var key = source.frame(key: true, size: 2500)
        // There is padding within a frame, and between frames.
        for index in 1..<key.count { key[index].sequenceNumber += 1 }
        buffer.insert(all: key, at: .at(0))
        #expect(buffer.frames(at: .at(0)).isEmpty)
        _ = buffer.insertPadding(sequenceNumber: 101, timestamp: 9000, at: .at(0))
        #expect(buffer.frames(at: .at(0)).map(\.bytes) == source.frames)
        _ = buffer.insertPadding(sequenceNumber: 104, timestamp: 9000, at: .at(1))
        source.sequenceNumber = 105
        buffer.insert(all: source.frame(), at: .at(33))
        #expect(buffer.frames(at: .at(33)).map(\.bytes) == [source.frames[1]])
        #expect(buffer.statistics.framesAssembled == 2)
        #expect(buffer.statistics.framesDropped == 0)
    }

    @Test("a retransmission within the timeout prevents a loss")
    func timelyRetransmission() {
        var source = JitterSource(.h264)
        var buffer = JitterBuffer(codec: .h264, timeout: .milliseconds(100))
        buffer.insert(all: source.frame(key: true), at: .at(0))
        #expect(buffer.frames(at: .at(0)).count == 1)
        let second = source.frame(size: 3000)
        buffer.insert(second[0], at: .at(33))
        buffer.insert(second[2], at: .at(34))
        #expect(buffer.deadline == .at(134))
        buffer.insert(all: source.frame(), at: .at(66))
        #expect(buffer.frames(at: .at(133)).isEmpty)
        #expect(buffer.needsKeyFrame == false)
        #expect(buffer.insert(second[1], at: .at(133)) == .inserted)
        #expect(buffer.frames(at: .at(133)).map(\.bytes) == Array(source.frames[1...]))
        #expect(buffer.deadline == nil)
        #expect(buffer.statistics.framesDropped == 0)
    }

    @Test("after a gap only a key frame is delivered")
    func keyFrameAfterGap() {
        var source = JitterSource(.h264)
        var buffer = JitterBuffer(codec: .h264, timeout: .milliseconds(100))
        buffer.insert(all: source.frame(key: true), at: .at(0))
        #expect(buffer.frames(at: .at(0)).count == 1)
        let lost = source.frame()
        buffer.insert(all: source.frame(), at: .at(66))
        #expect(buffer.deadline == .at(166))
        #expect(buffer.frames(at: .at(166)).isEmpty)
        #expect(buffer.needsKeyFrame == true)
        #expect(buffer.deadline == .at(1066))
        buffer.insert(all: source.frame(), at: .at(180))
        #expect(buffer.frames(at: .at(180)).isEmpty)
        let key = source.frame(key: true, size: 2000)
        buffer.insert(key[0], at: .at(200))
        #expect(buffer.needsKeyFrame == false)
        #expect(buffer.frames(at: .at(200)).isEmpty)
        buffer.insert(all: Array(key.dropFirst()), at: .at(210))
        buffer.insert(all: source.frame(), at: .at(233))
        #expect(buffer.frames(at: .at(233)).map(\.bytes) == Array(source.frames[4...]))
        #expect(buffer.insert(lost[0], at: .at(240)) == .late)
        #expect(buffer.statistics.framesDropped == 2)
        #expect(buffer.statistics.packetsLost == 1)
        #expect(buffer.statistics.packetsLate == 1)
    }

    @Test("a packet that arrives after its timeout but before the key frame is used")
    func repairedAfterAll() {
        var source = JitterSource(.h264)
        var buffer = JitterBuffer(codec: .h264, timeout: .milliseconds(100))
        buffer.insert(all: source.frame(key: true), at: .at(0))
        let lost = source.frame()
        buffer.insert(all: source.frame(), at: .at(66))
        #expect(buffer.frames(at: .at(166)).count == 1)
        #expect(buffer.needsKeyFrame == true)
        buffer.insert(all: lost, at: .at(250))
        #expect(buffer.frames(at: .at(250)).count == 2)
        #expect(buffer.needsKeyFrame == false)
        #expect(buffer.deadline == nil)
        #expect(buffer.statistics.framesDropped == 0)
    }

    @Test("missing packets are finally given up, whatever was requested")
    func givenUp() {
        var source = JitterSource(.h264)
        var buffer = JitterBuffer(codec: .h264, timeout: .milliseconds(100))
        buffer.insert(all: source.frame(key: true), at: .at(0))
        let lost = source.frame()
        buffer.insert(all: source.frame(), at: .at(66))
        #expect(buffer.frames(at: .at(166)).count == 1)
        #expect(buffer.frames(at: .at(1066)).isEmpty)
        #expect(buffer.needsKeyFrame == true)
        #expect(buffer.deadline == nil)
        #expect(buffer.insert(lost[0], at: .at(1070)) == .late)
    }

    @Test("a key frame after a gap waits for the timeout")
    func keyFrameAfterMissingPackets() {
        var source = JitterSource(.vp8)
        var buffer = JitterBuffer(codec: .vp8, timeout: .milliseconds(100))
        buffer.insert(all: source.frame(key: true), at: .at(0))
        #expect(buffer.frames(at: .at(0)).count == 1)
        _ = source.frame()
        buffer.insert(all: source.frame(key: true), at: .at(50))
        #expect(buffer.frames(at: .at(149)).isEmpty)
        #expect(buffer.frames(at: .at(150)).map(\.bytes) == [source.frames[2]])
        #expect(buffer.needsKeyFrame == false)
    }

    @Test("a long timeout ends when half a second with a key frame waits, and the newest frame follows")
    func keyFrameEndsLongTimeout() {
        var source = JitterSource(.vp8)
        var buffer = JitterBuffer(codec: .vp8, timeout: .seconds(5 as Int64))
        buffer.insert(all: source.frame(key: true), at: .at(0))
        #expect(buffer.frames(at: .at(0)).count == 1)
        _ = source.frame()
        for index in 2...16 {
            buffer.insert(all: source.frame(key: index == 4 || index == 9), at: .at(Int64(index) * 33))
            #expect(buffer.frames(at: .at(Int64(index) * 33)).isEmpty == (index < 16))
        }
        #expect(buffer.statistics.framesAssembled == 1 + 8)
        #expect(buffer.statistics.keyFramesAssembled == 2)
    }

    @Test("a stream that is joined late waits for a key frame, whose first packets may be reordered")
    func joinWithReorderedKeyFrame() {
        var source = JitterSource(.h264)
        var buffer = JitterBuffer(codec: .h264)
        #expect(buffer.needsKeyFrame == false)
        let key = source.frame(key: true, size: 2000)
        buffer.insert(key[2], at: .at(0))
        #expect(buffer.frames(at: .at(0)).isEmpty)
        #expect(buffer.needsKeyFrame == true)
        #expect(buffer.deadline == .at(100))
        #expect(buffer.insert(key[1], at: .at(1)) == .inserted)
        #expect(buffer.insert(key[0], at: .at(2)) == .inserted)
        #expect(buffer.frames(at: .at(2)).map(\.bytes) == source.frames)
    }

    @Test("an incomplete first frame leaves no deadline in the past")
    func incompleteFirstFrame() {
        var source = JitterSource(.h264)
        var buffer = JitterBuffer(codec: .h264)
        buffer.insert(source.frame(key: true, size: 2000)[0], at: .at(0))
        #expect(buffer.frames(at: .at(100)).isEmpty)
        #expect(buffer.deadline == nil)
    }

    @Test("parameter sets with their own timestamp make the IDR picture after them a key frame")
    func separateParameterSets() {
        var source = JitterSource(.h264)
        var buffer = JitterBuffer(codec: .h264)
        let idr = H264Fixtures.slice(idr: true, size: 50, using: &source.random)
        let sets = [H264Fixtures.sequenceParameterSet, H264Fixtures.pictureParameterSet]
        for (index, unit) in (sets + [idr]).enumerated() {
            let packet = JitterPacket(
                payload: unit, sequenceNumber: UInt16(index), timestamp: index == 2 ? 3000 : 0, marker: index == 2)
            buffer.insert(packet, at: .at(0))
        }
        let frames = buffer.frames(at: .at(0))
        #expect(frames.map(\.bytes) == [H264Fixtures.annexB(sets + [idr])])
        #expect(frames[0].isKeyFrame)
    }

    @Test("parameter sets before a frame that refers to others start no stream and announce no key frame")
    func setsBeforeDelta() {
        var source = JitterSource(.h264)
        var buffer = JitterBuffer(codec: .h264)
        let sets = [H264Fixtures.sequenceParameterSet, H264Fixtures.pictureParameterSet]
        let delta = H264Fixtures.slice(idr: false, size: 50, using: &source.random)
        let idr = H264Fixtures.slice(idr: true, size: 50, using: &source.random)
        for (index, unit) in (sets + [delta]).enumerated() {
            let packet = JitterPacket(
                payload: unit, sequenceNumber: UInt16(index), timestamp: 0, marker: index == 2)
            buffer.insert(packet, at: .at(0))
        }
        #expect(buffer.needsKeyFrame == true)
        #expect(buffer.frames(at: .at(200)).isEmpty)
        // The dropped packets contained the parameter sets of the key frame after them.
        buffer.insert(JitterPacket(payload: idr, sequenceNumber: 3, timestamp: 3000, marker: true), at: .at(233))
        #expect(buffer.frames(at: .at(233)).map(\.bytes) == [H264Fixtures.annexB(sets + [idr])])
    }

    @Test("a key frame has all packets of its time, also if a picture parameter set comes first")
    func wholeKeyFrame() {
        var source = JitterSource(.h264)
        var buffer = JitterBuffer(codec: .h264)
        let (sps, pps) = (H264Fixtures.sequenceParameterSet, H264Fixtures.pictureParameterSet)
        let idr = H264Fixtures.slice(idr: true, size: 50, using: &source.random)
        for (index, unit) in [[0x06, 5, 1, 0], pps, sps, idr].enumerated() {
            let packet = JitterPacket(
                payload: unit, sequenceNumber: UInt16(index), timestamp: 0, marker: index == 3)
            buffer.insert(packet, at: .at(0))
        }
        let frames = buffer.frames(at: .at(0))
        #expect(frames.map(\.bytes) == [H264Fixtures.annexB([sps, pps, [0x06, 5, 1, 0], pps, sps, idr])])
        #expect(frames.first?.sequenceNumbers.count == 4)
    }

    @Test("an IDR picture without parameter sets does not begin a stream")
    func idrWithoutParameterSets() {
        var source = JitterSource(.h264)
        var buffer = JitterBuffer(codec: .h264)
        let idr = H264Fixtures.slice(idr: true, size: 50, using: &source.random)
        buffer.insert(JitterPacket(payload: idr, sequenceNumber: 1, timestamp: 0, marker: true), at: .at(0))
        #expect(buffer.frames(at: .at(0)).isEmpty)
        #expect(buffer.frames(at: .at(200)).isEmpty)
        #expect(buffer.needsKeyFrame == true)
    }

    @Test("a frame with a malformed unit is not delivered, and a key frame is needed")
    func malformedUnitNeedsKeyFrame() {
        var source = JitterSource(.h264)
        var buffer = JitterBuffer(codec: .h264)
        buffer.insert(all: source.frame(key: true), at: .at(0))
        #expect(buffer.frames(at: .at(0)).count == 1)
        var broken = source.frame()
        broken[0].payload = [0x78, 0, 9, 0x41]
        buffer.insert(all: broken, at: .at(33))
        buffer.insert(all: source.frame(), at: .at(66))
        #expect(buffer.frames(at: .at(66)).isEmpty)
        #expect(buffer.needsKeyFrame == true)
        #expect(buffer.statistics.malformedUnits == 1)
        #expect(buffer.statistics.framesDropped == 2)
    }

    @Test("sequence numbers and timestamps are unwrapped across 2^16 and 2^32")
    func unwrapsNumbersAndTimestamps() {
        var source = JitterSource(.vp8, sequenceNumber: 65_530, timestamp: 0xFFFF_F000)
        var buffer = JitterBuffer(codec: .vp8)
        var frames: [JitterBuffer.Frame] = []
        for index in 0..<20 {
            buffer.insert(all: source.frame(key: index == 0, size: 1500), at: .at(Int64(index)))
            frames += buffer.frames(at: .at(Int64(index)))
        }
        #expect(frames.map(\.bytes) == source.frames)
        for (earlier, later) in zip(frames, frames.dropFirst()) {
            #expect(later.timestamp.ticks == earlier.timestamp.ticks + 3000)
            #expect(later.sequenceNumbers.lowerBound == earlier.sequenceNumbers.upperBound + 1)
        }
    }

    @Test("a source that restarts is followed after three packets", arguments: [40_000, 20_000, 150])
    func sourceRestart(sequenceNumber: UInt16) {
        var source = JitterSource(.vp8, sequenceNumber: 200)
        var buffer = JitterBuffer(codec: .vp8)
        buffer.insert(all: source.frame(key: true), at: .at(0))
        #expect(buffer.frames(at: .at(0)).count == 1)
        var restarted = JitterSource(
            .vp8, seed: 2, sequenceNumber: sequenceNumber, timestamp: 9000 &+ 1 << 31)
        let delta = restarted.frame(size: 3000)
        #expect(buffer.insert(delta[0], at: .at(33)) == .refused)
        #expect(buffer.insert(delta[1], at: .at(33)) == .refused)
        #expect(buffer.insert(delta[2], at: .at(33)) == .resynchronized)
        #expect(buffer.needsKeyFrame == true)
        buffer.insert(all: restarted.frame(key: true), at: .at(66))
        #expect(buffer.frames(at: .at(66)).map(\.bytes) == [restarted.frames[1]])
        #expect(buffer.statistics.resynchronizations == 1)
    }

    @Test("stray packets and late retransmissions cause no restart")
    func strayPacketsCauseNoRestart() {
        var source = JitterSource(.vp8, sequenceNumber: 30_000)
        var buffer = JitterBuffer(codec: .vp8)
        let old = (0..<5).flatMap { source.frame(key: $0 == 0) }
        buffer.insert(all: old, at: .at(0))
        #expect(buffer.frames(at: .at(0)).count == 5)
        for number: UInt16 in [1, 2, 60_000] {
            let stray = JitterPacket(payload: [0x10, 0x11], sequenceNumber: number, timestamp: 5, marker: true)
            #expect(buffer.insert(stray, at: .at(1)) == .refused)
        }
        for packet in old { #expect(buffer.insert(packet, at: .at(2)) == .late) }
        buffer.insert(all: source.frame(), at: .at(33))
        #expect(buffer.frames(at: .at(33)).count == 1)
        #expect(buffer.statistics.resynchronizations == 0)
    }

    @Test("full slots drop the oldest frame, and a key frame is needed")
    func fullSlots() {
        var source = JitterSource(.vp8)
        var buffer = JitterBuffer(codec: .vp8, timeout: .seconds(60 as Int64), capacity: 16)
        buffer.insert(all: source.frame(key: true), at: .at(0))
        #expect(buffer.frames(at: .at(0)).count == 1)
        _ = source.frame()
        for index in 0..<16 { buffer.insert(all: source.frame(), at: .at(Int64(index))) }
        #expect(buffer.needsKeyFrame == true)
        #expect(buffer.frames(at: .at(20)).isEmpty)
        buffer.insert(all: source.frame(key: true), at: .at(21))
        #expect(buffer.frames(at: .at(21)).map(\.bytes) == [source.frames.last!])
        // The jump exceeds the whole ring.
        source.sequenceNumber &+= 1000
        buffer.insert(all: source.frame(), at: .at(22))
        #expect(buffer.needsKeyFrame == true)
        buffer.insert(all: source.frame(key: true), at: .at(23))
        #expect(buffer.frames(at: .at(23)).map(\.bytes) == [source.frames.last!])
    }

    @Test("duplicates and oversized packets are reported")
    func duplicatesAndOversizedPackets() {
        var source = JitterSource(.vp8)
        var buffer = JitterBuffer(codec: .vp8, maximumPayloadSize: 600)
        let key = source.frame(key: true, size: 500)
        #expect(buffer.insert(key[0], at: .at(0)) == .inserted)
        #expect(buffer.insert(key[0], at: .at(0)) == .duplicate)
        #expect(buffer.frames(at: .at(0)).count == 1)
        #expect(buffer.insert(key[0], at: .at(0)) == .late)
        #expect(buffer.insert(source.frame(size: 700)[0], at: .at(0)) == .refused)
        #expect(buffer.statistics.packetsDuplicate == 1)
        #expect(buffer.statistics.packetsRefused == 1)
    }

    @Test("the timeout covers three requests and their answers, at least 250 ms")
    func retransmissionTimeout() {
        #expect(RetransmissionTimeout.video(roundTripTime: .milliseconds(10)) == .milliseconds(250))
        #expect(RetransmissionTimeout.video(roundTripTime: .milliseconds(120)) == .milliseconds(440))
        #expect(RetransmissionTimeout.audio(roundTripTime: .milliseconds(10)) == .milliseconds(60))
        #expect(RetransmissionTimeout.audio(roundTripTime: .milliseconds(80)) == .milliseconds(115))
    }
}
