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
        let renderer = stream.createRenderer(RendererOptions(lipSync: lipSync))
        guard renderer.start() == .ok else { throw BenchFailure("the stream cannot be decoded here") }
        try await Task.sleep(for: duration)
        renderer.stop()
        let summary = await renderer.summary()
        await pcast.shutdown()
        return summary
    }

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
        let renderer = stream.createRenderer()
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
