import Foundation
import PCastCodecs
import PCastCore

/// A film whose frames state their numbers, regardless of codec and size, so that the decoded frame is the reference.
/// Its audio is a tone.
struct StampedVideo {
    var seconds = 10
    /// The frame rate.
    var rate = 25
    var dimensions = Dimensions(width: 320, height: 180)
    /// The counter of the first frame.
    var first = 0

    var count: Int { seconds * rate }

    /// The capture time of the first frame according to its stamp.
    static let captureTime = WallTime(millisecondsSinceEpoch: 1_790_000_000_000)

    /// Writes the raw frames, and returns FFmpeg's arguments for two inputs: the frames and a tone.
    func inputs(in folder: TemporaryFolder, tone: Int = 440) throws -> String {
        let name = "raw-\(first).yuv"
        var data = Data()
        let pool = VideoFramePool()
        for index in 0..<count {
            let frame = pool.frame(
                dimensions: dimensions, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .video))
            let half = (dimensions.height + 1) / 2
            for row in 0..<dimensions.height {
                (frame.planeY + row * frame.strideY).update(
                    repeating: UInt8(40 + (row + 3 * index) % 150), count: dimensions.width)
            }
            frame.planeU.update(repeating: UInt8(100 + index % 50), count: frame.strideUV * half)
            frame.planeV.update(repeating: 140, count: frame.strideUV * half)
            let counter = first + index
            let time = Self.captureTime + .microseconds(Int64(counter) * 1_000_000 / Int64(rate))
            TestPatternStrip.draw(
                TestPatternStamp(counter: UInt16(truncatingIfNeeded: counter), captureTime: time),
                into: frame)
            append(frame.planeY, frame.strideY, dimensions.width, dimensions.height, to: &data)
            append(frame.planeU, frame.strideUV, (dimensions.width + 1) / 2, half, to: &data)
            append(frame.planeV, frame.strideUV, (dimensions.width + 1) / 2, half, to: &data)
        }
        try data.write(to: URL(fileURLWithPath: "\(folder.path)/\(name)"))
        return "-f rawvideo -pix_fmt yuv420p -s \(dimensions) -r \(rate) -i \(name) "
            + "-f lavfi -i sine=f=\(tone):r=48000:d=\(seconds)"
    }

    private func append(
        _ plane: UnsafeMutablePointer<UInt8>, _ stride: Int, _ width: Int, _ height: Int,
        to data: inout Data
    ) {
        for row in 0..<height { data.append(plane + row * stride, count: width) }
    }

    /// Returns the position of a frame relative to the film's first one.
    func position(of counter: Int) -> TimeSpan {
        .microseconds(Int64(counter - first) * 1_000_000 / Int64(rate))
    }
}
