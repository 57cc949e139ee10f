import PCastCore
import PCastRTMP
import PCastTestSupport
import Testing

@testable import PCastSRT

/// Transport streams for SRT viewers, which the demuxer of publishers reads back.
@Suite("MPEG transport streams for viewers")
struct TransportStreamMuxerTests {
    private static let start = WallTime(millisecondsSinceEpoch: 1_700_000_000_000)
    private static let frameTicks: Int64 = 3_600

    private func video(_ index: Int64, isKeyFrame: Bool = false, layer: Int = 0, size: Int = 500) -> TransportStreamUnit
    {
        let bytes =
            isKeyFrame
            ? TransportStreamBuilder.keyFrame(size: size) : TransportStreamBuilder.interFrame(size: size)
        return TransportStreamUnit(
            layer: layer, bytes: bytes, timestamp: 1_000_000 + index * Self.frameTicks,
            captureTime: Self.start + .milliseconds(index * 40))
    }

    private func audio(_ index: Int64, _ bytes: [UInt8]) -> TransportStreamUnit {
        TransportStreamUnit(
            layer: nil, bytes: bytes, timestamp: 5_000 + index * 960,
            captureTime: Self.start + .milliseconds(index * 20))
    }

    /// Whether a viewer can begin with each frame; nil for those that are left out.
    private func beginnings(_ units: [TransportStreamUnit], _ program: inout TransportStreamProgram) -> [Bool?] {
        units.map { program.append($0)?.isBeginning }
    }

    private func events(of bytes: [UInt8]) -> (events: [RTMPServerEvent], statistics: TransportStreamStatistics) {
        var demuxer = TransportStreamDemuxer()
        var events: [RTMPServerEvent] = []
        demuxer.receive(bytes.span) { events.append($0) }
        demuxer.finish { events.append($0) }
        return (events, demuxer.statistics)
    }

    private func units(_ events: [RTMPServerEvent], _ type: MediaType) -> [RTMPAccessUnit] {
        events.compactMap { event in
            if case .accessUnit(let unit) = event, unit.track.mediaType == type { unit } else { nil }
        }
    }

    private func aac() throws -> TransportStreamAudio {
        .aac(try #require(AudioSpecificConfiguration([0x11, 0x90])))
    }

    @Test("a demuxer finds the frames of video and AAC with their times, in frames of any size")
    func aacRoundTrip() throws {
        var program = TransportStreamProgram(hasVideo: true, audio: try aac())
        var bytes: [UInt8] = []
        for index in 0..<50 as Range<Int64> {
            // The sizes reach each padding of the last packet.
            let frame = program.append(video(index, isKeyFrame: index % 25 == 0, size: 150 + Int(index) * 7))
            let piece = try #require(frame)
            #expect(piece.isBeginning == (index % 25 == 0))
            #expect(piece.bytes.count % 188 == 0)
            bytes += piece.bytes
            for half in 0..<2 as Range<Int64> {
                bytes += program.append(audio(index * 2 + half, [1, 2, UInt8(index)]))?.bytes ?? []
            }
        }
        let (events, statistics) = events(of: bytes)
        #expect(statistics.gaps == 0)
        #expect(statistics.malformed == 0)
        #expect(statistics.droppedPackets == 0)
        let video = units(events, .video)
        let audio = units(events, .audio)
        #expect(video.count == 50)
        #expect(audio.count == 100)
        #expect(video.filter(\.isKeyFrame).count == 2)
        #expect(audio[3].bytes == [1, 2, 1])
        let step = video[1].presentationTime - video[0].presentationTime
        #expect((step - .milliseconds(40)).magnitude < .microseconds(20))
        #expect((audio[0].presentationTime - video[0].presentationTime).magnitude < .microseconds(20))
    }

    @Test("a demuxer finds packets of Opus, and a frame that is larger than 64 kB")
    func opusRoundTrip() throws {
        var program = TransportStreamProgram(hasVideo: true, audio: .opus)
        let packet: [UInt8] = [0xFC] + [UInt8](repeating: 7, count: 600)
        let frames = [video(0, isKeyFrame: true, size: 100_000), audio(0, packet), audio(1, [0xFC, 1])]
        let bytes = frames.flatMap { program.append($0)?.bytes ?? [] }
        let (events, statistics) = events(of: bytes)
        #expect(statistics.gaps == 0)
        #expect(units(events, .video).map(\.isKeyFrame) == [true])
        #expect(units(events, .audio).map(\.bytes) == [packet, [0xFC, 1]])
    }

    @Test("audio alone is a stream that viewers begin with any packet")
    func audioOnly() throws {
        var program = TransportStreamProgram(hasVideo: false, audio: .opus)
        var bytes: [UInt8] = []
        for index in 0..<20 as Range<Int64> {
            let piece = program.append(audio(index, [0xFC, UInt8(index)]))
            #expect(piece?.isBeginning == true)
            bytes += piece?.bytes ?? []
        }
        let (events, statistics) = events(of: bytes)
        #expect(statistics.gaps == 0)
        #expect(units(events, .audio).count == 20)
        let excluded = beginnings([video(0, isKeyFrame: true)], &program)
        #expect(excluded == [nil])
    }

    @Test("video begins with a key frame, also after a loss, and frames before the last one are left out")
    func order() {
        var program = TransportStreamProgram(hasVideo: true, audio: nil)
        // A B-frame is decoded after the frame that it precedes.
        let units = [video(0), video(1, isKeyFrame: true), video(4), video(3), video(5)]
        let sent = beginnings(units, &program)
        #expect(sent == [nil, true, false, nil, false])
        program.framesLost()
        let resumed = beginnings([video(6), video(7, isKeyFrame: true)], &program)
        #expect(resumed == [nil, true])
    }

    @Test("another layer takes the place of one that has stopped, at a key frame")
    func layers() {
        var program = TransportStreamProgram(hasVideo: true, audio: nil)
        // Both have the same size.
        let first = [video(0, isKeyFrame: true), video(1, isKeyFrame: true, layer: 1), video(2)]
        let upper = beginnings(first, &program)
        #expect(upper == [true, nil, false])
        let second = [video(30, layer: 1), video(31, isKeyFrame: true, layer: 1), video(32)]
        let lower = beginnings(second, &program)
        #expect(lower == [nil, true, nil])
    }

    @Test("times continue when the capture clock is set back, and follow it when it is a little faster")
    func clock() throws {
        var program = TransportStreamProgram(hasVideo: true, audio: nil)
        var bytes: [UInt8] = []
        for index in 0..<200 as Range<Int64> {
            // The clock is 100 ppm faster, and is set back by five seconds in the middle.
            let captured = Self.start + .microseconds(index * 40_004) - .seconds(index < 100 ? 0 : 5)
            let unit = TransportStreamUnit(
                layer: 0, bytes: TransportStreamBuilder.keyFrame(size: 20), timestamp: index * Self.frameTicks,
                captureTime: captured)
            bytes += program.append(unit)?.bytes ?? []
        }
        let video = units(events(of: bytes).events, .video)
        #expect(video.count == 200)
        for (former, next) in zip(video, video.dropFirst()) {
            let step = next.presentationTime - former.presentationTime
            #expect(step > .zero && step < .milliseconds(45))
        }
    }

    @Test("a viewer whose queue is too long receives no frames until a key frame")
    func gate() throws {
        var program = TransportStreamProgram(hasVideo: true, audio: nil)
        let (first, second) = (program.append(video(0, isKeyFrame: true)), program.append(video(1)))
        let (key, inter) = (try #require(first), try #require(second))
        let limit = TransportStreamGate.longestQueue
        var gate = TransportStreamGate()
        func admitted(_ pieces: [(TransportStreamPiece, TimeSpan)]) -> [Bool] {
            pieces.map { gate.admits($0.0, queue: $0.1) }
        }
        func requests(_ queues: [TimeSpan], at time: TimeSpan) -> [Bool] {
            queues.map { gate.takeKeyFrameRequest(queue: $0, at: Instant(nanoseconds: 0) + time) }
        }
        let requestedAtFirst = requests([.zero, .zero], at: .zero)
        #expect(requestedAtFirst == [true, false])
        let sentAtFirst = admitted([(inter, .zero), (key, .zero), (inter, limit)])
        #expect(sentAtFirst == [false, true, true])
        #expect(gate.droppedCount == 0)
        let sentWhenFull = admitted([(inter, limit + .milliseconds(1)), (key, limit)])
        #expect(sentWhenFull == [false, false])
        let requestedLater = requests([limit, .zero], at: .seconds(3))
        #expect(requestedLater == [false, true])
        let sentLater = admitted([(inter, .zero), (key, .zero)])
        #expect(sentLater == [false, true])
        #expect(gate.droppedCount == 3)
        gate.queueIsFull()
        let sentAtLast = admitted([(inter, .zero)])
        #expect(sentAtLast == [false])
    }
}
