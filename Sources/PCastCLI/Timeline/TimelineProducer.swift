import Foundation
import PCastCore
import PCastJSON
import PCastPlayback
import PCastTimeline
import PCastWeb

/// A client that writes a game's timeline on a platform.
struct TimelineProducer {
    /// The result of a request.
    struct PostResult: Decodable {
        /// The kind of change: `added`, `modified`, `deleted`, `info` or `none`.
        let change: String
        let seq: Int
    }

    private struct Failure: Decodable { let reason: String? }

    private let administration: PlatformAdministration
    private let game: TimelineGame

    init(_ administration: PlatformAdministration, _ game: TimelineGame) {
        (self.administration, self.game) = (administration, game)
    }

    /// Sends a request about an event. If `recordedAt` is nil, the platform uses the current time.
    ///
    /// - Throws: ``CommandFailure``.
    func send(
        _ method: String, event id: String, body: JSONObject? = nil, recordedAt: WallTime? = nil
    ) async throws -> PostResult {
        try await send(method, "/events/\(TimelinePlatform.encoded(id))", body, recordedAt, of: id)
    }

    func describe(_ info: JSONObject, recordedAt: WallTime? = nil) async throws -> PostResult {
        try await send("PUT", "", info, recordedAt)
    }

    private func send(
        _ method: String, _ path: String, _ body: JSONObject?, _ recordedAt: WallTime?, of event: String? = nil
    ) async throws -> PostResult {
        var address =
            "/timeline/\(TimelinePlatform.encoded(game.league))/\(TimelinePlatform.encoded(game.game))\(path)"
        if let recordedAt { address += "?recordedAt=\(TimelinePlatform.encoded(Timestamp.text(recordedAt)))" }
        let answer = try await administration.request(
            method, address, body: body.map { $0.bytes })
        if let done = try? JSONDecoder().decode(PostResult.self, from: Data(answer.body)) { return done }
        let reason = (try? JSONDecoder().decode(Failure.self, from: Data(answer.body)))?.reason
        guard let reason, answer.status != 401 else { throw administration.failure(answer) }
        // The platform's message refers to its API and not to this command.
        if let event, answer.status == 404, method != "POST" { throw Self.unknown(event) }
        throw CommandFailure(.failed, reason)
    }

    /// Returns the error for an event to change or delete that does not exist.
    static func unknown(_ event: String) -> CommandFailure {
        CommandFailure(
            .failed,
            "The game has no event “\(event)”: add it with “pcast timeline add” "
                + "without --update and --delete.")
    }
}
