import Foundation
import PCastCore
import Synchronization

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

    /// Returns the mean volume of the audio in dBFS; that of a band of 50 Hz if the frequency in its middle is given.
    func loudness(near frequency: Int? = nil) async throws -> Double {
        let filter = frequency.map { "bandpass=f=\($0):width_type=h:w=50," } ?? ""
        let messages = try await workspace.run(
            "ffmpeg",
            ["-hide_banner", "-nostdin", "-i", path, "-vn", "-af", "\(filter)volumedetect", "-f", "null", "-"]
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

/// A film of flashes with beeps.
extension MediaFile {
    /// Makes a film with 640x360 at 30 frames per second. Each second begins with a white frame of 100 ms and a tone of
    /// the same duration; the rest is black and silent.
    static func flashes(seconds: Int, in workspace: TestWorkspace) async throws -> MediaFile {
        let path = workspace.path("flashes.mkv")
        try await workspace.run(
            "ffmpeg",
            [
                "-v", "error", "-nostdin", "-f", "lavfi", "-i",
                "color=c=black:s=640x360:r=30,drawbox=w=iw:h=ih:c=white:t=fill:enable='lt(mod(n,30),3)'",
                "-f", "lavfi", "-i", "aevalsrc='0.5*sin(2*PI*1000*t)*lt(mod(t,1),0.1)':s=48000", "-t", "\(seconds)",
                "-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g", "30", "-pix_fmt", "yuv420p", "-c:a",
                "pcm_s16le", path,
            ])
        return MediaFile(path: path, workspace: workspace)
    }

    /// Returns for each flash how much later the nearest beep is, in seconds. A flash without a beep within half a second is
    /// left out. `level` is the volume of a beep in dBFS.
    func beepsAfterFlashes(above level: Double = -30) async throws -> [Double] {
        let flashes = try await rises(
            of: "lavfi.signalstats.YAVG", above: 120, ["-an", "-vf", "signalstats,metadata=print:file=-"])
        let beeps = try await rises(
            of: "lavfi.astats.Overall.RMS_level", above: level,
            ["-vn", "-af", "asetnsamples=n=240,astats=metadata=1:reset=1,ametadata=print:file=-"])
        return flashes.compactMap { flash in
            beeps.map { $0 - flash }.min { abs($0) < abs($1) }.flatMap { abs($0) < 0.5 ? $0 : nil }
        }
    }

    /// Returns the times in seconds at which a value that FFmpeg measures rises above a threshold.
    private func rises(of key: String, above threshold: Double, _ filter: [String]) async throws -> [Double] {
        let output = try await workspace.run(
            "ffmpeg",
            ["-v", "error", "-nostdin", "-i", path] + filter + ["-fps_mode", "passthrough", "-f", "null", "-"]
        ).output
        var time = 0.0
        var isAbove = true
        var found: [Double] = []
        for line in output {
            if let mark = line.range(of: "pts_time:") {
                time = Double(line[mark.upperBound...]) ?? time
            } else if line.hasPrefix("\(key)=") {
                let exceeds = Double(line.dropFirst(key.count + 1)).map { $0 > threshold } ?? false
                if exceeds, !isAbove { found.append(time) }
                isAbove = exceeds
            }
        }
        return found
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
        bytes.withUnsafeBufferPointer { source in
            guard let luma = source.baseAddress else { return }
            for row in 0..<dimensions.height {
                (frame.planeY + row * frame.strideY)
                    .update(from: luma + row * dimensions.width, count: dimensions.width)
            }
        }
        return TestPatternStrip.read(frame)
    }
}

/// Folders of files that several tests need. Each is made once, because that needs much of the processors' time.
enum SharedFolder {
    /// The files of the folders by their names.
    private static let made = Mutex<[String: [String: Data]]>([:])

    /// Creates a folder with the files of an earlier call with the same name, or with those that `make` writes to it.
    static func provide(_ name: String, at path: String, _ make: () async throws -> Void) async throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        if let files = made.withLock({ $0[name] }) {
            for (file, bytes) in files { try bytes.write(to: URL(fileURLWithPath: "\(path)/\(file)")) }
            return
        }
        try await make()
        let files = try FileManager.default.contentsOfDirectory(atPath: path)
        let contents = try files.map { ($0, try Data(contentsOf: URL(fileURLWithPath: "\(path)/\($0)"))) }
        made.withLock { $0[name] = Dictionary(uniqueKeysWithValues: contents) }
    }
}
