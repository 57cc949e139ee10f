public import PCast
import Synchronization

/// A client that starts by itself, and that publishes and subscribes again after a failure (Phenix:
/// `PhenixPCastExpress`). Create it with ``PhenixPCastExpressFactory``.
///
/// Requests wait for the start. Callbacks are called once, on no particular thread.
public final class PhenixPCastExpress: Sendable {
    /// A callback with the publisher, or the reason of a failure.
    public typealias PublishCallback = @Sendable (PhenixRequestStatus, PhenixExpressPublisher?) -> Void
    /// A callback with the subscriber and its renderer, if one was requested, or the reason of a failure.
    public typealias SubscribeCallback =
        @Sendable (PhenixRequestStatus, PhenixExpressSubscriber?, PhenixRenderer?) -> Void

    /// The client that has started, or the reason why there is none.
    private let client: Task<Result<PCast, PCastError>, Never>

    init(_ options: PhenixPCastExpressOptions) {
        client = Task {
            let pcast: PCast
            do throws(PCastError) {
                pcast = PCast(try options.client.get())
                try await pcast.start(authenticationToken: options.authenticationToken)
            } catch {
                options.unrecoverableErrorCallback?(error.status, error.description)
                return .failure(error)
            }
            return .success(pcast)
        }
    }

    deinit { dispose() }

    /// Ends the session and all streams.
    public func dispose() {
        Task { [client] in
            if case .success(let pcast) = await client.value { await pcast.shutdown() }
        }
    }

    /// Calls back when the client is started, or with the reason why it is not.
    public func waitForOnline(_ callback: @escaping @Sendable (PhenixRequestStatus) -> Void) {
        Task {
            do throws(PCastError) {
                _ = try await started()
                callback(.ok)
            } catch {
                callback(error.status)
            }
        }
    }

    /// Publishes a stream.
    public func publish(_ options: PhenixPublishOptions!, _ callback: @escaping PublishCallback) {
        let options = options ?? PhenixPublishOptions()
        Task {
            do throws(PCastError) {
                let pcast = try await started()
                let (media, owned) = try await options.media(of: pcast)
                let publisher = try await pcast.publish(
                    recovering: RecoveryPolicy(), mediaStream: media, tags: options.tags
                ) { () throws(PCastError) in options.streamToken }
                callback(.ok, PhenixExpressPublisher(publisher, media, owned))
            } catch {
                callback(error.status, nil)
            }
        }
    }

    /// Subscribes to a stream.
    public func subscribe(_ options: PhenixSubscribeOptions!, _ callback: @escaping SubscribeCallback) {
        let options = options ?? PhenixSubscribeOptions()
        Task {
            do throws(PCastError) {
                let stream = try await started().subscribe(
                    recovering: RecoveryPolicy(), streamID: options.streamID
                ) { () throws(PCastError) in options.streamToken }
                let renderer = stream.current.value.flatMap { options.renderer(of: $0) }
                callback(.ok, PhenixExpressSubscriber(stream), renderer)
            } catch {
                callback(error.status, nil, nil)
            }
        }
    }

    /// Returns the client when it has started.
    ///
    /// - Throws: ``PCastError``.
    func started() async throws(PCastError) -> PCast { try await client.value.get() }
}

/// Creates clients with retries, and builders of their options (Phenix: `PhenixPCastExpressFactory`).
public enum PhenixPCastExpressFactory {
    /// Returns a builder of the options of a client.
    public static func createPCastExpressOptionsBuilder() -> PhenixPCastExpressOptionsBuilder! {
        PhenixPCastExpressOptionsBuilder()
    }

    /// Returns a client, which begins to start.
    public static func createPCastExpress(_ options: PhenixPCastExpressOptions!) -> PhenixPCastExpress! {
        PhenixPCastExpress(options ?? PhenixPCastExpressOptions())
    }

    /// Returns a builder of the options of a publication.
    public static func createPublishOptionsBuilder() -> PhenixPublishOptionsBuilder! { PhenixPublishOptionsBuilder() }

    /// Returns a builder of the options of a subscription.
    public static func createSubscribeOptionsBuilder() -> PhenixSubscribeOptionsBuilder! {
        PhenixSubscribeOptionsBuilder()
    }
}

// MARK: - Options

/// The options of a client (Phenix: `PhenixPCastExpressOptions`).
public struct PhenixPCastExpressOptions: Sendable {
    /// The options of the client, or what is wrong in them.
    fileprivate(set) var client: Result<PCastOptions, PCastError> = .success(PCastOptions(streamingClient: .hls))
    fileprivate(set) var authenticationToken = ""
    fileprivate(set) var unrecoverableErrorCallback: (@Sendable (PhenixRequestStatus, String) -> Void)?
}

/// A builder of the options of a client (Phenix: `PhenixPCastExpressOptionsBuilder`).
///
/// Tokens are made by the application's backend, which gives them to the application. There is no `withBackendUri`.
public final class PhenixPCastExpressOptionsBuilder {
    private var uri: String?
    private var initialization = PhenixPCastInitializeOptions()
    private var options = PhenixPCastExpressOptions()

    /// Sets the address of the platform. Without it, the address in the token is used.
    public func withPCastUri(_ uri: String!) -> PhenixPCastExpressOptionsBuilder! {
        self.uri = uri
        return self
    }

    /// Sets the token with which the client authenticates.
    public func withAuthenticationToken(_ token: String!) -> PhenixPCastExpressOptionsBuilder! {
        options.authenticationToken = token ?? ""
        return self
    }

    /// Sets further options of the client.
    public func withPCastInitializationOptions(
        _ options: PhenixPCastInitializeOptions!
    ) -> PhenixPCastExpressOptionsBuilder! {
        initialization = options ?? PhenixPCastInitializeOptions()
        return self
    }

    /// Sets a callback for a start that fails, after which the client cannot be used.
    public func withUnrecoverableErrorCallback(
        _ callback: @escaping @Sendable (PhenixRequestStatus, _ description: String) -> Void
    ) -> PhenixPCastExpressOptionsBuilder! {
        options.unrecoverableErrorCallback = callback
        return self
    }

    /// Returns the options.
    public func buildPCastExpressOptions() -> PhenixPCastExpressOptions! {
        do throws(PCastError) {
            options.client = .success(try initialization.options(uri: uri))
        } catch {
            options.client = .failure(error)
        }
        return options
    }
}

/// The options of a publication (Phenix: `PhenixPublishOptions`).
public struct PhenixPublishOptions: Sendable {
    fileprivate(set) var streamToken = ""
    fileprivate(set) var tags: [String] = []
    fileprivate(set) var userMedia: PhenixUserMediaStream?
    fileprivate(set) var constraints = UserMediaOptions()

    /// Returns the media, and the sources that were opened for it and end with it; nil for those of the application.
    ///
    /// - Throws: ``PCastError``.
    func media(of pcast: PCast) async throws(PCastError) -> (MediaStream, UserMediaStream?) {
        if let userMedia { return (userMedia.mediaStream, nil) }
        let opened = try await pcast.getUserMedia(constraints)
        return (opened.mediaStream, opened)
    }
}

/// A builder of the options of a publication (Phenix: `PhenixPublishOptionsBuilder`).
public final class PhenixPublishOptionsBuilder {
    private var options = PhenixPublishOptions()

    /// Sets the token that permits publishing.
    public func withStreamToken(_ token: String!) -> PhenixPublishOptionsBuilder! {
        options.streamToken = token ?? ""
        return self
    }

    /// Sets the media of the application. Without it, the sources of ``withMediaConstraints(_:)`` are opened.
    public func withUserMedia(_ userMedia: PhenixUserMediaStream!) -> PhenixPublishOptionsBuilder! {
        options.userMedia = userMedia
        return self
    }

    /// Sets the constraints of the sources to open.
    public func withMediaConstraints(_ constraints: PhenixUserMediaOptions!) -> PhenixPublishOptionsBuilder! {
        options.constraints = (constraints ?? PhenixUserMediaOptions()).options
        return self
    }

    /// Sets the tags of the stream.
    public func withTags(_ tags: [String]!) -> PhenixPublishOptionsBuilder! {
        options.tags = tags ?? []
        return self
    }

    /// Returns the options.
    public func buildPublishOptions() -> PhenixPublishOptions! { options }
}

/// The options of a subscription (Phenix: `PhenixSubscribeOptions`).
public struct PhenixSubscribeOptions: Sendable {
    fileprivate(set) var streamToken = ""
    fileprivate(set) var streamID: StreamID?
    fileprivate(set) var rendererOptions: RendererOptions?

    /// Sets the stream.
    mutating func setStream(_ id: StreamID) { streamID = id }

    /// Returns a started renderer; nil if none was requested.
    func renderer(of stream: MediaStream) -> PhenixRenderer? {
        rendererOptions.map { options in
            let renderer = stream.createRenderer(options)
            let _: PhenixRendererStartStatus = renderer.start()
            return renderer
        }
    }
}

/// A builder of the options of a subscription (Phenix: `PhenixSubscribeOptionsBuilder`).
public final class PhenixSubscribeOptionsBuilder {
    private var options = PhenixSubscribeOptions()

    /// Sets the token that permits viewing.
    public func withStreamToken(_ token: String!) -> PhenixSubscribeOptionsBuilder! {
        options.streamToken = token ?? ""
        return self
    }

    /// Sets the stream. It is not needed if the token names it.
    public func withStreamId(_ streamId: String!) -> PhenixSubscribeOptionsBuilder! {
        options.streamID = streamId.map { StreamID($0) }
        return self
    }

    /// Requests a renderer, which is started.
    public func withRendererOptions(_ rendererOptions: PhenixRendererOptions!) -> PhenixSubscribeOptionsBuilder! {
        options.rendererOptions = (rendererOptions ?? PhenixRendererOptions()).options
        return self
    }

    /// Returns the options.
    public func buildSubscribeOptions() -> PhenixSubscribeOptions! { options }
}

// MARK: - Streams

/// A published stream, which is published again after a failure (Phenix: `PhenixExpressPublisher`). It lasts while it is
/// held.
public final class PhenixExpressPublisher: Sendable {
    private let publisher: RecoveringStream<Publisher>
    private let media: MediaStream
    /// The sources that end with the stream.
    private let owned: UserMediaStream?
    /// The announcement in a room; nil for none.
    private let publication: RoomPublication?

    init(
        _ publisher: RecoveringStream<Publisher>, _ media: MediaStream, _ owned: UserMediaStream?,
        _ publication: RoomPublication? = nil
    ) {
        (self.publisher, self.media, self.owned, self.publication) = (publisher, media, owned, publication)
    }

    deinit { owned?.stop() }

    /// The platform's ID of the stream; nil while there is none.
    public var streamId: String! { publisher.current.value?.streamID.description }

    /// Whether the stream has ended for good.
    public var hasEnded: Bool { publisher.observableEndedInfo.value != nil }

    /// Sends the audio again.
    public func enableAudio() { setMuted(audio: false) }
    /// Mutes the audio, and announces it in a room.
    public func disableAudio() { setMuted(audio: true) }
    /// Sends the video again.
    public func enableVideo() { setMuted(video: false) }
    /// Mutes the video, and announces it in a room.
    public func disableVideo() { setMuted(video: true) }

    private func setMuted(audio: Bool? = nil, video: Bool? = nil) {
        if let audio { for track in media.audioTracks { track.setEnabled(!audio) } }
        if let video { for track in media.videoTracks { track.setEnabled(!video) } }
        guard let publication else { return }
        Task { try? await publication.setMuted(audio: audio, video: video) }
    }

    /// Ends the stream, and its announcement in a room before.
    public func stop() {
        Task { [publisher, publication, owned] in
            await publication?.stop()
            publisher.stop()
            owned?.stop()
        }
    }

    /// Calls back once when the stream has ended for good.
    public func setPublisherEndedCallback(
        _ callback: @escaping @Sendable (PhenixStreamEndedReason, _ reasonDescription: String) -> Void
    ) {
        let ends = publisher.observableEndedInfo.values
        Task {
            for await info in ends {
                guard let info else { continue }
                return callback(info.reason, info.reasonDescription)
            }
        }
    }
}

/// A subscribed stream, which is subscribed to again after a failure (Phenix: `PhenixExpressSubscriber`). It lasts while it
/// is held.
public final class PhenixExpressSubscriber: Sendable {
    private enum Source {
        case recovering(RecoveringStream<MediaStream>)
        /// The stream of a channel, which the channel replaces.
        case stream(MediaStream)
    }

    private let source: Source

    init(_ stream: RecoveringStream<MediaStream>) { source = .recovering(stream) }

    init(_ stream: MediaStream) { source = .stream(stream) }

    /// The current stream; nil while there is none.
    public var mediaStream: PhenixMediaStream! {
        switch source {
        case .recovering(let stream): stream.current.value
        case .stream(let stream): stream
        }
    }

    /// Creates a renderer of the current stream, which has to be started; nil while there is no stream.
    public func createRenderer(_ options: PhenixRendererOptions! = nil) -> PhenixRenderer! {
        mediaStream?.createRenderer(options)
    }

    /// Ends the subscription.
    public func stop() {
        switch source {
        case .recovering(let stream): stream.stop()
        case .stream(let stream): stream.stop()
        }
    }
}
