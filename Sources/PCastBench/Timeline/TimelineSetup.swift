import Foundation
import PCastCore
import PCastEdgeAuth
import PCastJSON
import PCastTimeline
import PCastWeb

/// A platform in its own process that stores its timelines on disk, and the interface of the producer.
final class TimelineSetup: Sendable {
    let uri: String
    private let process: PCastProcess

    private static let application = "bench:bench-secret"

    static func start(in folder: String) async throws -> TimelineSetup {
        let limits = [
            "connections=30000", "connections-per-address=30000", "connections-per-second=100000",
            "requests-per-second=100000", "joins-per-second=100000",
        ]
        let process = try PCastProcess(
            ["serve", "--listen", "127.0.0.1:0", "--rtc-port", "0", "--data", folder + "/data"]
                + limits.flatMap { ["--limit", $0] }, environment: ["PCAST_SERVE_APPLICATION": application])
        do {
            guard case .string(let uri)? = try await process.next("listening")["uri"] else {
                throw BenchFailure("the platform did not report its address")
            }
            return TimelineSetup(uri, process)
        } catch {
            process.stop()
            throw error
        }
    }

    private init(_ uri: String, _ process: PCastProcess) { (self.uri, self.process) = (uri, process) }

    func stop() { process.stop() }

    /// Sends a request about a game as the producer. Throws `BenchFailure` if the platform refuses it.
    func notify(_ method: String, _ path: String, _ body: JSONObject?) async throws {
        let credentials = Base64.encode(Array(Self.application.utf8))
        let answer = try await HTTPRequests.send(
            method, uri + "/timeline/" + path, headers: [("Authorization", "Basic \(credentials)")],
            body: body.map { $0.bytes })
        guard (200...201).contains(answer.status) else {
            throw BenchFailure(
                "the platform responded with status \(answer.status): \(String(decoding: answer.body, as: UTF8.self))")
        }
    }
}
