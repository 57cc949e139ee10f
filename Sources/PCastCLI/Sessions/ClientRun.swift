import PCast
import PCastJSON
import PCastMedia

/// What a run of `publish` and one of `subscribe` have in common: a session, whatever may end it, and how the end is
/// told and becomes an exit status.
struct ClientRun: Sendable {
    let console: Console
    let end = RunEnd()
    let link = LinkState()
    private let role: RunOutcome.Role

    init(as role: RunOutcome.Role, _ console: Console) {
        self.role = role
        self.console = console
    }

    /// Does the work of a run, which answers why it ended, and tells that.
    ///
    /// - Throws: `CommandFailure` unless it ended as asked.
    func run(_ work: () async throws -> RunEnd.Cause) async throws {
        let end = end
        let interruption = Interruption { end.end(.interrupted) }
        defer { withExtendedLifetime(interruption) {} }
        let outcome: RunOutcome
        do {
            outcome = RunOutcome(try await work(), as: role)
        } catch {
            let failure = (error as? PCastError).map { CommandFailure($0) } ?? error as? CommandFailure
            console.finish()
            tellEnd(reason: "failed", description: failure?.sentence ?? "\(error)")
            throw failure ?? error
        }
        console.finish()
        tellEnd(reason: outcome.reason, description: outcome.description)
        console.say(outcome.sentence)
        if outcome.status != .ended { throw CommandFailure(outcome.status) }
    }

    private func tellEnd(reason: String, description: String) {
        console.event("ended", ["reason": .string(reason), "description": .string(description)])
    }

    /// Gives a client to the work, tells what happens to its session, and shuts it down after the work.
    func withClient(
        at uri: String?, _ work: (PCast) async throws -> RunEnd.Cause
    ) async throws -> RunEnd.Cause {
        let isEnding = Signpost()
        var options = PCastOptions(uri: uri)
        options.configureLogging(ConsoleLogHandler.logger("client", on: console, until: isEnding))
        let pcast = PCast(options)
        let report = SessionReport(console: console, end: end, link: link)
        let events = pcast.events
        let following = Task { await report.follow(events) }
        let result: Result<RunEnd.Cause, any Error>
        do {
            result = .success(try await work(pcast))
        } catch {
            result = .failure(error)
        }
        isEnding.raise()
        await pcast.shutdown()
        await following.value
        // Who presses Ctrl-C while a stream is being set up makes that fail, and is told what was asked for.
        if case .failure = result, case .interrupted? = end.cause { return .interrupted }
        return try result.get()
    }

    /// Sets a stream up; when the run ends meanwhile, shuts the client down, so that the set-up fails at once.
    func settingUp<Value: Sendable>(
        _ pcast: PCast, _ setUp: () async throws(PCastError) -> Value
    ) async throws(PCastError) -> Value {
        let isOver = Signpost()
        defer { isOver.raise() }
        let end = end
        Task {
            _ = await end.wait()
            if !isOver.isRaised { await pcast.shutdown() }
        }
        return try await setUp()
    }

    /// Ends the run after the time that was asked for.
    func elapse(_ duration: TimeSpan?) async {
        guard let duration else { return }
        try? await Task.sleep(for: duration.duration)
        if !Task.isCancelled { end.end(.elapsed) }
    }

    func tell(_ quality: DataQuality) {
        console.event(
            "dataQuality",
            ["status": .string(quality.status.rawValue), "reason": .string(quality.reason.rawValue)])
        console.say("Now \(quality.text).")
    }
}
