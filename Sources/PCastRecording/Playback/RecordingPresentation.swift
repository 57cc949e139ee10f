package import PCastCore
package import PCastDatabase
package import PCastHLS
import PCastPackaging

/// The playlists of a recording, and the location of each file that they name.
///
/// Playlists are those of an event while the recording is written (`EVENT`), and on-demand playlists afterwards (`VOD`;
/// RFC 8216, section 4.3.3.5). Media files have the names that they had in the live playlists.
package struct RecordingPresentation: Sendable {
    /// A media file.
    package enum File: Hashable, Sendable {
        /// The initialization segment at the beginning of a file.
        case initialization(RecordingFolder.FileName)
        /// A segment.
        case segment(SegmentRecord)
    }

    /// The prefix of the names of media playlists.
    package static let playlistPrefix = "vod-"
    /// The target duration of an event, whose later segments are not known: the largest one of a packager.
    private static let eventTarget = TimeSpan.seconds(10 as Int64)
    /// The distance of a segment from the end of the previous one from which on media are absent.
    static let tolerance = TimeSpan.milliseconds(500)

    /// Whether the recording has ended.
    package let isComplete: Bool
    let tracks: [RecordedTrack]
    private let renditions: [RecordedRendition]
    private let segments: [FileKey: SegmentRecord]
    private let initializations: [FileKey: RecordingFolder.FileName]
    private let targetDuration: TimeSpan

    /// The number of a segment or an initialization segment of a rendition.
    private struct FileKey: Hashable {
        let epoch: Int
        let rendition: String
        let number: Int64
    }

    /// A part of the timeline without a discontinuity.
    struct Period {
        let epoch: Int
        let discontinuity: Int64
        var start: WallTime
        var end: WallTime

        func contains(_ segment: SegmentRecord) -> Bool {
            segment.epoch == epoch && segment.discontinuity == discontinuity
        }
    }

    let periods: [Period]

    /// Creates the playlists of a recording.
    package init(_ contents: Records.RecordingContents, isComplete: Bool) {
        self.init(contents.renditions, contents.segments, isComplete: isComplete)
    }

    /// Creates the playlists of renditions and their segments.
    package init(_ renditions: [RecordedRendition], _ segments: [SegmentRecord], isComplete: Bool) {
        self.isComplete = isComplete
        self.renditions = renditions
        var byNumber: [FileKey: SegmentRecord] = [:]
        var beginnings: [FileKey: RecordingFolder.FileName] = [:]
        for segment in segments {
            let (epoch, rendition) = (segment.epoch, segment.rendition)
            byNumber[FileKey(epoch: epoch, rendition: rendition, number: segment.number)] = segment
            let key = FileKey(epoch: epoch, rendition: rendition, number: Int64(segment.initialization))
            if beginnings[key] == nil {
                beginnings[key] = .init(epoch: epoch, rendition: rendition, number: segment.file)
            }
        }
        self.segments = byNumber
        initializations = beginnings
        tracks = RecordedTrack.tracks(renditions, segments)
        let longest = tracks.flatMap(\.segments).map(\.duration).max() ?? .zero
        let rounded = TimeSpan.seconds(max(1, (longest.nanoseconds + 500_000_000) / 1_000_000_000))
        targetDuration = isComplete ? rounded : max(rounded, Self.eventTarget)
        periods = Self.periods(of: tracks)
    }

    /// Returns the periods, each from its first to its last media. If all tracks pause at the end of one, it lasts until the
    /// next one begins. A gap of one track does not count otherwise, because the others may be in the next period already:
    /// the video ends one when a publisher has a codec that is not recorded, and its audio begins the next one.
    private static func periods(of tracks: [RecordedTrack]) -> [Period] {
        var periods: [Period] = []
        let segments = tracks.flatMap(\.segments).sorted {
            ($0.epoch, $0.discontinuity, $0.start) < ($1.epoch, $1.discontinuity, $1.start)
        }
        var gapEnds: [WallTime?] = []
        for segment in segments where !segment.isGap {
            let end = segment.start + segment.duration
            if let last = periods.last, last.contains(segment) {
                periods[periods.count - 1].end = max(last.end, end)
            } else {
                periods.append(
                    Period(
                        epoch: segment.epoch, discontinuity: segment.discontinuity, start: segment.start, end: end))
                gapEnds.append(nil)
            }
        }
        var index = 0
        for segment in segments where segment.isGap {
            while index < periods.count, !periods[index].contains(segment),
                (periods[index].epoch, periods[index].discontinuity) < (segment.epoch, segment.discontinuity)
            {
                index += 1
            }
            guard index < periods.count, periods[index].contains(segment) else { continue }
            let end = segment.start + segment.duration
            gapEnds[index] = gapEnds[index].map { max($0, end) } ?? end
        }
        for (index, next) in periods.enumerated().dropFirst() {
            let former = periods[index - 1]
            guard next.epoch == former.epoch, let gapEnd = gapEnds[index - 1], gapEnd > former.end else { continue }
            periods[index - 1].end = max(former.end, next.start)
        }
        return periods
    }

    /// Whether there is anything to play.
    package var isEmpty: Bool { tracks.isEmpty }

    /// The duration from the beginning to the end, without the time between periods.
    package var duration: TimeSpan { periods.reduce(.zero) { $0 + ($1.end - $1.start) } }

    // MARK: Files

    /// Returns a media file of a rendition by its name in the playlists; nil if there is none.
    package func file(_ fileName: String, of rendition: String) -> File? {
        for candidate in renditions where candidate.name == rendition {
            guard let file = PackagedFile(name: fileName, instance: candidate.instance) else { continue }
            func key(_ number: Int64) -> FileKey {
                FileKey(epoch: candidate.epoch, rendition: candidate.name, number: number)
            }
            switch file {
            case .initialization(let number): return initializations[key(Int64(number))].map { .initialization($0) }
            case .segment(let number):
                guard let segment = segments[key(number)], !segment.isGap else { return nil }
                return .segment(segment)
            case .part, .key: return nil
            }
        }
        return nil
    }

    // MARK: Media playlists

    /// Returns the media playlist of a track, whose name is that in the multivariant playlist; nil if there is none.
    package func mediaPlaylist(_ name: String) -> MediaPlaylist? {
        guard let track = tracks.first(where: { Self.playlistPrefix + $0.name == name }) else { return nil }
        var listed: [MediaSegment] = []
        // Gaps are stated from the end of a segment to the next one, within the period.
        var rest = track.segments.filter { !$0.isGap }[...]
        guard let first = rest.first, var initialization = self.initialization(of: first, in: track) else { return nil }
        for (index, period) in periods.enumerated() {
            var position = period.start
            var isFirst = index > 0
            if let next = rest.first, period.contains(next) {
                initialization = self.initialization(of: next, in: track) ?? initialization
            }
            func append(_ segment: SegmentRecord?, _ start: WallTime, _ duration: TimeSpan) {
                let address = segment.flatMap { self.uri(of: $0, in: track) }
                listed.append(
                    MediaSegment(
                        number: Int64(listed.count), uri: address ?? "\(track.name)/gap.m4s", duration: duration,
                        discontinuity: Int64(index), isDiscontinuity: isFirst, initialization: initialization,
                        programDateTime: start, isGap: segment?.isGap ?? true))
                isFirst = false
            }
            func appendGap(until end: WallTime) {
                while end - position > Self.tolerance {
                    let duration = min(end - position, targetDuration)
                    append(nil, position, duration)
                    position = position + duration
                }
            }
            while let segment = rest.first, period.contains(segment) {
                rest = rest.dropFirst()
                initialization = self.initialization(of: segment, in: track) ?? initialization
                // A segment that overlaps the previous one is that of another rendition of the track.
                guard segment.start + Self.tolerance >= position else { continue }
                appendGap(until: segment.start)
                append(segment, segment.start, segment.duration)
                position = segment.start + segment.duration
            }
            // The end of the last period of an event is not known.
            guard isComplete || index + 1 < periods.count else { continue }
            appendGap(until: period.end)
            // Each rendition has each discontinuity, also if it has almost nothing in the period.
            if isFirst { append(nil, position, max(period.end - position, .milliseconds(1))) }
        }
        return MediaPlaylist(
            version: 8, targetDuration: targetDuration, kind: isComplete ? .onDemand : .event, isComplete: isComplete,
            hasIndependentSegments: true, segments: listed)
    }

    private func uri(of segment: SegmentRecord, in track: RecordedTrack) -> String? {
        track.rendition(of: segment).map {
            PackagedFile.segment(segment.number).path(of: $0.name, instance: $0.instance)
        }
    }

    private func initialization(of segment: SegmentRecord, in track: RecordedTrack) -> MediaInitialization? {
        track.rendition(of: segment).map {
            MediaInitialization(
                uri: PackagedFile.initialization(segment.initialization).path(of: $0.name, instance: $0.instance))
        }
    }

    // MARK: Multivariant playlist

    /// The multivariant playlist; nil if there is nothing to play. Each layer of the video is a variant with each audio
    /// codec, and the audio alone is the last variant.
    package var multivariantPlaylist: MultivariantPlaylist? {
        guard !isEmpty else { return nil }
        let video = tracks.filter { $0.kind == .video }.sorted { $0.bandwidth > $1.bandwidth }
        let audio = tracks.filter { $0.kind != .video }
        var variants: [VariantStream] = []
        for layer in video {
            if audio.isEmpty { variants.append(Self.variant(layer, nil)) }
            for track in audio { variants.append(Self.variant(layer, track)) }
        }
        for track in audio { variants.append(Self.variant(nil, track)) }
        return MultivariantPlaylist(
            version: 8, hasIndependentSegments: true, variants: variants,
            renditions: audio.map { track in
                Rendition(
                    .audio, uri: Self.uri(of: track), group: track.name, name: track.name, isDefault: true,
                    isAutoselect: true, channels: track.largest?.channels.map { String($0) })
            })
    }

    private static func uri(of track: RecordedTrack) -> String { "\(playlistPrefix)\(track.name).m3u8" }

    private static func variant(_ video: RecordedTrack?, _ audio: RecordedTrack?) -> VariantStream {
        let both = [video, audio].compactMap { $0 }
        return VariantStream(
            uri: both.first.map { uri(of: $0) } ?? "",
            bandwidth: Bitrate(bitsPerSecond: both.reduce(0) { $0 + $1.bandwidth }),
            averageBandwidth: Bitrate(bitsPerSecond: both.reduce(0) { $0 + $1.averageBandwidth }),
            codecs: both.compactMap { $0.largest?.codec }, resolution: video?.largest?.dimensions,
            framesPerSecond: video?.largest?.frameRate, audio: audio?.name)
    }
}
