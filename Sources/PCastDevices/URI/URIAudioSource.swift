import PCastCore

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
