import PCastMedia

/// The picture of a file or an address.
final class URIVideoSource: VideoSource {
    private let source: URISource
    private let track: ReleaseTrack<VideoFrame>

    init(source: URISource, track: ReleaseTrack<VideoFrame>) {
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
            release: { frame, time, position in
                let timestamp = MediaTime(ticks: ClockRate.video.ticks(in: position), rate: .video)
                deliver(.picture(frame.retimed(captureTime: time, timestamp: timestamp)))
            }, ended: ended)
    }

    func stop() { source.stop(track) }
}
