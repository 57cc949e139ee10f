import Foundation
import PCastCore
import PCastHLS
import PCastIO
import PCastJSON
import PCastWeb

/// A platform that records every RTMP publisher in a temporary folder, or none.
struct RecordingSetup: Sendable {
    private static let application = "bench"

    let rtmpPort: Int
    private let process: PCastProcess
    private let uri: String
    private let folder: URL
    private let credentials: String

    /// Starts the platform.
    ///
    /// - Throws: `BenchFailure` if it does not report its ports.
    static func start(isRecorded: Bool) async throws -> RecordingSetup {
        let secret = (0..<4).map { _ in String(UInt64.random(in: 0...UInt64.max), radix: 36) }.joined()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-recordings-\(UUID())")
        let process = try PCastProcess(
            [
                "serve", "--listen", "127.0.0.1:0", "--rtc-port", "0", "--rtmp-port", "0", "--data", folder.path,
                "--reconnect-grace", "1s",
            ] + (isRecorded ? ["--record"] : []), environment: ["PCAST_SERVE_APPLICATION": "\(application):\(secret)"])
        do {
            let listening = try await process.next("listening")
            guard case .string(let uri)? = listening["uri"], let port = listening["rtmpPort"]?.number else {
                throw BenchFailure("the platform did not report its ports")
            }
            return RecordingSetup(
                rtmpPort: Int(port), process: process, uri: uri, folder: folder,
                credentials: Base64.encode(Array("\(application):\(secret)".utf8)))
        } catch {
            process.stop()
            throw error
        }
    }

    /// Ends the platform, and removes its folder.
    func stop() {
        process.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Returns the share of a core that the platform uses in some seconds, and that of its processes for audio.
    func processorShares(seconds: Int) async throws -> (own: Double, audio: Double) {
        func times() -> (own: TimeSpan, audio: TimeSpan) {
            let children = Processor.children(of: process.processID)
            return (
                Processor.time(of: process.processID),
                children.reduce(TimeSpan.zero) { $0 + Processor.time(of: $1) }
            )
        }
        let (before, start) = (times(), MonotonicClock.now())
        try await Task.sleep(for: .seconds(seconds))
        let (after, elapsed) = (times(), (MonotonicClock.now() - start).seconds)
        return ((after.own - before.own).seconds / elapsed, (after.audio - before.audio).seconds / elapsed)
    }

    // MARK: Recordings

    private struct Listed: Decodable {
        let streamId: String
        let endTime: Int64?
        let reason: String?
        let playlistUri: String?
    }

    private struct Page: Decodable { let recordings: [Listed] }
    private struct One: Decodable { let recording: Listed }

    private func load<Value: Decodable>(_ path: String, _ type: Value.Type) async throws -> Value {
        let answer = try await HTTPRequests.send(
            "GET", uri + path, headers: [("Authorization", "Basic \(credentials)")])
        guard answer.status == 200 else {
            throw BenchFailure("\(path) was answered with status \(answer.status)")
        }
        return try JSONDecoder().decode(type, from: Data(answer.body))
    }

    /// Waits until a number of recordings have ended. Returns the addresses of their playlists.
    ///
    /// - Throws: `BenchFailure` if they do not end in two minutes, or if one ended with an error.
    func endedRecordings(_ count: Int) async throws -> [String] {
        let deadline = MonotonicClock.now() + .seconds(120)
        while true {
            let listed = try await load("/pcast/recordings?length=1000", Page.self).recordings
            if let failed = listed.first(where: { $0.reason != nil }) {
                throw BenchFailure("the recording of \(failed.streamId) ended with \(failed.reason ?? "")")
            }
            if listed.count >= count, listed.allSatisfy({ $0.endTime != nil }) {
                var playlists: [String] = []
                for recording in listed {
                    let one = try await load("/pcast/recordings/\(recording.streamId)", One.self).recording
                    guard let path = one.playlistUri else { throw BenchFailure("\(one.streamId) has no playlist") }
                    playlists.append(path.hasPrefix("/") ? uri + path : path)
                }
                return playlists
            }
            guard MonotonicClock.now() < deadline else {
                throw BenchFailure("\(listed.count) of \(count) recordings exist, and not all have ended")
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }
}

/// The frames of a recording, compared with those that its publisher sent.
struct RecordingVerification: Sendable {
    /// The publisher whose frames the recording has; nil if it has none, or those of several publishers.
    private(set) var publisher: Int?
    /// The number of frames that are complete and in order.
    private(set) var frames = 0
    /// The frames that are absent between the first and the last one that was sent.
    private(set) var missing = 0
    /// The frames whose contents are not those that were sent, or that are not in order.
    private(set) var wrong = 0
    /// The frames before the first recorded one.
    private(set) var late = 0
    /// The duration of the audio; nil without audio.
    private(set) var audio: TimeSpan?
    /// The duration of the video.
    private(set) var video = TimeSpan.zero
    /// The difference of both durations in seconds; nil without audio.
    var audioDifference: Double? { audio.map { abs(($0 - video).seconds) } }

    /// Loads all segments of a recording.
    ///
    /// - Parameters:
    ///   - uri: The address of the multivariant playlist.
    ///   - media: The media that the publishers sent.
    ///   - sent: The number of frames that each publisher sent.
    /// - Throws: `BenchFailure` if a playlist or segment cannot be loaded.
    init(_ uri: String, _ media: RTMPLoadMedia, sent: [Int: Int64]) async throws {
        guard case .multivariant(let list) = try await PlaylistObserver.load(uri),
            let variant = list.variants.first(where: { $0.resolution != nil })
        else { throw BenchFailure("\(uri) has no video") }
        func resolved(_ reference: String, _ base: String) -> String {
            URIReference(reference).resolved(against: URIReference(base)).text
        }
        if let reference = list.renditions.first(where: { $0.kind == .audio })?.uri {
            let playlist = try await Self.media(resolved(reference, uri))
            audio = playlist.segments.filter { !$0.isGap }.reduce(TimeSpan.zero) { $0 + $1.duration }
        }
        let address = resolved(variant.uri, uri)
        var expected: Int64?
        for segment in try await Self.media(address).segments where !segment.isGap {
            video = video + segment.duration
            guard let name = segment.uri else { continue }
            let answer = try await HTTPRequests.send("GET", resolved(name, address))
            guard answer.status == 200 else {
                throw BenchFailure("\(name) of \(uri) was answered with status \(answer.status)")
            }
            compare(answer.body, with: media, &expected)
        }
        guard let publisher, let next = expected, let count = sent[publisher] else { return }
        missing += Int(max(0, count - next))
    }

    private static func media(_ uri: String) async throws -> MediaPlaylist {
        guard case .media(let playlist) = try await PlaylistObserver.load(uri) else {
            throw BenchFailure("\(uri) is no media playlist")
        }
        return playlist
    }

    /// Compares the frames of a segment. `expected` is the number of the next frame; nil before the first.
    private mutating func compare(_ bytes: [UInt8], with media: RTMPLoadMedia, _ expected: inout Int64?) {
        var index = 0
        while let found = bytes[index...].firstIndex(of: RTMPFrameStamp.marker[0]) {
            index = found + 1
            guard let (stamp, rest) = RTMPFrameStamp.read(bytes, at: found) else { continue }
            let slices = media.slices(ofFrame: stamp.frame)
            let end = rest + slices.count
            let isComplete = end <= bytes.count && bytes[rest..<end].elementsEqual(slices)
            if publisher == nil {
                publisher = stamp.publisher
                late = Int(stamp.frame)
            }
            let next = expected ?? stamp.frame
            guard isComplete, stamp.publisher == publisher, stamp.frame >= next else {
                wrong += 1
                continue
            }
            missing += Int(stamp.frame - next)
            frames += 1
            expected = stamp.frame + 1
            index = end
        }
    }
}
