import PCastCore
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
