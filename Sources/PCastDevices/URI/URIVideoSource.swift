import PCastCodecs
import PCastCore

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
