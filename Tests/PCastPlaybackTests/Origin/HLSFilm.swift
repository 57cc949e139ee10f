import Foundation
import PCastCodecs
import PCastCore
import PCastHLS
import PCastIO

@testable import PCastPlayback

/// A stamped film in two variants, `low` and `high`, with the same segments. `main.m3u8` lists both.
struct LadderFilm {
    let film: StampedVideo
    private let folder: TemporaryFolder

    /// The video of the lower variant has 100 kbit/s, and that of the higher one 600, regardless of its content.
    init(_ film: StampedVideo, segmentSeconds: Int, fragmented: Bool = false) throws {
        self.film = film
        folder = try TemporaryFolder()
        for (name, rate) in [("low", 100), ("high", 600)] {
            _ = try HLSFilm(
                film, segmentSeconds: segmentSeconds, in: folder, name: name, fragmented: fragmented,
                options: "-b:v \(rate)k -minrate \(rate)k -maxrate \(rate)k -bufsize \(rate)k -x264-params nal-hrd=cbr")
        }
        try folder.write(
            """
            #EXTM3U
            #EXT-X-STREAM-INF:BANDWIDTH=200000,CODECS="avc1.42c00d,mp4a.40.2",RESOLUTION=160x90
            low.m3u8
            #EXT-X-STREAM-INF:BANDWIDTH=690000,CODECS="avc1.42c00d,mp4a.40.2",RESOLUTION=320x180
            high.m3u8

            """, to: "main.m3u8")
    }

    /// Starts a server of the film. `change` modifies the answer to a request for `low0`, `low1` or `high`.
    func origin(
        _ change: @escaping @Sendable (_ name: Substring, _ answer: inout TestOrigin.Answer) -> Void
    ) throws -> TestOrigin {
        try TestOrigin { [folder] request in
            let path = request.path.dropFirst()
            guard let body = try? folder.read(String(path)) else { return nil }
            var answer = TestOrigin.Answer(body: body)
            change(path.prefix { $0 != "." }, &answer)
            return answer
        }
    }

    /// Returns the answer with a file; nil if there is none.
    func answer(_ name: String) -> TestOrigin.Answer? { (try? folder.read(name)).map { .init(body: $0) } }

    /// Returns the numbers of a variant's requested segments in order, after the first `count` requests.
    func asked(_ name: String, of origin: TestOrigin, after count: Int = 0) -> [Int] {
        origin.requests.dropFirst(count).compactMap { path in
            path.hasPrefix("/\(name)") ? Int(path.dropFirst(name.count + 1).prefix { $0 != "." }) : nil
        }
    }
}

/// A stamped film whose MPEG-TS streams contain timed ID3.
struct TaggedFilm {
    let film: StampedVideo
    let folder: TemporaryFolder
    let tags: [TransportTags.Tag]
    /// The values that are reported for the tags, in order.
    let values: [String]

    /// Creates tags at positions in seconds, in order. Each contains the time of its position, and the last one is
    /// long.
    init(_ film: StampedVideo, at positions: [Double], in folder: TemporaryFolder) {
        (self.film, self.folder) = (film, folder)
        values = positions.enumerated().map { index, seconds in
            let moment = StampedVideo.captureTime + TimeSpan(seconds: seconds)
            let more = index == positions.count - 1 ? String(repeating: " ", count: 300) : ""
            return "{\"ut\":\(moment.millisecondsSinceEpoch),\"n\":\(index)\(more)}"
        }
        tags = zip(positions, values).enumerated().map { index, tag in
            // Both versions of ID3 are in use.
            TransportTags.Tag(
                position: TimeSpan(seconds: tag.0), bytes: TimedTags.tag("", tag.1, version: index % 2 == 0 ? 4 : 3))
        }
    }

    /// Creates segments and `s.m3u8`, which lists them.
    func makeSegments(ofSeconds seconds: Int) throws {
        let hls = try HLSFilm(film, segmentSeconds: seconds, in: folder)
        try TransportTags.insert(tags, into: (0..<hls.count).map { "s\($0).ts" }, of: folder)
    }

    /// Creates the single file `film.ts`.
    func makeFile() throws {
        try Program.runFFmpeg(
            "\(try film.inputs(in: folder)) -c:v libx264 -preset ultrafast -bf 2 -g 50 -c:a aac -shortest film.ts",
            in: folder.path)
        try TransportTags.insert(tags, into: ["film.ts"], of: folder)
    }
}

/// A program of the system.
enum Program {
    static let ffmpeg = ["/usr/bin", "/usr/local/bin", "/bin"].map { "\($0)/ffmpeg" }.first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    static let hasFFmpeg: Bool = {
        if ffmpeg == nil { print("left out: playback of files and HTTP Live Streaming: ffmpeg is not installed") }
        return ffmpeg != nil
    }()

    /// Runs FFmpeg with arguments that are separated by single spaces.
    static func runFFmpeg(_ arguments: String, in folder: String) throws {
        let process = try FinishedProcess(
            running: ffmpeg ?? "/nonexistent",
            ["-v", "error", "-nostdin", "-y"] + arguments.split(separator: " ").map(String.init),
            environment: ProcessInfo.processInfo.environment, folder: folder, recording: .messages)
        guard process.hasSucceeded else { throw ProgramFailure(arguments: arguments, errors: process.text) }
    }
}

struct ProgramFailure: Error, CustomStringConvertible {
    var arguments: String
    var errors: String

    var description: String { "ffmpeg \(arguments): \(errors)" }
}

/// A folder that is removed at the end of the test.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "pcast-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ text: String, to name: String) throws { try write(Array(text.utf8), to: name) }

    func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
    }

    func read(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)")))
    }
}

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

/// A stamped film in segments, with the playlists that describe it.
struct HLSFilm {
    let film: StampedVideo
    let folder: TemporaryFolder
    /// The length of each segment.
    let segmentLength: TimeSpan
    let count: Int

    /// Creates a film in segments. `name` precedes the segments' numbers, and `options` are added to the encoder's.
    init(
        _ film: StampedVideo, segmentSeconds: Int, in folder: TemporaryFolder, name: String = "s",
        fragmented: Bool = false, tone: Int = 440, options: String = ""
    ) throws {
        (self.film, self.folder) = (film, folder)
        segmentLength = .seconds(Int64(segmentSeconds))
        count = film.seconds / segmentSeconds
        let group = film.rate * segmentSeconds
        let kind = fragmented ? "fmp4 -hls_fmp4_init_filename \(name)-init.mp4" : "mpegts"
        let ending = fragmented ? "m4s" : "ts"
        try Program.runFFmpeg(
            "\(try film.inputs(in: folder, tone: tone)) -c:v libx264 -preset ultrafast -bf 2 -g \(group) "
                + "-keyint_min \(group) -sc_threshold 0 -c:a aac -shortest \(options) -f hls -hls_time \(segmentSeconds) "
                + "-hls_list_size 0 -hls_segment_type \(kind) -hls_segment_filename \(name)%d.\(ending) \(name).m3u8",
            in: folder.path)
    }

    /// Returns a playlist of some of its MPEG-TS segments.
    func playlist(
        _ numbers: Range<Int>, isComplete: Bool = false, dates: Bool = true, more: String = "", name: String = "s"
    ) -> String {
        var text =
            "#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:\(Int(segmentLength.seconds))\n"
            + "#EXT-X-MEDIA-SEQUENCE:\(numbers.lowerBound)\n" + more
        for number in numbers {
            if dates { text += "#EXT-X-PROGRAM-DATE-TIME:\(Timestamp.text(captureTime(ofSegment: number)))\n" }
            text += "#EXTINF:\(segmentLength.seconds),\n\(name)\(number).ts\n"
        }
        return text + (isComplete ? "#EXT-X-ENDLIST\n" : "")
    }

    func captureTime(ofSegment number: Int) -> WallTime {
        StampedVideo.captureTime + TimeSpan(nanoseconds: segmentLength.nanoseconds * Int64(number))
    }
}
