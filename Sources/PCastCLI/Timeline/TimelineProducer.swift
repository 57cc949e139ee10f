import Foundation
import PCastCore
import PCastIO
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
        /// The time in milliseconds by which this host's clock is ahead of the platform's, less the time that the request
        /// took to arrive; nil if the platform does not compare them.
        let clockDifference: Double?
        /// The time in milliseconds from the request to its response, within which it arrived.
        var roundTrip = 0.0

        private enum CodingKeys: CodingKey { case change, seq, clockDifference }

        /// A warning if the clocks certainly differ by more than the tolerance; nil otherwise.
        var clockWarning: String? {
            guard let clockDifference else { return nil }
            let tolerance = ProducerClock.tolerance.milliseconds
            let isAhead = clockDifference > tolerance
            guard isAhead || clockDifference + roundTrip < -tolerance else { return nil }
            let seconds = (clockDifference.magnitude / 10).rounded() / 100
            return "The clock of this host is \(seconds) s \(isAhead ? "ahead of" : "behind") the platform’s: events "
                + "appear with other frames. Synchronize both clocks, for example by chrony."
        }
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
        let sent = MonotonicClock.reference()
        address += "\(recordedAt == nil ? "?" : "&")sentAt=\(TimelinePlatform.encoded(Timestamp.text(sent.wallTime)))"
        let answer = try await administration.request(
            method, address, body: body.map { $0.bytes })
        if var done = try? JSONDecoder().decode(PostResult.self, from: Data(answer.body)) {
            done.roundTrip = (MonotonicClock.now() - sent.instant).milliseconds
            return done
        }
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
