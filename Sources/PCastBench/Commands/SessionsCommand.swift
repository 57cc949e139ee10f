import ArgumentParser
import Foundation
import PCastCore
import PCastIO
import PCastJSON
import PCastTestSupport

/// `pcast-bench sessions` runs many clients that connect, subscribe, lose their connection and leave, and checks that
/// the platform releases all resources.
struct SessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions",
        abstract: "Measure sessions that connect, subscribe, disconnect and resume at random, and leaks.",
        discussion: """
            Each session is one of the SDK, which receives media without rendering it. Connections are closed at \
            random. The platform is a separate process with a database. First, all sessions connect and disconnect \
            once, so that the idle size is known; then they do so at random. At the end, all are gone, and the \
            platform must have no more sessions, viewers, descriptors or memory than before, within the limit. Every \
            webhook must be called exactly once.
            """)

    @Option(help: "Number of sessions.")
    var count = 1_000

    @Option(help: "Seconds of connecting and disconnecting.")
    var seconds = 300

    @Option(help: "Seed of the random numbers.")
    var seed: UInt64 = 1

    @OptionGroup var options: ReportOptions

    /// The time that the platform waits for a disconnected client, in seconds.
    private static let absence = 8
    private static let memoryLimit = 32.0 * 1_024 * 1_024

    private static let targets = [
        Target("sessionsLeft", .exactly(0)), Target("streamsLeft", .exactly(0)), Target("viewersLeft", .exactly(0)),
        Target("descriptorsLeft", .atMost(0)), Target("memoryGrowth", .atMost(memoryLimit)),
        Target("callbacksUncalled", .exactly(0)), Target("callbacksRepeated", .exactly(0)),
        Target("disorders", .exactly(0)), Target("resumptions", .atLeast(1)),
    ]

    func validate() throws {
        guard count > 0, seconds > 0 else { throw ValidationError("--count and --seconds must be at least 1.") }
    }

    func run() async throws {
        var report = Report(options)
        let setup = try await SessionSetup.start(absence: Self.absence)
        defer { setup.stop() }
        let listeningSocket = try DroppingProxy(
            to: TransportAddress(ip: .loopbackV4, port: setup.port), meanLifetime: .seconds(20), seed: seed)
        defer { listeningSocket.close() }
        let (callbacks, tally) = (CallbackRecorder(), SessionTally())
        let context = ChurnClient.Context(
            uri: "http://\(listeningSocket.address)", authenticationToken: try setup.authenticationToken(),
            viewingToken: try setup.viewingToken(), callbacks: callbacks, tally: tally,
            // On average, each of the thousand sessions takes an action every five seconds.
            longestPause: .seconds(10))

        try await runOnce(context)
        let before = try await setup.waitUntilSettled()
        report.row("idle, after \(count) sessions", before.row)

        let end = ContinuousClock.now + .seconds(seconds)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                let session = ChurnClient(context, seed: seed &* 1_000_003 &+ UInt64(number))
                group.addTask { await session.run(until: end) }
            }
            while ContinuousClock.now < end {
                try await Task.sleep(for: min(.seconds(20), max(.milliseconds(1), end - .now)))
                report.row("under load", try await setup.resources().row)
            }
            try await group.waitForAll()
        }
        listeningSocket.stopDropping()
        let after = try await setup.waitUntilSettled(comparedWith: before, by: Self.memoryLimit)
        // Callbacks of SDK objects that were released have time to arrive, too.
        let deadline = ContinuousClock.now + .seconds(30)
        while callbacks.missing > 0, ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(100)) }
        report.row("idle, at the end", after.row)
        for kind in CallbackRecorder.Kind.allCases {
            report.row(
                "callbacks: \(kind.rawValue)",
                [
                    "once": Double(callbacks.kept(kind)), "uncalled": Double(callbacks.missing(kind)),
                    "repeated": Double(callbacks.repeated(kind)),
                ], pass: callbacks.missing(kind) == 0 && callbacks.repeated(kind) == 0)
        }
        try report.finish(
            metrics(before, after, callbacks, tally, dropped: listeningSocket.dropped), targets: Self.targets)
    }

    /// Runs each session once, with up to 100 at a time.
    private func runOnce(_ context: ChurnClient.Context) async throws {
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                if number >= 100 { await group.next() }
                let session = ChurnClient(context, seed: UInt64(number))
                group.addTask { await session.runOnce() }
            }
        }
    }

    private func metrics(
        _ before: PlatformResources, _ after: PlatformResources, _ callbacks: CallbackRecorder, _ tally: SessionTally,
        dropped: Int
    ) -> [(key: String, value: Double?)] {
        func growth(_ metric: (PlatformResources) -> Double?) -> Double? {
            guard let first = metric(before), let last = metric(after) else { return nil }
            return last - first
        }
        let kinds = CallbackRecorder.Kind.allCases
        return [
            ("sessionsLeft", growth(\.sessions)), ("streamsLeft", growth(\.streams)), ("viewersLeft", after.viewers),
            ("descriptorsLeft", growth(\.descriptors)), ("memoryGrowth", growth(\.memory)),
            ("callbacksUncalled", Double(callbacks.missing)),
            ("callbacksRepeated", Double(kinds.reduce(0) { $0 + callbacks.repeated($1) })),
            ("disorders", Double(tally[.disorder])), ("connectionsDropped", Double(dropped)),
            ("resumptions", Double(tally[.resumption])), ("sessionsLost", Double(tally[.loss])),
            ("subscriptions", Double(tally[.subscription])),
            ("refusedSubscriptions", Double(tally[.refusedSubscription])),
            ("refusedStarts", Double(tally[.refusedStart])),
        ]
    }
}
