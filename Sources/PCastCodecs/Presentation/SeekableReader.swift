import CFFmpeg
public import PCastCore

/// Reads a file or an address for playback, with exact seeking and changes of track while reading.
///
/// Positions start at the beginning of the media. It decodes on demand and reads nothing ahead. Only one thread may use
/// it at a time, except for ``interrupt()``.
public final class SeekableReader: @unchecked Sendable {  // owned by one thread at a time; `interrupt` sets an atomic
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
    private var pictureEnd = TimeSpan.zero
    private var soundEnd = TimeSpan.zero
    /// Timed metadata that were returned ahead of the frames and the audio of their time. They are not returned twice
    /// after reading again, and not lost after a seek without reading again.
    private var early: [PresentationSample] = []

    private static let earlyLimit = 256

    /// The tracks that can be selected; empty before `open`.
    public private(set) var tracks: [PresentationTrack] = []
    /// The selected track of each medium.
    public private(set) var selected: [PresentationMedium: Int32] = [:]
    /// The duration; nil if it is unknown. An estimated duration is corrected at the end.
    public private(set) var duration: TimeSpan?
    /// Whether ``seek(to:)`` works. It requires a duration.
    public private(set) var isSeekable = false
    /// The creation time from the file; nil if it is missing.
    public private(set) var creationTime: WallTime?
    /// Whether the duration was estimated from the size and the bitrate.
    private var isEstimated = false

    /// Creates a reader without opening the file.
    ///
    /// - Parameters:
    ///   - uri: A path or an address, such as `file:film.mp4` or `https://…`.
    ///   - formats: libavformat's names of the allowed formats; empty for any.
    ///   - timeout: The maximum time without new data.
    public init(uri: String, formats: [String] = [], timeout: Duration = .seconds(10)) {
        AVLog.quiet()
        (self.uri, self.formats) = (uri, formats)
        deadline = ReadingDeadline(timeout: timeout)
    }

    /// Ends the current or the next blocking call with ``SeekableFailure/interrupted``. Later calls continue. It can be
    /// called from any thread.
    public func interrupt() { deadline.interrupt() }

    /// Closes the file. Nothing can be read afterwards.
    public func close() {
        (source, isAtEnd, isBroken) = (nil, true, false)
        discard()
    }

    /// Opens the file and finds its tracks. It selects one video and one audio track, and no text. Throws
    /// `SeekableFailure` if the file cannot be opened or contains neither.
    public func open() throws(SeekableFailure) {
        try heedInterruption()
        let input: MediaInput
        do throws(MediaInputFailure) {
            input = try MediaInput(uri: uri, deadline: deadline, formats: formats)
        } catch {
            throw deadline.takeInterruption() ? .interrupted : SeekableFailure(opening: error)
        }
        let source = PacketSource(input, deadline: deadline)
        tracks = source.tracks
        let picture = input.bestTrack(AVMEDIA_TYPE_VIDEO)?.index
        selected[.picture] = picture
        // Prefers the default track to the one with the most channels, among those of the same program.
        let together = tracks.filter { track in picture.map { input.isSameProgram($0, track.id) } ?? true }
        let sounds = together.filter { $0.medium == .sound }
        selected[.sound] = (sounds.first(where: \.isDefault) ?? sounds.first)?.id
        selected[.metadata] = together.first { $0.medium == .metadata }?.id
        guard selected[.picture] != nil || selected[.sound] != nil else {
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
    public func select(_ track: Int32?, of medium: PresentationMedium) -> Bool {
        if let track, !tracks.contains(where: { $0.id == track && $0.medium == medium }) {
            return false
        }
        guard selected[medium] != track else { return true }
        selected[medium] = track
        decoder.forget(medium)
        waiting = waiting[given...].filter { $0.medium != medium }
        given = 0
        source?.select(Set(selected.values))
        return true
    }

    private func heedInterruption() throws(SeekableFailure) {
        if deadline.takeInterruption() { throw .interrupted }
    }

    /// Returns the next sample; nil at the end. Throws `SeekableFailure` if reading was interrupted, the source broke
    /// off, or nothing can be decoded.
    public func next() throws(SeekableFailure) -> PresentationSample? {
        try heedInterruption()
        if isBroken { try mend() }
        while given == waiting.count {
            discard()
            if isAtEnd {
                guard hasGivenAny else {
                    throw .notPlayable(reason: source?.indexObstacle ?? "none of its media could be decoded")
                }
                return nil
            }
            waiting = try readOn().filter { !isEarly($0) }
        }
        let sample = waiting[given]
        given += 1
        switch sample {
        case .picture(_, let position, let duration): pictureEnd = position + (duration ?? .zero)
        case .sound(let sound, let position): soundEnd = position + sound.length
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
    private var reached: TimeSpan { selected[.picture] != nil ? pictureEnd : soundEnd }

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
            if isEstimated { duration = rest.reduce(max(pictureEnd, soundEnd)) { max($0, $1.end) } }
            return rest
        } catch {
            throw .notPlayable(reason: error.description)
        }
    }

    /// Seeks back to the position of an interrupted wait, because a packet may have been lost in it.
    private func mend() throws(SeekableFailure) {
        source?.forgetError()
        if isSeekable {
            try source?.locate(reached, by: selected[.picture])
            decoder.begin(at: reached, sound: soundEnd)
        }
        isBroken = false
    }

    /// Seeks to a position. The next sample lies at or after it; at the end of the media, it is the last frame. Returns
    /// the position within the duration, or the unchanged position if the source is not seekable. Throws
    /// `SeekableFailure` if the seek was interrupted or the source broke off.
    public func seek(to position: TimeSpan) throws(SeekableFailure) -> TimeSpan {
        try heedInterruption()
        guard isSeekable, let duration, let source else { return pictureEnd }
        let position = min(max(position, .zero), duration)
        let read = early + waiting[given...].filter { $0.medium == .metadata }
        discard()
        early.removeAll()
        if isBroken { source.forgetError() }
        if !isBroken, !isAtEnd, source.isAhead(position, of: selected[.picture]) {
            waiting = read.filter { $0.end >= position }
            decoder.skip(to: position)
        } else {
            (isBroken, isAtEnd) = (true, false)
            (pictureEnd, soundEnd) = (position, position)
            try source.locate(position, by: selected[.picture])
            decoder.begin(at: position)
            isBroken = false
        }
        (pictureEnd, soundEnd) = (position, position)
        return position
    }
}

extension PresentationSample {
    /// The kind of media.
    public var medium: PresentationMedium {
        switch self {
        case .picture: .picture
        case .sound: .sound
        case .text: .text
        case .metadata: .metadata
        }
    }

    /// The position at which it starts.
    public var start: TimeSpan {
        switch self {
        case .picture(_, let position, _), .sound(_, let position), .metadata(_, let position): position
        case .text(_, let range): range.lowerBound
        }
    }

    /// The position at which it ends, as far as it is known.
    public var end: TimeSpan {
        switch self {
        case .picture(_, let position, let duration): position + (duration ?? .zero)
        case .sound(let sound, let position): position + sound.length
        case .text(_, let range): range.upperBound
        case .metadata(_, let position): position
        }
    }
}
