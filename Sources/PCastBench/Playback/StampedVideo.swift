import Foundation
import Glibc
import PCastCodecs
import PCastCore
import PCastIO

/// A film whose frames carry their number, divided for low-latency HLS: fragmented MP4 with a fixed number of parts in
/// a segment, which begins with a key frame. The film is available as one file too.
struct StampedVideo {
    static let dimensions = Dimensions(width: 1_280, height: 720)
    /// The frame rate in Hz.
    static let rate = 25
    private static let framesPerPart = 10
    static let partLength = TimeSpan.milliseconds(Int64(framesPerPart * 1_000 / rate))
    static let partsPerSegment = 5
    static let segmentLength = TimeSpan(nanoseconds: partLength.nanoseconds * Int64(partsPerSegment))

    /// The Media Initialization Section (RFC 8216bis, section 3).
    let initialization: [UInt8]
    let parts: [[UInt8]]
    /// The path of the complete film; the caller removes its directory.
    let file: String

    var segmentCount: Int { parts.count / Self.partsPerSegment }

    func segment(_ number: Int) -> [UInt8] {
        let first = number * Self.partsPerSegment
        return Array(parts[first..<first + Self.partsPerSegment].joined())
    }

    /// The capture time of the first frame. It is not zero, because the strip of an all-zero stamp would be black.
    private static let captureTime = WallTime(millisecondsSinceEpoch: 1_790_000_000_000)

    /// The position of a frame.
    static func position(of counter: Int) -> TimeSpan { .milliseconds(Int64(counter) * 1_000 / Int64(rate)) }

    /// Creates a film of the given length in a directory with the program `ffmpeg`. Throws `BenchFailure` if that fails
    /// or is not installed.
    init(seconds: Int, in folder: String) throws {
        let frames = "\(folder)/pictures.y4m"
        file = "\(folder)/film.mp4"
        let group = Self.framesPerPart * Self.partsPerSegment
        guard mkfifo(frames, 0o600) == 0 else { throw BenchFailure("no pipe can be created in \(folder)") }
        let writer = try WorkerThread(name: "film") { Self.write(count: seconds * Self.rate, to: frames) }
        _ = try ChildCost.run(
            "ffmpeg",
            "-v error -nostdin -y -i \(frames) -f lavfi -i sine=f=440:r=48000:d=\(seconds)".words
                + "-c:v libx264 -preset superfast -b:v 3M -bf 2 -g \(group) -keyint_min \(group)".words
                + "-sc_threshold 0 -pix_fmt yuv420p -c:a aac -shortest -movflags +faststart \(file)".words)
        writer.join()
        _ = try ChildCost.run(
            "ffmpeg",
            "-v error -nostdin -y -i \(file) -c copy -f hls -hls_time \(Self.partLength.seconds) -hls_list_size 0".words
                + "-hls_flags split_by_time -hls_segment_type fmp4 -hls_fmp4_init_filename init.mp4".words
                + ["-hls_segment_filename", "\(folder)/%d.m4s", "\(folder)/parts.m3u8"])
        initialization = try Self.read("\(folder)/init.mp4")
        let count = seconds * Self.rate / Self.framesPerPart
        parts = try (0..<count).map { try Self.read("\(folder)/\($0).m4s") }
        unlink(frames)
    }

    private static func read(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Writes the frames in the YUV4MPEG2 format until the reader closes the pipe.
    private static func write(count: Int, to path: String) {
        guard let file = fopen(path, "w") else { return }
        defer { fclose(file) }
        fputs(header(rate: rate), file)
        let pool = VideoFramePool()
        for index in 0..<count {
            guard write(index, at: captureTime + position(of: index), to: file, pool) else { return }
        }
    }

    /// Returns the header of a file in the YUV4MPEG2 format.
    static func header(rate: Int) -> String {
        "YUV4MPEG2 W\(dimensions.width) H\(dimensions.height) F\(rate):1 Ip A1:1 C420jpeg\n"
    }

    /// Writes a frame with its number and its capture time. Returns false if the reader has closed the pipe.
    static func write(
        _ index: Int, at time: WallTime, to file: UnsafeMutablePointer<FILE>, _ pool: VideoFramePool
    ) -> Bool {
        let halves = Dimensions(width: dimensions.width / 2, height: dimensions.height / 2)
        let frame = pool.frame(
            dimensions: dimensions, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .video))
        for row in 0..<dimensions.height {
            for column in stride(from: 0, to: dimensions.width, by: 64) {
                (frame.planeY + row * frame.strideY + column).update(
                    repeating: UInt8(40 + (row + column + 3 * index) % 150), count: 64)
            }
        }
        frame.planeU.update(repeating: UInt8(100 + index % 50), count: frame.strideUV * halves.height)
        frame.planeV.update(repeating: 140, count: frame.strideUV * halves.height)
        TestPatternStrip.draw(
            TestPatternStamp(counter: UInt16(truncatingIfNeeded: index), captureTime: time), into: frame)
        fputs("FRAME\n", file)
        let planes = [
            (frame.planeY, frame.strideY, dimensions), (frame.planeU, frame.strideUV, halves),
            (frame.planeV, frame.strideUV, halves),
        ]
        for (plane, stride, size) in planes {
            for row in 0..<size.height {
                guard fwrite(plane + row * stride, 1, size.width, file) == size.width else { return false }
            }
        }
        return true
    }
}

extension String {
    fileprivate var words: [String] { split(separator: " ").map(String.init) }
}
