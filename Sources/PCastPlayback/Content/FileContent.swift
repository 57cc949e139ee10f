internal import Foundation
internal import PCastCodecs
package import PCastCore
internal import Synchronization

/// The content of a file, local or on a web server, with its tracks and subtitles. libavformat reads the container,
/// which must be one of the permitted ones, such as MP4, Matroska or MPEG-TS.
///
/// It reads nothing ahead, except for the 32 KiB of libavformat's buffer for a web address. It is not seekable if the
/// server does not support range requests.
package final class FileContent: PlaybackContent {
    private let name: String
    private let reader: SeekableReader
    private let isPlayable: Bool
    private let known = Mutex<ContentOverview?>(nil)
    private let isStale = Atomic(false)
    private let tags = Mutex(Tags())

    /// The timed metadata that was read and not delivered, because one packet may contain several.
    private struct Tags {
        var waiting: [TimedMetadata] = []
        var anchors = MetadataAnchors()
    }

    /// The properties of the media; nil before it is open.
    package var overview: ContentOverview? { known.withLock { $0 } }

    /// The permitted containers, by libavformat's names. Playlists and lists of files are excluded, because they refer
    /// to other addresses.
    private static let formats = [
        "mp4", "matroska", "webm", "mpegts", "mpeg", "avi", "flv", "asf", "ogg", "mp3", "aac", "wav", "flac", "aiff",
        "caf",
        "ac3", "eac3", "amr", "h264", "hevc", "m4v", "mpegvideo", "ivf", "mxf", "nut", "w64", "webvtt", "srt", "ass",
        "au",
        "opus",
    ]

    /// Creates content that is not open. `address` is a path, or has the scheme file, http or https. `timeout` is the
    /// maximum time without data.
    package init(_ address: String, timeout: Duration = .seconds(10)) {
        let address = ContentAddress(address)
        name = address.name
        isPlayable = address.kind != nil
        reader = SeekableReader(uri: address.text, formats: Self.formats, timeout: timeout)
    }

    /// Opens the file. Throws a ``PlaybackError`` if it cannot be opened.
    package func open() throws(PlaybackError) -> TimeSpan {
        guard isPlayable else { throw .unsupportedAddress(name) }
        do throws(SeekableFailure) { try reader.open() } catch { throw playbackError(error) }
        refresh()
        return .zero
    }

    /// Updates the properties of the media.
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

    /// Returns the next item; nil at the end. Throws a ``PlaybackError`` if the file cannot be read.
    package func read() throws(PlaybackError) -> ContentItem? {
        while true {
            if isStale.exchange(false, ordering: .relaxed), let overview { return .overview(overview) }
            let metadata = tags.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
            if let metadata { return .metadata(metadata) }
            let sample: PresentationSample?
            let duration = reader.duration
            do throws(SeekableFailure) { sample = try reader.next() } catch { throw playbackError(error) }
            let changesTimeline = learn(of: sample)
            if changesTimeline || reader.duration != duration {
                refresh()
                isStale.store(true, ordering: .relaxed)
            }
            // A sample that is ignored is not the end.
            if let item = sample.flatMap({ ContentItem($0) }) { return item }
            if sample == nil, !isStale.load(ordering: .relaxed) { return nil }
        }
    }

    /// Records the metadata of a sample. Returns whether it contains a new wall-clock time.
    private func learn(of sample: PresentationSample?) -> Bool {
        guard case .metadata(let bytes, let position)? = sample else { return false }
        return tags.withLock { tags in
            let version = tags.anchors.version
            tags.waiting = TimedMetadata.all(inTags: bytes, at: position)
            for metadata in tags.waiting { tags.anchors.learn(from: metadata) }
            return tags.anchors.version != version
        }
    }

    /// Seeks, and returns the position that was reached. Throws ``PlaybackError/notSeekable`` if the file is not
    /// seekable.
    package func seek(to position: TimeSpan) throws(PlaybackError) -> TimeSpan {
        guard reader.isSeekable else { throw .notSeekable }
        tags.withLock { $0.waiting.removeAll() }
        do throws(SeekableFailure) { return try reader.seek(to: position) } catch { throw playbackError(error) }
    }

    /// Selects a track of a kind, or none if `track` is nil. Throws ``PlaybackError/noTrack(_:)`` if there is no such
    /// track.
    package func select(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind) throws(PlaybackError) {
        let index = track.flatMap { Int32($0.rawValue) }
        if let track, index == nil { throw .noTrack(track.rawValue) }
        guard reader.select(index, of: kind.medium) else { throw .noTrack(track?.rawValue ?? "") }
        refresh()
        isStale.store(true, ordering: .relaxed)
    }

    /// Interrupts the current call or the next one.
    package func interrupt() { reader.interrupt() }

    /// Closes the file.
    package func close() { reader.close() }

    /// Returns the error for a failure of the reader.
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
    /// The medium of the reader.
    var medium: PresentationMedium {
        switch self {
        case .video: .video
        case .audio: .audio
        case .subtitles: .text
        }
    }

    /// Creates the kind of a medium; nil for metadata.
    init?(_ medium: PresentationMedium) {
        switch medium {
        case .video: self = .video
        case .audio: self = .audio
        case .text: self = .subtitles
        case .metadata: return nil
        }
    }
}

extension ContentTrack {
    /// The codes of ISO 639-2/B that differ from ISO 639-2/T, with their codes in ISO 639-1.
    private static let bibliographic = [
        "alb": "sq", "arm": "hy", "baq": "eu", "bur": "my", "chi": "zh", "cze": "cs", "dut": "nl", "fre": "fr",
        "geo": "ka", "ger": "de", "gre": "el", "ice": "is", "mac": "mk", "mao": "mi", "may": "ms", "per": "fa",
        "rum": "ro", "slo": "sk", "tib": "bo", "wel": "cy",
    ]

    /// Creates a track from one of the reader; nil for metadata.
    init?(_ track: PresentationTrack) {
        guard let kind = Kind(track.medium) else { return nil }
        // Containers use ISO 639-2, and BCP 47 requires the shortest code, which is that of ISO 639-1 if there is one.
        let language = track.language.map { code in
            Self.bibliographic[code] ?? Locale.LanguageCode(code).identifier(.alpha2) ?? code
        }
        self.init(id: ID(rawValue: String(track.id)), kind: kind, name: track.name, language: language)
    }
}
