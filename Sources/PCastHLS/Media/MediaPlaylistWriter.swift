internal import PCastCore

/// Writes a media playlist. A tag that applies to following segments is written only when its value changes.
struct MediaPlaylistWriter {
    private var writer = PlaylistWriter()
    private var keys: [EncryptionKey] = []
    private var initialization: MediaInitialization?
    private var kilobitsPerSecond: Int64?

    /// Returns a playlist as text, with an `EXT-X-SKIP` tag in place of its first `skipped` segments if there are any.
    static func text(of playlist: MediaPlaylist, skipping skipped: Int) -> String {
        var writer = MediaPlaylistWriter()
        writer.writeHeader(of: playlist)
        if skipped > 0 {
            writer.writeSkip(skipped, of: playlist)
        }
        for segment in playlist.segments.dropFirst(skipped) { writer.write(segment) }
        if let segment = playlist.openSegment { writer.write(segment) }
        writer.writeEnd(of: playlist)
        return writer.writer.text
    }

    private mutating func writeHeader(of playlist: MediaPlaylist) {
        writer.tag(.version, String(playlist.version))
        for variable in playlist.variables { writer.write(variable) }
        writer.tag(.targetDuration, String((playlist.targetDuration.nanoseconds + 999_999_999) / 1_000_000_000))
        if let control = playlist.serverControl.attributes { writer.tag(.serverControl, control) }
        if let target = playlist.partTargetDuration {
            var attributes = AttributeWriter()
            attributes.seconds("PART-TARGET", target)
            writer.tag(.partInformation, attributes)
        }
        // Chromium's player considers a playlist without the tag as complete.
        if playlist.mediaSequence > 0 || !playlist.isComplete {
            writer.tag(.mediaSequence, String(playlist.mediaSequence))
        }
        // A playlist from which a discontinuity may be removed has the tag from the beginning (RFC 8216bis, section
        // 6.2.2).
        if playlist.discontinuitySequence > 0 || playlist.kind == nil && !playlist.isComplete {
            writer.tag(.discontinuitySequence, String(playlist.discontinuitySequence))
        }
        if let kind = playlist.kind { writer.tag(.playlistType, kind.rawValue) }
        writer.flag(.iFramesOnly, if: playlist.isIFramesOnly)
        writer.flag(.independentSegments, if: playlist.hasIndependentSegments)
        if let start = playlist.start { writer.tag(.start, start.attributes) }
    }

    /// Writes the skip tag and sets the state that the skipped segments leave behind. The initialization section is
    /// repeated, because some players do not keep that of a skipped segment.
    private mutating func writeSkip(_ count: Int, of playlist: MediaPlaylist) {
        var attributes = AttributeWriter()
        attributes.number("SKIPPED-SEGMENTS", Int64(count))
        writer.tag(.skip, attributes)
        let skipped = playlist.segments[..<count]
        keys = skipped.last?.keys ?? []
        kilobitsPerSecond = skipped.last { $0.kilobitsPerSecond != nil }?.kilobitsPerSecond
    }

    private mutating func write(_ segment: MediaSegment) {
        writer.flag(.discontinuity, if: segment.isDiscontinuity)
        if let initialization = segment.initialization, initialization != self.initialization {
            write(initialization.keys)
            var attributes = AttributeWriter()
            attributes.quoted("URI", initialization.uri)
            attributes.quoted("BYTERANGE", initialization.byteRange?.text)
            writer.tag(.map, attributes)
            self.initialization = initialization
        }
        write(segment.keys)
        if let time = segment.programDateTime { writer.tag(.programDateTime, time.iso8601) }
        if let bitrate = segment.kilobitsPerSecond, bitrate != kilobitsPerSecond {
            writer.tag(.bitrate, String(bitrate))
            kilobitsPerSecond = bitrate
        }
        writer.flag(.gap, if: segment.isGap)
        for part in segment.parts { writer.tag(.part, part.attributes) }
        guard let uri = segment.uri else { return }
        if let range = segment.byteRange { writer.tag(.byteRange, range.text) }
        writer.tag(
            .segment, PlaylistNumber.text(billionths: segment.duration.nanoseconds) + "," + (segment.title ?? ""))
        writer.uri(uri)
    }

    /// Writes the keys that have changed, after `METHOD=NONE` if a key format is no longer used.
    private mutating func write(_ keys: [EncryptionKey]) {
        guard keys != self.keys else { return }
        let formats = Set(keys.map(\.keyFormat))
        if !formats.isSuperset(of: self.keys.map(\.keyFormat)) {
            var attributes = AttributeWriter()
            attributes.unquoted("METHOD", "NONE")
            writer.tag(.key, attributes)
            self.keys = []
        }
        for key in keys where !self.keys.contains(key) { writer.tag(.key, key.attributes) }
        self.keys = keys
    }

    private mutating func writeEnd(of playlist: MediaPlaylist) {
        for range in playlist.dateRanges { writer.tag(.dateRange, range.tag) }
        for hint in playlist.preloadHints { writer.tag(.preloadHint, hint.attributes) }
        for report in playlist.renditionReports { writer.tag(.renditionReport, report.attributes) }
        writer.flag(.endList, if: playlist.isComplete)
    }
}

extension PlaylistWriter {
    /// Writes the definition of a variable.
    mutating func write(_ variable: PlaylistVariable) {
        var attributes = AttributeWriter()
        attributes.quoted("NAME", variable.name)
        attributes.quoted("VALUE", variable.value)
        tag(.define, attributes)
    }
}

extension MediaPlaylist {
    /// The playlist as text, which parses to an equal value if no value contains characters that a line or quoted
    /// string cannot hold. Such characters are left out.
    public var text: String { MediaPlaylistWriter.text(of: self, skipping: 0) }

    /// The playlist as a delta update, without the segments that may be skipped (RFC 8216bis, section 6.2.5.1). It is
    /// the whole text if none may be skipped.
    public var deltaUpdate: String {
        guard let boundary = serverControl.canSkipUntil else { return text }
        var duration = openSegment?.duration ?? .zero
        var kept = 0
        for segment in segments.reversed() where duration < boundary {
            duration += segment.duration
            kept += 1
        }
        return MediaPlaylistWriter.text(of: self, skipping: segments.count - kept)
    }
}
