import PCastCore

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
        case .arrived(let position): notify(.arrived(position))
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
            notify(.durationChanged(overview.duration))
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
        seeking?.complete(.landed(position))
        seeking = nil
    }

    /// Records and reports a position, and the cue points that were passed.
    private mutating func move(to position: TimeSpan) {
        // A viewer who joins a live stream has passed no cue points before.
        if !hasMoved, overview?.kind == .live { cuePoints = CuePointProgress(cuePoints.cuePoints, from: .at(position)) }
        hasMoved = true
        self.position = position
        notify(.progressed(.at(position)))
        if let passage = cuePoints.move(to: position) { notify(.passedCuePoints(passage)) }
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
        notify(.progressed(.behindEnd))
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
