import PCast
import PCastCore

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
            _ = try await pcast.start(authenticationToken: target.tokens.authentication)
            return try await pcast.publish(
                recovering: plan.policy, mediaStream: mediaStream, tags: plan.tags, options: plan.encoding
            ) { () throws(PCastError) in target.tokens.stream }
        }
    }

    /// Reports the state of a stream, each time that it is published. `media` are its devices; nil if it has none.
    func attend(
        _ publishing: RecoveringStream<Publisher>, of media: UserMediaStream?, at target: PublishTarget,
        _ plan: PublicationPlan
    ) async {
        await follow(publishing, as: plan.policy) { publisher in
            target.notify(publisher, on: console)
            await withTaskGroup { group in
                group.addTask { await report(publisher, media) }
                group.addTask { for await quality in publisher.dataQualities { notify(quality) } }
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
            if !console.isLive, seconds % 10 == 0 { console.say(PublishMetrics.line(statistics, elapsed: elapsed)) }
        }
    }
}
