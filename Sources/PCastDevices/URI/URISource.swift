package import PCastCodecs
package import PCastCore
import PCastIO
import Synchronization

/// A file or an address that FFmpeg can open, played in real time. It is opened and read once for video and audio,
/// which share a schedule.
///
/// Reading starts when all requested media were started. Frames are delivered at their presentation times on the
/// monotonic clock. Their capture time is the wall-clock time of that moment, which keeps lip sync.
///
/// It is `@unchecked Sendable` because only `init` and then the reader's thread use the reader.
package final class URISource: @unchecked Sendable {
    let uri: String
    let format: URIFormat
    /// The media types that are read.
    package let media: Set<MediaType>
    private let reader: MediaReader
    /// Through which it is read; nil for none.
    private let proxy: OutboundProxy?
    private let isLooping: Bool
    private let skipped: TimeSpan
    private let videoTrack: ReleaseTrack<VideoSample>?
    private let audioTrack: ReleaseTrack<AudioFrame>?
    private let sleep = CancellableSleep()
    private let state = Mutex(State.idle)

    private let clock = ReleaseClock()
    private let foundReason: Mutex<TranscodeReason?>

    private enum State {
        case idle
        case reading(WorkerThread)
        case stopped
    }

    /// Opens a file or an address. It blocks until it is open.
    ///
    /// - Parameters:
    ///   - uri: The path or the address.
    ///   - media: The media types to read.
    ///   - isLooping: Whether it repeats, with times that continue.
    ///   - passesThrough: Whether video is delivered as encoded frames while that is possible.
    ///   - codecs: The codecs of frames that are delivered like this.
    /// - Throws: `DeviceError.unreadable`, or `.noTrack` if a media type is missing.
    package convenience init(
        uri: String, media: Set<MediaType>, isLooping: Bool = false, passesThrough: Bool = false,
        codecs: Set<Codec> = [.h264]
    ) throws(DeviceError) {
        let opened = try Self.open(uri, media, passesThrough: passesThrough, codecs)
        let reader = opened.0
        if media.contains(.video), reader.dimensions == nil {
            throw .noTrack(MediaName.withoutSecrets(uri), mediaType: "video")
        }
        if media.contains(.audio), reader.channels == nil {
            throw .noTrack(MediaName.withoutSecrets(uri), mediaType: "audio")
        }
        self.init(uri, opened, media, isLooping: isLooping, skipped: .zero)
    }

    /// Opens the video and the audio that exist. It blocks until it is open.
    ///
    /// - Parameters:
    ///   - uri: The path or the address.
    ///   - skipped: The time to skip at the beginning.
    ///   - passesThrough: Whether video is delivered as encoded frames while that is possible.
    ///   - codecs: The codecs of frames that are delivered like this.
    ///   - isLooping: Whether the media begin again at their end.
    /// - Throws: `DeviceError.unreadable`.
    package convenience init(
        anythingOf uri: String, skipping skipped: TimeSpan, passesThrough: Bool, codecs: Set<Codec> = [.h264],
        isLooping: Bool = false
    ) throws(DeviceError) {
        let opened = try Self.open(uri, [.video, .audio], passesThrough: passesThrough, codecs)
        let reader = opened.0
        var media: Set<MediaType> = []
        if reader.dimensions != nil { media.insert(.video) }
        if reader.channels != nil { media.insert(.audio) }
        self.init(uri, opened, media, isLooping: isLooping, skipped: skipped)
    }

    private static func open(
        _ uri: String, _ media: Set<MediaType>, passesThrough: Bool, _ codecs: Set<Codec>
    ) throws(DeviceError) -> (MediaReader, OutboundProxy?) {
        if let opened = openAuthenticated(uri, media, passesThrough: passesThrough, codecs) { return opened }
        do {
            return (try MediaReader(uri: uri, select: media, passesThrough: passesThrough, codecs: codecs), nil)
        } catch {
            throw .unreadable(MediaName.withoutSecrets(uri), reason: "\(error)")
        }
    }

    /// Opens RTSP with a user name and password through a proxy. It marks challenges as clients need that compute a
    /// response for each nonce (RFC 7616, section 3.3).
    ///
    /// Returns nil for everything else and on failure. The address is then opened directly, which reports the error.
    private static func openAuthenticated(
        _ uri: String, _ media: Set<MediaType>, passesThrough: Bool, _ codecs: Set<Codec>
    ) -> (MediaReader, OutboundProxy?)? {
        guard !MediaAccess.isRestricted, let address = MediaURI(uri), address.scheme == .rtsp, address.userInfo != nil,
            let server = NameResolution.resolve(host: address.host, port: address.port).first,
            let proxy = try? OutboundProxy(.rtsp(server), refused: { _ in }),
            let reader = try? MediaReader(
                uri: address.text(at: proxy.address), name: MediaName.withoutSecrets(uri), select: media,
                passesThrough: passesThrough, codecs: codecs)
        else { return nil }
        return (reader, proxy)
    }

    private init(
        _ uri: String, _ opened: (reader: MediaReader, proxy: OutboundProxy?), _ media: Set<MediaType>, isLooping: Bool,
        skipped: TimeSpan
    ) {
        let reader = opened.reader
        self.uri = uri
        proxy = opened.proxy
        self.media = media
        self.isLooping = isLooping
        self.skipped = skipped
        self.reader = reader
        format = URIFormat(
            dimensions: reader.dimensions.map(EvenSizeCropper.even), frameRate: reader.frameRate,
            channels: reader.channels
        )
        foundReason = Mutex(reader.transcodeReason)
        passedCodec = reader.passedCodec
        videoTrack = media.contains(.video) ? ReleaseTrack(name: "uri-video") : nil
        audioTrack = media.contains(.audio) ? ReleaseTrack(name: "uri-audio") : nil
    }

    /// The codec of frames that are delivered as they are encoded, from the beginning; nil if they are decoded.
    package let passedCodec: Codec?

    /// The reason why encoded frames are decoded although pass-through was requested; nil while they are passed
    /// through.
    package var transcodeReason: TranscodeReason? { foundReason.withLock { $0 } }

    /// Returns its video source. Throws `DeviceError.noTrack` if video is not among `media`.
    package func video() throws(DeviceError) -> any VideoSource {
        guard let videoTrack else { throw .noTrack(MediaName.withoutSecrets(uri), mediaType: "video") }
        return URIVideoSource(source: self, track: videoTrack)
    }

    /// Returns its audio source. Throws `DeviceError.noTrack` if audio is not among `media`.
    package func audio() throws(DeviceError) -> any AudioSource {
        guard let audioTrack else { throw .noTrack(MediaName.withoutSecrets(uri), mediaType: "audio") }
        return URIAudioSource(source: self, track: audioTrack)
    }

    /// Starts a track, and reading when all are started.
    func start<Frame>(
        _ track: ReleaseTrack<Frame>, release: @escaping @Sendable (Frame, WallTime, TimeSpan) -> Void,
        ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        precondition(!track.isStarted, "a source must be started only once")
        do {
            try track.run(clock: clock, release: release, ended: ended)
            try readIfAllStarted()
        } catch {
            throw .noThread("\(error)")
        }
    }

    /// Stops a track, and reading after the last one.
    func stop<Frame>(_ track: ReleaseTrack<Frame>) {
        track.stop()
        guard videoTrack?.isStopped ?? true, audioTrack?.isStopped ?? true else {
            try? readIfAllStarted()
            return
        }
        sleep.cancel()
        let before = state.withLock { state in
            defer { state = .stopped }
            return state
        }
        if case .reading(let worker) = before { worker.join() }
    }

    private func readIfAllStarted() throws(IOError) {
        guard videoTrack?.isReady ?? true, audioTrack?.isReady ?? true else { return }
        try state.withLock { state throws(IOError) in
            guard case .idle = state else { return }
            state = .reading(try WorkerThread(name: "uri-reader") { [self] in read() })
        }
    }

    private func read() {
        clock.begin(after: URIReading.start)
        var reading = URIReading(
            reader: reader, format: format, isLooping: isLooping, video: videoTrack, audio: audioTrack, clock: clock,
            sleep: sleep, skipped: skipped, obstructed: { [self] found in foundReason.withLock { $0 = found } })
        let end = reading.run()
        videoTrack?.finish(end)
        audioTrack?.finish(end)
    }
}

/// The tracks of a file or an address.
struct URIFormat {
    /// The size of the delivered frames, even numbers; nil without video.
    var dimensions: Dimensions?
    var frameRate: Double?

    /// The number of channels, 1 or 2; nil without audio.
    var channels: Int?
}

/// The audio of a file or an address.
final class URIAudioSource: AudioSource {
    private let source: URISource
    private let track: ReleaseTrack<AudioFrame>

    init(source: URISource, track: ReleaseTrack<AudioFrame>) {
        self.source = source
        self.track = track
    }

    deinit { stop() }

    var channels: Int { source.format.channels! }

    func start(
        deliver: @escaping @Sendable (AudioFrame) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        try source.start(
            track,
            release: { frame, time, _ in
                var frame = frame
                frame.captureTime = time
                deliver(frame)
            }, ended: ended)
    }

    func stop() { source.stop(track) }
}

/// The video of a file or an address.
final class URIVideoSource: VideoSource {
    private let source: URISource
    private let track: ReleaseTrack<VideoSample>

    init(source: URISource, track: ReleaseTrack<VideoSample>) {
        self.source = source
        self.track = track
    }

    deinit { stop() }

    var dimensions: Dimensions { source.format.dimensions! }
    var nominalFrameRate: Double { source.format.frameRate ?? 25 }

    func start(
        deliver: @escaping @Sendable (VideoSample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        try source.start(
            track,
            release: { sample, time, position in
                let timestamp = MediaTime(ticks: ClockRate.video.ticks(in: position), rate: .video)
                switch sample {
                case .frame(let frame): deliver(.frame(frame.retimed(captureTime: time, timestamp: timestamp)))
                case .coded(var frame):
                    frame.captureTime = time
                    frame.timestamp = timestamp
                    deliver(.coded(frame))
                }
            }, ended: ended)
    }

    var transcodeReason: TranscodeReason? { source.transcodeReason }

    func stop() { source.stop(track) }
}
