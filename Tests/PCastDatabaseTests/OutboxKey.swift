import Foundation
import PCastCore

@testable import PCastDatabase

/// Runs `body` with a temporary directory, which is deleted afterwards.
func withDirectory(_ body: (String) async throws -> Void) async throws {
    let path = NSTemporaryDirectory() + "pcast-records-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await body(path)
}

/// Samples of records.
enum Sample {
    static let application = ApplicationID("studio")
    static let time = WallTime(millisecondsSinceEpoch: 1_795_000_000_000)

    static func after(_ seconds: Int64) -> WallTime { time + .seconds(seconds) }

    static func stream(_ id: String, tags: [String] = ["live", "red"], at time: WallTime = time) -> StreamRecord {
        StreamRecord(
            id: StreamID(id), application: application, session: SessionID("session-1"), tags: tags,
            capabilities: ["real-time"], starting: time)
    }

    static func viewing(_ id: String, of stream: String, at time: WallTime) -> ViewingRecord {
        ViewingRecord(
            id: StreamID(id), stream: StreamID(stream), application: application, session: nil, tags: ["vip"],
            began: time)
    }

    /// Returns the complete life of a stream.
    static func life(_ id: String, reason: String = "ended") -> [RecordChange] {
        [
            .streamStarting(stream(id)), .streamStarted(StreamID(id), at: after(1)),
            .streamEnded(StreamID(id), at: after(61), reason: reason, counts: ViewerCounts(views: 3, mostViewers: 2)),
        ]
    }

    @discardableResult
    static func callback(_ name: String, in records: Records) async throws -> CallbackRecord? {
        try await records.setCallback(
            name, of: application, uri: "https://backend.example/\(name)", method: .post, secret: nil)
    }
}
