import Foundation
import PCastCore
import Synchronization

/// A usual film: H.264 with B-frames and AAC in an MP4 file, at 30 frames per second. Its colors change continuously, so
/// that a frame can be distinguished from those a second before and after.
struct Film: Sendable {
    static let frameRate = 30
    /// The usual size. It is small, because the tests' programs encode and decode films in real time.
    static let size = Dimensions(width: 640, height: 360)
    /// The size at which frames are compared, in red, green and blue.
    private static let (width, height) = (64, 36)

    let file: MediaFile
    let seconds: Int
    private let frames: [ArraySlice<UInt8>]

    /// The position in the film at which a frame was found.
    struct Place: Sendable {
        /// The film's frame that is most similar.
        let frame: Int
        /// The mean difference of a color value (0...255) from that frame.
        let difference: Double
        /// The difference from the film's median frame, ordered by difference.
        let usualDifference: Double
    }

    /// A film that was made.
    private struct Key: Hashable {
        var seconds: Int
        var size: Dimensions
    }

    /// The files and frames of the films that were made. Each is made once, because that needs much of the processors'
    /// time.
    private static let made = Mutex<[Key: (bytes: Data, frames: [ArraySlice<UInt8>])]>([:])

    /// Makes `film.mp4` in the folder of a test.
    ///
    /// - Parameters:
    ///   - seconds: The duration of the film.
    ///   - size: The size of its frames.
    ///   - rounds: How often the file contains the film. More rounds are only copied, so that a long file takes no time.
    ///   - workspace: The environment of the test.
    /// - Returns: The film, with the frames of one round.
    /// - Throws: `EndToEndFailure` if FFmpeg fails.
    static func make(
        seconds: Int, size: Dimensions = Film.size, rounds: Int = 1, in workspace: TestWorkspace
    ) async throws -> Film {
        let film = try await makeRound(seconds: seconds, size: size, in: workspace)
        guard rounds > 1 else { return film }
        let one = workspace.path("round.mp4")
        try FileManager.default.moveItem(atPath: film.file.path, toPath: one)
        try await workspace.run(
            "ffmpeg",
            [
                "-v", "error", "-nostdin", "-stream_loop", "\(rounds - 1)", "-i", one, "-c", "copy", film.file.path,
            ])
        return film
    }

    /// Makes a film of H.265 as a camera sends it, without B-frames and with a key frame in each second. Returns the source
    /// that plays it in a loop. Throws `EndToEndFailure` if FFmpeg fails.
    static func makeH265(in workspace: TestWorkspace) async throws -> String {
        let path = workspace.path("camera.ts")
        try await workspace.run(
            "ffmpeg",
            [
                "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=\(frameRate):duration=4",
                "-c:v", "libx265", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-x265-params",
                "bframes=0:keyint=30:min-keyint=30:scenecut=0:open-gop=0:log-level=none", path,
            ])
        return "\(path)?loop=1"
    }

    private static func makeRound(
        seconds: Int, size: Dimensions, in workspace: TestWorkspace
    ) async throws -> Film {
        let (path, key) = (workspace.path("film.mp4"), Key(seconds: seconds, size: size))
        let file = MediaFile(path: path, workspace: workspace)
        if let known = made.withLock({ $0[key] }) {
            try known.bytes.write(to: URL(fileURLWithPath: path))
            return Film(file: file, seconds: seconds, frames: known.frames)
        }
        try await workspace.run(
            "ffmpeg",
            [
                "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=size=\(size):rate=\(frameRate)",
                "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100",
                "-vf", "hue=H=2*PI*t/\(seconds)", "-t", "\(seconds)", "-c:v", "libx264", "-preset", "veryfast",
                "-bf", "2", "-g", "60", "-pix_fmt", "yuv420p",
                // The source's colors are BT.601. Untagged video of a large size would be interpreted as BT.709.
                "-colorspace", "smpte170m", "-color_primaries", "smpte170m", "-color_trc", "smpte170m", "-c:a", "aac",
                "-b:a", "128k", path,
            ])
        let film = Film(file: file, seconds: seconds, frames: try await Self.frames(of: file, filter: nil))
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        made.withLock { $0[key] = (bytes, film.frames) }
        return film
    }

    /// The frame of a file that is looked for.
    enum Which { case first, last }

    /// Finds the first or the last frame of a file in the film.
    ///
    /// - Parameters:
    ///   - frame: The file.
    ///   - which: The frame of the file.
    ///   - filter: The FFmpeg filter that crops the frame; nil for the whole frame.
    /// - Returns: The position of the most similar frame in the film.
    /// - Throws: `EndToEndFailure` if the file has no frame.
    func find(_ frame: MediaFile, at which: Which = .last, filter: String? = nil) async throws -> Place {
        let all = try await Self.frames(of: frame, filter: filter)
        guard let searched = which == .first ? all.first : all.last else {
            throw EndToEndFailure("\(frame.path) holds no frame")
        }
        let differences = frames.map { Self.difference($0, searched) }
        let sorted = differences.sorted()
        return Place(
            frame: differences.firstIndex(of: sorted[0])!, difference: sorted[0],
            usualDifference: sorted[sorted.count / 2])
    }

    /// The frames are converted at full size, because colors are compared.
    private static func frames(of file: MediaFile, filter: String?) async throws -> [ArraySlice<UInt8>] {
        let filters = [filter, "format=rgb24"].compactMap(\.self).joined(separator: ",")
        return try await file.frames(
            width: width, height: height, format: "rgb24", byteCount: width * height * 3, filter: filters)
    }

    private static func difference(_ one: ArraySlice<UInt8>, _ other: ArraySlice<UInt8>) -> Double {
        // Tests are not optimized, so the bytes are read by pointers.
        one.withUnsafeBufferPointer { one in
            other.withUnsafeBufferPointer { other in
                var sum = 0
                var index = 0
                while index < one.count {
                    sum += abs(Int(one[index]) - Int(other[index]))
                    index += 1
                }
                return Double(sum) / Double(one.count)
            }
        }
    }
}
