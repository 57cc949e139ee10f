import PCastCore
import PCastIO
import PCastTestSupport

/// A scene with a publisher and a viewer that shows video, and measurements of both since a point in time.
struct MeasuredTestbed: Sendable {
    /// The time after the first frame that is not measured, because key frames and delays have not settled yet.
    private static let settlingTime = Duration.seconds(4)

    let testbed: NetworkTestbed
    let publisher: RecordedProcess
    let stream: StreamID
    let viewer: RecordedProcess
    /// The start of the measurement.
    let start: Instant
    private let isBadUpwards: Bool

    /// Starts the scene, calls `body` and stops the scene. Throws the errors of the processes and of `body`.
    static func run<Value>(
        _ options: NetworkTestbed.Options, _ body: (MeasuredTestbed) async throws -> Value
    ) async throws -> Value {
        let testbed = try await NetworkTestbed(options)
        defer { testbed.stop() }
        let (publisher, stream) = try await testbed.publish()
        defer { publisher.stop() }
        let viewer = try testbed.view(stream)
        defer { viewer.stop() }
        _ = try await viewer.first("firstFrame")
        try await Task.sleep(for: settlingTime)
        return try await body(
            MeasuredTestbed(
                testbed: testbed, publisher: publisher, stream: stream, viewer: viewer, start: MonotonicClock.now(),
                isBadUpwards: options.impairedPeer == .publisher))
    }

    func wait(_ seconds: Double) async throws { try await Task.sleep(for: .seconds(seconds)) }

    /// The viewer's statistics since `start`. Throws `BenchFailure` if there are too few.
    func viewerMeasurement(since start: Instant) throws -> ViewerMeasurement {
        try ViewerMeasurement(viewer, from: start, until: MonotonicClock.now())
    }

    /// Changes both directions of the impaired link and returns the time of the change.
    func change(_ change: (inout LinkConditions) -> Void) -> Instant {
        testbed.network.change(0) { host in
            var up = host.up.conditions
            var down = host.down.conditions
            change(&up)
            change(&down)
            host.up.conditions = up
            host.down.conditions = down
        }
        return MonotonicClock.now()
    }

    // MARK: The link

    /// The rate of UDP packets in the direction of the stream, in bits per second including IP headers.
    func rate(_ samples: [LinkSample]) -> Double { samples.rate(bytes, where: \.isUDP) }

    /// The longest queueing delay of a packet in the direction of the stream, in milliseconds.
    func longestWait(_ samples: [LinkSample]) -> Double? {
        samples.map { isBadUpwards ? $0.upWait : $0.downWait }.max()?.milliseconds
    }

    var bytes: KeyPath<LinkSample, [LinkFlow: Int]> { isBadUpwards ? \.upBytes : \.downBytes }

    func samples(from start: Instant, until end: Instant? = nil) -> [LinkSample] {
        testbed.network.samples(of: 0, from: start, until: end)
    }

    // MARK: Waiting for it

    /// Returns the seconds from `start` to an event; nil if it does not arrive in time.
    func wait(
        for name: String, of process: RecordedProcess, since start: Instant, within timeout: TimeSpan,
        where matches: @escaping (RecordedProcess.Event) -> Bool
    ) async -> Double? {
        let event = try? await process.first(name, since: start, within: timeout, where: matches)
        return event.map { ($0.instant - start).seconds }
    }

    /// Returns the seconds from `start` until a peer reports the data quality; nil if it does not in time.
    func quality(
        _ status: String, _ reasons: [String], of process: RecordedProcess, since start: Instant,
        within timeout: TimeSpan
    ) async -> Double? {
        await wait(for: "dataQuality", of: process, since: start, within: timeout) {
            $0.text("status") == status && reasons.contains($0.text("reason") ?? "")
        }
    }

    /// Returns the seconds from `start` until the viewer has shown new frames, with the resolution of its statistics (1
    /// s); nil if it does not in time.
    func frames(since start: Instant, within timeout: TimeSpan) async -> Double? {
        guard let before = viewer.events("stats", until: start).last?.number("framesRendered") else { return nil }
        return await wait(for: "stats", of: viewer, since: start, within: timeout) {
            ($0.number("framesRendered") ?? 0) > before + 5
        }
    }
}
