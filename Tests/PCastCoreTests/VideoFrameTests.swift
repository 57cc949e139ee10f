import PCastCore
import Testing

@Suite struct VideoFrameTests {
    @Test("rows are padded, and frames of an odd size have a chroma sample for their last column and row")
    func layout() {
        let even = VideoFrame.layout(Dimensions(width: 1280, height: 720))
        #expect(even == (1280, 640, 1280 * 720 * 3 / 2))
        let odd = VideoFrame.layout(Dimensions(width: 33, height: 3))
        #expect(odd == (64, 32, 64 * 3 + 2 * 32 * 2))
        let packed = VideoFrame.layout(Dimensions(width: 5, height: 5), alignment: 1)
        #expect(packed == (5, 3, 25 + 2 * 9))
    }

    private final class Releases: @unchecked Sendable {  // used on one test's thread
        var count = 0
    }

    @Test("planes are stored one after another, and memory is released once")
    func planesAndRelease() {
        let releases = Releases()
        let dimensions = Dimensions(width: 33, height: 3)
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: VideoFrame.layout(dimensions).byteCount, alignment: 32)
        var frame: VideoFrame? = VideoFrame(
            dimensions: dimensions, captureTime: nil, timestamp: MediaTime(ticks: 1, rate: .video), memory: memory
        ) { memory in
            releases.count += 1
            memory.deallocate()
        }
        #expect(frame.map { $0.planeU - $0.planeY } == 64 * 3)
        #expect(frame.map { $0.planeV - $0.planeU } == 32 * 2)
        let time = WallTime(millisecondsSinceEpoch: 5)
        var retimed = frame?.retimed(captureTime: time, timestamp: MediaTime(ticks: 2, rate: .video))
        frame = nil
        #expect(releases.count == 0)
        #expect(retimed?.captureTime == time && retimed?.timestamp.ticks == 2 && retimed?.dimensions == dimensions)
        retimed = nil
        #expect(releases.count == 1)
    }
}
