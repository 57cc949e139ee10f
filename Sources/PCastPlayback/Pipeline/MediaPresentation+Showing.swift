import PCastCore
import PCastRendering

/// What is due.
extension MediaPresentation {
    /// A picture that is this much behind gives way to the next one, if that is due as well.
    private static let tolerance = TimeSpan.milliseconds(50)
    /// Between two pictures of faster playing at least.
    private static let leastInterval = TimeSpan.milliseconds(12)
    /// How far ahead sound is handed on, beyond what the loudspeaker holds, and how near it may come until more is.
    private static let soundAhead = TimeSpan.milliseconds(80)
    private static let leastSoundAhead = TimeSpan.milliseconds(30)
    /// What is loaded ends by less before the end, where it is the end.
    private static let endTolerance = TimeSpan.milliseconds(50)
    /// How often the position is told where no picture does.
    private static let tellingInterval = TimeSpan.milliseconds(100)
    /// From the beginning of a live window to where it is gone on with: not at its very end, for it moves on.
    private static let evictionMargin = TimeSpan.seconds(1)
    /// What instants are rounded by.
    private static let rounding = TimeSpan.microseconds(1)
    /// Silence behind the last sample, for what a loudspeaker holds back.
    private static let trail = AudioFrame(
        samples: Array(repeating: 0, count: 192), channels: 2, captureTime: nil,
        timestamp: MediaTime(ticks: 0, rate: .opus))

    /// What is to be done now; nil for nothing before ``deadline(at:)``, or before something comes.
    mutating func poll(at now: Instant) -> Output? {
        if outputs.isEmpty { advance(to: now) }
        return outputs.isEmpty ? nil : outputs.removeFirst()
    }

    /// When something is due; nil where that depends on what comes.
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

    // MARK: Beginning

    /// Shows the first picture of an epoch, or begins with its sound where there is none.
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

    private mutating func land(at position: TimeSpan, _ now: Instant) {
        phase = .showing
        untoldLanding = position
        clock.show(position, of: clock.epoch, available: available, at: now)
        clock.setBuffering(true, of: clock.epoch, at: now)
        sounds.discard(before: position)
        lastTold = now
        beginPursuit(at: now)
    }

    private mutating func show(_ entry: VideoQueue.Entry) {
        if dimensions != entry.frame.dimensions {
            dimensions = entry.frame.dimensions
            tell(.dimensions(entry.frame.dimensions))
        }
        outputs.append(.show(entry.frame))
    }

    /// Goes on, when there is enough to go on with; only then it has landed, though the picture is shown already.
    private mutating func fill(at now: Instant) {
        guard clock.isBuffering, isFilled(at: now) else { return }
        if let untoldLanding { tell(.landed(untoldLanding)) }
        untoldLanding = nil
        let sounds = clock.isPlaying && awaited.contains(.audio)
        setBuffering(false, at: sounds ? now + soundLead : now)
        stalledAt = nil
    }

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
        // At its end there is no more to come.
        let needed = clock.position(at: now) + Self.resumption
        let end = overview?.seekableRange?.upperBound ?? needed
        return loaded + Self.endTolerance >= min(needed, end)
    }

    private mutating func evict(at now: Instant) {
        guard clock.isPlaying, !hasEnded, let window = clock.seekableRange,
            clock.position(at: now) < window.lowerBound
        else { return }
        let margin = min(Self.evictionMargin, (window.upperBound - window.lowerBound) / 8)
        outputs.append(.interruptReader)
        evict(to: window.lowerBound + margin, at: now)
    }

    // MARK: Going on

    /// One picture at most, the others when asked again.
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

    /// What was due when it was paused, and was late, stands there from then on: the position is of the picture that is seen.
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

    private mutating func tellText(at now: Instant) {
        let position = clock.position(at: now) + Self.rounding
        let text = subtitles.text(at: position)
        if text != subtitle {
            subtitle = text
            tell(.subtitle(text))
        }
        while let next = metadata.take(upTo: position) { tell(.metadata(next)) }
    }

    private mutating func tellPosition(at now: Instant) {
        guard clock.isMoving, let lastTold, now - lastTold >= Self.tellingInterval else { return }
        tell(.position(clock.position(at: now)))
        self.lastTold = now
    }

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

    private mutating func hear(_ frame: AudioFrame, at position: TimeSpan) {
        guard frame.sampleCount > 0, let due = clock.instant(of: position) else { return }
        outputs.append(.hear(frame, at: due))
    }

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

    private mutating func finishTempo() {
        tempo?.finish()
        handStretched()
        (tempo, tempoEnd) = (nil, nil)
    }

    private mutating func handStretched() {
        while let (frame, offset) = tempo?.read() { hear(frame, at: tempoOrigin + offset) }
    }

    // MARK: Stopping

    /// Waits, where there is nothing left to show.
    private mutating func stall(at now: Instant) {
        guard clock.isMoving, !isReadToEnd, let available, let out = clock.instant(of: available), out <= now else {
            return
        }
        // A picture that waits is due before what is available ends.
        guard pictures.first.flatMap({ clock.instant(of: $0.position) }).map({ $0 > now }) ?? true else { return }
        stalledAt = now
        statistics.stalls += 1
        endPursuit(at: now)
        setBuffering(true, at: now)
        withdrawSound(at: now)
    }

    /// Everything was shown, or it cannot go on.
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
