import Foundation
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastJSON
import PCastWeb

/// A platform that stores its data in a directory, and a publisher of small video frames, each in its own process.
struct SessionSetup: Sendable {
    let port: UInt16
    private let uri: String
    private let directory: String
    private let stream: String
    private let secret: String
    private let platform: PCastProcess
    private let publisher: PCastProcess

    private static let application = "bench"
    /// The time to wait for the platform to return memory; it does so after many clients have left and again half a
    /// minute later.
    private static let memoryReturnDelay = Duration.seconds(40)

    /// Starts a platform that ends the session of an absent client after `absence` seconds, and a publisher. Throws
    /// `BenchFailure` if one of them does not start.
    static func start(absence: Int) async throws -> SessionSetup {
        let secret = (0..<4).map { _ in String(UInt64.random(in: 0...UInt64.max), radix: 36) }.joined()
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-bench-\(UUID())").path
        let platform = try PCastProcess(
            [
                "serve", "--listen", "127.0.0.1:0", "--rtc-port", "0", "--data", directory, "--session-timeout",
                "\(absence)s",
            ], environment: ["PCAST_SERVE_APPLICATION": "\(application):\(secret)"])
        do {
            guard case .string(let uri)? = try await platform.next("listening")["uri"],
                let port = uri.split(separator: ":").last.flatMap({ UInt16($0) })
            else { throw BenchFailure("the platform did not report its address") }
            let token = try builder(secret).forPublishingOnly().build()
            let publisher = try PCastProcess(
                [
                    "publish", "--uri", uri, "--video", "synthetic", "--size", "160x90", "--fps", "2", "--audio",
                    "null",
                ], environment: ["PCAST_PUBLISH_TOKEN": token])
            do {
                guard case .string(let stream)? = try await publisher.next("publishing")["streamId"] else {
                    throw BenchFailure("the publisher did not report its stream")
                }
                return SessionSetup(
                    port: port, uri: uri, directory: directory, stream: stream, secret: secret, platform: platform,
                    publisher: publisher)
            } catch {
                publisher.stop()
                throw error
            }
        } catch {
            platform.stop()
            throw error
        }
    }

    private static func builder(_ secret: String) -> EdgeTokenBuilder {
        EdgeTokenBuilder().withApplicationId(application).withSecret(secret)
            .expiresIn(.seconds(86_400), from: MonotonicClock.wallTime())
    }

    func authenticationToken() throws -> String { try Self.builder(secret).forAuthenticationOnly().build() }

    func viewingToken() throws -> String {
        try Self.builder(secret).forOriginStream(stream).forStreamingOnly().build()
    }

    func resources() async throws -> PlatformResources {
        try await PlatformResources.read(from: uri, process: platform.processID)
    }

    /// Returns the resources in use when only the publisher is connected, or after at most a minute.
    func waitUntilSettled() async throws -> PlatformResources {
        let deadline = ContinuousClock.now + .seconds(60)
        var last = try await resources()
        while ContinuousClock.now < deadline, (last.sessions ?? 2) > 1 || (last.viewers ?? 1) > 0 {
            try await Task.sleep(for: .milliseconds(250))
            last = try await resources()
        }
        // Time for closing connections to be released.
        try await Task.sleep(for: .seconds(5))
        return try await resources()
    }

    /// Returns the same after memory has fallen to at most `limit` bytes more than `before`, or after the time allowed
    /// for that.
    func waitUntilSettled(comparedWith before: PlatformResources, by limit: Double) async throws -> PlatformResources {
        var last = try await waitUntilSettled()
        let deadline = ContinuousClock.now + Self.memoryReturnDelay
        while ContinuousClock.now < deadline, let memory = last.memory, let least = before.memory,
            memory - least > limit
        {
            try await Task.sleep(for: .seconds(1))
            last = try await resources()
        }
        return last
    }

    func stop() {
        publisher.stop()
        platform.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }
}

/// The resources that a platform uses: sessions, file descriptors and memory.
struct PlatformResources: Sendable {
    let sessions: Double?
    let streams: Double?
    let viewers: Double?
    let descriptors: Double?
    /// The resident set size in bytes.
    let memory: Double?

    static func read(from uri: String, process: Int32) async throws -> PlatformResources {
        let answer = try await HTTPRequests.send("GET", uri + "/metrics")
        let lines = String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
        func metric(_ name: String) -> Double? {
            lines.first { $0.hasPrefix(name + " ") }?.split(separator: " ").last.flatMap { Double($0) }
        }
        let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
        let resident = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }?
            .split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) }
        return PlatformResources(
            sessions: metric("pcast_sessions"), streams: metric("pcast_streams"), viewers: metric("pcast_viewers"),
            descriptors: (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd")).map {
                Double($0.count)
            },
            memory: resident.map { $0 * 1_024 })
    }

    var row: [(key: String, value: Double?)] {
        [
            ("sessions", sessions), ("streams", streams), ("viewers", viewers), ("descriptors", descriptors),
            ("memory", memory),
        ]
    }
}
