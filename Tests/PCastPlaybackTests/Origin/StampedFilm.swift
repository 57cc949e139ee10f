import Foundation
import PCastCodecs
import PCastCore

/// Media each of whose pictures says which one it is, whatever codec and size they went through: the decoded picture is
/// the oracle. The sound is a tone.
struct StampedFilm {
    var seconds = 10
    /// Pictures a second.
    var rate = 25
    var dimensions = Dimensions(width: 320, height: 180)
    /// The counter of the first frame.
    var first = 0

    var count: Int { seconds * rate }

    /// When the first picture was made, as its stamp says.
    static let captureTime = WallTime(millisecondsSinceEpoch: 1_790_000_000_000)

    /// The raw pictures, and what makes ffmpeg read them: an input of their own, and one of a tone.
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

    /// The position of a picture, of the film's first.
    func position(of counter: Int) -> TimeSpan {
        .microseconds(Int64(counter - first) * 1_000_000 / Int64(rate))
    }
}
