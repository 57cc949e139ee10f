import PCastCore

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
        pause()
        if isOpen, overview?.seekableRange != nil {
            seek(to: .beginning, SeekRequest())
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
    mutating func seek(to target: SeekTarget, _ request: SeekRequest) {
        guard lifecycle.isAlive else { return request.complete(.failed(.notSeekable)) }
        guard isOpen, let pipeline, let overview else {
            wanted?.request.complete(.superseded)
            wanted = (target, request)
            return
        }
        guard let epoch = target.seek(pipeline, overview) else { return request.complete(.failed(.notSeekable)) }
        seeking?.complete(.superseded)
        (seeking, self.epoch) = (request, epoch)
        leave()
    }

    /// Begins a seek: hides the subtitle and reports an empty buffer.
    mutating func leave() {
        show(subtitle: nil)
        lifecycle.seek()
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
