import PCastCore

/// The tasks of the reader and their results.
extension MediaPresentation {
    /// A task of the reader.
    enum ReaderTask: Equatable {
        /// Open the content.
        case open
        /// Select a track.
        case select(ContentTrack.ID?, ContentTrack.Kind)
        /// Seek to a position in an epoch.
        case seek(TimeSpan, PlayheadEpoch)
        /// Read the next item in an epoch.
        case read(PlayheadEpoch)
        /// Do nothing until a command or a displayed frame.
        case rest
    }

    /// Returns the next task of the reader.
    mutating func readerTask() -> ReaderTask {
        guard phase != .failed else { return .rest }
        guard isOpen else { return .open }
        if let (kind, track) = pendingSelections.first { return .select(track, kind) }
        if let pendingSeek { return .seek(pendingSeek, clock.epoch) }
        guard !isReadToEnd else { return .rest }
        isFilling = wantsMore
        return isFilling ? .read(clock.epoch) : .rest
    }

    /// Whether an idle reader has a task.
    var hasWork: Bool {
        guard phase != .failed else { return false }
        return !isOpen || !pendingSelections.isEmpty || pendingSeek != nil || !isReadToEnd && wantsMore
    }

    /// Whether more is to be read. Reading resumes at the low mark of a queue, and pauses when all queues reach their
    /// high mark.
    private var wantsMore: Bool {
        if videoQueue.isAtLimit || audioQueue.isAtLimit { return false }
        guard !awaited.isEmpty else { return true }
        let (videoThreshold, audioThreshold) =
            isFilling ? (VideoQueue.high, AudioQueue.high) : (VideoQueue.low, AudioQueue.low)
        return awaited.contains(.video) && videoQueue.count < videoThreshold
            || awaited.contains(.audio) && audioQueue.length < wanted(audioThreshold)
    }

    /// Returns a duration of audio, increased for audio without video and for higher playback rates.
    func wanted(_ length: TimeSpan) -> TimeSpan {
        guard awaited.contains(.video) else { return length * 4 }
        return TimeSpan(seconds: length.seconds * min(max(clock.playbackRate, 1), 2))
    }

    /// Handles that the content was opened at a position.
    mutating func opened(_ overview: ContentOverview, at position: TimeSpan, now: Instant) {
        guard !isOpen else { return }
        isOpen = true
        if pendingSeek == nil {
            _ = clock.begin(at: position, now: now)
            followsLiveEdge = overview.startsAtLiveEdge
            (beginning, readPosition) = (position, position)
            phase = .reachedPosition(position)
        } else {
            readPosition = position
            phase = .reachedPosition(nil)
        }
        set(overview)
    }

    /// Handles that the content was sought to a position.
    mutating func finishSeek(to position: TimeSpan, of epoch: PlayheadEpoch) {
        guard epoch == clock.epoch, pendingSeek != nil else { return }
        pendingSeek = nil
        (beginning, readPosition) = (position, position)
        phase = .reachedPosition(position)
        isChanged = true
    }

    /// Handles that the content is not seekable. Reading continues at its position.
    mutating func failSeek(of epoch: PlayheadEpoch) { finishSeek(to: readPosition, of: epoch) }

    /// Handles that a track was selected. `overview` is nil if the content rejected it.
    mutating func selected(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind, overview: ContentOverview?) {
        if pendingSelections[kind] == .some(track) { pendingSelections[kind] = nil }
        if let overview = overview ?? self.overview { set(overview) }
    }

    /// Records the properties of the content and reports them.
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
        notify(.overview(overview))
        isChanged = true
    }

    /// Handles an item that was read in an epoch. Items of earlier epochs are ignored.
    mutating func take(_ item: ContentItem, of epoch: PlayheadEpoch, at now: Instant) {
        if case .overview(let overview) = item { return set(overview) }
        guard epoch == clock.epoch, pendingSeek == nil, phase != .failed else { return }
        switch item {
        case .frame(let frame, let position, let duration): take(frame, at: position, duration: duration)
        case .audio(let frame, let position): take(frame, at: position)
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
        // A frame may end the wait for media. Otherwise, a further frame in a queue does not change the next action.
        if phase != .showing || clock.isBuffering { isChanged = true }
    }

    /// Handles a video frame.
    private mutating func take(_ frame: VideoFrame, at position: TimeSpan, duration: TimeSpan?) {
        if phase != .showing, position <= beginning {
            // Only the last of the frames before the beginning is displayed.
            if let duration, position < beginning, position + duration <= beginning { return }
            videoQueue.removeAll()
        }
        if videoQueue.isEmpty { isChanged = true }
        videoQueue.append(frame, at: position, duration: duration)
    }

    /// Handles audio.
    private mutating func take(_ frame: AudioFrame, at position: TimeSpan) {
        guard position + frame.length > beginning else { return }
        let early = beginning - position
        if audioQueue.next == nil { isChanged = true }
        audioQueue.append(frame.dropping(early), at: max(position, beginning))
    }

    /// Handles the end of the content.
    mutating func reachedEnd(of epoch: PlayheadEpoch, at now: Instant) {
        guard epoch == clock.epoch, pendingSeek == nil else { return }
        isReadToEnd = true
        clock.setAvailable(available, of: epoch, at: now)
        isChanged = true
    }

    /// Handles a failure. The frames in the queues are displayed before it is reported.
    mutating func failed(_ error: PlaybackError, at now: Instant) {
        guard phase != .failed, failure == nil else { return }
        failure = error
        isReadToEnd = true
        clock.setAvailable(available, of: clock.epoch, at: now)
        isChanged = true
    }

    // MARK: Queues

    /// The position of the end of all frames that were read.
    var end: TimeSpan { max(videoQueue.end ?? beginning, audioQueue.end ?? beginning) }

    /// Whether playback continues without a medium that has a gap. It does if the other medium is far ahead, and always
    /// for subtitles.
    func isSparse(_ kind: ContentTrack.Kind) -> Bool {
        let (videoEnd, audioEnd) = (videoQueue.end ?? beginning, audioQueue.end ?? beginning)
        return switch kind {
        case .video: awaited.contains(.audio) && (audioQueue.isAtLimit || audioEnd >= videoEnd + Self.farthestApart)
        case .audio:
            awaited.contains(.video) && (videoQueue.isFarAhead || videoEnd >= audioEnd + Self.farthestApart)
        case .subtitles: true
        }
    }

    /// The position of the end of the media that can be displayed; nil if unknown.
    var available: TimeSpan? {
        if isReadToEnd { return end }
        var earliest: TimeSpan?
        if awaited.contains(.video), !isSparse(.video), let end = videoQueue.end { earliest = end }
        if awaited.contains(.audio), !isSparse(.audio), let end = audioQueue.end {
            earliest = min(earliest ?? end, end)
        }
        return earliest
    }
}
