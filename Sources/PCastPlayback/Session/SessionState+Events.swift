import PCastCore

extension SessionState {
    /// What the pipeline of this run says.
    mutating func handle(_ event: PipelineEvent) -> Outcome {
        guard lifecycle.isAlive else { return .goesOn }
        switch event.kind {
        // What the media are does not depend on where they are played.
        case .overview(let overview): learn(overview)
        case .dimensions(let dimensions): tell(.dimensionsChanged(dimensions))
        case .failed(let error):
            fail(error)
            return .failed
        case .buffering, .arrived, .landed, .position, .subtitle, .metadata, .evicted, .ended:
            guard event.epoch >= epoch else { return .goesOn }
            epoch = event.epoch
            // At the end everything was shown, until a seek leads away from there.
            return lifecycle.hasEnded ? .goesOn : follow(event.kind)
        }
        return .goesOn
    }

    private mutating func follow(_ kind: PipelineEvent.Kind) -> Outcome {
        switch kind {
        case .buffering(true):
            lifecycle.bufferEmptied()
            settle()
        case .buffering(false):
            // Of a seek the picture counts, and not that there could be one.
            guard seeking == nil else { break }
            lifecycle.bufferFilled()
            settle()
        case .arrived(let position): tell(.arrived(position))
        case .landed(let position): land(at: position)
        case .position(let position):
            if seeking == nil, lifecycle.isReady { move(to: position) }
        case .subtitle(let text): show(subtitle: text)
        case .metadata(let metadata): tell(.metadata(metadata))
        case .evicted:
            // The pipeline seeks by itself, and lands for whoever has sought before it.
            seeking = seeking ?? SeekRequest()
            leave()
        case .ended: return end() ? .ended : .goesOn
        case .overview, .dimensions, .failed: break
        }
        return .goesOn
    }

    /// In the order that is normative: media type, duration, seekable ranges.
    private mutating func learn(_ overview: ContentOverview) {
        let before = self.overview
        self.overview = overview
        if mediaType == .undetermined { determine(source?.mediaType(of: overview) ?? .audioVideo) }
        if before.map({ $0.duration != overview.duration }) ?? (overview.duration != nil || overview.kind == .live) {
            tell(.durationChanged(overview.duration))
        }
        if before.map({ $0.seekableRange != overview.seekableRange }) ?? true {
            tell(.seekableRangesChanged(seekableRanges))
        }
        if before.map({ $0.tracks != overview.tracks || $0.selected != overview.selected }) ?? true {
            tell(.tracksChanged(overview.tracks, selected: overview.selected))
        }
        isOpen = true
        if let wanted {
            self.wanted = nil
            seek(to: wanted.target, wanted.request)
        }
    }

    private mutating func determine(_ mediaType: SourceMediaType) {
        self.mediaType = mediaType
        tell(.mediaTypeDetermined(mediaType))
    }

    private mutating func land(at position: TimeSpan) {
        lifecycle.bufferFilled()
        settle()
        move(to: position)
        seeking?.settle(.landed(position))
        seeking = nil
    }

    private mutating func move(to position: TimeSpan) {
        // Who joins a live programme in the middle has passed nothing of before.
        if !hasMoved, overview?.kind == .live { cuePoints = CuePointProgress(cuePoints.cuePoints, from: .at(position)) }
        hasMoved = true
        self.position = position
        tell(.progressed(.at(position)))
        if let passage = cuePoints.move(to: position) { tell(.passedCuePoints(passage)) }
    }

    mutating func show(subtitle: String?) {
        guard subtitle != self.subtitle else { return }
        self.subtitle = subtitle
        tell(.subtitleChanged(subtitle))
    }

    /// Where there is no picture at the end, the end is what a seek came to.
    private mutating func end() -> Bool {
        let position = overview?.duration ?? position
        if !lifecycle.isReady || seeking != nil { land(at: position) }
        guard lifecycle.canEnd else { return false }
        if position != self.position { move(to: position) }
        show(subtitle: nil)
        tell(.progressed(.behindEnd))
        if let passage = cuePoints.finish() { tell(.passedCuePoints(passage)) }
        lifecycle.ended()
        settle()
        return true
    }

    /// - Parameter noPlayableSource: there was nothing that could have been tried.
    mutating func fail(_ error: PlaybackError, noPlayableSource: Bool = false) {
        if case .brokenPlaylist = error, mediaType == .undetermined { determine(.audioVideo) }
        show(subtitle: nil)
        wanted?.request.settle(.failed(error))
        seeking?.settle(.failed(error))
        (wanted, seeking) = (nil, nil)
        lifecycle.failed(error.description, noPlayableSource: noPlayableSource)
        settle()
        tell(.error(error))
    }
}
