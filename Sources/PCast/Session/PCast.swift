import Logging
public import PCastCodecs
public import PCastCore
public import PCastDevices
import PCastRTP
import PCastWebRTC
import Synchronization

/// The client of a PCast platform: authenticates, publishes streams, and subscribes to them.
///
///     let pcast = PCast(PCastOptions(uri: "https://platform.example"))
///     _ = try await pcast.start(authenticationToken: token)
///     let stream = try await pcast.subscribe(streamToken: streamToken)
///
/// Everything here may be called from any thread. Callbacks come one after another, never on the caller's thread.
/// Source: seed 004, the PCast SDK.
public final class PCast: Sendable {
    public let options: PCastOptions

    let session: SignalingSession
    /// What ``collectLogMessages(_:)`` answers.
    let log: LogRing
    /// Nil unless the options ask for it.
    private let signals: Disposable?
    private let address = Mutex<PlatformAddress?>(nil)
    private let isFirstStart = Atomic(true)

    public init(_ options: PCastOptions = PCastOptions()) {
        self.options = options
        let log = LogRing()
        let logger = Logger(label: "pcast") { _ in CollectingLogHandler(log, configuration: options.logging) }
        let session = SignalingSession(identity: ClientIdentity(deviceID: options.deviceID), logger: logger)
        self.log = log
        self.session = session
        signals =
            options.processTerminationSignalHandling
            ? TerminationSignals.shared.handle { [weak session] in await session?.stop(forGood: true) } : nil
    }

    deinit { session.abandon() }

    // MARK: The session

    /// The session; nil before authentication, and after `stop`.
    public var sessionID: SessionID? { session.sessionID }

    /// To the platform, as the last ping measured it; nil before the first.
    public var roundTripTime: TimeSpan? { session.roundTripTime }

    /// What happens to the session from now on. Each access makes a stream of its own.
    public var events: AsyncStream<PCastEvent> { session.events.listen() }

    /// Connects and authenticates.
    ///
    /// A broken connection is made again by itself, with the same session, after 1, 4, 9 … and at most 60 s, told by
    /// ``events``; the first one is not. A stream may be subscribed to while this runs: its request goes out together
    /// with the authentication.
    ///
    /// - Parameter authenticationToken: made with EdgeAuth.
    /// - Throws: `unauthorized` when the token is refused, `failed` when no platform answers, `timeout` when it does so
    ///   too late, `badRequest` when none is named, `conflict` when this is started already, `gone` after `shutdown`.
    public func start(authenticationToken: String) async throws(PCastError) -> SessionID {
        let result = await withCheckedContinuation { continuation in
            if let refusal = begin(authenticationToken, started: { continuation.resume(returning: $0) }) {
                continuation.resume(returning: .failure(refusal))
            }
        }
        return try result.get()
    }

    /// Begins to start at once, on the caller's thread.
    ///
    /// - Parameters:
    ///   - teller: is told this start's events, and finished by the next start.
    ///   - started: called once, when the first authentication is settled.
    /// - Returns: why nothing began; then neither is used.
    func begin(
        _ token: String, telling teller: AsyncStream<PCastEvent>.Continuation? = nil,
        started: @escaping @Sendable (Result<SessionID, PCastError>) -> Void = { _ in }
    ) -> PCastError? {
        do throws(PCastError) {
            let platform = try PlatformAddress(option: options.uri, token: token)
            address.withLock { $0 = platform }
            let previous = isFirstStart.exchange(false, ordering: .relaxed) ? options.sessionID : nil
            return session.start(at: platform, token: token, resuming: previous, telling: teller, started: started)
        } catch {
            session.events.send(.authenticated(error.status, nil))
            return error
        }
    }

    /// Ends all streams and the session; `start` may be called again. Harmless in any state.
    public func stop() async { await stop(forGood: false) }

    /// Stops for good: everything is refused from now on, with `gone`. Harmless in any state, and when called again.
    public func shutdown() async { await stop(forGood: true) }

    private func stop(forGood: Bool) async {
        await session.stop(forGood: forGood)
        if signals != nil { await TerminationSignals.shared.settled() }
    }

    // MARK: Sources

    /// The sources of this machine, the best first.
    ///
    /// - Throws: `failed` when the rules about devices (`configs/devices.json5`) cannot be read.
    public func enumerateSourceDevices(_ mediaType: MediaType) async throws(PCastError) -> [SourceDeviceInfo] {
        try await sourceDevices(mediaType).map(\.info)
    }

    /// The sources of this machine with what they can do, the best first.
    ///
    /// - Throws: as ``enumerateSourceDevices(_:)`` does.
    public func sourceDevices(_ mediaType: MediaType) async throws(PCastError) -> [SourceDevice] {
        try await DeviceThread.run { () throws(DeviceError) in try SourceDevices.list(mediaType) }
    }

    /// What is plugged in and out from now on, for as long as it is iterated.
    ///
    /// - Throws: `failed` when the kernel does not let anybody watch.
    public func sourceDeviceChanges(_ mediaType: MediaType) async throws(PCastError) -> AsyncStream<SourceDeviceChange>
    {
        try await DeviceThread.run { () throws(DeviceError) in try SourceDevices.changes(mediaType) }
    }

    /// The encoders of video that this machine has, the one first that publications use; hardware's are used where they
    /// can be.
    public func videoEncoders() async -> [VideoEncoderInfo] {
        (try? await DeviceThread.run { () throws(DeviceError) in VideoEncoders.available() }) ?? []
    }

    /// Opens sources; they run from their publication on. Needs no session.
    ///
    /// - Throws: `conflict` for a device that another program has, `failed` for one that is not there, may not be
    ///   opened, or cannot do what is demanded (the sentence says which demand, and what could be had), `badRequest` for
    ///   what is no source.
    public func getUserMedia(_ options: UserMediaOptions = UserMediaOptions()) async throws(PCastError)
        -> UserMediaStream
    {
        guard options.video.isEnabled || options.audio.isEnabled else {
            throw PCastError(.badRequest, .usage, "neither video nor audio is asked for")
        }
        let stream = try await DeviceThread.run { () throws(DeviceError) in
            let inputs = try SourceInputs(video: options.videoRequest, audio: options.audioRequest)
            return UserMediaStream(LocalMedia(inputs, isOnDemand: options.isOnDemand))
        }
        if let reason = stream.unmet[.deviceID] {
            session.logger.warning(
                "the source that deviceId names is not available, and another one is used",
                metadata: ["reason": "\(reason)"])
        }
        return stream
    }

    // MARK: Streams

    /// Publishes a stream.
    ///
    /// - Parameters:
    ///   - streamToken: made with EdgeAuth, for publishing.
    ///   - mediaStream: a ``UserMediaStream/mediaStream``, an ``ApplicationMedia/mediaStream``, or a stream that was subscribed
    ///     to. Of the latter H.264 is passed
    ///     on as it is coded, where the options do not ask for anything else, as is the sound; other pictures are decoded,
    ///     and encoded anew. Such a publication ends with the stream that it is made of.
    ///   - tags: are handed on with the platform's notifications, and matched by tokens that require one.
    /// - Returns: when the platform has agreed; media flows some round trips later.
    /// - Throws: `notStarted`, `notReady` while offline, `gone` for a subscribed stream that has ended, the platform's
    ///   refusal, or `timeout`.
    public func publish(
        streamToken: String, mediaStream: MediaStream, tags: [String] = [], options: PublishOptions = PublishOptions()
    ) async throws(PCastError) -> Publisher {
        let media: any PublishedMedia
        switch mediaStream.origin {
        case .local(let own): media = own
        case .application(let pushed): media = pushed
        case .remote(let viewed):
            if let ended = mediaStream.endedInfo {
                throw PCastError(.gone, .usage, "the subscribed stream has ended: \(ended.reasonDescription)")
            }
            media = ForwardedMedia(viewed, codecs: mediaStream.codecs)
        }
        var options = options
        options.layers = options.layers ?? StreamCapabilities(token: streamToken).layers
        let publishing = try Publishing(media, of: mediaStream, options: options, at: platform(for: "publish"))
        let setup = StreamSetup(
            direction: .upload, streamToken: streamToken, tags: tags, resumes: options.resumes)
        let stream = try await setup.run(publishing.call, life: publishing.life, session: session)
        return Publisher(streamID: stream, publishing: publishing)
    }

    /// Subscribes to a stream.
    ///
    /// - Parameters:
    ///   - streamToken: made with EdgeAuth, for streaming.
    ///   - streamID: the stream, where the token leaves that open.
    /// - Returns: when the platform has agreed; media arrives some round trips later.
    /// - Throws: `notStarted`, `notReady` while offline, `noStreamPlaying`, the platform's refusal, or `timeout`.
    public func subscribe(streamToken: String, streamID: StreamID? = nil) async throws(PCastError) -> MediaStream {
        let feed = ReceivedMediaFeed()
        let life = StreamLifecycle(.viewer)
        let call = try MediaCall(
            .view(video: true, audio: true), at: platform(for: "subscribe"), received: { feed.deliver($0) })
        Task {
            for await event in call.events { life.follow(event) }
        }
        life.watch(call)
        let setup = StreamSetup(direction: .download, streamToken: streamToken, originStreamID: streamID)
        let stream = try await setup.run(call, life: life, session: session)
        let media = RemoteMedia(streamID: stream, call: call, feed: feed, life: life)
        return MediaStream(remote: media, codecs: await call.receivedCodecs())
    }

    private func platform(for what: String) throws(PCastError) -> PlatformAddress {
        guard let platform = address.withLock({ $0 }) else { throw .notStarted(what) }
        return platform
    }
}
