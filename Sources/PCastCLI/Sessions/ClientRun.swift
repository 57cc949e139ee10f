import PCast
import PCastCore
import PCastJSON

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
        console.say(outcome.sentence)
        if outcome.status != .ended { throw CommandFailure(outcome.status) }
    }

    private func reportEnd(reason: String, description: String) {
        console.event("ended", ["reason": .string(reason), "description": .string(description)])
    }

    /// Runs `body` with a client, reports the events of its session, and shuts the client down.
    ///
    /// - Throws: The errors of `body`.
    func withClient(
        at uri: String?, _ body: (PCast) async throws -> RunEnd.Cause
    ) async throws -> RunEnd.Cause {
        let isEnding = AtomicFlag()
        var options = PCastOptions(uri: uri)
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
        isEnding.raise()
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
        defer { isOver.raise() }
        let end = end
        Task {
            _ = await end.wait()
            if !isOver.isRaised { await pcast.shutdown() }
        }
        return try await setUp()
    }

    /// Ends the run after the requested duration.
    func elapse(_ duration: TimeSpan?) async {
        guard let duration else { return }
        try? await Task.sleep(for: duration.duration)
        if !Task.isCancelled { end.end(.elapsed) }
    }

    func notify(_ quality: DataQuality) {
        console.event(
            "dataQuality",
            ["status": .string(quality.status.rawValue), "reason": .string(quality.reason.rawValue)])
        console.say("Data quality: \(quality.text).")
    }
}
