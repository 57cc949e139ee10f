import PCastIO
import PCastMedia
import PCastNetwork

/// A scene with a viewer that has its pictures, and what came of both since a moment.
struct WatchedScene: Sendable {
    /// The beginning is another matter: it has its key frame, and delays settle.
    private static let settling = Duration.seconds(4)

    let scene: NetworkScene
    let publisher: RecordedProcess
    let stream: StreamID
    let viewer: RecordedProcess
    /// When the viewer had settled.
    let start: Instant
    private let isBadUpwards: Bool

    /// Starts it, and stops it when `body` has returned.
    static func run<Value>(
        _ options: NetworkScene.Options, _ body: (WatchedScene) async throws -> Value
    ) async throws -> Value {
        let scene = try await NetworkScene(options)
        defer { scene.stop() }
        let (publisher, stream) = try await scene.publish()
        defer { publisher.stop() }
        let viewer = try scene.view(stream)
        defer { viewer.stop() }
        _ = try await viewer.first("firstFrame")
        try await Task.sleep(for: settling)
        return try await body(
            WatchedScene(
                scene: scene, publisher: publisher, stream: stream, viewer: viewer, start: MonotonicClock.now(),
                isBadUpwards: options.hop == .publisher))
    }

    func wait(_ seconds: Double) async throws { try await Task.sleep(for: .seconds(seconds)) }

    /// What the viewer told since an instant.
    func watching(since start: Instant) throws -> Watching {
        try Watching(viewer, from: start, until: MonotonicClock.now())
    }

    /// Changes what the link that is bad carries in the direction of the stream and back.
    func change(_ change: (inout LinkConditions) -> Void) -> Instant {
        scene.network.change(0) { host in
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

    /// Datagrams in the direction of the stream, in bits a second with IP headers.
    func rate(_ samples: [LinkSample]) -> Double { samples.rate(bytes, where: \.isUDP) }

    /// The longest that a packet waited in the queue of that direction, in milliseconds.
    func longestWait(_ samples: [LinkSample]) -> Double? {
        samples.map { isBadUpwards ? $0.upWait : $0.downWait }.max()?.milliseconds
    }

    var bytes: KeyPath<LinkSample, [LinkFlow: Int]> { isBadUpwards ? \.upBytes : \.downBytes }

    func samples(from start: Instant, until end: Instant? = nil) -> [LinkSample] {
        scene.network.samples(of: 0, from: start, until: end)
    }

    // MARK: Waiting for it

    /// How long after an instant something was told; nil when it was not in time.
    func wait(
        for name: String, of process: RecordedProcess, since start: Instant, within patience: TimeSpan,
        where isWanted: @escaping (RecordedProcess.Event) -> Bool
    ) async -> Double? {
        let event = try? await process.first(name, since: start, within: patience, where: isWanted)
        return event.map { ($0.instant - start).seconds }
    }

    /// How long after an instant an end told this quality; nil when it did not in time.
    func quality(
        _ status: String, _ reasons: [String], of process: RecordedProcess, since start: Instant,
        within patience: TimeSpan
    ) async -> Double? {
        await wait(for: "dataQuality", of: process, since: start, within: patience) {
            $0.text("status") == status && reasons.contains($0.text("reason") ?? "")
        }
    }

    /// How long after an instant the viewer had shown pictures anew, to the second in which it tells them.
    func pictures(since start: Instant, within patience: TimeSpan) async -> Double? {
        guard let before = viewer.events("stats", until: start).last?.number("framesRendered") else { return nil }
        return await wait(for: "stats", of: viewer, since: start, within: patience) {
            ($0.number("framesRendered") ?? 0) > before + 5
        }
    }
}
