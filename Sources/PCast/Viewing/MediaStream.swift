public import PCastCore
import PCastIO
import Synchronization

/// A stream that can be rendered or published: a subscribed stream, or the stream of this machine's sources (Phenix:
/// `PhenixMediaStream`). A subscribed stream lasts until it is stopped, the platform ends it, or its ``PCast`` ends.
public final class MediaStream: Sendable {
    /// The origin of the media.
    enum Origin: Sendable {
        /// The sources of this machine.
        case local(LocalMedia)
        /// The media that the application pushes.
        case application(PushedMedia)
        /// A subscribed stream.
        case remote(RemoteMedia)
        /// A subscribed stream that is delivered by HLS.
        case playlist(PlaylistMedia)
    }

    /// The tracks, video first.
    public let tracks: [MediaStreamTrack]

    /// The platform's ID of a subscribed stream; nil for other streams.
    public let streamID: StreamID?

    let origin: Origin
    let lifecycle: StreamLifecycle
    /// The codecs of a subscribed stream's tracks.
    let codecs: [Codec]

    init(local media: LocalMedia) {
        origin = .local(media)
        lifecycle = media.lifecycle
        streamID = nil
        codecs = []
        tracks =
            (media.video == nil ? [] : [MediaStreamTrack(.video)])
            + (media.audio == nil ? [] : [MediaStreamTrack(.audio)])
    }

    init(application media: PushedMedia) {
        origin = .application(media)
        lifecycle = media.lifecycle
        streamID = nil
        codecs = []
        tracks =
            (media.videoRate == nil ? [] : [MediaStreamTrack(.video)])
            + (media.hasAudio ? [MediaStreamTrack(.audio)] : [])
    }

    init(remote media: RemoteMedia, codecs: [Codec]) {
        origin = .remote(media)
        lifecycle = media.lifecycle
        streamID = media.streamID
        let call = media.call
        tracks = codecs.map { codec in
            guard codec.mediaType == .video else { return MediaStreamTrack(.audio) }
            return MediaStreamTrack(.video, limited: { [weak call] in call?.setReceivingLimit($0) })
        }
        self.codecs = codecs
    }

    /// Creates a stream that is delivered by HLS. It has a track of each type, because its playlist is not loaded yet.
    init(playlist media: PlaylistMedia) {
        origin = .playlist(media)
        lifecycle = media.lifecycle
        streamID = media.streamID
        codecs = []
        tracks = [MediaStreamTrack(.video), MediaStreamTrack(.audio)]
    }

    /// The video tracks.
    public var videoTracks: [MediaStreamTrack] { tracks.filter { $0.mediaType == .video } }

    /// The audio tracks.
    public var audioTracks: [MediaStreamTrack] { tracks.filter { $0.mediaType == .audio } }

    /// Returns whether the stream has an enabled track of this type.
    func passes(_ mediaType: MediaType) -> Bool { tracks.contains { $0.mediaType == mediaType && $0.isEnabled } }

    // MARK: The end

    /// The cause of the end; nil before the stream has ended.
    public var endedInfo: StreamEndedInfo? { lifecycle.endedInfo }

    /// The cause of the end as an observable value, which is nil before the end (Phenix: `getObservableEndedInfo`).
    public var observableEndedInfo: ObservableValue<StreamEndedInfo?> { lifecycle.observableEndedInfo }

    /// The cause of the end; waits until the stream has ended.
    public var ended: StreamEndedInfo { get async { await lifecycle.ended } }

    /// Calls `action` once: when the stream ends, or at once if it has ended.
    package func whenEnded(_ action: @escaping @Sendable (StreamEndedInfo) -> Void) { lifecycle.whenEnded(action) }

    /// Ends the subscription, or stops the sources. It has no effect when it is called again.
    public func stop() {
        switch origin {
        case .local(let media): media.stop()
        case .application(let media): media.stop()
        case .remote, .playlist:
            lifecycle.end(StreamEndedInfo(ender: .stop, reason: .ended, reasonDescription: "ended"))
        }
    }

    // MARK: Statistics

    /// The data quality that the platform reports, or that the client has detected itself. For sources of this machine
    /// it is always good.
    public var dataQuality: DataQuality { lifecycle.dataQuality }

    /// The changes of ``dataQuality`` until the stream ends.
    public var dataQualities: AsyncStream<DataQuality> { lifecycle.qualities.listen() }

    /// Returns the statistics of the W3C (webrtc-stats) since a subscribed stream began. After the end they are the
    /// last ones. ``Renderer/getStats()`` adds those of its frames. The report is empty for other streams, and for
    /// those that are delivered by HLS.
    public func getStats() async -> RTCStatsReport {
        guard case .remote(let media) = origin else { return RTCStatsReport() }
        return await media.call.stats()
    }

    // MARK: Captions

    /// The captions of a subscribed stream: the present ones at first, and then those that arrive, until the stream
    /// ends. They usually arrive before the frames to which they belong. ``Renderer/caption`` is the text of the
    /// displayed frame. Each access creates a new stream.
    public var captions: AsyncStream<[CaptionCue]> { lifecycle.captions.listen() }

    /// Returns the captions of a displayed frame.
    ///
    /// - Parameter captureTime: The capture time of the frame; nil if it is unknown. The frame then counts as captured
    ///   now.
    /// - Returns: The texts of the captions, one below the other; nil if there are none.
    public func caption(at captureTime: WallTime?) -> String? {
        lifecycle.captions.text(at: captureTime, now: MonotonicClock.now())
    }

    /// Whether the stream is delivered by HLS. Its captions are then those of a renderer.
    package var isPlaylist: Bool { if case .playlist = origin { true } else { false } }

    // MARK: Rendering

    /// Creates a renderer, which has to be started.
    public func createRenderer(_ options: RendererOptions = RendererOptions()) -> Renderer {
        Renderer(stream: self, options: options)
    }

    /// Records the stream to an MP4, Matroska or WebM file, by the extension of the path, from the next key frame on.
    /// An existing file is replaced.
    ///
    /// - Parameter path: The path of the file.
    /// - Returns: The recording.
    /// - Throws: ``PCastError`` with the status `badRequest` if the stream is not a subscribed one, and `failed` if the
    ///   file cannot be written.
    public func record(to path: String) throws(PCastError) -> StreamRecording {
        try record(to: path, named: nil)
    }

    /// Records the stream to a file. `name` is the file's name for people and for the format, if the path is not its
    /// name. Throws an error as `record(to:)` does.
    func record(to path: String, named name: String?) throws(PCastError) -> StreamRecording {
        guard case .remote(let media) = origin else {
            throw PCastError(.badRequest, .usage, "only a subscribed stream in real time can be recorded")
        }
        return try StreamRecording(of: media, codecs: codecs, to: path, named: name)
    }
}

/// The video or audio track of a ``MediaStream`` (Phenix: `PhenixMediaStreamTrack`).
public final class MediaStreamTrack: Sendable {
    /// The type of media.
    public let mediaType: MediaType
    private let enabled = Atomic(true)
    /// The limits on the received bit rate; nil for a track that is not received.
    private let limits: BandwidthLimits?

    /// Creates a track. `limited` receives each change of the limit on the received bit rate; nil if there is none.
    init(_ mediaType: MediaType, limited: (@Sendable (Bitrate?) -> Void)? = nil) {
        self.mediaType = mediaType
        limits = limited.map { BandwidthLimits(changed: $0) }
    }

    /// Whether the track's frames are passed on, to the encoder of a publisher or to the renderers of a viewer.
    public var isEnabled: Bool { enabled.load(ordering: .relaxed) }

    /// Limits the received bit rate of a subscribed video track while the returned object exists. The lowest of several
    /// limits applies (Phenix: `limitBandwidth`).
    ///
    /// The platform sends the best layer below the limit, or the lowest layer if all are above it. The limit has no
    /// effect on audio, on tracks of this machine, and on streams by HLS. ``Publisher/limitBandwidth(_:)`` limits the latter.
    ///
    /// - Parameter bitrate: The maximum bit rate.
    /// - Returns: The limit, which applies while the object exists.
    public func limitBandwidth(_ bitrate: Bitrate) -> BandwidthLimit {
        limits?.add(bitrate) ?? BandwidthLimit(bitrate: bitrate, remove: {})
    }

    /// Enables or disables the track. A disabled track passes no frames on. Video resumes with the next key frame.
    public func setEnabled(_ isEnabled: Bool) { enabled.store(isEnabled, ordering: .relaxed) }
}
