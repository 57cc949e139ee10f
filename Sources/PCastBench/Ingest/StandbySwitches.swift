import Foundation
import Glibc
import PCastCore
import PCastIO
import PCastWeb

/// The switches of a declared stream between two encoders, as a viewer sees them. The first encoder is stopped like one whose
/// cable is unplugged: its connection stays open, and it sends nothing.
struct StandbySwitches {
    /// The number of times that the second encoder takes over, and the first one returns.
    let count: Int

    struct Result {
        /// The longest time without a frame while the second encoder took over, for each time, in milliseconds.
        var takeovers: [Double] = []
        /// The longest time without a frame while the first encoder returned.
        var returns: [Double] = []
    }

    private static let name = "pair"
    /// The time within which an encoder is admitted or selected.
    private static let limit = TimeSpan.seconds(60)
    private static let interval = Duration.milliseconds(20)
    /// The time for which frames are observed after a switch.
    private static let observation = Duration.seconds(1)

    private struct Answer: Decodable {
        struct Name: Decodable {
            struct Publisher: Decodable {
                let streamId: String
                let isSelected: Bool
            }

            let publishers: [Publisher]

            var selected: String? { publishers.first(where: \.isSelected)?.streamId }
        }

        let name: Name
    }

    /// Measures the switches at a platform of its own. Throws `BenchFailure` if it does not start or an encoder is not
    /// selected.
    func measure(_ report: inout Report) async throws -> Result {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-standby-\(UUID()).yaml")
        try Data("streams:\n  \(Self.name):\n    standby: true\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let setup = try await FanOutSetup.start(["--config", file.path, "--rtmp-port", "0"], isPinned: false)
        defer { setup.stop() }
        let first = try Encoder(of: Self.name, at: setup)
        defer { first.stop() }
        let own = try await selected(at: setup, "no encoder is selected") { $0.selected != nil }
        let second = try Encoder(of: Self.name, at: setup)
        defer { second.stop() }
        _ = try await selected(at: setup, "the second encoder is not admitted") { $0.publishers.count == 2 }

        let viewers = try LoadViewers(decryptsEach: 1)
        defer { viewers.leave() }
        let stream = StreamID(Self.name)
        try await viewers.join(0, stream, try setup.viewingToken(stream), at: setup)
        try await viewers.waitUntilWatching(1, within: Self.limit)
        let gap = VideoGap()
        await viewers.record(gap)

        var result = Result()
        for _ in 0..<count {
            // Both encoders are steady.
            try await Task.sleep(for: Self.observation)
            gap.begin()
            first.pause()
            _ = try await selected(at: setup, "the second encoder is not selected") {
                $0.selected != nil && $0.selected != own
            }
            result.takeovers.append(try await longest(gap))
            gap.begin()
            first.resume()
            _ = try await selected(at: setup, "the first encoder is not selected again") { $0.selected == own }
            result.returns.append(try await longest(gap))
        }
        report.row(
            "standby",
            [
                "takeoverP50": Percentile.of(result.takeovers, 0.5), "takeoverSlowest": result.takeovers.max(),
                "returnP50": Percentile.of(result.returns, 0.5), "returnSlowest": result.returns.max(),
            ])
        return result
    }

    /// Returns the longest time without a frame until a moment after a switch, in milliseconds. Throws `BenchFailure` if
    /// the viewer has received nothing.
    private func longest(_ gap: VideoGap) async throws -> Double {
        try await Task.sleep(for: Self.observation)
        guard let longest = gap.longest(until: MonotonicClock.now()) else {
            throw BenchFailure("the viewer received no frame")
        }
        return longest.milliseconds
    }

    /// Waits until the state of the stream fulfils a condition. Returns the selected publisher. Throws `BenchFailure` with
    /// the words if that does not happen in time.
    private func selected(
        at setup: FanOutSetup, _ failure: String, _ condition: (Answer.Name) -> Bool
    ) async throws -> String? {
        let end = MonotonicClock.now() + Self.limit
        while true {
            let answer = try await HTTPRequests.send(
                "GET", "\(setup.uri)/pcast/name/\(Self.name)", headers: [("Authorization", setup.authorization)])
            let name = try JSONDecoder().decode(Answer.self, from: Data(answer.body)).name
            if condition(name) { return name.selected }
            guard MonotonicClock.now() < end else { throw BenchFailure(failure) }
            try await Task.sleep(for: Self.interval)
        }
    }

    /// ffmpeg, which publishes H.264 with a key frame each second, and AAC, by RTMP.
    private final class Encoder: Sendable {
        private let process = Process()

        init(of name: String, at setup: FanOutSetup) throws {
            guard let port = setup.rtmpPort else { throw BenchFailure("the platform has no port for RTMP") }
            process.executableURL = try SystemProgram.url(of: "ffmpeg")
            process.arguments = [
                "-v", "error", "-nostdin", "-re", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30", "-re", "-f",
                "lavfi", "-i", "sine=frequency=220:sample_rate=48000", "-c:v", "libx264", "-preset", "ultrafast",
                "-tune", "zerolatency", "-bf", "0", "-g", "30", "-pix_fmt", "yuv420p", "-c:a", "aac", "-f", "flv",
                "rtmp://127.0.0.1:\(port)/ingest/\(try setup.publishingToken(name: name))",
            ]
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try process.run()
        }

        func pause() { kill(process.processIdentifier, SIGSTOP) }
        func resume() { kill(process.processIdentifier, SIGCONT) }

        func stop() {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
    }
}
