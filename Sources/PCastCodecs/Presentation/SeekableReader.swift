import CFFmpeg
package import PCastCore

/// Reads a file or an address for playback, with exact seeking and changes of track while reading.
///
/// Positions start at the beginning of the media. It decodes on demand and reads nothing ahead. Only one thread may use
/// it at a time, except for ``interrupt()``.
package final class SeekableReader: @unchecked Sendable {  // owned by one thread at a time; `interrupt` sets an atomic
    private let uri: String
    private let formats: [String]
    private let deadline: ReadingDeadline
    private let decoder = PresentationDecoder()
    private var source: PacketSource?
    private var waiting: [PresentationSample] = []
    private var given = 0
    private var isAtEnd = false
    private var isBroken = false
    private var hasGivenAny = false
    /// The ends of the frames and the audio that were returned, or the position of the last seek.
    private var videoEnd = TimeSpan.zero
    private var audioEnd = TimeSpan.zero
    /// Timed metadata that were returned ahead of the frames and the audio of their time. They are not returned twice
    /// after reading again, and not lost after a seek without reading again.
    private var early: [PresentationSample] = []

    private static let earlyLimit = 256

    /// The tracks that can be selected; empty before `open`.
    package private(set) var tracks: [PresentationTrack] = []
    /// The selected track of each medium.
    package private(set) var selected: [PresentationMedium: Int32] = [:]
    /// The duration; nil if it is unknown. An estimated duration is corrected at the end.
    package private(set) var duration: TimeSpan?
    /// Whether ``seek(to:)`` works. It requires a duration.
    package private(set) var isSeekable = false
    /// The creation time from the file; nil if it is missing.
    package private(set) var creationTime: WallTime?
    /// Whether the duration was estimated from the size and the bitrate.
    private var isEstimated = false

    /// Creates a reader without opening the file.
    ///
    /// - Parameters:
    ///   - uri: A path or an address, such as `file:film.mp4` or `https://…`.
    ///   - formats: libavformat's names of the allowed formats; empty for any.
    ///   - timeout: The maximum time without new data.
    package init(uri: String, formats: [String] = [], timeout: Duration = .seconds(10)) {
        AVLog.quiet()
        (self.uri, self.formats) = (uri, formats)
        deadline = ReadingDeadline(timeout: timeout)
    }

    /// Ends the current or the next blocking call with ``SeekableFailure/interrupted``. Later calls continue. It can be
    /// called from any thread.
    package func interrupt() { deadline.interrupt() }

    /// Closes the file. Nothing can be read afterwards.
    package func close() {
        (source, isAtEnd, isBroken) = (nil, true, false)
        discard()
    }

    /// Opens the file and finds its tracks. It selects one video and one audio track, and no text. Throws
    /// `SeekableFailure` if the file cannot be opened or contains neither.
    package func open() throws(SeekableFailure) {
        try checkInterruption()
        let input: MediaInput
        do throws(MediaInputFailure) {
            input = try MediaInput(uri: uri, deadline: deadline, formats: formats)
        } catch {
            throw deadline.takeInterruption() ? .interrupted : SeekableFailure(opening: error)
        }
        let source = PacketSource(input, deadline: deadline)
        tracks = source.tracks
        let frame = input.bestTrack(AVMEDIA_TYPE_VIDEO)?.index
        selected[.video] = frame
        // Prefers the default track to the one with the most channels, among those of the same program.
        let programTracks = tracks.filter { track in frame.map { input.isSameProgram($0, track.id) } ?? true }
        let audioFrames = programTracks.filter { $0.medium == .audio }
        selected[.audio] = (audioFrames.first(where: \.isDefault) ?? audioFrames.first)?.id
        selected[.metadata] = programTracks.first { $0.medium == .metadata }?.id
        guard selected[.video] != nil || selected[.audio] != nil else {
            throw .notPlayable(reason: "neither video nor audio that can be decoded")
        }
        duration = input.duration
        isEstimated = input.isDurationEstimated
        isSeekable = input.isSeekable && duration != nil
        creationTime = input.creationTime
        source.select(Set(selected.values))
        self.source = source
    }

    /// Selects another track from here on; nil selects none. Returns false if there is no such track.
    package func select(_ track: Int32?, of medium: PresentationMedium) -> Bool {
        if let track, !tracks.contains(where: { $0.id == track && $0.medium == medium }) {
            return false
        }
        guard selected[medium] != track else { return true }
        selected[medium] = track
        decoder.discard(medium)
        waiting = waiting[given...].filter { $0.medium != medium }
        given = 0
        source?.select(Set(selected.values))
        return true
    }

    private func checkInterruption() throws(SeekableFailure) {
        if deadline.takeInterruption() { throw .interrupted }
    }

    /// Returns the next sample; nil at the end. Throws `SeekableFailure` if reading was interrupted, the source broke
    /// off, or nothing can be decoded.
    package func next() throws(SeekableFailure) -> PresentationSample? {
        try checkInterruption()
        if isBroken { try seekBack() }
        while given == waiting.count {
            discard()
            if isAtEnd {
                guard hasGivenAny else {
                    throw .notPlayable(reason: source?.indexProblem ?? "none of its media could be decoded")
                }
                return nil
            }
            waiting = try readOn().filter { !isEarly($0) }
        }
        let sample = waiting[given]
        given += 1
        switch sample {
        case .frame(_, let position, let duration): videoEnd = position + (duration ?? .zero)
        case .audio(let audio, let position): audioEnd = position + audio.length
        case .text: break
        case .metadata:
            early.removeAll { $0.end < reached }
            if early.count < Self.earlyLimit { early.append(sample) }
            return sample
        }
        hasGivenAny = true
        return sample
    }

    /// Returns whether the sample is metadata that were already returned.
    private func isEarly(_ sample: PresentationSample) -> Bool {
        guard case .metadata(let bytes, let position) = sample else { return false }
        return early.contains { other in
            if case .metadata(bytes, at: position) = other { true } else { false }
        }
    }

    /// The end of the frames that were returned, or of the audio if there is no video.
    private var reached: TimeSpan { selected[.video] != nil ? videoEnd : audioEnd }

    private func discard() {
        waiting.removeAll(keepingCapacity: true)
        given = 0
    }

    private func readOn() throws(SeekableFailure) -> [PresentationSample] {
        let packet: CodedPacket?
        do throws(SeekableFailure) { packet = try source?.read() } catch {
            isBroken = error == .interrupted
            throw error
        }
        do throws(CodecError) {
            if let packet { return try decoder.decode(packet) }
            isAtEnd = true
            let rest = try decoder.drain()
            if isEstimated { duration = rest.reduce(max(videoEnd, audioEnd)) { max($0, $1.end) } }
            return rest
        } catch {
            throw .notPlayable(reason: error.description)
        }
    }

    /// Seeks back to the position of an interrupted wait, because a packet may have been lost in it.
    private func seekBack() throws(SeekableFailure) {
        source?.clearError()
        if isSeekable {
            try source?.locate(reached, by: selected[.video])
            decoder.begin(at: reached, audio: audioEnd)
        }
        isBroken = false
    }

    /// Seeks to a position. The next sample lies at or after it; at the end of the media, it is the last frame. Returns
    /// the position within the duration, or the unchanged position if the source is not seekable. Throws
    /// `SeekableFailure` if the seek was interrupted or the source failed.
    package func seek(to position: TimeSpan) throws(SeekableFailure) -> TimeSpan {
        try checkInterruption()
        guard isSeekable, let duration, let source else { return videoEnd }
        let position = min(max(position, .zero), duration)
        let read = early + waiting[given...].filter { $0.medium == .metadata }
        discard()
        early.removeAll()
        if isBroken { source.clearError() }
        if !isBroken, !isAtEnd, source.isAhead(position, of: selected[.video]) {
            waiting = read.filter { $0.end >= position }
            decoder.skip(to: position)
        } else {
            (isBroken, isAtEnd) = (true, false)
            (videoEnd, audioEnd) = (position, position)
            try source.locate(position, by: selected[.video])
            decoder.begin(at: position)
            isBroken = false
        }
        (videoEnd, audioEnd) = (position, position)
        return position
    }
}

extension PresentationSample {
    /// The kind of media.
    package var medium: PresentationMedium {
        switch self {
        case .frame: .video
        case .audio: .audio
        case .text: .text
        case .metadata: .metadata
        }
    }

    /// The position at which it starts.
    package var start: TimeSpan {
        switch self {
        case .frame(_, let position, _), .audio(_, let position), .metadata(_, let position): position
        case .text(_, let range): range.lowerBound
        }
    }

    /// The position at which it ends, as far as it is known.
    package var end: TimeSpan {
        switch self {
        case .frame(_, let position, let duration): position + (duration ?? .zero)
        case .audio(let audio, let position): position + audio.length
        case .text(_, let range): range.upperBound
        case .metadata(_, let position): position
        }
    }
}

/// The reason why a file or an address cannot be read.
package enum SeekableFailure: Error, Hashable, Sendable {
    /// There is no answer, or none before the timeout.
    case unreachable(reason: String)
    /// The server answered with an HTTP status, or with one of its class (e.g., 400 for 4xx).
    case refused(status: Int)
    /// The content cannot be decoded.
    case notPlayable(reason: String)
    /// The source failed before its end.
    case brokeOff(reason: String)
    /// The wait was ended by ``SeekableReader/interrupt()``.
    case interrupted

    init(opening failure: MediaInputFailure) {
        let status = Int(cffmpeg_http_status(failure.number))
        if status > 0 {
            self = .refused(status: status)
        } else if Self.isAboutContent(failure.number) {
            self = .notPlayable(reason: failure.reason)
        } else {
            self = .unreachable(reason: failure.reason)
        }
    }

    /// Returns whether an FFmpeg error concerns the content and not the connection.
    private static func isAboutContent(_ number: Int32) -> Bool {
        [
            cffmpeg_error_invalid_data(), cffmpeg_error_end_of_file(), cffmpeg_error_patchwelcome(),
            cffmpeg_error_not_allowed(),
        ].contains(number)
    }
}
