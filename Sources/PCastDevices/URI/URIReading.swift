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
    let obstructed: (TranscodeReason?) -> Void

    private var timeline = PlaybackTimeline()
    private var framer: URIAudioFramer
    private let frames = EvenSizeCropper()
    private let frameLength: TimeSpan
    private var videoPosition = TimeSpan.zero
    private var audioPosition = TimeSpan.zero
    private var lastFrame: TimeSpan?
    private var hasCodedFrame = false

    init(
        reader: MediaReader, format: URIFormat, isLooping: Bool, video: ReleaseTrack<VideoSample>?,
        audio: ReleaseTrack<AudioFrame>?, clock: ReleaseClock, sleep: CancellableSleep,
        skipped: TimeSpan = .zero, obstructed: @escaping (TranscodeReason?) -> Void
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
        frameLength = TimeSpan(seconds: 1 / max(1, format.frameRate ?? 25))
    }

    /// Reads until the source has ended or was stopped.
    mutating func run() -> SourceEnd {
        do {
            repeat {
                let before = timeline.end
                try readOnce()
                guard timeline.end > before else { return .failed("it contains no media that can be played") }
                guard isLooping, sleep.sleep(until: MonotonicClock.now()) else { return .ended }
                timeline.startNextPass()
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
            case .frame(let videoFrame): take(.frame(frames.even(videoFrame)), at: videoFrame.timestamp)
            case .coded(let frame): take(.coded(frame), at: frame.timestamp)
            case .audio(let audioFrame): take(audioFrame)
            }
            obstructed(reader.transcodeReason)
        }
    }

    /// Returns whether a sample is left out, because it precedes the position `skipped`. Encoded frames are left out
    /// until the first key frame at or after this position, because later frames refer to it.
    private mutating func isSkipped(_ sample: MediaReader.Sample) -> Bool {
        guard skipped > .zero else { return false }
        let moment: TimeSpan =
            switch sample {
            case .frame(let videoFrame): videoFrame.timestamp.span
            case .coded(let frame): frame.timestamp.span
            case .audio(let audioFrame): audioFrame.timestamp.span
            }
        if case .coded(let frame) = sample, !hasCodedFrame {
            hasCodedFrame = moment >= skipped && frame.isKeyFrame
            return !hasCodedFrame
        }
        return moment < skipped
    }

    /// The time at which reading continues: when the track with the smaller position needs more samples.
    private var moment: Instant {
        let isFull = video?.isNearlyFull ?? false || audio?.isNearlyFull ?? false
        let behind =
            video == nil ? audioPosition : audio == nil ? videoPosition : min(videoPosition, audioPosition)
        let ahead = isFull ? max(videoPosition, audioPosition) : behind
        return clock.due(ahead - Self.lead).instant
    }

    private mutating func take(_ videoFrame: VideoSample, at time: MediaTime) {
        guard let video else { return }
        var position = timeline.position(of: time.span, length: frameLength)
        // Timestamps of a file may repeat or decrease; those of a track must increase. Raw frames are dropped; encoded
        // ones get a later timestamp, because others refer to them.
        if let lastFrame, position <= lastFrame {
            guard case .coded = videoFrame else { return }
            position = lastFrame + .microseconds(100)
        }
        lastFrame = position
        videoPosition = position
        clock.delaySchedule(position, readAt: MonotonicClock.now())
        video.push(videoFrame, at: position)
    }

    private mutating func take(_ audioFrame: AudioFrame) {
        guard let audio else { return }
        let position = timeline.position(of: audioFrame.timestamp.span, length: audioFrame.length)
        audioPosition = position
        clock.delaySchedule(position, readAt: MonotonicClock.now())
        for (frame, position) in framer.push(audioFrame, at: position) { audio.push(frame, at: position) }
    }
}

/// Converts the presentation times of a file to positions that start at zero and continue seamlessly when the file
/// repeats.
struct PlaybackTimeline {
    /// The presentation time of the first frame; nil before it.
    private var beginning: TimeSpan?

    /// The position at which the current pass started.
    private var passStart = TimeSpan.zero

    /// The end of everything that was played.
    private(set) var end = TimeSpan.zero

    /// Returns the position of a frame since the start of the first pass. It may be slightly negative for a frame
    /// before the first one that was read, e.g., because of an encoder's priming samples.
    mutating func position(of time: TimeSpan, length: TimeSpan) -> TimeSpan {
        let start = beginning ?? time
        beginning = start
        let position = passStart + (time - start)
        end = max(end, position + length)
        return position
    }

    /// Starts another pass at the end of the last one.
    mutating func startNextPass() { passStart = end }
}

/// Crops an odd last column or row from frames, because encoders of 4:2:0 require even sizes.
struct EvenSizeCropper {
    private let pool = VideoFramePool()

    static func even(_ dimensions: Dimensions) -> Dimensions {
        Dimensions(width: max(2, dimensions.width & ~1), height: max(2, dimensions.height & ~1))
    }

    /// Returns the cropped frame; the same frame if its size is even.
    func even(_ videoFrame: VideoFrame) -> VideoFrame {
        let dimensions = Self.even(videoFrame.dimensions)
        guard dimensions != videoFrame.dimensions else { return videoFrame }
        let frame = pool.frame(
            dimensions: dimensions, captureTime: videoFrame.captureTime, timestamp: videoFrame.timestamp,
            color: videoFrame.color)
        let (width, height) = (min(dimensions.width, videoFrame.dimensions.width), dimensions.height)
        for row in 0..<min(height, videoFrame.dimensions.height) {
            (frame.planeY + row * frame.strideY).update(
                from: videoFrame.planeY + row * videoFrame.strideY, count: width)
        }
        for row in 0..<min(height, videoFrame.dimensions.height + 1) / 2 {
            let (target, origin) = (row * frame.strideUV, row * videoFrame.strideUV)
            (frame.planeU + target).update(from: videoFrame.planeU + origin, count: (width + 1) / 2)
            (frame.planeV + target).update(from: videoFrame.planeV + origin, count: (width + 1) / 2)
        }
        return frame
    }
}

/// Splits a file's audio into contiguous frames of 20 ms whose sample count is the time: gaps become silence, and
/// overlaps are cut.
struct URIAudioFramer {
    /// The largest rounding error of decoders' timestamps.
    private static let tolerance = ClockRate.opus.ticks(in: .milliseconds(5))

    /// The longest gap that is filled. A longer one starts a new position.
    private static let longestGap = ClockRate.opus.ticks(in: .seconds(2))

    let channels: Int
    private var pending: [Int16] = []

    /// The sample number, from position zero, of the first pending sample; nil before it.
    private var start: Int64?

    init(channels: Int) { self.channels = channels }

    /// Adds audio. Returns the frames that are complete, each with the position of its first sample.
    mutating func push(_ frame: AudioFrame, at position: TimeSpan) -> [(frame: AudioFrame, position: TimeSpan)] {
        let index = ClockRate.opus.ticks(in: position)
        var samples = remixed(frame)[...]
        let expected = (start ?? index) + Int64(pending.count / channels)
        let gap = index - expected
        if start == nil || gap > Self.longestGap || gap < -Self.longestGap {
            start = index
            pending.removeAll()
        } else if gap > Self.tolerance {
            pending.append(contentsOf: repeatElement(0, count: Int(gap) * channels))
        } else if gap < -Self.tolerance {
            samples = samples.dropFirst(Int(-gap) * channels)
        }
        pending.append(contentsOf: samples)
        return takeWhole()
    }

    private mutating func takeWhole() -> [(frame: AudioFrame, position: TimeSpan)] {
        let size = AudioFrameTiming.sampleCount * channels
        var frames: [(frame: AudioFrame, position: TimeSpan)] = []
        var offset = 0
        while pending.count - offset >= size, let first = start {
            let frame = AudioFrame(
                samples: Array(pending[offset..<offset + size]), channels: channels, captureTime: nil,
                timestamp: MediaTime(ticks: first, rate: .opus))
            frames.append((frame, ClockRate.opus.span(ofTicks: first)))
            start = first + Int64(AudioFrameTiming.sampleCount)
            offset += size
        }
        pending.removeFirst(offset)
        return frames
    }

    /// Converts audio to the track's channels, which may change within a file.
    private func remixed(_ frame: AudioFrame) -> [Int16] {
        if frame.channels == channels { return frame.samples }
        if channels == 2 { return frame.samples.flatMap { [$0, $0] } }
        return stride(from: 0, to: frame.samples.count - 1, by: 2).map { (index: Int) -> Int16 in
            let sum = Int(frame.samples[index]) + Int(frame.samples[index + 1])
            return Int16(sum / 2)
        }
    }
}
