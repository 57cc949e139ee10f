import PCastCore

/// The state of one session: the result of its commands and its pipeline's events, with the events to report, in order.
struct SessionState: Sendable {
    /// The consequence of a command or an event for the player.
    enum Outcome { case continuesHere, ended, failed }

    /// The source that is played; nil if the video has none.
    let source: Source?
    var lifecycle = SessionLifecycle()
    var cuePoints: CuePointProgress
    /// The pipeline that plays, or played last.
    var pipeline: (any PlaybackPipeline)?
    /// The pipeline that can receive commands; nil after a failure or the end.
    var livePipeline: (any PlaybackPipeline)? { lifecycle.isAlive ? pipeline : nil }
    /// The number of restarts. Events of the pipeline of an earlier run are ignored.
    var run = 0
    /// The player's epoch that corresponds to the pipeline's epoch zero.
    var firstEpoch: Int
    /// The newest epoch of the pipeline.
    var epoch = PlayheadEpoch()
    /// Whether the pipeline of this run has opened its media.
    var isOpen = false
    /// The properties of the media; nil before it is open.
    var overview: ContentOverview?
    var mediaType = SourceMediaType.undetermined
    var subtitle: String?
    /// The last position.
    var position = TimeSpan.zero
    /// Whether a position was reported.
    var hasMoved = false
    /// The seek that begins once the media is open; nil for none.
    var wanted: (target: SeekTarget, request: SeekRequest)?
    /// The seek in progress; nil for none.
    var seeking: SeekRequest?
    var isMuted = false
    var isPlayedElsewhere = false

    /// The events to report, in order.
    private var pendingEvents: [PlayerEvent.Kind] = []
    /// The last state that was reported.
    private(set) var reportedState: PlayerState

    init(source: Source?, cuePoints: CuePointCollection, firstEpoch: Int, reportedState: PlayerState) {
        self.source = source
        self.cuePoints = CuePointProgress(cuePoints)
        self.firstEpoch = firstEpoch
        self.reportedState = reportedState
    }

    // MARK: Reports

    /// Adds an event to those to report.
    mutating func notify(_ kind: PlayerEvent.Kind) { pendingEvents.append(kind) }

    /// Returns and removes the events to report.
    mutating func takePendingEvents() -> [PlayerEvent.Kind] {
        defer { pendingEvents = [] }
        return pendingEvents
    }

    /// Reports changes of the state, and then the lifecycle events that caused them.
    mutating func reportChanges() {
        let state = lifecycle.playerState
        if state != reportedState {
            reportedState = state
            notify(.stateChanged(state))
        }
        while let event = lifecycle.poll() {
            notify(.lifecycle(event))
            switch event {
            case .ready:
                notify(.ready)
                notify(.progressed(.beforeBeginning))
            case .end: notify(.finished)
            default: break
            }
        }
    }

    // MARK: Properties

    /// Returns an epoch of the pipeline as an epoch of the player.
    func numbered(_ epoch: PlayheadEpoch) -> PlayheadEpoch { PlayheadEpoch(number: firstEpoch + epoch.number) }

    /// The current playhead, in epochs of the player.
    var playhead: Playhead {
        var playhead =
            pipeline?.playhead
            ?? Playhead(
                epoch: epoch, position: position.duration, timecode: nil, seekableRange: nil, timecodeRange: nil,
                rate: 0,
                isSeeking: false)
        playhead.epoch = numbered(playhead.epoch)
        if lifecycle.hasEnded {
            playhead.position = overview?.end?.duration ?? playhead.position
            playhead.rate = 0
        }
        return playhead
    }

    /// The first epoch of the player after all epochs of this session.
    var nextEpoch: Int { max(numbered(epoch), playhead.epoch).number + 1 }

    /// The ranges of positions for seeks; empty if the content is not seekable.
    var seekableRanges: [ClosedRange<Duration>] {
        overview?.seekableRange.map { [$0.lowerBound.duration...$0.upperBound.duration] } ?? []
    }

    /// Whether playback was requested and not paused since.
    var isSetToPlay: Bool { if case .playing = lifecycle.playerState { true } else { false } }
}

extension SessionState {
    /// Attaches the pipeline that was made for the session, and applies the settings that changed meanwhile.
    mutating func attach(_ pipeline: any PlaybackPipeline, volume: Double, speed: Double) {
        self.pipeline = pipeline
        pipeline.isMuted = isMuted || isPlayedElsewhere
        pipeline.volume = volume
        if speed != 1 { pipeline.setRate(speed) }
        if isSetToPlay { pipeline.play() }
    }

    /// Mutes or unmutes the audio.
    mutating func setMuted(_ isMuted: Bool) {
        self.isMuted = isMuted
        livePipeline?.isMuted = isMuted || isPlayedElsewhere
    }

    /// Plays. At the end, it restarts seekable content at the beginning.
    mutating func play() {
        guard lifecycle.isAlive else { return }
        if lifecycle.hasEnded, overview?.seekableRange != nil { restart() }
        lifecycle.play()
        if isSetToPlay { livePipeline?.play() }
        reportChanges()
    }

    /// Pauses.
    mutating func pause() {
        lifecycle.pause()
        livePipeline?.pause()
        reportChanges()
    }

    /// Pauses at the beginning.
    mutating func stop() {
        lifecycle.stop()
        livePipeline?.pause()
        reportChanges()
        if isOpen, overview?.seekableRange != nil {
            seek(to: .beginning, SeekRequest(), isStopping: true)
        } else if let wanted {
            wanted.request.complete(.superseded)
            self.wanted = nil
        }
    }

    /// Restarts at the beginning, with no cue points passed.
    mutating func restart() {
        cuePoints.restart()
        notify(.progressed(.beforeBeginning))
        seek(to: .beginning, SeekRequest())
    }

    /// Seeks to a target, once the media is open. An earlier seek is superseded.
    mutating func seek(to target: SeekTarget, _ request: SeekRequest, isStopping: Bool = false) {
        guard lifecycle.isAlive else { return request.complete(.failed(.notSeekable)) }
        guard isOpen, let pipeline, let overview else {
            wanted?.request.complete(.superseded)
            wanted = (target, request)
            return
        }
        guard let epoch = target.seek(pipeline, overview) else { return request.complete(.failed(.notSeekable)) }
        seeking?.complete(.superseded)
        (seeking, self.epoch) = (request, epoch)
        leave(isStopping: isStopping)
    }

    /// Begins a seek: hides the subtitle and reports an empty buffer.
    mutating func leave(isStopping: Bool = false) {
        show(subtitle: nil)
        if isStopping { lifecycle.seekToBeginning() } else { lifecycle.seek() }
        reportChanges()
    }

    /// Restarts loading after a failure, at `target`. A nil target is the last position, or the live edge of a live
    /// stream. Returns false if the session has not failed; otherwise another pipeline is to be made.
    mutating func resume(at target: SeekTarget?, playing: Bool) -> Bool {
        guard lifecycle.resume(playing: playing) else { return false }
        run += 1
        (firstEpoch, epoch) = (nextEpoch, PlayheadEpoch())
        (isOpen, pipeline) = (false, nil)
        if let target = target ?? (overview?.kind == .onDemand && hasMoved ? .position(position) : nil) {
            wanted = (target, SeekRequest())
        }
        reportChanges()
        return true
    }

    /// Records whether another device plays the session. Local audio is muted meanwhile.
    mutating func setPlayedElsewhere(_ isPlayedElsewhere: Bool) {
        guard self.isPlayedElsewhere != isPlayedElsewhere else { return }
        self.isPlayedElsewhere = isPlayedElsewhere
        livePipeline?.isMuted = isMuted || isPlayedElsewhere
        lifecycle.setCast(isPlayedElsewhere)
        notify(.externalPlaybackChanged(isPlayedElsewhere))
        reportChanges()
    }

    /// Terminates the session and reports its last events. The caller reports the player's new state.
    mutating func terminate() {
        wanted?.request.complete(.superseded)
        seeking?.complete(.superseded)
        (wanted, seeking) = (nil, nil)
        show(subtitle: nil)
        if isPlayedElsewhere {
            isPlayedElsewhere = false
            notify(.externalPlaybackChanged(false))
        }
        lifecycle.terminate()
        while let event = lifecycle.poll() { notify(.lifecycle(event)) }
    }
}

extension SessionState {
    /// Handles an event of the pipeline of the current run.
    mutating func handle(_ event: PipelineEvent) -> Outcome {
        guard lifecycle.isAlive else { return .continuesHere }
        switch event.kind {
        // The properties of the media are valid in any epoch.
        case .overview(let overview): learn(overview)
        case .dimensions(let dimensions): notify(.dimensionsChanged(dimensions))
        case .failed(let error):
            fail(error)
            return .failed
        case .buffering, .arrived, .landed, .position, .subtitle, .metadata, .evicted, .ended:
            guard event.epoch >= epoch else { return .continuesHere }
            epoch = event.epoch
            // At the end, all frames were displayed, until a seek.
            return lifecycle.hasEnded ? .continuesHere : follow(event.kind)
        }
        return .continuesHere
    }

    /// Handles an event of the current epoch.
    private mutating func follow(_ kind: PipelineEvent.Kind) -> Outcome {
        switch kind {
        case .buffering(true):
            lifecycle.bufferEmptied()
            reportChanges()
        case .buffering(false):
            // A seek is complete when its frame is displayed, not when it could be.
            guard seeking == nil else { break }
            lifecycle.bufferFilled()
            reportChanges()
        case .arrived(let position): notify(.arrived(position.duration))
        case .landed(let position): completeSeek(at: position)
        case .position(let position):
            if seeking == nil, lifecycle.isReady { move(to: position) }
        case .subtitle(let text): show(subtitle: text)
        case .metadata(let metadata): notify(.metadata(metadata))
        case .evicted:
            // The pipeline seeks by itself, which also completes an earlier seek.
            seeking = seeking ?? SeekRequest()
            leave()
        case .ended: return end() ? .ended : .continuesHere
        case .overview, .dimensions, .failed: break
        }
        return .continuesHere
    }

    /// Records the properties of the media, and reports changes in the required order: media type, duration, seekable
    /// ranges.
    private mutating func learn(_ overview: ContentOverview) {
        let before = self.overview
        self.overview = overview
        if mediaType == .undetermined { determine(source?.mediaType(of: overview) ?? .audioVideo) }
        if before.map({ $0.duration != overview.duration }) ?? (overview.duration != nil || overview.kind == .live) {
            notify(.durationChanged(overview.duration?.duration))
        }
        if before.map({ $0.seekableRange != overview.seekableRange }) ?? true {
            notify(.seekableRangesChanged(seekableRanges))
        }
        if before.map({ $0.tracks != overview.tracks || $0.selected != overview.selected }) ?? true {
            notify(.tracksChanged(overview.tracks, selected: overview.selected))
        }
        isOpen = true
        if let wanted {
            self.wanted = nil
            seek(to: wanted.target, wanted.request)
        }
    }

    /// Records and reports the media type.
    private mutating func determine(_ mediaType: SourceMediaType) {
        self.mediaType = mediaType
        notify(.mediaTypeDetermined(mediaType))
    }

    /// Completes a seek at a position.
    private mutating func completeSeek(at position: TimeSpan) {
        lifecycle.bufferFilled()
        reportChanges()
        move(to: position)
        seeking?.complete(.landed(position.duration))
        seeking = nil
    }

    /// Records and reports a position, and the cue points that were passed.
    private mutating func move(to position: TimeSpan) {
        // A viewer who joins a live stream has passed no cue points before.
        if !hasMoved, overview?.kind == .live {
            cuePoints = CuePointProgress(cuePoints.cuePoints, from: .at(position.duration))
        }
        hasMoved = true
        self.position = position
        notify(.progressed(.at(position.duration)))
        if let passage = cuePoints.move(to: position.duration) { notify(.passedCuePoints(passage)) }
    }

    /// Records and reports the subtitle; nil for none.
    mutating func show(subtitle: String?) {
        guard subtitle != self.subtitle else { return }
        self.subtitle = subtitle
        notify(.subtitleChanged(subtitle))
    }

    /// Handles the end of the media, and returns whether the session has ended. If no frame follows a seek, the seek
    /// completes at the end.
    private mutating func end() -> Bool {
        let position = overview?.end ?? position
        if !lifecycle.isReady || seeking != nil { completeSeek(at: position) }
        guard lifecycle.canEnd else { return false }
        if position != self.position { move(to: position) }
        show(subtitle: nil)
        notify(.progressed(.afterEnd))
        if let passage = cuePoints.finish() { notify(.passedCuePoints(passage)) }
        lifecycle.ended()
        reportChanges()
        return true
    }

    /// Records and reports a failure. `noPlayableSource` is true if the video has no source.
    mutating func fail(_ error: PlaybackError, noPlayableSource: Bool = false) {
        if case .brokenPlaylist = error, mediaType == .undetermined { determine(.audioVideo) }
        show(subtitle: nil)
        wanted?.request.complete(.failed(error))
        seeking?.complete(.failed(error))
        (wanted, seeking) = (nil, nil)
        lifecycle.failed(error.description, noPlayableSource: noPlayableSource)
        reportChanges()
        notify(.error(error))
    }
}
