import Logging
public import PCastCodecs
public import PCastCore
public import PCastDevices
import PCastRTP
import PCastSignaling
import PCastWebRTC
import Synchronization

/// The client of a PCast platform, which authenticates, publishes streams, and subscribes to them (Phenix:
/// `PhenixPCast`).
///
///     let pcast = PCast(PCastOptions(uri: "https://platform.example"))
///     try await pcast.start(authenticationToken: token)
///     let stream = try await pcast.subscribe(streamToken: streamToken)
///
/// All members may be called from any thread. The module `PCastCompatibility` has forms with callbacks.
public final class PCast: Sendable {
    /// The options with which the client was created.
    public let options: PCastOptions

    let session: SignalingClient
    /// The log lines for ``collectLogMessages()``.
    let log: LogRing
    /// The registration for termination signals; nil if the options do not request it.
    private let signals: Disposable?
    /// The streams of endpoints of other servers.
    let endpointStreams = EndpointStreams()
    private let address = Mutex<PlatformAddress?>(nil)
    private let isFirstStart = Atomic(true)

    /// Creates a client, which is not connected.
    public init(_ options: PCastOptions = PCastOptions()) {
        self.options = options
        let log = LogRing()
        let logger = Logger(label: "pcast") { _ in CollectingLogHandler(log, configuration: options.logging) }
        let session = SignalingClient(identity: ClientIdentity(deviceID: options.deviceID), logger: logger)
        self.log = log
        self.session = session
        signals =
            options.processTerminationSignalHandling
            ? TerminationSignals.shared.handle { [weak session] in await session?.stop(forGood: true) } : nil
    }

    deinit { session.abandon() }

    // MARK: Session

    /// The ID of the session; nil before authentication, and after `stop`.
    public var sessionID: SessionID? { session.sessionID }

    /// The round-trip time to the platform by the last ping; nil before the first one.
    public var roundTripTime: Duration? { session.roundTripTime?.duration }

    /// The events of the session from now on. Each access creates a new stream.
    public var events: AsyncStream<PCastEvent> { session.events.listen() }

    /// Connects and authenticates.
    ///
    /// A lost connection is restored automatically with the same session, after 1, 4, 9 … and at most 60 s, and
    /// ``events`` reports it. A failed first connection is not retried. A stream may be subscribed to meanwhile: its
    /// request is sent together with the authentication.
    ///
    /// - Parameter authenticationToken: The token, which is made with EdgeAuth (``EdgeTokenBuilder``). A platform on
    ///   loopback needs none.
    /// - Returns: The ID of the session.
    /// - Throws: ``PCastError`` with the status `unauthorized` if the token is refused, `failed` if no platform
    ///   responds, and `timeout` if the response is late. The status is `badRequest` if no platform is specified,
    ///   `conflict` if the client is already started, and `gone` after `shutdown`.
    @discardableResult
    public func start(authenticationToken: String = "") async throws(PCastError) -> SessionID {
        let result = await withCheckedContinuation { continuation in
            if let refusal = begin(authenticationToken, started: { continuation.resume(returning: $0) }) {
                continuation.resume(returning: .failure(refusal))
            }
        }
        return try result.get()
    }

    /// Begins to start on the caller's thread.
    ///
    /// - Parameters:
    ///   - token: The authentication token.
    ///   - notifier: A stream that receives the events of this start, until the next start finishes it.
    ///   - started: A function that is called once with the result of the first authentication.
    /// - Returns: The reason why nothing began, in which case neither `notifier` nor `started` is used; nil on success.
    func begin(
        _ token: String, notifier: AsyncStream<PCastEvent>.Continuation? = nil,
        started: @escaping @Sendable (Result<SessionID, PCastError>) -> Void = { _ in }
    ) -> PCastError? {
        do throws(PCastError) {
            let platform = try PlatformAddress(option: options.uri, token: token)
            address.withLock { $0 = platform }
            let previous = isFirstStart.exchange(false, ordering: .relaxed) ? options.sessionID : nil
            return session.start(at: platform, token: token, resuming: previous, notifier: notifier, started: started)
        } catch {
            session.events.send(.authenticated(error.status, nil))
            return error
        }
    }

    /// Begins to start, and returns the events of this start until the next one. A start that is refused at once is
    /// reported only here, because the session may continue.
    package func startEvents(_ authenticationToken: String) -> AsyncStream<PCastEvent> {
        let (events, notifier) = AsyncStream.makeStream(
            of: PCastEvent.self, bufferingPolicy: .bufferingNewest(EventBroadcaster<PCastEvent>.bufferLimit))
        if let refusal = begin(authenticationToken, notifier: notifier) {
            notifier.yield(.authenticated(refusal.status, nil))
            notifier.finish()
        }
        return events
    }

    /// Ends all streams and the session. `start` may be called again. May be called in any state.
    public func stop() async { await stop(forGood: false) }

    /// Ends all streams and the session permanently. Later calls fail with `gone`. May be called in any state and more
    /// than once.
    public func shutdown() async { await stop(forGood: true) }

    /// Ends all streams and the session, and waits for a termination signal that is being handled.
    private func stop(forGood: Bool) async {
        await endpointStreams.end()
        await session.stop(forGood: forGood)
        if signals != nil { await TerminationSignals.shared.settled() }
    }

    // MARK: Sources

    /// Returns the sources of this machine, the best first.
    ///
    /// - Parameter mediaType: The type of media.
    /// - Returns: The sources.
    /// - Throws: ``PCastError`` with the status `failed` if the rules for devices (`configs/devices.yaml`) cannot be
    ///   read.
    public func enumerateSourceDevices(_ mediaType: MediaType) async throws(PCastError) -> [SourceDeviceInfo] {
        try await sourceDevices(mediaType).map(\.info)
    }

    /// Returns the sources of this machine with their capabilities, the best first.
    ///
    /// - Parameter mediaType: The type of media.
    /// - Returns: The sources.
    /// - Throws: ``PCastError``; see ``enumerateSourceDevices(_:)``.
    public func sourceDevices(_ mediaType: MediaType) async throws(PCastError) -> [SourceDevice] {
        try await DeviceThread.run { () throws(DeviceError) in try SourceDevices.list(mediaType) }
    }

    /// Returns the devices that are plugged in and unplugged from now on, while the stream is iterated.
    ///
    /// - Parameter mediaType: The type of media.
    /// - Returns: The changes.
    /// - Throws: ``PCastError`` with the status `failed` if the kernel does not permit observation.
    public func sourceDeviceChanges(_ mediaType: MediaType) async throws(PCastError) -> AsyncStream<SourceDeviceChange>
    {
        try await DeviceThread.run { () throws(DeviceError) in try SourceDevices.changes(mediaType) }
    }

    /// Returns the video encoders of this machine. The first is the default of publications. Hardware encoders are
    /// preferred if they work.
    ///
    /// - Parameter measured: Whether the speeds of encoders that work are measured, which takes some seconds of a processor.
    /// - Returns: The encoders.
    public func videoEncoders(measured: Bool = false) async -> [VideoEncoderInfo] {
        let encoders = try? await DeviceThread.run { () throws(DeviceError) in
            measured ? VideoEncoders.measured() : VideoEncoders.available()
        }
        return encoders ?? []
    }

    /// Opens sources, which run from their publication on. It needs no session.
    ///
    /// - Parameter options: The sources and their constraints.
    /// - Returns: The stream of the sources.
    /// - Throws: ``PCastError`` with the status `conflict` for a device in use by another program, and `badRequest` for
    ///   an invalid source. The status is `failed` for a device that is not there, may not be opened or does not
    ///   satisfy a required constraint. The description names that constraint and the available values.
    public func getUserMedia(_ options: UserMediaOptions = UserMediaOptions()) async throws(PCastError)
        -> UserMediaStream
    {
        guard options.video.isEnabled || options.audio.isEnabled else {
            throw PCastError(.badRequest, .usage, "neither video nor audio is requested: request at least one")
        }
        let stream: UserMediaStream
        do throws(PCastError) {
            stream = try await DeviceThread.run { () throws(DeviceError) in
                let inputs = try SourceInputs(video: options.videoRequest, audio: options.audioRequest)
                return UserMediaStream(LocalMedia(inputs, isOnDemand: options.isOnDemand))
            }
        } catch {
            // The caller receives the error. The log has it for callers that pass on only its status.
            session.logger.notice("user media cannot be opened", metadata: ["error": "\(error.description)"])
            throw error
        }
        if let reason = stream.unmet[.deviceID] {
            session.logger.warning(
                "the source with this deviceId is unavailable, and another one is used",
                metadata: ["reason": "\(reason)"])
        }
        return stream
    }

    // MARK: Streams

    /// Publishes a stream. It returns when the platform has accepted it; media flows some round trips later.
    ///
    /// - Parameters:
    ///   - streamToken: The token, which is made with EdgeAuth for publishing. A platform on loopback needs none.
    ///   - mediaStream: A ``UserMediaStream/mediaStream``, an ``ApplicationMedia/mediaStream``, or a subscribed stream.
    ///     The H.264 and audio of a subscribed stream are forwarded without encoding, unless the options require it.
    ///     Other video is transcoded. The publication ends with the subscribed stream.
    ///   - tags: The tags, which the platform's notifications contain, and which tokens may require.
    ///   - options: The encoding of the stream.
    /// - Returns: The publisher.
    /// - Throws: ``PCastError`` with the status `notStarted`, `notReady` while offline, `gone` for a subscribed stream
    ///   that has ended, `timeout`, or the platform's refusal.
    public func publish(
        streamToken: String = "", mediaStream: MediaStream, tags: [String] = [],
        options: PublishOptions = PublishOptions()
    ) async throws(PCastError) -> Publisher {
        let media = try Self.publishedMedia(of: mediaStream)
        var options = options
        options.layers = options.layers ?? TokenCapabilities(token: streamToken).layers
        let publishing = try session.preparing { [options] () throws(PCastError) in
            try Publishing(media, of: mediaStream, options: options, at: platform(for: "publish"))
        }
        let setup = StreamSetup(
            direction: .upload, streamToken: streamToken, tags: tags, resumes: options.resumes)
        let established = try await setup.run(publishing.call, lifecycle: publishing.lifecycle, session: session)
        guard established.playlist == nil else {
            let failure = PCastError(.malformedResponse, during: "SetupStream")
            publishing.lifecycle.end(
                StreamEndedInfo(ender: .connection, reason: .failed, reasonDescription: failure.description))
            publishing.call.close()
            throw failure
        }
        return Publisher(streamID: established.streamID, publishing: publishing, session: session)
    }

    /// Returns the frames of a stream for its publication. Throws an error if the stream has ended, or is delivered by
    /// HLS.
    static func publishedMedia(of mediaStream: MediaStream) throws(PCastError) -> any PublishedMedia {
        switch mediaStream.origin {
        case .local(let own): return own
        case .application(let pushed): return pushed
        case .remote(let viewed):
            if let ended = mediaStream.endedInfo {
                throw PCastError(.gone, .usage, "the subscribed stream has ended: \(ended.reasonDescription)")
            }
            return ForwardedMedia(viewed, codecs: mediaStream.codecs)
        case .playlist:
            throw PCastError(
                .badRequest, .usage,
                "a stream by HLS cannot be published: subscribe with a token for real-time streams")
        }
    }

    /// Subscribes to a stream. It returns when the platform has accepted; media arrives some round trips later.
    ///
    /// With a token with the capability `streaming`, the stream is delivered by HLS, about a second later than in real
    /// time. Its renderers load it with ``PCastOptions/streamingClient``, at the address that
    /// ``PCastOptions/streamingSourceMapping`` makes of that of the platform.
    ///
    /// - Parameters:
    ///   - streamToken: The token, which is made with EdgeAuth for streaming. A platform on loopback needs none.
    ///   - streamID: The stream; nil if the token specifies it.
    /// - Returns: The subscribed stream.
    /// - Throws: ``PCastError`` with the status `notStarted`, `notReady` while offline, `noStreamPlaying`, `timeout`,
    ///   or the platform's refusal. The status is `badRequest` for a token for HLS without a client for it.
    public func subscribe(
        streamToken: String = "", streamID: StreamID? = nil
    ) async throws(PCastError) -> MediaStream {
        try await subscribe(streamToken: streamToken, streamID: streamID, options: [])
    }

    /// Subscribes to a stream with further options for the platform.
    func subscribe(
        streamToken: String, streamID: StreamID?, options setupOptions: [String]
    ) async throws(PCastError) -> MediaStream {
        let feed = ReceivedMediaFeed()
        let lifecycle = StreamLifecycle(.viewer)
        let call = try session.preparing { () throws(PCastError) in
            try MediaCall(
                .view(video: true, audio: true), at: platform(for: "subscribe"), received: { feed.deliver($0) })
        }
        let following = Task {
            for await event in call.events where !Task.isCancelled { lifecycle.follow(event) }
        }
        lifecycle.watch(call)
        let setup = StreamSetup(
            direction: .download, streamToken: streamToken, originStreamID: streamID, options: setupOptions)
        let established = try await setup.run(call, lifecycle: lifecycle, session: session)
        if let playlist = established.playlist {
            // The call has no media. Its end is not that of the stream.
            following.cancel()
            call.close()
            return try self.stream(established.streamID, of: playlist, lifecycle)
        }
        let timeShift = established.timeShift.flatMap { offer in
            options.streamingClient.map {
                playlistMedia(established.streamID, of: offer.uri, by: $0, lifecycle, offer)
            }
        }
        let media = RemoteMedia(
            streamID: established.streamID, call: call, feed: feed, lifecycle: lifecycle, timeShift: timeShift)
        return MediaStream(remote: media, codecs: await call.receivedCodecs())
    }

    /// Returns a stream by HLS. Throws an error if there is no client for it.
    private func stream(
        _ id: StreamID, of playlist: String, _ lifecycle: StreamLifecycle
    ) throws(PCastError) -> MediaStream {
        guard let client = options.streamingClient else {
            let failure = PCastError(
                refusal: "unsupported-features", of: "SetupStream",
                because: "The token is for HLS: import PCastPlayback and set PCastOptions.streamingClient to .hls.")
            lifecycle.end(
                StreamEndedInfo(ender: .connection, reason: .failed, reasonDescription: failure.description))
            throw failure
        }
        return MediaStream(playlist: playlistMedia(id, of: playlist, by: client, lifecycle))
    }

    /// Returns the media of a playlist, at the address of the source mapping.
    private func playlistMedia(
        _ id: StreamID, of playlist: String, by client: StreamingClient, _ lifecycle: StreamLifecycle,
        _ offer: TimeShiftOffer? = nil
    ) -> PlaylistMedia {
        let uri = options.streamingSourceMapping?.apply(to: playlist) ?? playlist
        return PlaylistMedia(streamID: id, uri: uri, client: client, lifecycle: lifecycle, offer: offer)
    }

    /// Returns the address of the platform. Throws an error before the start.
    private func platform(for operation: String) throws(PCastError) -> PlatformAddress {
        guard let platform = address.withLock({ $0 }) else { throw .notStarted(operation) }
        return platform
    }
}

// MARK: Background
extension PCast {
    /// Ends all published and viewed streams of this client with the reason `app-background`, because the application
    /// goes to the background. The application calls it, because only it knows.
    ///
    /// Publishers' viewers and the backend receive the reason as well. The session continues. The function returns when
    /// the streams have ended. It may be called in any state.
    public func applicationBackground() async {
        let streams = session.streams
        for stream in streams { stream.applicationWentToBackground() }
        for stream in streams { await stream.isOver() }
    }
}
