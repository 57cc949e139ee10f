import PCastCore

extension SessionState {
    /// Takes the pipeline that was made for it, and brings it to what was asked for meanwhile.
    mutating func attach(_ pipeline: any PlaybackPipeline, volume: Double, speed: Double) {
        self.pipeline = pipeline
        pipeline.isMuted = isMuted || isPlayedElsewhere
        pipeline.volume = volume
        if speed != 1 { pipeline.setRate(speed) }
        if isSetToPlay { pipeline.play() }
    }

    mutating func setMuted(_ isMuted: Bool) {
        self.isMuted = isMuted
        livePipeline?.isMuted = isMuted || isPlayedElsewhere
    }

    /// At the end it begins again, where that can be.
    mutating func play() {
        guard lifecycle.isAlive else { return }
        if lifecycle.hasEnded, overview?.seekableRange != nil { restart() }
        lifecycle.play()
        if isSetToPlay { livePipeline?.play() }
        settle()
    }

    mutating func pause() {
        lifecycle.pause()
        livePipeline?.pause()
        settle()
    }

    /// Pauses at the beginning.
    mutating func stop() {
        pause()
        if isOpen, overview?.seekableRange != nil {
            seek(to: .beginning, SeekRequest())
        } else if let wanted {
            wanted.request.settle(.superseded)
            self.wanted = nil
        }
    }

    /// Another round, in which every cue point is still to come.
    mutating func restart() {
        cuePoints.restart()
        tell(.progressed(.beforeBeginning))
        seek(to: .beginning, SeekRequest())
    }

    /// Goes elsewhere, as soon as the media are open.
    mutating func seek(to target: SeekTarget, _ request: SeekRequest) {
        guard lifecycle.isAlive else { return request.settle(.failed(.notSeekable)) }
        guard isOpen, let pipeline, let overview else {
            wanted?.request.settle(.superseded)
            wanted = (target, request)
            return
        }
        guard let epoch = target.seek(pipeline, overview) else { return request.settle(.failed(.notSeekable)) }
        seeking?.settle(.superseded)
        (seeking, self.epoch) = (request, epoch)
        leave()
    }

    /// Nothing of here is shown any more, and nothing of there yet.
    mutating func leave() {
        show(subtitle: nil)
        lifecycle.seek()
        settle()
    }

    /// Loads again after a failure.
    ///
    /// - Parameter target: nil for where it broke off, or the edge of a live programme.
    /// - Returns: whether it does, and another pipeline is to be made.
    mutating func resume(at target: SeekTarget?, playing: Bool) -> Bool {
        guard lifecycle.resume(playing: playing) else { return false }
        run += 1
        (firstEpoch, epoch) = (nextEpoch, PlayheadEpoch())
        (isOpen, pipeline) = (false, nil)
        if let target = target ?? (overview?.kind == .onDemand && hasMoved ? .position(position) : nil) {
            wanted = (target, SeekRequest())
        }
        settle()
        return true
    }

    mutating func setPlayedElsewhere(_ isPlayedElsewhere: Bool) {
        guard self.isPlayedElsewhere != isPlayedElsewhere else { return }
        self.isPlayedElsewhere = isPlayedElsewhere
        livePipeline?.isMuted = isMuted || isPlayedElsewhere
        lifecycle.setCast(isPlayedElsewhere)
        tell(.externalPlaybackChanged(isPlayedElsewhere))
        settle()
    }

    /// It is over: nothing is told of it any more after this, and of the state whoever comes next tells.
    mutating func terminate() {
        wanted?.request.settle(.superseded)
        seeking?.settle(.superseded)
        (wanted, seeking) = (nil, nil)
        show(subtitle: nil)
        if isPlayedElsewhere {
            isPlayedElsewhere = false
            tell(.externalPlaybackChanged(false))
        }
        lifecycle.terminate()
        while let event = lifecycle.poll() { tell(.lifecycle(event)) }
    }
}
