import Foundation
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastJSON

/// A platform and a publisher of the test pattern, each in its own process as in production.
struct TestPatternStream: Sendable {
    let uri: String
    let rtcPort: UInt16
    let streamID: StreamID
    private let application: (id: String, secret: String)
    private let platform: PCastProcess
    private let publisher: PCastProcess

    /// Starts a platform and a publisher. `advertise` replaces 127.0.0.1 in ICE candidates; `whenListening` is called
    /// between the two starts. Throws `BenchFailure` if one of them does not start.
    static func start(
        advertise: String? = nil, whenListening: (_ uri: String, _ rtcPort: UInt16) throws -> Void = { _, _ in }
    ) async throws -> TestPatternStream {
        let secret = (0..<4).map { _ in String(UInt64.random(in: 0...UInt64.max), radix: 36) }.joined()
        let application = (id: "bench", secret: secret)
        let platform = try PCastProcess(
            ["serve", "--listen", "127.0.0.1:0", "--rtc-port", "0"] + (advertise.map { ["--advertise", $0] } ?? []),
            environment: ["PCAST_SERVE_APPLICATION": "\(application.id):\(secret)"])
        do {
            let listening = try await platform.next("listening")
            guard case .string(let uri)? = listening["uri"], let port = listening["rtcPort"]?.number else {
                throw BenchFailure("the platform did not report its address")
            }
            try whenListening(uri, UInt16(port))
            return try await publish(to: uri, rtcPort: UInt16(port), application, platform)
        } catch {
            platform.stop()
            throw error
        }
    }

    private static func publish(
        to uri: String, rtcPort: UInt16, _ application: (id: String, secret: String), _ platform: PCastProcess
    ) async throws -> TestPatternStream {
        let tokens = [
            try builder(application).forAuthenticationOnly().build(),
            try builder(application).forPublishingOnly().build(),
        ]
        let publisher = try PCastProcess(
            ["publish", "--uri", uri, "--video", "synthetic", "--audio", "synthetic"],
            environment: ["PCAST_PUBLISH_TOKEN": tokens.joined(separator: ",")])
        do {
            guard case .string(let stream)? = try await publisher.next("publishing")["streamId"] else {
                throw BenchFailure("the publisher did not report its stream")
            }
            _ = try await publisher.next("stats")
            return TestPatternStream(
                uri: uri, rtcPort: rtcPort, streamID: StreamID(stream), application: application, platform: platform,
                publisher: publisher)
        } catch {
            publisher.stop()
            throw error
        }
    }

    private static func builder(_ application: (id: String, secret: String)) -> EdgeTokenBuilder {
        EdgeTokenBuilder().withApplicationId(application.id).withSecret(application.secret)
            .expiresIn(.seconds(3_600), from: MonotonicClock.wallTime())
    }

    func authenticationToken() throws -> String { try Self.builder(application).forAuthenticationOnly().build() }

    func viewingToken() throws -> String {
        try Self.builder(application).forOriginStream(streamID.description).forStreamingOnly().build()
    }

    func stop() {
        publisher.stop()
        platform.stop()
    }
}
