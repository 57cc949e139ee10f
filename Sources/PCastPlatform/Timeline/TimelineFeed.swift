import Logging
import NIOCore
import PCastCore
import PCastIO
import PCastTimeline
import PCastWeb

/// The WebSockets of timeline consumers: `/timeline/LEAGUE/GAME/changes?since=SEQ&log=LOG`. A consumer receives
/// ``TimelineMessage``s and sends nothing.
struct TimelineFeed: Sendable {
    let service: TimelineService
    let access: TimelineAccess
    let limiter: RequestLimiter
    let logger: Logger

    /// The close status "policy violation" (RFC 6455, section 7.4.1).
    private static let policyViolation: UInt16 = 1_008

    /// Returns whether a path is that of a timeline's WebSocket.
    static func isOpen(at path: String) -> Bool { game(at: path) != nil }

    private static func game(at path: String) -> TimelineGame? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, parts[1] == "timeline", parts[4] == "changes",
            let league = PercentEncoding.decode(parts[2]), let game = PercentEncoding.decode(parts[3])
        else { return nil }
        return try? TimelineGame(league: league, game: game)
    }

    /// Runs until the connection ends.
    ///
    /// - Throws: An error of the connection.
    func run(_ connection: WebSocketConnection) async throws {
        guard let request = connection.request, let reservation = await limiter.reserve(for: connection) else { return }
        let halves = request.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let game = Self.game(at: String(halves[0])) else { return }
        let query = Self.query(halves.count > 1 ? halves[1] : "")
        let peer = connection.remoteAddress?.ipAddress.flatMap { IPAddress($0) }
        let caller = limiter.caller(peer, fields: request.fields)
        let channel: TimelineChannel
        do throws(APIError) {
            channel = try await find(game, caller, request, query)
        } catch {
            logger.info("request rejected", metadata: ["protocol": "timeline", "error": "\(error.detail)"])
            let word = error.kind == .noStreamPlaying ? "not-found" : error.wire
            try await connection.send(
                .text(String(decoding: TimelineMessage.refused(word, error.message).bytes, as: UTF8.self)))
            return await connection.refuse(status: Self.policyViolation)
        }
        let consumer = TimelineConsumer(connection, of: channel)
        channel.join(
            consumer, since: query["since"].flatMap { Int($0) } ?? 0, of: query["log"].map { TimelineLogID($0) })
        defer { channel.leave(consumer) }
        try await connection.forEachMessage { _ in
            consumer.countMessage()
        } admitsControl: { [limiter] in
            (try? limiter.takeRequest(from: caller.address, at: MonotonicClock.now())) != nil
        } onActivity: {
            consumer.markAlive()
        }
        withExtendedLifetime(reservation) {}
    }

    private func find(
        _ game: TimelineGame, _ caller: RequestOrigin, _ request: WebSocketConnection.Request, _ query: [String: String]
    ) async throws(APIError) -> TimelineChannel {
        if caller.isHidden { limiter.noteHidden(caller, logger) }
        try limiter.takeJoin(from: caller.address, at: MonotonicClock.now())
        let clientContext = ClientContext(caller, host: request.host, origin: request.origin)
        let bearer = request.fields("authorization").first?.credentials(of: "bearer")
        let key = try await access.follow(game, token: bearer ?? query["token"], clientContext: clientContext)
        let channel: TimelineChannel?
        do throws(TimelineFailure) {
            channel = try await service.channel(of: key)
        } catch {
            throw APIError(.notReady, "The timeline cannot be read: retry later.", detail: "\(error)")
        }
        guard let channel else {
            throw APIError(.noStreamPlaying, "The game has no timeline yet: retry later.")
        }
        return channel
    }

    /// Parses a query. Only the first value of each name is used.
    private static func query(_ text: Substring) -> [String: String] {
        var query: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let value = PercentEncoding.decode(parts[1]), query[String(parts[0])] == nil else {
                continue
            }
            query[String(parts[0])] = value
        }
        return query
    }
}
