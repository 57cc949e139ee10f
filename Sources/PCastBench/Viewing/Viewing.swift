import PCast
import PCastIO

/// Watching by the SDK, in this process.
struct Viewing: Sendable {
    let uri: String
    let streamID: StreamID
    let authenticationToken: String
    let viewingToken: String

    /// - Parameter uri: another way to the platform than its own.
    init(_ live: LiveStream, uri: String? = nil) throws {
        self.uri = uri ?? live.uri
        streamID = live.streamID
        authenticationToken = try live.authenticationToken()
        viewingToken = try live.viewingToken()
    }

    /// Watches for some time, and answers what was measured.
    func watch(for duration: Duration, lipSync: Bool) async throws -> ViewerStatistics {
        let pcast = PCast(PCastOptions(uri: uri))
        _ = try await pcast.start(authenticationToken: authenticationToken)
        let stream = try await pcast.subscribe(streamToken: viewingToken, streamID: streamID)
        let renderer = stream.createRenderer(
            RendererOptions(lipSync: lipSync, useNullAudioDevice: true, useNullVideoDevice: true))
        guard renderer.start() == .ok else { throw BenchFailure("the stream cannot be decoded here") }
        try await Task.sleep(for: duration)
        renderer.stop()
        let summary = await renderer.summary()
        await pcast.shutdown()
        return summary
    }

    /// Subscribes again and again beside another viewer, who keeps the stream going, so that key frames are of any age when
    /// a viewer joins.
    ///
    /// - Parameter pause: the time before a join.
    /// - Returns: for each join, the time from calling subscribe to the first frame, and what was measured of the start-up phase.
    func joins(
        _ count: Int, pause: () -> TimeSpan
    ) async throws -> [(firstFrame: TimeSpan, summary: ViewerStatistics)] {
        let pcast = PCast(PCastOptions(uri: uri))
        _ = try await pcast.start(authenticationToken: authenticationToken)
        let other = try await pcast.subscribe(streamToken: viewingToken, streamID: streamID)
        var joins: [(TimeSpan, ViewerStatistics)] = []
        for _ in 0..<count {
            try await Task.sleep(for: .nanoseconds(pause().nanoseconds))
            let beginning = MonotonicClock.now()
            let stream = try await pcast.subscribe(streamToken: viewingToken, streamID: streamID)
            let renderer = stream.createRenderer(.nullDevices)
            guard renderer.start() == .ok else { throw BenchFailure("the stream cannot be decoded here") }
            try await Task.sleep(for: Self.startUpTime)
            renderer.stop()
            guard let first = await renderer.firstFrame else { throw BenchFailure("no frame came in time") }
            joins.append((first - beginning, await renderer.summary()))
            stream.stop()
        }
        other.stop()
        await pcast.shutdown()
        return joins
    }

    /// Enough for the median lag after the start-up phase.
    private static let startUpTime = Duration.seconds(2)

    /// How long it takes from calling subscribe to the first picture on the screen, with a session that begins in the
    /// same flight.
    func joinAfresh() async throws -> TimeSpan {
        let pcast = PCast(PCastOptions(uri: uri))
        let beginning = MonotonicClock.now()
        let starting = Task.immediate { _ = try await pcast.start(authenticationToken: authenticationToken) }
        do {
            let wait = try await join(pcast, since: beginning)
            try await starting.value
            await pcast.shutdown()
            return wait
        } catch {
            await pcast.shutdown()
            throw error
        }
    }

    /// The same with a session that is there already.
    func join(_ pcast: PCast) async throws -> TimeSpan { try await join(pcast, since: MonotonicClock.now()) }

    private func join(_ pcast: PCast, since beginning: Instant) async throws -> TimeSpan {
        let stream = try await pcast.subscribe(streamToken: viewingToken, streamID: streamID)
        let renderer = stream.createRenderer(.nullDevices)
        guard renderer.start() == .ok else { throw BenchFailure("the stream cannot be decoded here") }
        let watchdog = Task {
            try await Task.sleep(for: .seconds(10))
            renderer.stop()
        }
        let first = await renderer.firstFrame
        watchdog.cancel()
        renderer.stop()
        stream.stop()
        guard let first else { throw BenchFailure("no picture came within ten seconds") }
        return first - beginning
    }
}
