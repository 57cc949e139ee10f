import PCastCore
import PCastRendering

/// The actions that are due.
extension MediaPresentation {
    /// The lateness at which a frame is dropped if the next one is also due.
    private static let tolerance = TimeSpan.milliseconds(50)
    /// The minimum interval between two frames at a higher playback rate.
    private static let leastInterval = TimeSpan.milliseconds(12)
    /// The time before its due time at which audio is sent, in addition to the latency of the output, and the minimum
    /// of this time.
    private static let soundAhead = TimeSpan.milliseconds(80)
    private static let leastSoundAhead = TimeSpan.milliseconds(30)
    /// The tolerance for the end of the loaded media to count as the end of the content.
    private static let endTolerance = TimeSpan.milliseconds(50)
    /// The interval at which the position is reported if no frame reports it.
    private static let tellingInterval = TimeSpan.milliseconds(100)
    /// The distance from the beginning of a live window at which playback resumes, because the window advances
    /// meanwhile.
    private static let evictionMargin = TimeSpan.seconds(1)
    /// The maximum rounding error of times.
    private static let rounding = TimeSpan.microseconds(1)
    /// The silence after the last sample, for an audio output that holds back the end of a buffer.
    private static let trail = AudioFrame(
        samples: Array(repeating: 0, count: 192), channels: 2, captureTime: nil,
        timestamp: MediaTime(ticks: 0, rate: .opus))

    /// Returns the next output that is due; nil if there is none before ``deadline(at:)`` or the next input.
    mutating func poll(at now: Instant) -> Output? {
        if outputs.isEmpty { advance(to: now) }
        return outputs.isEmpty ? nil : outputs.removeFirst()
    }

    /// Returns the time of the next action; nil if it depends on an input.
    func deadline(at now: Instant) -> Instant? {
        if isChanged || !outputs.isEmpty { return now }
        guard phase == .showing else { return nil }
        if stalledAt != nil, clock.isBuffering { return now + Self.lookInterval }
        guard clock.isMoving, !hasEnded else { return nil }
        var next = pictures.first.flatMap { clock.instant(of: $0.position) }
        func due(_ position: TimeSpan?, before span: TimeSpan = .zero) {
            next = Instant.earlier(next, position.flatMap { clock.instant(of: $0) }.map { $0 - span })
        }
        due(sounds.next?.position, before: soundLead + Self.leastSoundAhead)
        due(metadata.first)
        due(subtitles.change(after: clock.position(at: now) + Self.rounding))
        if isReadToEnd {
            due(pictures.isEmpty ? end : nil)
        } else {
            due(available)
        }
        let telling = (lastTold ?? now) + Self.tellingInterval
        return Instant.earlier(next, telling)
    }

    /// Carries out all actions that are due.
    private mutating func advance(to now: Instant) {
        isChanged = false
        switch phase {
        case .failed, .opening: break
        case .landing(let position): if let position { land(from: position, at: now) }
        case .showing: break
        }
        if phase == .showing {
            fill(at: now)
            evict(at: now)
        }
        if phase == .showing, !hasEnded { pursueEdge(at: now) }
        if phase == .showing, !hasEnded {
            showPicture(at: now)
            showWhatStands(at: now)
            tellText(at: now)
            handSound(at: now)
            tellPosition(at: now)
            stall(at: now)
        }
        finish(at: now)
    }

    // MARK: Start

    /// Displays the first frame of an epoch, or begins with the audio if there is no video.
    private mutating func land(from position: TimeSpan, at now: Instant) {
        if let first = pictures.first {
            let covers = first.duration.map { first.position + $0 > position } ?? false
            guard first.position >= position || covers || pictures.count > 1 || isReadToEnd else { return }
            land(at: first.position, now)
            show(pictures.removeFirst())
            tell(.arrived(first.position))
            statistics.picturesShown += 1
        } else if !awaited.contains(.video) || isSparse(.video) || isReadToEnd {
            guard sounds.first != nil || isReadToEnd else { return }
            let first = max(position, sounds.first?.position ?? position)
            land(at: first, now)
            tell(.arrived(first))
        }
    }

    /// Begins at a position, and buffers.
    private mutating func land(at position: TimeSpan, _ now: Instant) {
        phase = .showing
        untoldLanding = position
        clock.show(position, of: clock.epoch, available: available, at: now)
        clock.setBuffering(true, of: clock.epoch, at: now)
        sounds.discard(before: position)
        lastTold = now
        beginPursuit(at: now)
    }

    /// Displays a frame, and reports a change of its size.
    private mutating func show(_ entry: VideoQueue.Entry) {
        if dimensions != entry.frame.dimensions {
            dimensions = entry.frame.dimensions
            tell(.dimensions(entry.frame.dimensions))
        }
        outputs.append(.show(entry.frame))
    }

    /// Ends buffering if enough media has arrived. Only then the seek is reported as complete, although its frame is
    /// displayed already.
    private mutating func fill(at now: Instant) {
        guard clock.isBuffering, isFilled(at: now) else { return }
        if let untoldLanding { tell(.landed(untoldLanding)) }
        untoldLanding = nil
        let sounds = clock.isPlaying && awaited.contains(.audio)
        setBuffering(false, at: sounds ? now + soundLead : now)
        stalledAt = nil
    }

    /// Whether enough media has arrived to play.
    private func isFilled(at now: Instant) -> Bool {
        if isReadToEnd { return true }
        let hasStalled = stalledAt != nil
        if awaited.contains(.video), !isSparse(.video),
            pictures.count < (hasStalled ? VideoQueue.high : VideoQueue.low / 2)
        {
            return false
        }
        if awaited.contains(.audio), !isSparse(.audio),
            sounds.length < (hasStalled ? wanted(AudioQueue.high) : soundLead + Self.leastSoundAhead)
        {
            return false
        }
        guard let stalledAt, let loaded, overview?.kind == .onDemand, now - stalledAt < Self.timeout else {
            return true
        }
        // At the end of the content no more media can arrive.
        let needed = clock.position(at: now) + Self.resumption
        let end = overview?.seekableRange?.upperBound ?? needed
        return loaded + Self.endTolerance >= min(needed, end)
    }

    /// Seeks into the window of a live stream if the window has advanced beyond the position.
    private mutating func evict(at now: Instant) {
        guard clock.isPlaying, !hasEnded, let window = clock.seekableRange,
            clock.position(at: now) < window.lowerBound
        else { return }
        let margin = min(Self.evictionMargin, (window.upperBound - window.lowerBound) / 8)
        outputs.append(.interruptReader)
        evict(to: window.lowerBound + margin, at: now)
    }

    // MARK: Playback

    /// Displays at most one frame that is due, and drops late ones.
    private mutating func showPicture(at now: Instant) {
        while let first = pictures.first, let due = clock.instant(of: first.position), due <= now {
            let next = pictures.second.flatMap { clock.instant(of: $0.position) }
            if let next, next <= now, now - due > Self.tolerance {
                statistics.picturesDropped += 1
                _ = pictures.removeFirst()
                continue
            }
            if next != nil, clock.playbackRate > 1, let lastDue, due - lastDue < Self.leastInterval {
                statistics.picturesThinned += 1
                _ = pictures.removeFirst()
                continue
            }
            lastDue = due
            show(pictures.removeFirst())
            statistics.picturesShown += 1
            statistics.worstLateness = max(statistics.worstLateness, now - due)
            clock.show(first.position, of: clock.epoch, available: available, at: now)
            tell(.position(first.position))
            lastTold = now
            isChanged = true
            return
        }
    }

    /// Displays the last frame that was due at a pause, so that the position belongs to the displayed frame.
    private mutating func showWhatStands(at now: Instant) {
        guard !clock.isPlaying, !clock.isBuffering else { return }
        let position = clock.position(at: now)
        while let second = pictures.second, second.position <= position {
            statistics.picturesDropped += 1
            _ = pictures.removeFirst()
        }
        guard let first = pictures.first, first.position <= position else { return }
        show(pictures.removeFirst())
        tell(.position(first.position))
        statistics.picturesShown += 1
    }

    /// Reports subtitles and metadata that are due.
    private mutating func tellText(at now: Instant) {
        let position = clock.position(at: now) + Self.rounding
        let text = subtitles.text(at: position)
        if text != subtitle {
            subtitle = text
            tell(.subtitle(text))
        }
        while let next = metadata.take(upTo: position) { tell(.metadata(next)) }
    }

    /// Reports the position if no frame did so for an interval.
    private mutating func tellPosition(at now: Instant) {
        guard clock.isMoving, let lastTold, now - lastTold >= Self.tellingInterval else { return }
        tell(.position(clock.position(at: now)))
        self.lastTold = now
    }

    /// Sends audio that is due soon.
    private mutating func handSound(at now: Instant) {
        let position = clock.position(at: now)
        sounds.discard(before: position)
        guard clock.isMoving else { return }
        while let next = sounds.next, let due = clock.instant(of: next.position),
            due - now <= soundLead + Self.soundAhead * (awaited.contains(.video) ? 1 : 4)
        {
            _ = sounds.takeNext()
            let early = position - next.position
            let frame = next.frame.dropping(early)
            if clock.playbackRate == 1 {
                hear(frame, at: max(next.position, position))
            } else {
                stretch(frame, at: max(next.position, position))
            }
        }
        guard isReadToEnd, sounds.next == nil, !hasHandedEnd, let end = sounds.end else { return }
        hasHandedEnd = true
        finishTempo()
        hear(Self.trail, at: end)
    }

    /// Sends audio for a position.
    private mutating func hear(_ frame: AudioFrame, at position: TimeSpan) {
        guard frame.sampleCount > 0, let due = clock.instant(of: position) else { return }
        outputs.append(.hear(frame, at: due))
    }

    /// Sends audio at another rate, with unchanged pitch.
    private mutating func stretch(_ frame: AudioFrame, at position: TimeSpan) {
        if let tempoEnd, (position - tempoEnd).magnitude > .milliseconds(10) { finishTempo() }
        if tempoEnd == nil {
            tempo = TimeStretcher(channels: frame.channels, rate: clock.playbackRate)
            tempoOrigin = position
        }
        tempo?.append(frame)
        tempoEnd = position + frame.length
        handStretched()
    }

    /// Ends the stretching and sends its remaining audio.
    private mutating func finishTempo() {
        tempo?.finish()
        handStretched()
        (tempo, tempoEnd) = (nil, nil)
    }

    /// Sends stretched audio.
    private mutating func handStretched() {
        while let (frame, offset) = tempo?.read() { hear(frame, at: tempoOrigin + offset) }
    }

    // MARK: Stalls and the end

    /// Begins to buffer if no media is left.
    private mutating func stall(at now: Instant) {
        guard clock.isMoving, !isReadToEnd, let available, let out = clock.instant(of: available), out <= now else {
            return
        }
        // A waiting frame is due before the end of the available media.
        guard pictures.first.flatMap({ clock.instant(of: $0.position) }).map({ $0 > now }) ?? true else { return }
        stalledAt = now
        statistics.stalls += 1
        endPursuit(at: now)
        setBuffering(true, at: now)
        withdrawSound(at: now)
    }

    /// Reports the end or the failure after all frames were displayed.
    private mutating func finish(at now: Instant) {
        guard phase != .failed else { return }
        let isOver = pictures.isEmpty && (clock.instant(of: end).map { $0 <= now } ?? false)
        if let failure {
            guard phase != .showing || !clock.isMoving || isOver else { return }
            phase = .failed
            clock.pause(at: now)
            withdrawSound(at: now)
            tell(.failed(failure))
        } else if phase == .showing, isReadToEnd, isOver, !hasEnded {
            hasEnded = true
            clock.pause(at: now)
            tell(.position(end))
            tell(.ended)
        }
    }
}
