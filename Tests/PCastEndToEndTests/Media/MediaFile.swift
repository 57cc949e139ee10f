import Foundation
import PCastCore

/// A film, a recording or a still image on disk, as FFmpeg reads it.
struct MediaFile: Sendable {
    struct Track: Sendable {
        let kind: String
        let codec: String
        let width: Int
        let height: Int
        /// The number of frames, counted by decoding all of them.
        let frames: Int
        /// The duration in seconds.
        let duration: Double
        /// Whether any frame is predicted from later ones.
        let hasBFrames: Bool
    }

    let path: String
    let workspace: TestWorkspace

    /// Decodes the whole file. Throws if FFmpeg reports any problem.
    func tracks() async throws -> [Track] {
        let fields = "codec_type,codec_name,width,height,nb_read_frames,duration,has_b_frames"
        let (output, complaints) = try await workspace.run(
            "ffprobe",
            ["-v", "error", "-count_frames", "-show_entries", "stream=\(fields)", "-of", "json=compact=1", path])
        guard complaints.isEmpty else { throw EndToEndFailure("\(path) is not whole: \(complaints)") }
        guard let received = JSON(line: output.joined()) else {
            throw EndToEndFailure("ffprobe told nothing of \(path)")
        }
        return received["streams"].list.map { track in
            Track(
                kind: track["codec_type"].text ?? "", codec: track["codec_name"].text ?? "",
                width: Int(track["width"].number ?? 0), height: Int(track["height"].number ?? 0),
                frames: track["nb_read_frames"].text.flatMap(Int.init) ?? 0,
                duration: track["duration"].text.flatMap(Double.init) ?? 0,
                hasBFrames: (track["has_b_frames"].number ?? 0) > 0)
        }
    }

    /// Returns the only track of a kind.
    func track(_ kind: String) async throws -> Track {
        let found = try await tracks().filter { $0.kind == kind }
        guard found.count == 1 else { throw EndToEndFailure("\(path) has \(found.count) tracks of \(kind)") }
        return found[0]
    }

    /// Returns the mean volume of the audio in dBFS.
    func loudness() async throws -> Double {
        let messages = try await workspace.run(
            "ffmpeg", ["-hide_banner", "-nostdin", "-i", path, "-vn", "-af", "volumedetect", "-f", "null", "-"]
        ).messages
        let mark = "mean_volume: "
        guard let line = messages.first(where: { $0.contains(mark) }), let range = line.range(of: mark),
            let loudness = Double(line[range.upperBound...].prefix { $0 != " " })
        else { throw EndToEndFailure("FFmpeg does not tell how loud \(path) is") }
        return loudness
    }

    /// Returns every frame, scaled to a size, in a format of FFmpeg with a number of bytes per frame. The optional
    /// filter is applied before scaling.
    func frames(
        width: Int, height: Int, format: String, byteCount: Int, filter: String? = nil
    ) async throws -> [ArraySlice<UInt8>] {
        let raw = workspace.path("pictures-\(UUID().uuidString.prefix(8)).raw")
        defer { try? FileManager.default.removeItem(atPath: raw) }
        let filters = [filter, "scale=\(width):\(height):flags=area"].compactMap(\.self).joined(separator: ",")
        try await workspace.run(
            "ffmpeg",
            [
                "-v", "error", "-nostdin", "-i", path, "-an", "-vf", filters, "-fps_mode", "passthrough",
                "-f", "rawvideo", "-pix_fmt", format, raw,
            ])
        let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: raw)))
        return stride(from: 0, through: bytes.count - byteCount, by: byteCount).map { bytes[$0..<$0 + byteCount] }
    }
}

/// The test pattern in files that programs wrote.
extension MediaFile {
    /// Returns the contents of the time strips of all frames; nil for a frame without a strip. Frames are read with the
    /// given size, whose width must be a multiple of 64.
    func stamps(width: Int = 640, height: Int = 360) async throws -> [TestPatternStamp?] {
        let frames = try await frames(
            width: width, height: height, format: "yuv420p", byteCount: width * height * 3 / 2)
        return frames.map { Self.stamp($0, Dimensions(width: width, height: height)) }
    }

    private static func stamp(_ bytes: ArraySlice<UInt8>, _ dimensions: Dimensions) -> TestPatternStamp? {
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: VideoFrame.layout(dimensions).byteCount, alignment: 32)
        let frame = VideoFrame(
            dimensions: dimensions, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .video), memory: memory
        ) { $0.deallocate() }
        for row in 0..<dimensions.height {
            for column in 0..<dimensions.width {
                frame.planeY[row * frame.strideY + column] = bytes[bytes.startIndex + row * dimensions.width + column]
            }
        }
        return TestPatternStrip.read(frame)
    }
}
