import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import PCastCore
import PCastIO
import PCastTimeline
import PCastWeb

/// The HTTP endpoints of timelines under `/timeline`, for producers, and for reading a complete timeline.
/// `/pcast/openapi.json` describes them.
struct TimelineRoutes: Sendable {
    let service: TimelineService
    let access: TimelineAccess
    let logger: Logger

    private typealias Handler = @Sendable (Request, WebRequestContext) async throws(ApplicationFailure) -> Response

    func addRoutes(to router: Router<WebRequestContext>) {
        let group = router.group("/timeline")
        add(group, ":league/:game", [.get: getTimeline, .put: describe])
        add(group, ":league/:game/events/:id", [.post: putEvent, .patch: patch, .delete: remove])
    }

    private static let methods: [HTTPRequest.Method] = [.get, .post, .put, .patch, .delete]

    private func add(
        _ group: RouterGroup<WebRequestContext>, _ path: RouterPath, _ handlers: [HTTPRequest.Method: Handler]
    ) {
        let allowed = handlers.keys.map(\.rawValue).sorted().joined(separator: ", ")
        for method in Self.methods {
            guard let handler = handlers[method] else {
                group.on(path, method: method) { _, _ in Responses.methodNotAllowed(allowed) }
                continue
            }
            group.on(path, method: method) { request, context in
                do throws(ApplicationFailure) {
                    return try await handler(request, context)
                } catch {
                    return error.response
                }
            }
        }
    }

    // MARK: Requests

    private struct RecordedChange: Encodable {
        let status = "ok"
        /// The result: `added`, `modified`, `deleted`, `info`, or `none` if nothing changed.
        let change: String
        /// The number of the newest revision.
        let seq: Int
        let log: String
        /// The time in milliseconds by which the producer's clock is ahead; nil if the request states no time.
        let clockDifference: Double?
    }

    @Sendable private func getTimeline(
        _ request: Request, _ context: WebRequestContext
    ) async throws(ApplicationFailure) -> Response {
        let game = try Self.game(context)
        let key = try await convertingAccessErrors { () async throws(APIError) in
            try await access.follow(game, token: request.token, clientContext: request.clientContext(context))
        }
        guard
            let channel = try await convertingServiceErrors({ () throws(TimelineFailure) in
                try await service.channel(of: key)
            })
        else { throw .notFound }
        return Response(
            status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(inPieces: await channel.document(of: game)))
    }

    @Sendable private func describe(
        _ request: Request, _ context: WebRequestContext
    ) async throws(ApplicationFailure) -> Response {
        try await produce(request, context) { body throws(TimelineError) in .info(try GameInfo(parsing: body)) }
    }

    @Sendable private func putEvent(
        _ request: Request, _ context: WebRequestContext
    ) async throws(ApplicationFailure) -> Response {
        let id = try Self.event(context)
        return try await produce(request, context) { body throws(TimelineError) in
            .put(id, try GameEvent(parsing: body))
        }
    }

    @Sendable private func patch(
        _ request: Request, _ context: WebRequestContext
    ) async throws(ApplicationFailure) -> Response {
        let id = try Self.event(context)
        return try await produce(request, context) { body throws(TimelineError) in
            try TimelineRequest.patch(id, parsing: body)
        }
    }

    @Sendable private func remove(
        _ request: Request, _ context: WebRequestContext
    ) async throws(ApplicationFailure) -> Response {
        let id = try Self.event(context)
        return try await produce(request, context) { _ throws(TimelineError) in .delete(id) }
    }

    private func produce(
        _ request: Request, _ context: WebRequestContext,
        _ read: ([UInt8]) throws(TimelineError) -> TimelineRequest.Change
    ) async throws(ApplicationFailure) -> Response {
        let receivedAt = MonotonicClock.wallTime()
        let game = try Self.game(context)
        let basic = request.headers[.authorization].flatMap { ApplicationRequest.basic($0) }
        let key = try await convertingAccessErrors { () async throws(APIError) in
            try await access.produce(
                game, basic: basic, token: request.token, clientContext: request.clientContext(context))
        }
        let recordedAt = try Self.time("recordedAt", of: request)
        let sentAt = try Self.time("sentAt", of: request)
        let body = try await Self.body(of: request)
        let change: TimelineRequest.Change
        do throws(TimelineError) {
            change = try read(body)
        } catch {
            throw ApplicationFailure(error)
        }
        let timelineRequest = TimelineRequest(change, recordedAt: recordedAt)
        let recorded = try await convertingServiceErrors { () throws(TimelineFailure) in
            try await service.record(timelineRequest, in: key)
        }
        let difference = compareClock(of: request, sentAt: sentAt, receivedAt: receivedAt, game, recorded.channel)
        let word =
            switch recorded.revision?.change {
            case .info: "info"
            case .added: "added"
            case .modified: "modified"
            case .deleted: "deleted"
            case nil: "none"
            }
        return ApplicationAnswer.json(
            RecordedChange(
                change: word, seq: (recorded.revision?.number ?? recorded.channel.newest).value,
                log: recorded.channel.id.description, clockDifference: difference?.milliseconds),
            word == "added" ? .created : .ok)
    }

    // MARK: Parsing requests

    private static func game(_ context: WebRequestContext) throws(ApplicationFailure) -> TimelineGame {
        guard let league = part("league", context), let game = part("game", context),
            let named = try? TimelineGame(league: league, game: game)
        else { throw .notFound }
        return named
    }

    private static func event(_ context: WebRequestContext) throws(ApplicationFailure) -> TimelineEventID {
        guard let id = part("id", context), let named = try? TimelineEventID(id) else { throw .notFound }
        return named
    }

    private static func part(_ name: String, _ context: WebRequestContext) -> String? {
        context.parameters.get(name).flatMap { PercentEncoding.decode($0) }
    }

    /// Returns a time of the query (UTC, RFC 3339): `recordedAt`, at which the feed had the event, for importing past
    /// games, or `sentAt`, at which the producer sends the request. Returns nil if it is absent.
    ///
    /// - Throws: ``ApplicationFailure``.
    private static func time(_ name: String, of request: Request) throws(ApplicationFailure) -> WallTime? {
        guard let text = request.uri.queryParameters[Substring(name)] else { return nil }
        guard let decoded = PercentEncoding.decode(text), let time = Timestamp.parse(decoded) else {
            throw ApplicationFailure(.notATime(name))
        }
        return time
    }

    /// Compares the clock of the producer with the platform's, and logs when it begins or ceases to be off. The time of
    /// the request is `sentAt`, or that of its field `Date`. Returns the difference; nil if the request has no time.
    private func compareClock(
        of request: Request, sentAt: WallTime?, receivedAt: WallTime, _ game: TimelineGame, _ channel: TimelineChannel
    ) -> TimeSpan? {
        let date = request.headers[.date].flatMap { Timestamp.parse(httpDate: $0) }
        guard let stated = sentAt ?? date else { return nil }
        let clock = channel.compareClock(
            sentAt: stated, precision: sentAt == nil ? .seconds(1) : .milliseconds(1), receivedAt: receivedAt)
        let metadata: Logger.Metadata = [
            "game": "\(game)", "ahead_milliseconds": "\(Int(clock.difference.milliseconds))",
        ]
        if clock.isOff, !clock.wasOff {
            logger.warning("clock of a timeline's producer is off", metadata: metadata)
        } else if clock.wasOff, !clock.isOff {
            logger.info("clock of a timeline's producer is correct again", metadata: metadata)
        }
        return clock.difference
    }

    private static func body(of request: Request) async throws(ApplicationFailure) -> [UInt8] {
        var request = request
        do {
            let buffer = try await request.collectBody(upTo: TimelineLimits.standard.bytes)
            return Array(buffer.readableBytesView)
        } catch {
            throw error is NIOTooManyBytesError
                ? ApplicationFailure(.tooLarge(limit: TimelineLimits.standard.bytes))
                : .badRequest("The body is incomplete: send as many bytes as Content-Length states.")
        }
    }

    // MARK: Errors

    private func convertingAccessErrors<Value>(
        _ body: () async throws(APIError) -> Value
    ) async throws(ApplicationFailure) -> Value {
        do throws(APIError) {
            return try await body()
        } catch {
            logger.info("request rejected", metadata: ["protocol": "timeline", "error": "\(error.detail)"])
            if error.kind == .rateLimited, let wait = error.retryAfter { throw .tooManyFailures(retryAfter: wait) }
            throw error.kind == .unauthorized
                ? ApplicationFailure(.unauthorized, "unauthorized", error.message) : .badRequest(error.message)
        }
    }

    private func convertingServiceErrors<Value>(
        _ body: () async throws(TimelineFailure) -> Value
    ) async throws(ApplicationFailure) -> Value {
        do throws(TimelineFailure) {
            return try await body()
        } catch {
            switch error {
            case .request(let error): throw ApplicationFailure(error)
            case .capacity:
                throw ApplicationFailure(
                    .serviceUnavailable, "capacity", "The platform has reached its limit of games: retry later.")
            case .log(let path, let reason):
                logger.error("timeline cannot be written", metadata: ["log": "\(path)", "error": "\(reason)"])
                throw .records
            }
        }
    }
}

extension ApplicationFailure {
    fileprivate init(_ error: TimelineError) {
        let text = "\(error)"
        let sentence = text.prefix(1).uppercased() + text.dropFirst() + "."
        switch error {
        case .tooLarge: self.init(.contentTooLarge, "too-large", sentence)
        case .noEvent: self.init(.notFound, "not-found", sentence)
        case .full: self.init(.conflict, "full", sentence)
        default: self.init(.badRequest, "bad-request", sentence)
        }
    }
}
