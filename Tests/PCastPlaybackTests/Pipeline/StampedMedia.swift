import Glibc
import PCastCodecs
import PCastCore

@testable import PCastPlayback

/// Media that identify themselves. Each frame has its number in a strip. The position of an audio sample follows from
/// the tone.
struct StampedMedia: Sendable {
    var duration = TimeSpan.seconds(10)
    /// The frame rate; 0 without video.
    var picturesPerSecond: Int64 = 30
    var hasSound = true
    /// The length of an audio frame, as with AAC.
    var soundLength: Int64 = 1_024
    var frequency = 440.0
    var subtitles: [(text: String, range: ClosedRange<TimeSpan>)] = []
    var metadata: [TimedMetadata] = []
    /// The position from which on frames have another size.
    var secondSize: TimeSpan?

    /// A strip of zeros could not be read, so the time is not zero.
    private static let origin = WallTime(millisecondsSinceEpoch: 0xFF_FF00)
    private static let pool = VideoFramePool(capacity: 64)

    var pictureCount: Int64 { duration.nanoseconds * picturesPerSecond / 1_000_000_000 }
    var soundCount: Int64 { hasSound ? ClockRate.opus.ticks(in: duration) / soundLength : 0 }

    func position(ofPicture number: Int64) -> TimeSpan {
        .nanoseconds(number * 1_000_000_000 / max(1, picturesPerSecond))
    }

    func position(ofSound number: Int64) -> TimeSpan { ClockRate.opus.span(ofTicks: number * soundLength) }

    func picture(_ number: Int64) -> ContentItem {
        let position = position(ofPicture: number)
        let isLarge = secondSize.map { position >= $0 } ?? false
        let frame = Self.pool.frame(
            dimensions: Dimensions(width: isLarge ? 192 : 128, height: isLarge ? 108 : 72), captureTime: nil,
            timestamp: MediaTime(ticks: position.nanoseconds / 11_111, rate: .video))
        TestPatternStrip.draw(
            TestPatternStamp(
                counter: UInt16(truncatingIfNeeded: number),
                captureTime: Self.origin + position),
            into: frame)
        return .picture(
            frame, at: position, duration: self.position(ofPicture: number + 1) - position)
    }

    func sound(_ number: Int64) -> ContentItem {
        let samples = (0..<soundLength).flatMap { index in
            let level = 0.5 * sin(2 * .pi * frequency * Double(number * soundLength + index) / 48_000)
            return [Int16((level * 32_767).rounded()), Int16((level * 32_767).rounded())]
        }
        return .sound(
            AudioFrame(
                samples: samples, channels: 2, captureTime: nil,
                timestamp: MediaTime(ticks: number * soundLength, rate: .opus)),
            at: position(ofSound: number))
    }

    var tracks: [ContentTrack] {
        (picturesPerSecond > 0 ? [ContentTrack(id: .init(rawValue: "v"), kind: .video)] : [])
            + (hasSound ? [ContentTrack(id: .init(rawValue: "a"), kind: .audio)] : [])
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
    private var nextPicture: Int64 = 0
    private var nextSound: Int64 = 0
    private var toldTexts: Set<Int> = []
    private var toldMetadata: Set<Int> = []

    init(_ media: StampedMedia, at position: TimeSpan = .zero) {
        self.media = media
        while nextPicture < media.pictureCount, media.position(ofPicture: nextPicture + 1) <= position {
            nextPicture += 1
        }
        while nextSound < media.soundCount, media.position(ofSound: nextSound + 1) <= position { nextSound += 1 }
        toldMetadata = Set(media.metadata.indices.filter { media.metadata[$0].position < position })
    }

    /// The position of the next item; nil at the end.
    var position: TimeSpan? {
        let picture = nextPicture < media.pictureCount ? media.position(ofPicture: nextPicture) : nil
        let sound = nextSound < media.soundCount ? media.position(ofSound: nextSound) : nil
        return [picture, sound].compactMap(\.self).min()
    }

    mutating func next() -> ContentItem? {
        guard let position else { return nil }
        for (index, text) in media.subtitles.enumerated()
        where text.range.lowerBound <= position && text.range.upperBound > position && !toldTexts.contains(index) {
            toldTexts.insert(index)
            return .subtitle(text.text, text.range)
        }
        for (index, metadata) in media.metadata.enumerated()
        where metadata.position <= position + .milliseconds(500) && !toldMetadata.contains(index) {
            toldMetadata.insert(index)
            return .metadata(metadata)
        }
        if nextPicture < media.pictureCount, media.position(ofPicture: nextPicture) == position {
            defer { nextPicture += 1 }
            return media.picture(nextPicture)
        }
        defer { nextSound += 1 }
        return media.sound(nextSound)
    }
}
