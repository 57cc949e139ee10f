import PCast
import PCastCore
import PCastEdgeAuth
import PCastIO

/// A viewer in this process by the SDK.
struct Viewing: Sendable {
    let uri: String
    let streamID: StreamID
    let authenticationToken: String
    let viewingToken: String

    /// Creates a viewer of a live stream. `uri` replaces the platform's URI, for example by that of a proxy. Throws an
    /// error if a token cannot be created.
    init(_ live: TestPatternStream, uri: String? = nil) throws {
        self.uri = uri ?? live.uri
        streamID = live.streamID
        authenticationToken = try live.authenticationToken()
        viewingToken = try live.viewingToken()
    }

    /// Creates a viewer of a stream of an application. Throws an error if a token cannot be created.
    init(uri: String, application: String, secret: String, stream: StreamID) throws {
        let builder = EdgeTokenBuilder().withApplicationId(application).withSecret(secret)
            .expiresIn(.seconds(3_600), from: MonotonicClock.wallTime())
        (self.uri, streamID) = (uri, stream)
        authenticationToken = try builder.forAuthenticationOnly().build()
        viewingToken = try builder.forOriginStream(stream.description).forStreamingOnly().build()
    }

    /// Watches for the given time and returns the statistics.
    func watch(for duration: Duration, lipSync: Bool) async throws -> ViewerStatistics {
        let pcast = PCast(PCastOptions(uri: uri))
        _ = try await pcast.start(authenticationToken: authenticationToken)
        let stream = try await pcast.subscribe(streamToken: viewingToken, streamID: streamID)
        let renderer = stream.createRenderer(
            RendererOptions(lipSync: lipSync, useNullAudioDevice: true, useNullVideoDevice: true))
        try renderer.start()
        try await Task.sleep(for: duration)
        renderer.stop()
        let summary = await renderer.summary()
        await pcast.shutdown()
        return summary
    }

    /// Subscribes `count` times while another viewer keeps the stream active, so that the age of the last key frame
    /// varies. `pause` returns the time before each subscription. Returns for each one the time from the call of
    /// `subscribe` to the first frame, and the statistics of the startup. Throws `BenchFailure` if no frame is shown in
    /// time.
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
            try renderer.start()
            try await Task.sleep(for: Self.startUpTime)
            renderer.stop()
            guard let first = await renderer.firstFrame else {
                throw BenchFailure("no frame arrived before the timeout")
            }
            joins.append((first - beginning, await renderer.summary()))
            stream.stop()
        }
        other.stop()
        await pcast.shutdown()
        return joins
    }

    /// A time long enough for the median latency after the startup.
    private static let startUpTime = Duration.seconds(2)

    /// Returns the time from the call of `subscribe` to the first frame shown, where the session is started
    /// concurrently. Throws `BenchFailure` if no frame is shown.
    func rejoin() async throws -> TimeSpan {
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

    /// Returns the same time with an existing session.
    func join(_ pcast: PCast) async throws -> TimeSpan { try await join(pcast, since: MonotonicClock.now()) }

    private func join(_ pcast: PCast, since beginning: Instant) async throws -> TimeSpan {
        let stream = try await pcast.subscribe(streamToken: viewingToken, streamID: streamID)
        let renderer = stream.createRenderer(.nullDevices)
        try renderer.start()
        let watchdog = Task {
            try await Task.sleep(for: .seconds(10))
            renderer.stop()
        }
        let first = await renderer.firstFrame
        watchdog.cancel()
        renderer.stop()
        stream.stop()
        guard let first else { throw BenchFailure("no frame arrived within ten seconds") }
        return first - beginning
    }
}
