import NIOCore
import PCastCodecs
import PCastCore
import PCastHLS
import PCastPackaging
import PCastSFU

@testable import PCastPlatform

extension PackagedStream {
    /// Returns a media file of a rendition that is in memory; nil if there is none now.
    func availableFile(_ fileName: String, of name: String, at now: Instant) -> ByteBuffer? {
        guard case .answer(.found(let bytes)) = fileNow(fileName, of: name, at: now) else { return nil }
        return bytes
    }
}

/// A packaged stream in virtual time, and its publisher, which sends Opus in packets of 20 ms and H.264 at 25 frames per
/// second with a key frame each two seconds.
struct PackagedRun {
    static let id = StreamID("stream-a")
    /// The time of the first unit is in the future, so that the clock of this machine does not advance the packager.
    private static let start = WallTime(millisecondsSinceEpoch: 4_102_444_800_000)
    private static let beginning = Instant(nanoseconds: 1_000_000_000)
    private static let frameInterval = 2
    private static let keyFrameInterval = 50

    let stream: PackagedStream
    /// The number of audio packets that were sent.
    private(set) var count: Int64 = 0
    /// The audio tracks that send nothing.
    var silentTracks: Set<Int> = []
    private let layers: [Int]
    private let hasAudio: Bool
    /// The number of audio tracks beside the first one.
    private let furtherTrackCount: Int
    private let encoder: OpusEncoder
    private let keyFrame: [UInt8]
    private let otherFrame: [UInt8]

    /// Creates a stream with audio and a number of layers. `audio` describes several audio tracks.
    init(
        layers count: Int = 0, hasAudio: Bool = true, audio: [AudioTrackDescription] = [],
        listed: PackagedStream.Layers = .all, answersKeyFrameRequests: Bool = true, isConfigured: Bool = true,
        recorder: RecordingService? = nil, encryption: PackagerEncryption? = nil,
        rewind: TimeSpan = .seconds(30 as Int64), recordedLayers: PackagedStream.Layers = .all,
        window: PackagedStream.Window? = nil, trace: SegmentTrace? = nil
    ) throws {
        var codecs: [Int?: Codec] = [:]
        for layer in 0..<count { codecs[layer] = .h264 }
        if hasAudio { codecs[Int?.none] = .opus }
        layers = Array(0..<count)
        self.hasAudio = hasAudio
        furtherTrackCount = max(0, audio.count - 1)
        var configuration = PackagerConfiguration(instance: "i1")
        configuration.encryption = encryption
        configuration.window = rewind
        stream = PackagedStream(
            Self.id, of: ApplicationID("first"), configuration, codecs: codecs, audio: audio, layers: listed,
            recorder: recorder, recordedLayers: recordedLayers, window: window, trace: trace)
        if isConfigured { stream.configure(answersKeyFrameRequests: answersKeyFrameRequests, at: Self.beginning) }
        encoder = try OpusEncoder(channels: 2, bitrate: .kilobits(64))
        let frames = try Self.units(3, keyFrames: [0])
        keyFrame = frames[0].bytes
        otherFrame = frames[1].bytes
    }

    /// Returns frames of the lowest layer at 25 frames per second.
    static func units(_ count: Int, keyFrames: Set<Int>) throws -> [PublishedUnit] {
        let size = Dimensions(width: 320, height: 180)
        let encoder = try VideoEncoders.open(
            .software, codec: .h264, dimensions: size, frameRate: 25, bitrate: .kilobits(300))
        var units: [PublishedUnit] = []
        for number in 0..<count {
            let ticks = Int64(number) * 3_600
            let frame = VideoFramePool().frame(
                dimensions: size, captureTime: nil, timestamp: MediaTime(ticks: ticks, rate: .video))
            for encoded in try encoder.encode(frame, forceKeyFrame: keyFrames.contains(number)) {
                units.append(
                    PublishedUnit(
                        stream: id, layer: 0, codec: .h264, bytes: encoded.bytes, isKeyFrame: encoded.isKeyFrame,
                        timestamp: ticks, captureTime: start + ClockRate.video.span(ofTicks: ticks)))
            }
        }
        return units
    }

    /// The duration that was sent.
    var time: TimeSpan { .milliseconds(20 * count) }
    var now: Instant { Self.beginning + time }
    var wallTime: WallTime { Self.start + time }

    /// Sends media of 20 ms several times, the audio alone if `hasVideo` is false. Returns the layers that need a key frame.
    @discardableResult
    mutating func send(_ repetitions: Int, hasVideo: Bool = true) throws -> [Int] {
        var needs: [Int] = []
        for _ in 0..<repetitions {
            var units = try audio()
            if hasVideo, count % Int64(Self.frameInterval) == 0 { units += layers.map { frame($0) } }
            count += 1
            needs += stream.append(units, at: now).keyFrames
        }
        return needs
    }

    private func audio() throws -> [PublishedUnit] {
        guard hasAudio else { return [] }
        let samples = AudioFrame(
            samples: [Int16](repeating: 0, count: 960 * 2), channels: 2, captureTime: nil,
            timestamp: MediaTime(ticks: count * 960, rate: .opus))
        return try encoder.encode(samples).flatMap { packet in
            (0...furtherTrackCount).filter { !silentTracks.contains($0) }.map { track in
                // The timestamps of each track have an origin of their own.
                var unit = PublishedUnit(
                    stream: Self.id, layer: nil, codec: .opus, bytes: packet.bytes, isKeyFrame: true,
                    timestamp: 5_000 + Int64(track) * 1_000_000 + count * 960, captureTime: wallTime)
                unit.audioTrack = track
                return unit
            }
        }
    }

    private func frame(_ layer: Int) -> PublishedUnit {
        let number = count / Int64(Self.frameInterval)
        let isKeyFrame = number % Int64(Self.keyFrameInterval) == 0
        // A higher layer is larger.
        let filler = [UInt8](repeating: 0xFF, count: 1_000 * layer)
        return PublishedUnit(
            stream: Self.id, layer: layer, codec: .h264,
            bytes: (isKeyFrame ? keyFrame : otherFrame) + [0, 0, 1, 6] + filler + [0x80], isKeyFrame: isKeyFrame,
            timestamp: 90_000 + number * 3_600, captureTime: wallTime)
    }

    /// Returns the current playlist of a rendition; nil if there is none.
    func playlist(_ name: String) async throws -> MediaPlaylist? {
        let answer = await stream.mediaPlaylist(name, DeliveryDirectives(), at: now)
        return try answer.content.map { try MediaPlaylist(String(buffer: $0.plain)) }
    }

    /// Returns the multivariant playlist; nil if the stream has no media yet.
    func multivariant(prefix: String = "") async throws -> MultivariantPlaylist? {
        try await stream.multivariantPlaylist(prefix: prefix, at: now).map {
            try MultivariantPlaylist(String(buffer: $0.plain))
        }
    }

    /// Lets the time of the packager pass without media.
    func advance(by span: TimeSpan) -> PackagedStream.Needs {
        stream.advance(to: now + span, wallTime: wallTime + span)
    }
}

extension PackagedStream.Answer {
    /// The content; nil for other answers.
    var content: Content? {
        if case .found(let content) = self { return content }
        return nil
    }

    var isTooFarAhead: Bool {
        if case .tooFarAhead = self { return true }
        return false
    }

    var isUnknown: Bool {
        if case .unknown = self { return true }
        return false
    }

    var isUnreadable: Bool {
        if case .unreadable = self { return true }
        return false
    }

    var hasTimedOut: Bool {
        if case .timedOut = self { return true }
        return false
    }
}
