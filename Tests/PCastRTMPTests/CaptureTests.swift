import PCastCore
import PCastRTMP
import PCastTestSupport
import Testing

@Suite("Streams of encoders")
struct CaptureTests {
    /// Returns the events of a capture that arrives in pieces.
    private func events(_ bytes: [UInt8], pieces: (Int) -> Int) -> [RTMPServerEvent] {
        var session = RTMPServerSession(seed: 1, at: at(0))
        var events: [RTMPServerEvent] = []
        let all = RTMPTestClient.handshake + bytes
        var position = 0
        while position < all.count {
            let end = min(position + max(pieces(position), 1), all.count)
            session.receive(Array(all[position..<end]).span, at: at(0))
            position = end
            while let event = session.poll() {
                events.append(event)
                if case .publishRequested = event { session.acceptPublishing(at: at(0)) }
            }
            _ = session.takeOutput()
        }
        return events
    }

    private func units(_ events: [RTMPServerEvent], _ track: RTMPTrackID) -> [RTMPAccessUnit] {
        events.compactMap { event in
            if case .accessUnit(let unit) = event, unit.track == track { unit } else { nil }
        }
    }

    private func whole(_ capture: Capture) -> [RTMPServerEvent] { events(capture.bytes) { _ in .max / 2 } }

    @Test("the stream of an encoder is read without a warning", arguments: Capture.all)
    func read(capture: Capture) {
        let events = whole(capture)
        for case .warning(let warning) in events { Issue.record("\(warning)") }
        for case .closed(let error) in events { Issue.record("\(String(describing: error))") }
        let video = units(events, RTMPTrackID(.video))
        #expect(video.count >= 7 && video[0].isKeyFrame)
        #expect(units(events, RTMPTrackID(.audio)).count >= 10)
        for (unit, next) in zip(video, video.dropFirst()) { #expect(next.decodingTime > unit.decodingTime) }
    }

    @Test("the events are the same however the bytes are divided", arguments: Capture.all)
    func pieces(capture: Capture) {
        let expected = whole(capture)
        for size in [1, 2, 7, 127, 1_400] { #expect(events(capture.bytes) { _ in size } == expected) }
        var generator = SeededGenerator(seed: 7)
        #expect(events(capture.bytes) { _ in generator.next(below: 300) } == expected)
    }

    @Test("FFmpeg: H.264 with B-frames and AAC")
    func ffmpeg() throws {
        let events = whole(.ffmpeg)
        guard case .publishRequested(let address)? = events.dropFirst().first else {
            Issue.record("\(events.prefix(2))")
            return
        }
        #expect(address.key == "KEY" && address.capabilities == ["hd", "streaming"])
        let video = units(events, RTMPTrackID(.video))
        #expect(video.map { $0.decodingTime.milliseconds } == (0..<10).map { Double($0) * 40 })
        #expect(video.contains { $0.presentationTime > $0.decodingTime })
        #expect(Set(video.map(\.presentationTime)).count == 10)
        // Each key frame has its parameter sets.
        for unit in video where unit.isKeyFrame {
            let set = unit.bytes.withByteView { bytes in
                var reader = AnnexBReader(bytes)
                return reader.nextUnit().flatMap { H264SequenceParameterSet($0.span) }
            }
            #expect(set?.dimensions == Dimensions(width: 64, height: 48))
        }
        #expect(video.filter(\.isKeyFrame).count == 2)
        #expect(events.last == .unpublished)
    }

    @Test("FFmpeg: H.265 and Opus by Enhanced RTMP")
    func enhanced() throws {
        let events = whole(.enhanced)
        guard case .connected(let client)? = events.first else {
            Issue.record("\(events.prefix(1))")
            return
        }
        #expect(client.isEnhanced && client.codecs == [.hevc, .opus])
        let video = units(events, RTMPTrackID(.video))
        #expect(video.allSatisfy { $0.codec == .hevc } && video.count == 10)
        // A video parameter set comes first in a key frame.
        #expect(video.filter(\.isKeyFrame).allSatisfy { $0.bytes.starts(with: [0, 0, 0, 1, 0x40, 1]) })
        #expect(units(events, RTMPTrackID(.audio)).allSatisfy { $0.codec == .opus })
    }

    @Test("FFmpeg: two video tracks of one stream by Enhanced RTMP")
    func multitrack() throws {
        let events = whole(.multitrack)
        for number in 0..<UInt8(2) {
            let video = units(events, RTMPTrackID(.video, number))
            #expect(video.count == 8 && video[0].isKeyFrame && video.allSatisfy { $0.codec == .h264 })
        }
    }

    @Test("a stream that is changed or cut anywhere is survived, and memory stays limited", arguments: Capture.all)
    func mutations(capture: Capture) {
        var generator = SeededGenerator(seed: 0x5EED)
        for _ in 0..<300 {
            var bytes = capture.bytes
            for _ in 0..<1 + generator.next(below: 6) {
                let index = generator.next(below: bytes.count)
                switch generator.next(below: 4) {
                case 0: bytes[index] ^= 1 << UInt8(generator.next(below: 8))
                case 1: bytes[index] = UInt8(generator.next(below: 256))
                case 2: bytes.remove(at: index)
                default: bytes.insert([0, 0xFF, 0xC4][generator.next(below: 3)], at: index)
                }
            }
            let result = events(bytes) { _ in 1_400 }
            let closings = result.count { if case .closed = $0 { true } else { false } }
            #expect(closings <= 1)
            if closings == 1, case .closed = result.last {
            } else if closings == 1 {
                Issue.record("events after the end")
            }
            // Each byte of the input occurs at most once, apart from parameter sets.
            let size = units(result, RTMPTrackID(.video)).reduce(0) { $0 + $1.bytes.count }
            #expect(size <= 3 * bytes.count + 65_536)
        }
    }
}
