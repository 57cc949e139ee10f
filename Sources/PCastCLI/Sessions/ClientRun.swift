import PCast
import PCastCore
import PCastJSON
import PCastPlayback
import Synchronization

/// The common part of the commands that use a session: the session, the causes that end the run, and the report and
/// exit status of the end.
struct ClientRun: Sendable {
    let console: Console
    let end = RunEnd()
    let link = LinkState()
    private let role: RunOutcome.Role

    init(as role: RunOutcome.Role, _ console: Console) {
        self.role = role
        self.console = console
    }

    /// Runs `body`, which returns the cause of its end, and reports it.
    ///
    /// - Throws: ``CommandFailure`` unless it ended as requested.
    func run(_ body: () async throws -> RunEnd.Cause) async throws {
        let end = end
        let interruption = InterruptHandler { end.end(.interrupted) }
        defer { withExtendedLifetime(interruption) {} }
        let outcome: RunOutcome
        do {
            outcome = RunOutcome(try await body(), as: role)
        } catch {
            let failure = (error as? PCastError).map { CommandFailure($0) } ?? error as? CommandFailure
            console.finish()
            reportEnd(reason: "failed", description: failure?.sentence ?? "\(error)")
            throw failure ?? error
        }
        console.finish()
        reportEnd(reason: outcome.reason, description: outcome.description)
        console.inform(outcome.sentence)
        if outcome.status != .ended { throw CommandFailure(outcome.status) }
    }

    private func reportEnd(reason: String, description: String) {
        console.event("ended", ["reason": .string(reason), "description": .string(description)])
    }

    /// Runs `body` with a client, reports the events of its session, and shuts the client down. `playoutDelay` is the
    /// time from capture at which frames of streams by HLS are displayed; nil for the least.
    ///
    /// - Throws: The errors of `body`.
    func withClient(
        at uri: String?, playoutDelay: TimeSpan? = nil, _ body: (PCast) async throws -> RunEnd.Cause
    ) async throws -> RunEnd.Cause {
        let isEnding = AtomicFlag()
        let hls = HLSContent.Configuration(playoutDelay: playoutDelay?.duration)
        var options = PCastOptions(uri: uri, streamingClient: .hls(configuration: hls))
        options.configureLogging(ConsoleLogHandler.logger("client", on: console, until: isEnding))
        let pcast = PCast(options)
        let report = SessionReport(console: console, end: end, link: link)
        let events = pcast.events
        let following = Task { await report.follow(events) }
        let result: Result<RunEnd.Cause, any Error>
        do {
            result = .success(try await body(pcast))
        } catch {
            result = .failure(error)
        }
        isEnding.set()
        await pcast.shutdown()
        await following.value
        // Ctrl-C during the setup of a stream makes it fail, but is reported as an interruption.
        if case .failure = result, case .interrupted? = end.cause { return .interrupted }
        return try result.get()
    }

    /// Sets up a stream. If the run ends meanwhile, the client is shut down, so that the setup fails at once.
    ///
    /// - Throws: `PCastError`.
    func settingUp<Value: Sendable>(
        _ pcast: PCast, _ setUp: () async throws(PCastError) -> Value
    ) async throws(PCastError) -> Value {
        let isOver = AtomicFlag()
        defer { isOver.set() }
        let end = end
        Task {
            _ = await end.wait()
            if !isOver.isSet { await pcast.shutdown() }
        }
        return try await setUp()
    }

    /// Ends the run after the requested duration.
    func elapse(_ duration: TimeSpan?) async {
        guard let duration else { return }
        try? await Task.sleep(for: duration.duration)
        if !Task.isCancelled { end.end(.elapsed) }
    }

    func report(_ quality: DataQuality) {
        console.event(
            "dataQuality",
            ["status": .string(quality.status.rawValue), "reason": .string(quality.reason.rawValue)])
        console.inform("Data quality: \(quality.text).")
    }
}

extension ClientRun {
    /// Opens the platform of a plan, runs `body` with it until the run ends, and closes it in any case.
    ///
    /// - Throws: ``CommandFailure`` unless it ended as requested.
    func publish(
        _ plan: PublicationPlan, _ body: (PCast, PublishTarget) async throws -> RunEnd.Cause
    ) async throws {
        try await run {
            let target =
                plan.isEmbedded
                ? try await PublishTarget.embedded(listen: plan.listen, console)
                : try PublishTarget.named(uri: plan.uri, tokens: plan.tokens)
            target.announce(on: console, isAsked: plan.listen != nil)
            let result: Result<RunEnd.Cause, any Error>
            do {
                result = .success(try await withClient(at: target.uri) { try await body($0, target) })
            } catch {
                result = .failure(error)
            }
            await target.close()
            return try result.get()
        }
    }

    /// Authenticates and publishes a stream.
    ///
    /// - Throws: `PCastError`.
    func begin(
        _ mediaStream: MediaStream, by pcast: PCast, at target: PublishTarget, _ plan: PublicationPlan
    ) async throws(PCastError) -> RecoveringStream<Publisher> {
        try await settingUp(pcast) { () throws(PCastError) in
            if let uri = target.uri, EndpointURI.isWHIP(uri) {
                return try await pcast.publish(
                    recovering: plan.policy, toWHIP: uri, token: target.endpointToken, mediaStream: mediaStream,
                    options: plan.encoding)
            }
            _ = try await pcast.start(authenticationToken: target.tokens.authentication)
            return try await pcast.publish(
                recovering: plan.policy, mediaStream: mediaStream, tags: plan.tags, options: plan.encoding
            ) { () throws(PCastError) in target.tokens.stream }
        }
    }

    /// Reports the state of a stream, each time that it is published. `media` are its devices; nil if it has none.
    func reportPublication(
        _ publishing: RecoveringStream<Publisher>, of media: UserMediaStream?, at target: PublishTarget,
        _ plan: PublicationPlan
    ) async {
        await follow(publishing, as: plan.policy) { publisher in
            target.report(publisher, on: console)
            await withTaskGroup { group in
                group.addTask { await report(publisher, media) }
                group.addTask { for await quality in publisher.dataQualities { report(quality) } }
            }
        }
    }

    /// Reports the statistics of a stream each second until it ends. `media` are its devices; nil if it has none.
    private func report(_ publisher: Publisher, _ media: UserMediaStream?) async {
        let beginning = SystemClock.monotonic()
        var seconds = 0
        for await statistics in publisher.statistics {
            let elapsed = SystemClock.monotonic() - beginning
            console.event("stats", PublishMetrics.fields(statistics, media))
            console.show(
                PublishMetrics.block(
                    statistics, media, elapsed: elapsed, link: link.current, quality: publisher.dataQuality))
            seconds += 1
            if !console.isLive, seconds % 10 == 0 { console.inform(PublishMetrics.line(statistics, elapsed: elapsed)) }
        }
    }
}

/// Streams that are retried when they end, while the run continues.
extension ClientRun {
    /// Returns the policy for a run without user interaction. If `noReconnect` is true, each end of the stream
    /// ends the run.
    static func policy(noReconnect: Bool) -> RecoveryPolicy {
        var policy = RecoveryPolicy()
        for reason in StreamEndedReason.allCases {
            let action = policy.actions[reason] ?? .offer
            if noReconnect || action == .offer { policy.actions[reason] = .report }
        }
        return policy
    }

    /// Calls `body` for one stream after the other until the task is cancelled. The task of `body` is cancelled
    /// when its stream has ended. The end of the last stream ends the run.
    func follow<Stream: RecoverableStream>(
        _ recovering: RecoveringStream<Stream>, as policy: RecoveryPolicy,
        _ body: @escaping @Sendable (Stream) async -> Void
    ) async {
        let end = end
        Task { end.end(.stream(await recovering.ended)) }
        var bodyTask: Task<Void, Never>?
        var last: Stream?
        for await stream in recovering.current.values {
            bodyTask?.cancel()
            if let stream {
                last = stream
                bodyTask = Task { await body(stream) }
            } else if let info = last?.endedInfo, case .retry = policy.action(after: info) {
                reportRetry(info)
            }
        }
        bodyTask?.cancel()
        await bodyTask?.value
    }

    private func reportRetry(_ info: StreamEndedInfo) {
        console.event(
            "retrying",
            ["reason": .string(info.reason.rawValue), "description": .string(info.reasonDescription)])
        console.warn("The stream ended (\(info.reason.rawValue)). Retrying.")
    }
}

/// A flag that is set once.
final class AtomicFlag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .acquiring) }

    func set() { value.store(true, ordering: .releasing) }
}

/// The statistics of a publisher as events, as a status block and as a line of text.
enum PublishMetrics {
    /// Returns the fields of the event `stats`. `media` are the devices; nil if there are none.
    static func fields(
        _ statistics: PublisherStatistics, _ media: UserMediaStream?
    ) -> KeyValuePairs<String, JSONValue> {
        [
            "framesCaptured": .count(statistics.framesCaptured),
            "framesEncoded": .count(statistics.framesEncoded),
            "framesDropped": .count(statistics.framesDropped),
            "bitrate": .count(statistics.bitrate),
            "targetBitrate": .count(statistics.targetBitrate),
            "packetsSent": .count(statistics.packetsSent),
            "packetsRetransmitted": .count(statistics.packetsRetransmitted),
            "roundTripTime": .measured(statistics.roundTripTime),
            "encodeTime": .measured(statistics.encodeTime),
            "layersEncoded": .count(statistics.layersEncoded),
            "hasSubscribers": .boolean(statistics.hasSubscribers),
            "videoOpen": media.map { .boolean($0.isVideoOpen) } ?? .null,
            "audioOpen": media.map { .boolean($0.isAudioOpen) } ?? .null,
        ]
    }

    static func block(
        _ statistics: PublisherStatistics, _ media: UserMediaStream?, elapsed: TimeSpan, link: LinkState.Value,
        quality: DataQuality
    ) -> StatusBlock {
        let size = media?.dimensions.map { "\($0.width)x\($0.height), " } ?? ""
        let sent = Double(statistics.packetsSent)
        return StatusBlock(
            title: "Publishing  \(elapsed.clockText)  \(link.rawValue)  (Ctrl-C stops)",
            rows: [
                .init("sending", size + sending(statistics)),
                .init(
                    "frames",
                    "\(statistics.framesCaptured) captured, \(statistics.framesEncoded) encoded, "
                        + "\(statistics.framesDropped) dropped"),
                .init(
                    "network",
                    "round trip \(Figure.milliseconds(statistics.roundTripTime)), "
                        + "\(Figure.percent(Double(statistics.packetsRetransmitted), of: sent)) retransmitted"),
                .init("devices", devices(statistics, media)),
                .init("encoder", "\(Figure.milliseconds(statistics.encodeTime)) per frame"),
                // The quality has no meaning without subscribers.
                .init("quality", statistics.hasSubscribers || quality.status != .all ? quality.text : "–"),
            ])
    }

    /// Returns whether the devices are open, and whether there are subscribers.
    private static func devices(_ statistics: PublisherStatistics, _ media: UserMediaStream?) -> String {
        let names = [
            media?.videoSelection.map { "\($0.device.info.name) \(media?.isVideoOpen == true ? "open" : "closed")" },
            media?.audioSelection.map { "\($0.device.info.name) \(media?.isAudioOpen == true ? "open" : "closed")" },
        ].compactMap(\.self)
        let watched = statistics.hasSubscribers ? "watched" : "no subscribers"
        return (names + [watched]).joined(separator: ", ")
    }

    static func line(_ statistics: PublisherStatistics, elapsed: TimeSpan) -> String {
        "\(elapsed.clockText)  \(sending(statistics)), \(statistics.framesEncoded) frames, "
            + "\(statistics.framesDropped) dropped, round trip \(Figure.milliseconds(statistics.roundTripTime))"
    }

    /// Returns the bit rate and the video encoder's target. Without subscribers nothing is encoded, so the text says
    /// that instead of rates of zero.
    private static func sending(_ statistics: PublisherStatistics) -> String {
        guard statistics.hasSubscribers else { return "idle without subscribers" }
        return "\(Figure.bitrate(Double(statistics.bitrate))), video target "
            + Figure.bitrate(Double(statistics.targetBitrate))
    }
}

extension DataQuality {
    /// The quality as text for users.
    var text: String {
        let what =
            switch status {
            case .all: "good"
            case .audioOnly: "audio only"
            case .noData: "no data"
            }
        return reason == .none ? what : "\(what) (\(reason.rawValue))"
    }
}
