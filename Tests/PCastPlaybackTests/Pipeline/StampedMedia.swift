import Glibc
import PCastCodecs
import PCastCore

@testable import PCastPlayback

/// Media that identify themselves. Each frame has its number in a strip. The position of an audio sample follows from
/// the tone.
struct StampedMedia: Sendable {
    var duration = TimeSpan.seconds(10)
    /// The frame rate; 0 without video.
    var framesPerSecond: Int64 = 30
    var hasAudio = true
    /// The length of an audio frame, as with AAC.
    var audioLength: Int64 = 1_024
    var frequency = 440.0
    var subtitles: [(text: String, range: ClosedRange<TimeSpan>)] = []
    var metadata: [TimedMetadata] = []
    /// The position from which on frames have another size.
    var secondSize: TimeSpan?
    /// The positions at which media is absent; nil for none.
    var hole: Range<TimeSpan>?

    /// A strip of zeros could not be read, so the time is not zero.
    private static let origin = WallTime(millisecondsSinceEpoch: 0xFF_FF00)
    private static let pool = VideoFramePool(capacity: 64)

    var frameCount: Int64 { duration.nanoseconds * framesPerSecond / 1_000_000_000 }
    var audioCount: Int64 { hasAudio ? ClockRate.opus.ticks(in: duration) / audioLength : 0 }

    func position(ofFrame number: Int64) -> TimeSpan {
        .nanoseconds(number * 1_000_000_000 / max(1, framesPerSecond))
    }

    func position(ofAudio number: Int64) -> TimeSpan { ClockRate.opus.span(ofTicks: number * audioLength) }

    func videoFrame(_ number: Int64) -> ContentItem {
        let position = position(ofFrame: number)
        let isLarge = secondSize.map { position >= $0 } ?? false
        let frame = Self.pool.frame(
            dimensions: Dimensions(width: isLarge ? 192 : 128, height: isLarge ? 108 : 72), captureTime: nil,
            timestamp: MediaTime(ticks: position.nanoseconds / 11_111, rate: .video))
        TestPatternStrip.draw(
            TestPatternStamp(
                counter: UInt16(truncatingIfNeeded: number),
                captureTime: Self.origin + position),
            into: frame)
        return .frame(
            frame, at: position, duration: self.position(ofFrame: number + 1) - position)
    }

    func audio(_ number: Int64) -> ContentItem {
        let samples = (0..<audioLength).flatMap { index in
            let level = 0.5 * sin(2 * .pi * frequency * Double(number * audioLength + index) / 48_000)
            return [Int16((level * 32_767).rounded()), Int16((level * 32_767).rounded())]
        }
        return .audio(
            AudioFrame(
                samples: samples, channels: 2, captureTime: nil,
                timestamp: MediaTime(ticks: number * audioLength, rate: .opus)),
            at: position(ofAudio: number))
    }

    var tracks: [ContentTrack] {
        (framesPerSecond > 0 ? [ContentTrack(id: .init(rawValue: "v"), kind: .video)] : [])
            + (hasAudio ? [ContentTrack(id: .init(rawValue: "a"), kind: .audio)] : [])
            + (subtitles.isEmpty ? [] : [ContentTrack(id: .init(rawValue: "s"), kind: .subtitles)])
    }

    var overview: ContentOverview {
        ContentOverview(
            kind: .onDemand, tracks: tracks, selected: Set(tracks.map(\.id)), duration: duration,
            seekableRange: .zero...duration)
    }
}

/// A reading position in stamped media.
struct StampedReading: Sendable {
    let media: StampedMedia
    private var nextVideo: Int64 = 0
    private var nextAudio: Int64 = 0
    private var reportedTexts: Set<Int> = []
    private var reportedMetadata: Set<Int> = []

    init(_ media: StampedMedia, at position: TimeSpan = .zero) {
        self.media = media
        while nextVideo < media.frameCount, media.position(ofFrame: nextVideo + 1) <= position {
            nextVideo += 1
        }
        while nextAudio < media.audioCount, media.position(ofAudio: nextAudio + 1) <= position { nextAudio += 1 }
        skipHole()
        reportedMetadata = Set(media.metadata.indices.filter { media.metadata[$0].position < position.duration })
    }

    /// Advances behind absent media.
    private mutating func skipHole() {
        guard let hole = media.hole else { return }
        while nextVideo < media.frameCount, hole.contains(media.position(ofFrame: nextVideo)) { nextVideo += 1 }
        while nextAudio < media.audioCount, hole.contains(media.position(ofAudio: nextAudio)) { nextAudio += 1 }
    }

    /// The position of the next item; nil at the end.
    var position: TimeSpan? {
        let videoFrame = nextVideo < media.frameCount ? media.position(ofFrame: nextVideo) : nil
        let audio = nextAudio < media.audioCount ? media.position(ofAudio: nextAudio) : nil
        return [videoFrame, audio].compactMap(\.self).min()
    }

    mutating func next() -> ContentItem? {
        guard let position else { return nil }
        defer { skipHole() }
        for (index, text) in media.subtitles.enumerated()
        where text.range.lowerBound <= position && text.range.upperBound > position && !reportedTexts.contains(index) {
            reportedTexts.insert(index)
            return .subtitle(text.text, text.range)
        }
        for (index, metadata) in media.metadata.enumerated()
        where metadata.position <= (position + .milliseconds(500)).duration && !reportedMetadata.contains(index) {
            reportedMetadata.insert(index)
            return .metadata(metadata)
        }
        if nextVideo < media.frameCount, media.position(ofFrame: nextVideo) == position {
            defer { nextVideo += 1 }
            return media.videoFrame(nextVideo)
        }
        defer { nextAudio += 1 }
        return media.audio(nextAudio)
    }
}
