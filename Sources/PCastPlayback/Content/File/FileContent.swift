internal import Foundation
internal import PCastCodecs
public import PCastCore
internal import Synchronization

/// A file, or one that a web server has (MP4 and whatever else libavformat reads), with its tracks and subtitles.
///
/// Reads nothing ahead: a file is read as it is played, and of an address libavformat keeps 32 KiB. Where the server
/// answers no ranges there is nothing to be gone about in.
public final class FileContent: PlaybackContent {
    private let name: String
    private let reader: SeekableReader
    private let isPlayable: Bool
    private let known = Mutex<ContentOverview?>(nil)
    private let isStale = Atomic(false)
    private let tags = Mutex(Tags())

    /// What timed metadata told, of which several things may stand in one packet.
    private struct Tags {
        var waiting: [TimedMetadata] = []
        var anchors = MetadataAnchors()
    }

    public var overview: ContentOverview? { known.withLock { $0 } }

    /// Containers, and no playlists or lists of files, which would lead elsewhere; by libavformat's names.
    private static let formats = [
        "mp4", "matroska", "webm", "mpegts", "mpeg", "avi", "flv", "asf", "ogg", "mp3", "aac", "wav", "flac", "aiff",
        "caf",
        "ac3", "eac3", "amr", "h264", "hevc", "m4v", "mpegvideo", "ivf", "mxf", "nut", "w64", "webvtt", "srt", "ass",
        "au",
        "opus",
    ]

    /// - Parameters:
    ///   - address: a path, or an address of `file`, `http` or `https`.
    ///   - patience: how long nothing may come before it counts as broken off.
    public init(_ address: String, timeout: Duration = .seconds(10)) {
        let address = ContentAddress(address)
        name = address.name
        isPlayable = address.kind != nil
        reader = SeekableReader(uri: address.text, formats: Self.formats, timeout: timeout)
    }

    public func open() throws(PlaybackError) -> TimeSpan {
        guard isPlayable else { throw .unsupportedAddress(name) }
        do throws(SeekableFailure) { try reader.open() } catch { throw playbackError(error) }
        refresh()
        return .zero
    }

    private func refresh() {
        let tracks = reader.tracks.compactMap(ContentTrack.init)
        let selected = tracks.filter { track in reader.selected.values.contains { String($0) == track.id.rawValue } }
        var anchors = tags.withLock { $0.anchors.all }
        if let made = reader.creationTime {
            anchors.insert(TimecodeAnchor(position: .zero, wallTime: made, source: .file), at: 0)
        }
        let overview = ContentOverview(
            kind: .onDemand, tracks: tracks, selected: Set(selected.map(\.id)), duration: reader.duration,
            seekableRange: reader.isSeekable ? reader.duration.map { .zero...$0 } : nil,
            anchors: anchors.sorted { $0.position < $1.position })
        known.withLock { $0 = overview }
    }

    public func read() throws(PlaybackError) -> ContentItem? {
        while true {
            if isStale.exchange(false, ordering: .relaxed), let overview { return .overview(overview) }
            let metadata = tags.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
            if let metadata { return .metadata(metadata) }
            let sample: PresentationSample?
            let duration = reader.duration
            do throws(SeekableFailure) { sample = try reader.next() } catch { throw playbackError(error) }
            let tellsTime = learn(of: sample)
            if tellsTime || reader.duration != duration {
                refresh()
                isStale.store(true, ordering: .relaxed)
            }
            // What says nothing that is understood is no end.
            if let item = sample.flatMap({ ContentItem($0) }) { return item }
            if sample == nil, !isStale.load(ordering: .relaxed) { return nil }
        }
    }

    /// - Returns: whether it tells a wall time.
    private func learn(of sample: PresentationSample?) -> Bool {
        guard case .metadata(let bytes, let position)? = sample else { return false }
        return tags.withLock { tags in
            let version = tags.anchors.version
            tags.waiting = TimedMetadata.all(inTags: bytes, at: position)
            for metadata in tags.waiting { tags.anchors.learn(from: metadata) }
            return tags.anchors.version != version
        }
    }

    public func seek(to position: TimeSpan) throws(PlaybackError) -> TimeSpan {
        guard reader.isSeekable else { throw .notSeekable }
        tags.withLock { $0.waiting.removeAll() }
        do throws(SeekableFailure) { return try reader.seek(to: position) } catch { throw playbackError(error) }
    }

    public func select(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind) throws(PlaybackError) {
        let index = track.flatMap { Int32($0.rawValue) }
        if let track, index == nil { throw .noTrack(track.rawValue) }
        guard reader.select(index, of: kind.medium) else { throw .noTrack(track?.rawValue ?? "") }
        refresh()
        isStale.store(true, ordering: .relaxed)
    }

    public func interrupt() { reader.interrupt() }

    public func close() { reader.close() }

    private func playbackError(_ failure: SeekableFailure) -> PlaybackError {
        switch failure {
        case .unreachable(let reason): .unreachable(name, reason: reason)
        case .refused(let status): .refused(name, status: status)
        case .notPlayable(let reason): .notPlayable(name, reason: reason)
        case .brokeOff(let reason): .brokeOff(name, reason: reason)
        case .interrupted: .interrupted
        }
    }
}

extension ContentTrack.Kind {
    var medium: PresentationMedium {
        switch self {
        case .video: .picture
        case .audio: .sound
        case .subtitles: .text
        }
    }

    init?(_ medium: PresentationMedium) {
        switch medium {
        case .picture: self = .video
        case .sound: self = .audio
        case .text: self = .subtitles
        case .metadata: return nil
        }
    }
}

extension ContentTrack {
    /// The codes of ISO 639-2 that differ from those of ISO 639-3 and stand in files.
    private static let bibliographic = [
        "alb": "sq", "arm": "hy", "baq": "eu", "bur": "my", "chi": "zh", "cze": "cs", "dut": "nl", "fre": "fr",
        "geo": "ka", "ger": "de", "gre": "el", "ice": "is", "mac": "mk", "mao": "mi", "may": "ms", "per": "fa",
        "rum": "ro", "slo": "sk", "tib": "bo", "wel": "cy",
    ]

    init?(_ track: PresentationTrack) {
        guard let kind = Kind(track.medium) else { return nil }
        // Containers have the codes of ISO 639-2, of which BCP 47 takes the short form where there is one.
        let language = track.language.map { code in
            Self.bibliographic[code] ?? Locale.LanguageCode(code).identifier(.alpha2) ?? code
        }
        self.init(id: ID(rawValue: String(track.id)), kind: kind, name: track.name, language: language)
    }
}
