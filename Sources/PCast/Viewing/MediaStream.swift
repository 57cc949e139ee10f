public import PCastCore

/// A stream that can be watched or published: one that was subscribed to, or that of this machine's sources (Phenix:
/// `PhenixMediaStream`). A subscribed stream goes on until it is stopped or ended, or its ``PCast`` is.
public final class MediaStream: Sendable {
    enum Origin: Sendable {
        case local(LocalMedia)
        case application(PushedMedia)
        case remote(RemoteMedia)
    }

    /// Video first.
    public let tracks: [MediaStreamTrack]

    /// The platform's name of a subscribed stream; nil for sources of this machine.
    public let streamID: StreamID?

    let origin: Origin
    let life: StreamLifecycle
    /// Of a subscribed stream's tracks.
    let codecs: [Codec]

    init(local media: LocalMedia) {
        origin = .local(media)
        life = media.life
        streamID = nil
        codecs = []
        tracks =
            (media.video == nil ? [] : [MediaStreamTrack(.video)])
            + (media.audio == nil ? [] : [MediaStreamTrack(.audio)])
    }

    init(application media: PushedMedia) {
        origin = .application(media)
        life = media.life
        streamID = nil
        codecs = []
        tracks =
            (media.videoRate == nil ? [] : [MediaStreamTrack(.video)])
            + (media.hasSound ? [MediaStreamTrack(.audio)] : [])
    }

    init(remote media: RemoteMedia, codecs: [Codec]) {
        origin = .remote(media)
        life = media.life
        streamID = media.streamID
        let call = media.call
        tracks = codecs.map { codec in
            guard codec.mediaType == .video else { return MediaStreamTrack(.audio) }
            return MediaStreamTrack(.video, limited: { [weak call] in call?.setReceivingLimit($0) })
        }
        self.codecs = codecs
    }

    public var videoTracks: [MediaStreamTrack] { tracks.filter { $0.mediaType == .video } }

    public var audioTracks: [MediaStreamTrack] { tracks.filter { $0.mediaType == .audio } }

    /// Whether a track of this medium is there and passed on.
    func passes(_ mediaType: MediaType) -> Bool { tracks.contains { $0.mediaType == mediaType && $0.isEnabled } }

    // MARK: The end

    /// How the stream ended; nil while it goes on.
    public var endedInfo: StreamEndedInfo? { life.endedInfo }

    /// The same as a value that is observed: nil at first, and how the stream ended from then on (Phenix:
    /// `getObservableEndedInfo`).
    public var observableEndedInfo: ObservableValue<StreamEndedInfo?> { life.observableEndedInfo }

    /// Returns when the stream has ended.
    public var ended: StreamEndedInfo { get async { await life.ended } }

    /// Calls back once: when the stream ends, or at once if it has ended (seed 004, `setStreamEndedCallback`).
    public func setStreamEndedCallback(
        _ callback: @escaping @Sendable (MediaStream, StreamEndedReason, _ reasonDescription: String) -> Void
    ) {
        life.whenEnded { info in callback(self, info.reason, info.reasonDescription) }
    }

    /// Stops viewing, or stops the sources. Harmless when called again.
    public func stop() {
        switch origin {
        case .local(let media): media.stop()
        case .application(let media): media.stop()
        case .remote: life.end(StreamEndedInfo(ender: .stop, reason: .ended, reasonDescription: "ended"))
        }
    }

    // MARK: What gets through

    /// What the platform says of the way to here, or what is known here better; of sources of this machine, that all is
    /// well.
    public var dataQuality: DataQuality { life.dataQuality }

    /// Each change of ``dataQuality`` from now on, until the stream ends.
    public var dataQualities: AsyncStream<DataQuality> { life.qualities.listen() }

    /// What was counted since a subscribed stream began, under WebRTC's own names (W3C webrtc-stats); after its end, as it
    /// was then. ``Renderer/getStats()`` knows more of its pictures. Empty for sources of this machine.
    public func getStats() async -> RTCStatsReport {
        guard case .remote(let media) = origin else { return RTCStatsReport() }
        return await media.call.stats()
    }

    // MARK: Watching

    /// Makes a renderer, which is started by itself.
    public func createRenderer(_ options: RendererOptions = RendererOptions()) -> Renderer {
        Renderer(stream: self, options: options)
    }

    /// Writes the stream into an MP4, Matroska or WebM file by the path's extension, from the next key frame on. An
    /// existing file is replaced.
    ///
    /// - Throws: `badRequest` for sources of this machine, `failed` when the file cannot be written.
    public func record(to path: String) throws(PCastError) -> StreamRecording {
        try record(to: path, named: nil)
    }

    /// - Parameter name: of the file, where the path is not its name.
    func record(to path: String, named name: String?) throws(PCastError) -> StreamRecording {
        guard case .remote(let media) = origin else {
            throw PCastError(.badRequest, .usage, "only a subscribed stream can be recorded")
        }
        return try StreamRecording(of: media, codecs: codecs, to: path, named: name)
    }
}
