import PCastCore
import PCastHLS
import Testing

@testable import PCastPackaging

@Suite("Decoding times from presentation times")
struct FrameReorderingTests {
    /// Adds frames with presentation times in decoding order. Returns the times of those that were accepted.
    private static func order(
        _ times: [Int64], _ reordering: inout FrameReordering<Int64>
    ) -> [FrameReordering<Int64>.Ordered] {
        times.flatMap { reordering.accepts($0) ? reordering.append($0, at: $0) : [] }
    }

    @Test("without B-frames, each frame is decoded at its presentation time at once")
    func inOrder() {
        var reordering = FrameReordering<Int64>()
        let ordered = Self.order([0, 1, 2, 5], &reordering)
        #expect(ordered.map(\.decodingTime) == [0, 1, 2, 5])
        #expect(ordered.map(\.presentationTime) == [0, 1, 2, 5])
        #expect(!reordering.isWaiting)
    }

    @Test(
        "frames keep their order and their presentation times, and decoding times increase",
        arguments: [
            // Two B-frames, of which none is a reference, and three with one.
            (1, [0, 3, 1, 2, 6, 4, 5, 9, 7, 8]), (2, [0, 4, 2, 1, 3, 8, 6, 5, 7]),
            // Leading frames of an open group.
            (2, [0, 3, 1, 2, 8, 4, 6, 5, 7, 9]),
        ] as [(Int, [Int64])])
    func bidirectional(depth: Int, times: [Int64]) {
        var reordering = FrameReordering<Int64>()
        reordering.setStatedDepth(depth)
        let ordered = Self.order(times, &reordering) + reordering.flush()
        #expect(ordered.map(\.frame) == times)
        #expect(ordered.map(\.presentationTime) == times)
        #expect(ordered.map(\.decodingTime) == times.sorted())
    }

    @Test("a number of reordered frames that no header states is found, and applies from the next key frame on")
    func unstated() {
        var reordering = FrameReordering<Int64>()
        #expect(Self.order([0, 4, 2, 1], &reordering).map(\.decodingTime) == [0, 4])
        #expect(reordering.depth == 1)
        // The key frame follows what was dropped.
        let later = Self.order([5, 9, 7, 6, 8, 10, 14, 12, 11, 13], &reordering)
        #expect(later.first?.decodingTime == 5)
        #expect(reordering.depth == 2, "a frame was too late with one")
        reordering.setStatedDepth(0)
        #expect(reordering.depth == 2, "a header that states less is not believed")
        _ = reordering.flush()
        let last = Self.order([15, 19, 17, 16, 18, 20], &reordering) + reordering.flush()
        #expect(last.map(\.frame) == [15, 19, 17, 16, 18, 20])
        #expect(last.map(\.decodingTime) == [15, 16, 17, 18, 19, 20])
        reordering.restart()
        #expect(reordering.depth == 0)
    }

    @Test("frames keep their order when the capture clock is set back between them")
    func captureClock() throws {
        let sets = try MediaSamples.parameterSets(MediaSamples.size)
        var packager = StreamPackager(
            PackagerConfiguration(instance: "i1"),
            renditions: [RenditionDescription(name: "video", source: .video, bitrate: .kilobits(800))])
        // Two B-frames between others. The encoder's headers do not state them, so the first group finds the number.
        var order: [Int64] = []
        for group: Int64 in 0..<3 {
            order.append(group * 31)
            for first in stride(from: group * 31 + 1, to: group * 31 + 31, by: 3) {
                order += [first + 2, first, first + 1]
            }
        }
        for (index, number) in order.enumerated() {
            // The clock is corrected by a second between two B-frames of the third group.
            let error = TimeSpan.seconds(index < 76 ? 1 : 0 as Int64)
            packager.append(
                AccessUnit(
                    bytes: MediaSamples.unit(isKeyFrame: number % 31 == 0, parameterSets: sets, number: Int(number)),
                    timestamp: number * 3_000,
                    captureTime: LiveRun.start + ClockRate.video.span(ofTicks: number * 3_000) + error), to: "video")
        }
        packager.finish()
        let playlist = try #require(packager.mediaPlaylist(of: "video"))
        var times: [Int64] = []
        for segment in playlist.segments where !segment.isGap {
            let bytes = try #require(packager.file(.segment(segment.number), of: "video"))
            var offset = 0
            while offset < bytes.count {
                let rest = Array(bytes[offset...])
                let head = try #require(CMAFFragmentDescription.headSize(rest))
                let size = head + rest[head - 8..<head - 4].reduce(0) { $0 << 8 | Int($1) } - 8
                let fragment = try #require(CMAFFragmentDescription(Array(rest.prefix(size)), size: size))
                var time = fragment.decodeTime
                for sample in fragment.samples {
                    times.append(time + Int64(sample.compositionOffset))
                    time += Int64(sample.duration)
                }
                offset += size
            }
        }
        let last = Array(times.suffix(31))
        let places = last.map { time in last.count { $0 < time } }
        let expected = order.suffix(31).map { number in Int(number - 62) }
        #expect(places == expected, "\(last)")
    }

    @Test("a repeated time is not accepted")
    func repeated() {
        var reordering = FrameReordering<Int64>()
        reordering.setStatedDepth(2)
        #expect(Self.order([0, 3, 3, 1], &reordering).map(\.frame) == [0])
        #expect(reordering.flush().map(\.frame) == [3, 1])
    }

    @Test("the number of frames that wait is limited")
    func limit() {
        var reordering = FrameReordering<Int64>()
        reordering.setStatedDepth(1_000)
        #expect(reordering.depth == 16)
        let ordered = Self.order(Array(0..<100), &reordering)
        #expect(ordered.count == 84)
    }
}
