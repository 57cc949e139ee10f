import PCastCore

/// What the reader does, and what it has read.
extension MediaPresentation {
    enum ReaderTask: Equatable {
        case open
        case select(ContentTrack.ID?, ContentTrack.Kind)
        case seek(TimeSpan, PlayheadEpoch)
        case read(PlayheadEpoch)
        /// Nothing, until something is asked for or shown.
        case rest
    }

    /// What is to be done next.
    mutating func readerTask() -> ReaderTask {
        guard phase != .failed else { return .rest }
        guard isOpen else { return .open }
        if let (kind, track) = pendingSelections.first { return .select(track, kind) }
        if let pendingSeek { return .seek(pendingSeek, clock.epoch) }
        guard !isReadToEnd else { return .rest }
        isFilling = wantsMore
        return isFilling ? .read(clock.epoch) : .rest
    }

    /// There is something for a reader that rests.
    var hasWork: Bool {
        guard phase != .failed else { return false }
        return !isOpen || !pendingSelections.isEmpty || pendingSeek != nil || !isReadToEnd && wantsMore
    }

    /// Begins to fill where something is low, and is content when all is full.
    private var wantsMore: Bool {
        if pictures.isAtLimit || sounds.isAtLimit { return false }
        guard !awaited.isEmpty else { return true }
        let (pictureMark, soundMark) =
            isFilling ? (VideoQueue.high, AudioQueue.high) : (VideoQueue.low, AudioQueue.low)
        return awaited.contains(.video) && pictures.count < pictureMark
            || awaited.contains(.audio) && sounds.length < wanted(soundMark)
    }

    /// As much sound as is to be there: of faster playing more, for it is gone sooner.
    func wanted(_ length: TimeSpan) -> TimeSpan {
        guard awaited.contains(.video) else { return length * 4 }
        return TimeSpan(seconds: length.seconds * min(max(clock.playbackRate, 1), 2))
    }

    mutating func opened(_ overview: ContentOverview, at position: TimeSpan, now: Instant) {
        guard !isOpen else { return }
        isOpen = true
        if pendingSeek == nil {
            _ = clock.begin(at: position, now: now)
            (beginning, readPosition) = (position, position)
            phase = .landing(position)
        } else {
            readPosition = position
            phase = .landing(nil)
        }
        set(overview)
    }

    mutating func sought(to position: TimeSpan, of epoch: PlayheadEpoch) {
        guard epoch == clock.epoch, pendingSeek != nil else { return }
        pendingSeek = nil
        (beginning, readPosition) = (position, position)
        phase = .landing(position)
        isChanged = true
    }

    /// The content could not go there, and is read on where it is.
    mutating func couldNotSeek(of epoch: PlayheadEpoch) { sought(to: readPosition, of: epoch) }

    /// - Parameter overview: nil where the content refused.
    mutating func selected(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind, overview: ContentOverview?) {
        if pendingSelections[kind] == .some(track) { pendingSelections[kind] = nil }
        if let overview = overview ?? self.overview { set(overview) }
    }

    mutating func set(_ overview: ContentOverview) {
        self.overview = overview
        let selected = overview.tracks.filter { overview.selected.isEmpty || overview.selected.contains($0.id) }
        awaited = Set(selected.map(\.kind)).subtracting([.subtitles])
        clock.setSeekableRange(overview.seekableRange, of: clock.epoch)
        clock.anchor(clock.epoch) { anchors in
            anchors = TimecodeAnchors()
            for anchor in overview.anchors { anchors.add(anchor) }
            if let wallClock { anchors.add(wallClock.anchor) }
        }
        tell(.overview(overview))
        isChanged = true
    }

    /// - Parameter epoch: in which it was read; what is of an earlier one is not heard.
    mutating func take(_ item: ContentItem, of epoch: PlayheadEpoch, at now: Instant) {
        if case .overview(let overview) = item { return set(overview) }
        guard epoch == clock.epoch, pendingSeek == nil, phase != .failed else { return }
        switch item {
        case .picture(let frame, let position, let duration): take(frame, at: position, duration: duration)
        case .sound(let frame, let position): take(frame, at: position)
        case .subtitle(let text, let range):
            subtitles.add(text, over: range)
            isChanged = true
        case .metadata(let new):
            metadata.add(new, after: beginning)
            isChanged = true
        case .overview: break
        }
        readPosition = end
        clock.setAvailable(available, of: epoch, at: now)
        // What is waited for may be there; what comes behind other things that wait changes nothing.
        if phase != .showing || clock.isBuffering { isChanged = true }
    }

    private mutating func take(_ frame: VideoFrame, at position: TimeSpan, duration: TimeSpan?) {
        if phase != .showing, position <= beginning {
            // Of those before the beginning the last is shown.
            if let duration, position < beginning, position + duration <= beginning { return }
            pictures.removeAll()
        }
        if pictures.isEmpty { isChanged = true }
        pictures.append(frame, at: position, duration: duration)
    }

    private mutating func take(_ frame: AudioFrame, at position: TimeSpan) {
        guard position + frame.length > beginning else { return }
        let early = beginning - position
        if sounds.next == nil { isChanged = true }
        sounds.append(frame.dropping(early), at: max(position, beginning))
    }

    mutating func reachedEnd(of epoch: PlayheadEpoch, at now: Instant) {
        guard epoch == clock.epoch, pendingSeek == nil else { return }
        isReadToEnd = true
        clock.setAvailable(available, of: epoch, at: now)
        isChanged = true
    }

    /// What is there is shown before it is told.
    mutating func failed(_ error: PlaybackError, at now: Instant) {
        guard phase != .failed, failure == nil else { return }
        failure = error
        isReadToEnd = true
        clock.setAvailable(available, of: clock.epoch, at: now)
        isChanged = true
    }

    // MARK: What is there

    /// Where everything ends that came.
    var end: TimeSpan { max(pictures.end ?? beginning, sounds.end ?? beginning) }

    /// Of this medium none is waited for, for the other is far ahead.
    func isSparse(_ kind: ContentTrack.Kind) -> Bool {
        let (pictureEnd, soundEnd) = (pictures.end ?? beginning, sounds.end ?? beginning)
        return switch kind {
        case .video: awaited.contains(.audio) && (sounds.isAtLimit || soundEnd >= pictureEnd + Self.farthestApart)
        case .audio:
            awaited.contains(.video) && (pictures.isFarAhead || pictureEnd >= soundEnd + Self.farthestApart)
        case .subtitles: true
        }
    }

    /// Where what is waited for ends: where nothing is left to be shown.
    var available: TimeSpan? {
        if isReadToEnd { return end }
        var earliest: TimeSpan?
        if awaited.contains(.video), !isSparse(.video), let end = pictures.end { earliest = end }
        if awaited.contains(.audio), !isSparse(.audio), let end = sounds.end { earliest = min(earliest ?? end, end) }
        return earliest
    }
}
