package import PCastCore
import PCastRTMP

/// The audio of a transport stream.
package enum TransportStreamAudio: Hashable, Sendable {
    /// AAC of a configuration.
    case aac(AudioSpecificConfiguration)
    /// Opus in mono or stereo.
    case opus
}

/// A frame of a published stream for a transport stream.
package struct TransportStreamUnit: Sendable {
    /// The layer of the video in the publisher's order; nil for audio.
    package let layer: Int?
    /// H.264 in Annex B format, AAC without a header, or a packet of Opus.
    package let bytes: [UInt8]
    /// The timestamp in ticks of the track's clock, unwrapped.
    package let timestamp: Int64
    /// The time of capture.
    package let captureTime: WallTime

    /// Creates a frame.
    package init(layer: Int?, bytes: [UInt8], timestamp: Int64, captureTime: WallTime) {
        (self.layer, self.bytes, self.timestamp, self.captureTime) = (layer, bytes, timestamp, captureTime)
    }
}

/// The packets of one frame of a transport stream, which a viewer receives completely or not at all.
package struct TransportStreamPiece: Sendable {
    /// Whole transport packets.
    package let bytes: [UInt8]
    /// Whether a viewer can begin with them, because tables and a key frame are in them.
    package let isBeginning: Bool
    /// Whether the frame is video.
    package let isVideo: Bool
}

/// Converts the frames of a published stream to a transport stream for its viewers.
///
/// If there are several layers, it contains the one with the largest image that arrives, and changes to another one at a key frame.
/// The times are those of the capture clock. Frames with B-frames before them are left out, because their order of
/// decoding is unknown.
package struct TransportStreamProgram: Sendable {
    /// The time without a frame of the layer after which a smaller one takes its place, and without video after which
    /// viewers begin with audio.
    private static let longestPause = TimeSpan.seconds(1)
    /// The maximum number of layers. Further ones are left out.
    private static let maximumLayerCount = 8

    private struct Layer: Sendable {
        var units = H264AccessUnits()
        var timeline = TrackTimeline(rate: .video)
        /// The number of pixels; 0 before it is known.
        var size = 0
    }

    private var muxer: TransportStreamMuxer
    private let hasVideo: Bool
    private let audio: TransportStreamAudio?
    private var clock = StreamClock()
    private var layers: [Int: Layer] = [:]
    private var audioTimeline = TrackTimeline(rate: .opus)
    /// The layer in the transport stream; nil before the first key frame, and after a loss.
    private var current: Int?
    private var lastVideo: TimeSpan?
    private var lastAudio: TimeSpan?

    /// The number of frames that were left out, because they were malformed or in another order than that of their
    /// presentation.
    package private(set) var droppedCount = 0

    /// Creates a program with video, audio or both.
    package init(hasVideo: Bool, audio: TransportStreamAudio?) {
        self.hasVideo = hasVideo
        self.audio = audio
        let codec: TransportStreamMuxer.Audio? =
            switch audio {
            case .aac: .aac
            case .opus: .opus
            case nil: nil
            }
        muxer = TransportStreamMuxer(hasVideo: hasVideo, audio: codec)
        if case .aac(let configuration) = audio {
            audioTimeline = TrackTimeline(rate: ClockRate(hertz: Int64(max(configuration.sampleRate, 1))))
        }
    }

    /// Returns the packets of a frame; nil if the transport stream does not contain it.
    package mutating func append(_ unit: TransportStreamUnit) -> TransportStreamPiece? {
        if let layer = unit.layer { return hasVideo ? appendVideo(unit, layer) : nil }
        return audio.flatMap { appendAudio(unit, $0) }
    }

    /// Continues with a key frame, because frames were lost.
    package mutating func framesLost() { current = nil }

    // MARK: Video

    private mutating func appendVideo(_ unit: TransportStreamUnit, _ number: Int) -> TransportStreamPiece? {
        guard layers[number] != nil || layers.count < Self.maximumLayerCount else { return nil }
        let packet = ElementaryPacket(
            pid: 0, bytes: unit.bytes, payloadStart: 0, presentationTime: nil, decodingTime: nil, followsLoss: false)
        guard let frame = layers[number, default: Layer()].units.accessUnit(packet), !frame.bytes.isEmpty,
            let time = layers[number, default: Layer()].timeline.time(of: unit, &clock)
        else {
            droppedCount += 1
            return nil
        }
        if case .h264(let configuration)? = frame.newConfiguration, let set = configuration.sequenceParameterSet {
            layers[number]?.size = set.dimensions.width * set.dimensions.height
        }
        if frame.isKeyFrame, mayChange(to: number, at: time) { current = number }
        guard number == current else { return nil }
        guard lastVideo.map({ time > $0 }) ?? true else {
            droppedCount += 1
            return nil
        }
        lastVideo = time
        return TransportStreamPiece(
            bytes: muxer.video(frame.bytes, isKeyFrame: frame.isKeyFrame, at: time), isBeginning: frame.isKeyFrame,
            isVideo: true)
    }

    private func mayChange(to number: Int, at time: TimeSpan) -> Bool {
        guard let current, current != number else { return true }
        let isSilent = lastVideo.map { time - $0 > Self.longestPause } ?? true
        return isSilent || (layers[number]?.size ?? 0) > (layers[current]?.size ?? 0)
    }

    // MARK: Audio

    private mutating func appendAudio(_ unit: TransportStreamUnit, _ audio: TransportStreamAudio)
        -> TransportStreamPiece?
    {
        guard let time = audioTimeline.time(of: unit, &clock), lastAudio.map({ time > $0 }) ?? true else {
            droppedCount += 1
            return nil
        }
        lastAudio = time
        var bytes = unit.bytes
        if case .aac(let configuration) = audio {
            guard let header = TransportStreamMuxer.adtsHeader(of: bytes.count, configuration) else {
                droppedCount += 1
                return nil
            }
            bytes = header + bytes
        }
        let lacksVideo = !hasVideo || clock.elapsed(at: time, since: lastVideo) > Self.longestPause
        let packets = muxer.audio(bytes, isBeginning: lacksVideo, at: time)
        return TransportStreamPiece(bytes: packets, isBeginning: lacksVideo, isVideo: false)
    }
}

/// The clock of a transport stream, which all of its tracks share.
private struct StreamClock: Sendable {
    /// The time of the first frame in the stream.
    static let lead = TimeSpan.seconds(10)
    /// The largest step of the capture clock. Beyond it, the times continue without the step.
    private static let maximumStep = TimeSpan.seconds(3_600)

    private var origin: WallTime?
    private var last = Self.lead

    /// Returns the time of a capture time in the stream; nil if it cannot be used.
    mutating func time(of captured: WallTime) -> TimeSpan? {
        // 292 years on both sides of 1970 do not fit into one duration.
        guard captured.nanosecondsSinceEpoch > 0, captured.nanosecondsSinceEpoch < Int64.max / 2 else { return nil }
        let start = origin ?? captured - Self.lead
        origin = start
        let time = captured - start
        return adopted(time)
    }

    private mutating func adopted(_ time: TimeSpan) -> TimeSpan? {
        guard (time - last).magnitude <= Self.maximumStep, time > .zero else {
            // The clock was set.
            origin = origin.map { $0 + (time - last) }
            return last
        }
        last = max(time, last)
        return time
    }

    /// Shifts the clock, which was set back.
    mutating func advance(by step: TimeSpan) { origin = origin.map { $0 - step } }

    /// Returns the time since another one; since the beginning if it is nil.
    func elapsed(at time: TimeSpan, since former: TimeSpan?) -> TimeSpan { time - (former ?? Self.lead) }
}

/// The times of a track. They advance like its timestamps, and follow the capture clock slowly.
private struct TrackTimeline: Sendable {
    /// The difference of the clocks beyond which the timestamps are unrelated to those before.
    private static let maximumDrift = TimeSpan.milliseconds(200)
    /// The largest step of a timestamp in ticks.
    private static let maximumTicks: Int64 = 1 << 40
    /// The part of a step by which the times follow the capture clock.
    private static let pace: Int64 = 500

    private let rate: ClockRate
    private var last: (timestamp: Int64, time: TimeSpan)?

    init(rate: ClockRate) { self.rate = rate }

    mutating func time(of unit: TransportStreamUnit, _ clock: inout StreamClock) -> TimeSpan? {
        guard let expected = clock.time(of: unit.captureTime) else { return nil }
        guard let last else {
            self.last = (unit.timestamp, expected)
            return expected
        }
        let (ticks, overflows) = unit.timestamp.subtractingReportingOverflow(last.timestamp)
        if !overflows, ticks.magnitude < Self.maximumTicks {
            let step = rate.span(ofTicks: ticks)
            let drift = expected - (last.time + step)
            if drift.magnitude <= Self.maximumDrift {
                let limit = max(step, .zero) / Self.pace
                let time = last.time + step + min(max(drift, .zero - limit), limit)
                // A frame in another order leaves the track where it is.
                if ticks > 0 { self.last = (unit.timestamp, time) }
                return time
            }
        }
        if expected <= last.time {
            clock.advance(by: last.time - expected + .milliseconds(1))
            self.last = (unit.timestamp, last.time + .milliseconds(1))
            return last.time + .milliseconds(1)
        }
        self.last = (unit.timestamp, expected)
        return expected
    }
}

/// The decision which packets a viewer receives whose connection may be slower than the stream.
///
/// The queue is that of the connection. If it is longer than ``longestQueue``, frames are dropped until it has become
/// half as long and a viewer can begin again.
package struct TransportStreamGate: Sendable {
    /// The longest time of media that waits in the queue.
    package static let longestQueue = TimeSpan.seconds(2)

    /// The interval in which a viewer that waits may request key frames.
    private static let requestInterval = TimeSpan.seconds(2)

    private var isWaiting = true
    private var hasBegun = false
    private var nextRequest = Instant(nanoseconds: .min)
    /// The number of frames that were dropped since the viewer began.
    package private(set) var droppedCount = 0

    /// Creates the gate of a viewer, who begins with the next key frame.
    package init() {}

    /// Returns whether a key frame must be requested now, with which the viewer can begin.
    package mutating func takeKeyFrameRequest(queue: TimeSpan, at now: Instant) -> Bool {
        guard isWaiting, now >= nextRequest, queue <= Self.longestQueue / 2 else { return false }
        nextRequest = now + Self.requestInterval
        return true
    }

    /// Returns whether the viewer receives a piece. `queue` is the time of media that waits.
    package mutating func admits(_ piece: TransportStreamPiece, queue: TimeSpan) -> Bool {
        if isWaiting {
            isWaiting = !piece.isBeginning || queue > Self.longestQueue / 2
        } else {
            isWaiting = queue > Self.longestQueue
        }
        if isWaiting {
            if hasBegun { droppedCount += 1 }
        } else {
            hasBegun = true
        }
        return !isWaiting
    }

    /// Records that a piece could not be sent, because the queue has no space.
    package mutating func queueIsFull() {
        isWaiting = true
        droppedCount += 1
    }
}
