import PCastCore
import PCastDatabase

/// A track of a recording: the renditions of one layer or of one audio codec in all epochs.
struct RecordedTrack {
    /// The kind of a track, by which audio is grouped.
    enum Kind: Hashable {
        case video, opus, aac
    }

    /// The name in URIs of playlists.
    let name: String
    let kind: Kind
    /// The renditions, by epoch and name.
    private(set) var renditions: [RecordedRendition] = []
    /// The segments, in the order of their periods and starts.
    private(set) var segments: [SegmentRecord] = []

    /// Returns the tracks of a recording, those with video first, and each kind by name.
    ///
    /// A track that has less than nine tenths of the longest one of its kind of media is left out, because a player that
    /// chose it would mostly show nothing. An example is AAC that was transcoded for one viewer.
    static func tracks(_ renditions: [RecordedRendition], _ segments: [SegmentRecord]) -> [RecordedTrack] {
        var tracks: [String: RecordedTrack] = [:]
        let bySource = Dictionary(grouping: segments) { Source(epoch: $0.epoch, rendition: $0.rendition) }
        for rendition in renditions {
            let kind = Self.kind(of: rendition)
            let name = Self.name(of: rendition, kind)
            var track = tracks[name] ?? RecordedTrack(name: name, kind: kind)
            track.renditions.append(rendition)
            track.segments += bySource[Source(epoch: rendition.epoch, rendition: rendition.name)] ?? []
            tracks[name] = track
        }
        var sorted = tracks.values.filter { $0.duration > .zero }.sorted {
            ($0.kind == .video ? 0 : 1, $0.name) < ($1.kind == .video ? 0 : 1, $1.name)
        }
        for index in sorted.indices {
            sorted[index].segments.sort {
                ($0.epoch, $0.discontinuity, $0.start) < ($1.epoch, $1.discontinuity, $1.start)
            }
        }
        return sorted.filter { track in
            let same = sorted.filter { ($0.kind == .video) == (track.kind == .video) }
            let longest = same.map(\.duration).max() ?? .zero
            return track.duration.nanoseconds >= longest.nanoseconds / 10 * 9
        }
    }

    private struct Source: Hashable {
        let epoch: Int
        let rendition: String
    }

    private static func kind(of rendition: RecordedRendition) -> Kind {
        if rendition.codec == "opus" { return .opus }
        return rendition.codec.hasPrefix("mp4a") ? .aac : .video
    }

    /// Returns the name of a rendition without the number by which the packager distinguishes it from earlier ones.
    private static func name(of rendition: RecordedRendition, _ kind: Kind) -> String {
        switch kind {
        case .video: String(rendition.name.prefix { $0 != "-" })
        case .opus: "opus"
        case .aac: "aac"
        }
    }

    /// The sum of the durations of segments with media.
    var duration: TimeSpan { segments.reduce(.zero) { $1.isGap ? $0 : $0 + $1.duration } }

    /// The rendition with the largest video, or the last one.
    var largest: RecordedRendition? {
        renditions.max { ($0.dimensions?.height ?? 0, $0.epoch) < ($1.dimensions?.height ?? 0, $1.epoch) }
    }

    /// The highest bit rate of a segment of a second or more, at least the average.
    var bandwidth: Int64 {
        let rates = segments.filter { $0.duration >= .seconds(1 as Int64) }.map { Self.bitrate($0.length, $0.duration) }
        return max(rates.max() ?? 0, averageBandwidth)
    }

    /// The average bit rate, at least 1.
    var averageBandwidth: Int64 {
        let media = segments.filter { !$0.isGap }
        return max(1, Self.bitrate(media.reduce(0) { $0 + $1.length }, media.reduce(.zero) { $0 + $1.duration }))
    }

    private static func bitrate(_ size: Int64, _ duration: TimeSpan) -> Int64 {
        duration > .zero ? Int64(Double(size) * 8 / duration.seconds) : 0
    }

    /// Returns the rendition of a segment.
    func rendition(of segment: SegmentRecord) -> RecordedRendition? {
        renditions.first { $0.epoch == segment.epoch && $0.name == segment.rendition }
    }
}
