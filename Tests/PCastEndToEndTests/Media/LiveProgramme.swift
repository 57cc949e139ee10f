import Foundation
import PCast
import PCastCodecs
import PCastCore

/// A live program as HTTP Live Streaming with dates. Each frame shows its number. Viewers can seek back to the
/// beginning.
struct LiveProgramme: Sendable {
    static let rate = 10
    static let size = Dimensions(width: 320, height: 180)

    let address: String
    /// The capture time of the first frame according to the playlist.
    let began: WallTime

    /// The duration in seconds.
    private static let seconds = 190

    /// Creates the program, of which `head` seconds exist at the beginning.
    static func make(head: Int, in workspace: TestWorkspace) async throws -> LiveProgramme {
        let folder = workspace.path("live")
        try await SharedFolder.provide("a live programme", at: folder) { try await write(to: folder, in: workspace) }
        let server = try workspace.start("\(BuiltProgram.peers)/live_hls.py", [folder, "\(head)"])
        let line = try await server.event("live")
        guard let port = line["port"].number, let began = line["began"].number else {
            throw EndToEndFailure("the programme does not begin\n\(server.report)")
        }
        return LiveProgramme(
            address: "http://127.0.0.1:\(Int(port))/live.m3u8",
            began: WallTime(millisecondsSinceEpoch: Int64(began)))
    }

    /// Writes the playlist and the segments.
    private static func write(to folder: String, in workspace: TestWorkspace) async throws {
        let raw = workspace.path("raw.yuv")
        try write(seconds * rate, to: raw)
        try await workspace.run(
            "ffmpeg",
            [
                "-v", "error", "-nostdin", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-s",
                "\(size.width)x\(size.height)", "-r", "\(rate)", "-i", raw, "-c:v", "libx264", "-preset", "ultrafast",
                "-g", "\(rate)", "-keyint_min", "\(rate)", "-sc_threshold", "0", "-f", "hls", "-hls_time", "1",
                "-hls_list_size", "0", "-hls_segment_type", "fmp4", "-hls_fmp4_init_filename", "init.mp4",
                "-hls_segment_filename", "\(folder)/s%d.m4s", "-hls_playlist_type", "vod", "\(folder)/main.m3u8",
            ])
        try FileManager.default.removeItem(atPath: raw)
    }

    /// Returns the capture time of a frame.
    func moment(of sight: StampScreen.Sight) -> WallTime {
        began + .milliseconds(Int64(sight.stamp.counter) * 1_000 / Int64(Self.rate))
    }

    /// Returns the time up to which the last frame of the list includes notifications. After a seek, a frame may have
    /// been on air for a while before the position; any other frame counts from its own time.
    func reach(of sights: [StampScreen.Sight]) -> WallTime? {
        guard let last = sights.last else { return nil }
        let rounding = TimeSpan.milliseconds(2)
        let before = sights.dropLast().last.map { Int($0.stamp.counter) }
        let isAfterSeek = before.map { !(1...5).contains(Int(last.stamp.counter) - $0) } ?? true
        return moment(of: last) + rounding + (isAfterSeek ? .milliseconds(Int64(1_000 / Self.rate)) : .zero)
    }

    private static func write(_ count: Int, to path: String) throws {
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        guard let file = FileHandle(forWritingAtPath: path) else { throw EndToEndFailure("\(path) cannot be written") }
        defer { try? file.close() }
        let frame = VideoFramePool().frame(
            dimensions: size, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .video))
        for index in 0..<count {
            for row in 0..<size.height {
                (frame.planeY + row * frame.strideY).update(
                    repeating: UInt8(60 + (row + 3 * index) % 120), count: size.width)
            }
            for plane in [frame.planeU, frame.planeV] {
                plane.update(repeating: UInt8(110 + index % 30), count: frame.strideUV * size.height / 2)
            }
            // A strip of zeros would be black.
            let time = StampedProgramme.began + .milliseconds(Int64(index) * 1_000 / Int64(rate))
            TestPatternStrip.draw(
                TestPatternStamp(counter: UInt16(truncatingIfNeeded: index), captureTime: time), into: frame)
            var data = Data(capacity: size.width * size.height * 3 / 2)
            for (plane, stride, width, height) in [
                (frame.planeY, frame.strideY, size.width, size.height),
                (frame.planeU, frame.strideUV, size.width / 2, size.height / 2),
                (frame.planeV, frame.strideUV, size.width / 2, size.height / 2),
            ] {
                for row in 0..<height { data.append(plane + row * stride, count: width) }
            }
            try file.write(contentsOf: data)
        }
    }
}
