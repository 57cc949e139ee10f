import Foundation
import PCastWeb

/// The resources that a platform uses: sessions, file descriptors and memory.
struct PlatformResources: Sendable {
    let sessions: Double?
    let streams: Double?
    let viewers: Double?
    let descriptors: Double?
    /// The resident set size in bytes.
    let memory: Double?

    static func look(at uri: String, process: Int32) async throws -> PlatformResources {
        let answer = try await HTTPRequests.send("GET", uri + "/metrics")
        let lines = String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
        func figure(_ name: String) -> Double? {
            lines.first { $0.hasPrefix(name + " ") }?.split(separator: " ").last.flatMap { Double($0) }
        }
        let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
        let resident = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }?
            .split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) }
        return PlatformResources(
            sessions: figure("pcast_sessions"), streams: figure("pcast_streams"), viewers: figure("pcast_viewers"),
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
