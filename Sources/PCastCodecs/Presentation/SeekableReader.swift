import CFFmpeg
public import PCastMedia

/// Reads a file, or an address that libavformat opens, to be played: goes to any position exactly, and takes other tracks
/// on the way.
///
/// Positions are from the beginning of the media. Decodes as much as is asked for, and reads nothing ahead. Used by one
/// thread at a time, but for ``interrupt()``.
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
    /// The ends of what was given out, or where it is gone on from.
    private var pictureEnd = TimeSpan.zero
    private var soundEnd = TimeSpan.zero
    /// Timed metadata that were given out and that pictures and sound have not come to. They stand before these in the file, and
    /// are neither given twice when something is read again, nor lost where one goes on elsewhere without reading again.
    private var early: [PresentationSample] = []

    private static let earlyLimit = 256

    /// Those that can be chosen; empty before it was opened.
    public private(set) var tracks: [PresentationTrack] = []
    public private(set) var selected: [PresentationMedium: Int32] = [:]
    /// nil when nobody knows; where it was estimated, as it turns out at the end.
    public private(set) var duration: TimeSpan?
    public private(set) var isSeekable = false
    /// When the media were made, as the file says; nil when it does not.
    public private(set) var creationTime: WallTime?
    /// The duration follows from the size and the rate.
    private var isEstimated = false

    /// - Parameters:
    ///   - uri: a path or an address, such as `file:film.mp4` or `https://…`.
    ///   - formats: libavformat's names of the formats that it may be; any where there are none.
    ///   - patience: how long nothing may come.
    public init(uri: String, formats: [String] = [], patience: Duration = .seconds(10)) {
        AVLog.quiet()
        (self.uri, self.formats) = (uri, formats)
        deadline = ReadingDeadline(patience: patience)
    }

    /// Makes a call that waits, or the next one, end with ``SeekableFailure/interrupted``; what comes after it goes on.
    /// From any thread.
    public func interrupt() { deadline.interrupt() }

    /// Lets go of the file; nothing can be read afterwards.
    public func close() {
        (source, isAtEnd, isBroken) = (nil, true, false)
        discard()
    }

    /// Finds out what there is. Pictures and sound are selected, one track of each, and no text.
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
        // The one that the author prefers, whichever has more channels; of the same program.
        let together = tracks.filter { track in picture.map { input.isSameProgram($0, track.id) } ?? true }
        let sounds = together.filter { $0.medium == .sound }
        selected[.sound] = (sounds.first(where: \.isDefault) ?? sounds.first)?.id
        selected[.metadata] = together.first { $0.medium == .metadata }?.id
        guard selected[.picture] != nil || selected[.sound] != nil else {
            throw .notPlayable(reason: "neither pictures nor sound that can be decoded")
        }
        duration = input.duration
        isEstimated = input.isDurationEstimated
        isSeekable = input.isSeekable && duration != nil
        creationTime = input.creationTime
        source.select(Set(selected.values))
        self.source = source
    }

    /// Takes another track from here on; nil is none.
    ///
    /// - Returns: whether there is such a track.
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

    /// What comes next; nil at the end.
    public func next() throws(SeekableFailure) -> PresentationSample? {
        try heedInterruption()
        if isBroken { try mend() }
        while given == waiting.count {
            discard()
            if isAtEnd {
                guard hasGivenAny else {
                    throw .notPlayable(reason: source?.indexObstacle ?? "nothing in it could be decoded")
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

    /// Whether it is metadata that were given out already.
    private func isEarly(_ sample: PresentationSample) -> Bool {
        guard case .metadata(let bytes, let position) = sample else { return false }
        return early.contains { other in
            if case .metadata(bytes, at: position) = other { true } else { false }
        }
    }

    /// Up to where what is seen, or else what is heard, was given out.
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

    /// Goes back to where the last wait was ended, as a packet may have been lost in it.
    private func mend() throws(SeekableFailure) {
        source?.forgetError()
        if isSeekable {
            try source?.locate(reached, by: selected[.picture])
            decoder.begin(at: reached, sound: soundEnd)
        }
        isBroken = false
    }

    /// Goes to a position: what is given out next lies there or behind it, and of the end the last picture.
    ///
    /// - Returns: where it stands: within the duration.
    /// - Throws: where it cannot be gone about in, nothing; the position stays.
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
    public var medium: PresentationMedium {
        switch self {
        case .picture: .picture
        case .sound: .sound
        case .text: .text
        case .metadata: .metadata
        }
    }

    /// From when on it is shown or heard.
    public var start: TimeSpan {
        switch self {
        case .picture(_, let position, _), .sound(_, let position), .metadata(_, let position): position
        case .text(_, let range): range.lowerBound
        }
    }

    /// Until when it is shown or heard, as far as that is known.
    public var end: TimeSpan {
        switch self {
        case .picture(_, let position, let duration): position + (duration ?? .zero)
        case .sound(let sound, let position): position + sound.length
        case .text(_, let range): range.upperBound
        case .metadata(_, let position): position
        }
    }
}
