import PCastCodecs
import PCastCore
import PCastIO

/// Reads a file or an address ahead of its schedule: the loop of a source's reader thread and its state.
struct URIReading {
    /// The time by which reading stays ahead of the later track. It must cover the decoding of a large frame.
    private static let lead = TimeSpan.milliseconds(300)

    /// The time from reading the first frame to its delivery.
    static let start = TimeSpan.milliseconds(100)

    let reader: MediaReader
    let isLooping: Bool
    let video: ReleaseTrack<VideoSample>?
    let audio: ReleaseTrack<AudioFrame>?
    let clock: ReleaseClock
    let sleep: CancellableSleep
    /// The time to skip at the beginning.
    let skipped: TimeSpan
    /// A callback with the reason why encoded frames are not passed through; nil while they are.
    let obstructed: (PassThroughObstacle?) -> Void

    private var timeline = PlaybackTimeline()
    private var framer: URIAudioFramer
    private let pictures = EvenFrames()
    private let pictureLength: TimeSpan
    private var videoPosition = TimeSpan.zero
    private var audioPosition = TimeSpan.zero
    private var lastPicture: TimeSpan?
    private var hasCodedPicture = false

    init(
        reader: MediaReader, format: URIFormat, isLooping: Bool, video: ReleaseTrack<VideoSample>?,
        audio: ReleaseTrack<AudioFrame>?, clock: ReleaseClock, sleep: CancellableSleep,
        skipped: TimeSpan = .zero, obstructed: @escaping (PassThroughObstacle?) -> Void
    ) {
        self.obstructed = obstructed
        self.skipped = skipped
        self.reader = reader
        self.isLooping = isLooping
        self.video = video
        self.audio = audio
        self.clock = clock
        self.sleep = sleep
        framer = URIAudioFramer(channels: format.channels ?? 2)
        pictureLength = TimeSpan(seconds: 1 / max(1, format.frameRate ?? 25))
    }

    /// Reads until the source has ended or was stopped.
    mutating func run() -> SourceEnd {
        do {
            repeat {
                let before = timeline.end
                try readOnce()
                guard timeline.end > before else { return .failed("it contains no media that can be played") }
                guard isLooping, sleep.sleep(until: MonotonicClock.now()) else { return .ended }
                timeline.startAgain()
                try reader.rewind()
            } while true
        } catch {
            return .failed("\(error)")
        }
    }

    private mutating func readOnce() throws {
        while sleep.sleep(until: moment), let sample = try reader.nextSample() {
            if isSkipped(sample) { continue }
            switch sample {
            case .picture(let picture): take(.picture(pictures.even(picture)), at: picture.timestamp)
            case .coded(let frame): take(.coded(frame), at: frame.timestamp)
            case .sound(let sound): take(sound)
            }
            obstructed(reader.passThroughObstacle)
        }
    }

    /// Returns whether a sample belongs to the skipped beginning. Encoded frames start with a key frame.
    private mutating func isSkipped(_ sample: MediaReader.Sample) -> Bool {
        guard skipped > .zero else { return false }
        let moment: TimeSpan =
            switch sample {
            case .picture(let picture): picture.timestamp.span
            case .coded(let frame): frame.timestamp.span
            case .sound(let sound): sound.timestamp.span
            }
        if case .coded(let frame) = sample, !hasCodedPicture {
            hasCodedPicture = moment >= skipped && frame.isKeyFrame
            return !hasCodedPicture
        }
        return moment < skipped
    }

    /// The time to read on: not before the track that is behind needs it.
    private var moment: Instant {
        let isFull = video?.isNearlyFull ?? false || audio?.isNearlyFull ?? false
        let behind =
            video == nil ? audioPosition : audio == nil ? videoPosition : min(videoPosition, audioPosition)
        let ahead = isFull ? max(videoPosition, audioPosition) : behind
        return clock.due(ahead - Self.lead).instant
    }

    private mutating func take(_ picture: VideoSample, at time: MediaTime) {
        guard let video else { return }
        var position = timeline.position(of: time.span, length: pictureLength)
        // Timestamps of a file may repeat or decrease; those of a track must increase. Raw frames are dropped; encoded
        // ones get a later timestamp, because others refer to them.
        if let lastPicture, position <= lastPicture {
            guard case .coded = picture else { return }
            position = lastPicture + .microseconds(100)
        }
        lastPicture = position
        videoPosition = position
        clock.slip(position, readAt: MonotonicClock.now())
        video.push(picture, at: position)
    }

    private mutating func take(_ sound: AudioFrame) {
        guard let audio else { return }
        let position = timeline.position(of: sound.timestamp.span, length: sound.length)
        audioPosition = position
        clock.slip(position, readAt: MonotonicClock.now())
        for (frame, position) in framer.push(sound, at: position) { audio.push(frame, at: position) }
    }
}
