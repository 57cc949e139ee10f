package import PCastCore

/// The settings of a packager. They do not change while it runs, because players rely on them (RFC 8216bis, section
/// 6.2.1).
package struct PackagerConfiguration: Sendable {
    /// The duration of a segment. A segment of video begins at a key frame, so it may be longer.
    package var segmentDuration = TimeSpan.seconds(2 as Int64)
    /// The duration of a part, to which whole frames are rounded.
    package var partDuration = TimeSpan.milliseconds(200)
    /// The duration that a playlist lists, in which viewers can rewind. It is raised to six target durations, the limit of
    /// delta updates.
    package var window = TimeSpan.seconds(30 as Int64)
    /// The longest absence of media that is stated as gaps. After a longer one, the timeline begins again.
    package var longestGap = TimeSpan.seconds(30 as Int64)
    /// The newest part of the window, whose media remain in memory when they are stored. It is raised to six target
    /// durations, within which players request parts.
    package var memoryWindow = TimeSpan.seconds(30 as Int64)
    /// The bytes in memory of a rendition's segments in the window. The oldest segments beyond it are removed, down to
    /// three target durations.
    package var maximumWindowSize = 64 << 20
    /// The largest target duration for a publisher that makes key frames rarely.
    package var maximumTargetDuration = TimeSpan.seconds(10 as Int64)
    /// Whether the publisher makes key frames on request. If not, the target duration follows from the first segment.
    package var answersKeyFrameRequests = true
    /// The time for which a missing frame is awaited before the absence of media is stated (`GAP`).
    package var stallTimeout = TimeSpan.milliseconds(500)
    /// The encryption of segments and parts; nil for none.
    package var encryption: PackagerEncryption?
    /// The prefix of file names. It must be unused before, because media files are cached without an expiry.
    package var instance: String

    /// Creates settings with the defaults: segments of 2 s, parts of 200 ms, a window of 30 s.
    package init(instance: String) { self.instance = instance }

    /// The target duration of a publisher that answers key-frame requests. A key frame that is requested at the end of a
    /// segment has a second to arrive.
    var targetDuration: TimeSpan { Self.wholeSeconds(segmentDuration) + .seconds(1 as Int64) }

    /// Returns a duration rounded up to whole seconds, the unit of `EXT-X-TARGETDURATION`.
    static func wholeSeconds(_ span: TimeSpan) -> TimeSpan {
        .seconds(max(1, (span.nanoseconds + 999_999_999) / 1_000_000_000))
    }

    /// The maximum size of an access unit in bytes.
    static let maximumUnitSize = 8 << 20
}

/// The encryption of segments and parts: AES-128 (RFC 8216bis, section 4.4.4.4). The initialization vector of a segment, and
/// of each of its parts, is the media sequence number.
package struct PackagerEncryption: Sendable {
    /// The number of segments of a rendition that have the same key.
    package var segmentsPerKey: Int64
    /// Returns a new secret key of 16 bytes.
    package var makeKey: @Sendable () -> [UInt8]
    /// Returns the bytes, encrypted with a key and an initialization vector of 16 bytes each.
    package var encrypt: @Sendable (_ bytes: [UInt8], _ key: [UInt8], _ vector: [UInt8]) -> [UInt8]

    /// Creates an encryption, whose keys have at least one segment each.
    package init(
        segmentsPerKey: Int64, makeKey: @escaping @Sendable () -> [UInt8],
        encrypt: @escaping @Sendable (_ bytes: [UInt8], _ key: [UInt8], _ vector: [UInt8]) -> [UInt8]
    ) {
        precondition(segmentsPerKey > 0, "a key must have a segment")
        self.segmentsPerKey = segmentsPerKey
        self.makeKey = makeKey
        self.encrypt = encrypt
    }
}

/// A track that is packaged: a layer of the video, or the audio in one codec.
package struct RenditionDescription: Hashable, Sendable {
    /// The codec of the access units.
    package enum Source: Hashable, Sendable {
        /// Video, whose codec and format follow from the access units. They may change with a key frame.
        case video
        /// Opus with one or two channels.
        case opus(channels: Int)
        /// AAC-LC.
        case aac(AACFormat)

        /// The format, as far as it is known before the first access unit.
        var format: CMAFFormat? {
            switch self {
            case .video: nil
            case .opus(let channels): .opus(channels: channels)
            case .aac(let format): .aac(format)
            }
        }

        /// The clock rate of timestamps.
        var clockRate: ClockRate { format?.clockRate ?? .video }
    }

    /// The name in URIs: letters, digits and hyphens.
    package var name: String
    /// The codec.
    package var source: Source
    /// The expected bit rate, which the multivariant playlist states until a higher one is measured.
    package var bitrate: Bitrate
    /// The label for users; nil for the name.
    package var label: String?
    /// The language tag (RFC 5646); nil if unknown.
    package var language: String?
    /// Whether a speaker describes the video, for people who do not see it.
    package var describesVideo: Bool

    /// Creates a description.
    package init(
        name: String, source: Source, bitrate: Bitrate, label: String? = nil, language: String? = nil,
        describesVideo: Bool = false
    ) {
        precondition(name.utf8.allSatisfy { $0.isNameCharacter } && !name.isEmpty, "the name \(name) is no file name")
        self.name = name
        self.source = source
        self.bitrate = bitrate
        self.label = label
        self.language = language
        self.describesVideo = describesVideo
    }

    /// Whether it is video.
    package var isVideo: Bool { source == .video }
}

extension UInt8 {
    /// Whether the character is a letter, a digit or a hyphen.
    fileprivate var isNameCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}

/// A complete access unit or audio packet with its times.
package struct AccessUnit: Sendable {
    /// The codec of video. That of audio follows from the rendition.
    package var codec: Codec
    /// The data. H.264 and H.265: an access unit in Annex B format. AV1: a temporal unit. VP9: a frame or superframe. Opus and
    /// AAC: one packet.
    package var bytes: [UInt8]
    /// Whether decoding can start with it, as far as the sender knows. The packager decides by its headers.
    package var isKeyFrame: Bool
    /// The time in the track, in ticks of the codec's clock, extended to 64 bits.
    package var timestamp: Int64
    /// The UTC time of capture.
    package var captureTime: WallTime

    /// Creates an access unit.
    package init(
        codec: Codec = .h264, bytes: [UInt8], isKeyFrame: Bool = false, timestamp: Int64, captureTime: WallTime
    ) {
        self.codec = codec
        self.bytes = bytes
        self.isKeyFrame = isKeyFrame
        self.timestamp = timestamp
        self.captureTime = captureTime
    }
}

/// Events of a packager since they were taken last.
package struct PackagerUpdates: Hashable, Sendable {
    /// The names of renditions whose playlists changed.
    package var changed: Set<String> = []
    /// The names of renditions that need a key frame from the publisher.
    package var needsKeyFrame: Set<String> = []
    /// The distance of key frames that exceeds the segment duration; nil if there is none.
    package var longKeyFrameInterval: TimeSpan?
    /// Whether a key frame arrived that cannot be packaged, because its headers are invalid or missing, before any other.
    package var hasUnreadableVideo = false
    /// The segments with media that were completed.
    package var completed: [CompletedSegment] = []

    /// Creates updates without events.
    package init() {}
}

/// A segment of which all parts are published.
package struct CompletedSegment: Hashable, Sendable {
    /// The name of its rendition.
    package let rendition: String
    /// The media sequence number.
    package let number: Int64
    /// The capture time of its beginning.
    package let start: WallTime
    package let duration: TimeSpan
    /// The number of bytes.
    package let size: Int
}
