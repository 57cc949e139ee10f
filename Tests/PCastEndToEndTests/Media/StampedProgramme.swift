import Foundation
import PCast
import PCastCodecs
import PCastCore
import Synchronization
import Testing

/// A program as HTTP Live Streaming on its own server. Each frame shows its number. There is a tone, the time of day,
/// and an event message in the middle.
struct StampedProgramme: Sendable {
    static let rate = 20
    static let size = Dimensions(width: 320, height: 180)
    /// The capture time of the first frame.
    static let began = WallTime(millisecondsSinceEpoch: 1_790_000_000_000)
    /// The position of the event message.
    static let messageAt = TimeSpan.milliseconds(2_500)

    let address: String

    /// The duration in seconds.
    private static let seconds = 60

    static func make(in workspace: TestWorkspace) async throws -> StampedProgramme {
        let folder = workspace.path("programme")
        try await SharedFolder.provide("a stamped programme", at: folder) { try await write(to: folder, in: workspace) }
        guard let python = BuiltProgram.installed("python3") else { throw EndToEndFailure("python3 is not installed") }
        let server = try workspace.start(
            python, ["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", folder])
        let line = await server.output.lines.first { $0.contains("port") } ?? ""
        guard let port = line.split(separator: " ").compactMap({ Int($0) }).first else {
            throw EndToEndFailure("no server\n\(server.report)")
        }
        return StampedProgramme(address: "http://127.0.0.1:\(port)/main.m3u8")
    }

    /// Writes the playlist and the segments.
    private static func write(to folder: String, in workspace: TestWorkspace) async throws {
        let raw = workspace.path("raw.yuv")
        try frames(seconds * rate).write(to: URL(fileURLWithPath: raw))
        try await workspace.run(
            "ffmpeg",
            [
                "-v", "error", "-nostdin", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-s",
                "\(size.width)x\(size.height)",
                "-r", "\(rate)", "-i", raw, "-f", "lavfi", "-i", "sine=f=440:r=48000:d=\(seconds)", "-c:v", "libx264",
                "-preset", "ultrafast", "-g", "\(rate)", "-keyint_min", "\(rate)", "-sc_threshold", "0", "-c:a", "aac",
                "-shortest", "-f", "hls", "-hls_time", "2", "-hls_list_size", "0", "-hls_segment_type", "fmp4",
                "-hls_fmp4_init_filename", "init.mp4", "-hls_segment_filename", "\(folder)/s%d.m4s",
                "-hls_playlist_type", "vod", "\(folder)/main.m3u8",
            ])
        try FileManager.default.removeItem(atPath: raw)
        let (playlist, segment) = ("\(folder)/main.m3u8", "\(folder)/s1.m4s")
        let text = try String(contentsOfFile: playlist, encoding: .utf8)
        guard let first = text.range(of: "#EXTINF") else { throw EndToEndFailure("no playlist:\n\(text)") }
        let date = Date(timeIntervalSince1970: 1_790_000_000).ISO8601Format()
        try text.replacingCharacters(in: first, with: "#EXT-X-PROGRAM-DATE-TIME:\(date)\n#EXTINF")
            .write(toFile: playlist, atomically: true, encoding: .utf8)
        var bytes = Data(message)
        bytes.append(try Data(contentsOf: URL(fileURLWithPath: segment)))
        try bytes.write(to: URL(fileURLWithPath: segment))
    }

    private static func frames(_ count: Int) -> Data {
        var data = Data()
        let pool = VideoFramePool()
        for index in 0..<count {
            let frame = pool.frame(dimensions: size, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .video))
            for row in 0..<size.height {
                (frame.planeY + row * frame.strideY).update(
                    repeating: UInt8(60 + (row + 3 * index) % 120), count: size.width)
            }
            for plane in [frame.planeU, frame.planeV] {
                plane.update(repeating: UInt8(110 + index % 30), count: frame.strideUV * size.height / 2)
            }
            let time = began + .microseconds(Int64(index) * 1_000_000 / Int64(rate))
            TestPatternStrip.draw(
                TestPatternStamp(counter: UInt16(truncatingIfNeeded: index), captureTime: time), into: frame)
            for (plane, stride, width, height) in [
                (frame.planeY, frame.strideY, size.width, size.height),
                (frame.planeU, frame.strideUV, size.width / 2, size.height / 2),
                (frame.planeV, frame.strideUV, size.width / 2, size.height / 2),
            ] {
                for row in 0..<height { data.append(plane + row * stride, count: width) }
            }
        }
        return data
    }

    /// An `emsg` box of version 1 (ISO/IEC 23009-1, section 5.10.3.3), with its time by the media's clock.
    private static var message: [UInt8] {
        func number(_ value: UInt64, _ count: UInt64) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * (count - 1 - $0))) }
        }
        let body =
            [1, 0, 0, 0] + number(1_000, 4) + number(UInt64(messageAt.milliseconds), 8) + number(0xFFFF_FFFF, 4)
            + number(7, 4) + Array("urn:score\0\0".utf8) + Array(#"{"home":{"score":1}}"#.utf8)
        return number(UInt64(body.count + 8), 4) + Array("emsg".utf8) + body
    }
}

/// The test pattern and its audio as a file, recorded from a stream of this system.
enum StampedRecording {
    /// A recording that was made.
    private struct Key: Hashable {
        var name: String
        var seconds: Int
    }

    /// The recordings that were made. Each is made once, because that takes as long as its duration.
    private static let made = Mutex<[Key: Data]>([:])

    /// Records the synthetic sources until at least a number of seconds of frames were displayed, however long a busy
    /// machine takes for them. Tests that name the same file share the recording.
    static func make(_ name: String, seconds: Int, in workspace: TestWorkspace) async throws -> MediaFile {
        let (path, key) = (workspace.path(name), Key(name: name, seconds: seconds))
        let file = MediaFile(path: path, workspace: workspace)
        if let known = made.withLock({ $0[key] }) {
            try known.write(to: URL(fileURLWithPath: path))
            return file
        }
        let publisher = try workspace.pcast(
            "publish", "--listen", "127.0.0.1:0", "--video", "synthetic", "--audio", "synthetic", "--size", "640x360")
        _ = try await publisher.event("publishing")
        let viewer = try workspace.pcast("subscribe", "--record", path)
        _ = try await viewer.event("stats", within: .seconds(seconds) + .timeout) { event in
            (event["framesRendered"].number ?? 0) >= Double(seconds * 30)
        }
        viewer.send(SIGINT)
        try await viewer.expectExitStatus(0)
        try await publisher.end()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        made.withLock { $0[key] = bytes }
        return file
    }
}
