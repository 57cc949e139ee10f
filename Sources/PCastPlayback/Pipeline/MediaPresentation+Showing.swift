import PCastCore
import PCastRendering

/// The actions that are due.
extension MediaPresentation {
    /// The lateness at which a frame is dropped if the next one is also due.
    private static let tolerance = TimeSpan.milliseconds(50)
    /// The minimum interval between two frames at a higher playback rate.
    private static let minimumInterval = TimeSpan.milliseconds(12)
    /// The time before its due time at which audio is sent, in addition to the latency of the output, and the minimum
    /// of this time.
    private static let audioAhead = TimeSpan.milliseconds(80)
    private static let minimumAudioAhead = TimeSpan.milliseconds(30)
    /// The tolerance for the end of the loaded media to count as the end of the content.
    private static let endTolerance = TimeSpan.milliseconds(50)
    /// The interval at which the position is reported if no frame reports it.
    private static let positionReportInterval = TimeSpan.milliseconds(100)
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
        var next = videoQueue.first.flatMap { clock.instant(of: $0.position) }
        func due(_ position: TimeSpan?, before span: TimeSpan = .zero) {
            next = Instant.earlier(next, position.flatMap { clock.instant(of: $0) }.map { $0 - span })
        }
        due(audioQueue.next?.position, before: audioOutputLatency + Self.minimumAudioAhead)
        due(metadata.first)
        due(subtitles.change(after: clock.position(at: now) + Self.rounding))
        if isReadToEnd {
            due(videoQueue.isEmpty ? end : nil)
        } else {
            due(available)
        }
        let telling = (lastReport ?? now) + Self.positionReportInterval
        return Instant.earlier(next, telling)
    }

    /// Carries out all actions that are due.
    private mutating func advance(to now: Instant) {
        isChanged = false
        switch phase {
        case .failed, .opening: break
        case .reachedPosition(let position): if let position { completeSeek(from: position, at: now) }
        case .showing: break
        }
        if phase == .showing {
            fill(at: now)
            evict(at: now)
        }
        if phase == .showing, !hasEnded { skipHole(at: now) }
        if phase == .showing, !hasEnded { catchUpWithEdge(at: now) }
        if phase == .showing, !hasEnded {
            showFrame(at: now)
            showPausedFrame(at: now)
            reportText(at: now)
            sendDueAudio(at: now)
            reportPosition(at: now)
            stall(at: now)
        }
        finish(at: now)
    }

    // MARK: Start

    /// Displays the first frame of an epoch, or begins with the audio if there is no video.
    private mutating func completeSeek(from position: TimeSpan, at now: Instant) {
        if let first = videoQueue.first {
            let covers = first.duration.map { first.position + $0 > position } ?? false
            guard first.position >= position || covers || videoQueue.count > 1 || isReadToEnd else { return }
            completeSeek(at: first.position, now)
            show(videoQueue.removeFirst())
            notify(.arrived(first.position))
            statistics.framesShown += 1
        } else if !awaited.contains(.video) || isSparse(.video) || isReadToEnd {
            guard audioQueue.first != nil || isReadToEnd else { return }
            let first = max(position, audioQueue.first?.position ?? position)
            completeSeek(at: first, now)
            notify(.arrived(first))
        }
    }

    /// Begins at a position, and buffers.
    private mutating func completeSeek(at position: TimeSpan, _ now: Instant) {
        phase = .showing
        unreportedSeekPosition = position
        clock.show(position, of: clock.epoch, available: available, at: now)
        clock.setBuffering(true, of: clock.epoch, at: now)
        audioQueue.discard(before: position)
        lastReport = now
        beginCatchUp(at: now)
    }

    /// Displays a frame, and reports a change of its size.
    private mutating func show(_ entry: VideoQueue.Entry) {
        if dimensions != entry.frame.dimensions {
            dimensions = entry.frame.dimensions
            notify(.dimensions(entry.frame.dimensions))
        }
        shownEnd = entry.position + (entry.duration ?? VideoQueue.longestInterval)
        outputs.append(.show(entry.frame))
    }

    /// Ends buffering if enough media has arrived. Only then the seek is reported as complete, although its frame is
    /// displayed already.
    mutating func fill(at now: Instant) {
        guard clock.isBuffering, isFilled(at: now) else { return }
        if let unreportedSeekPosition { notify(.landed(unreportedSeekPosition)) }
        unreportedSeekPosition = nil
        let audible = awaited.contains(.audio) ? now + audioOutputLatency : now
        setBuffering(false, at: clock.isPlaying ? start(notBefore: audible, at: now) : now)
        stalledAt = nil
    }

    /// Whether enough media has arrived to play.
    private func isFilled(at now: Instant) -> Bool {
        if isReadToEnd { return true }
        let hasStalled = stalledAt != nil
        if awaited.contains(.video), !isSparse(.video),
            videoQueue.count < (hasStalled ? VideoQueue.high : VideoQueue.low / 2)
        {
            return false
        }
        if awaited.contains(.audio), !isSparse(.audio),
            audioQueue.length < (hasStalled ? wanted(AudioQueue.high) : audioOutputLatency + Self.minimumAudioAhead)
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

    /// Seeks into the window of a live stream if the window has advanced beyond the position. Playback that was at the live
    /// edge continues there.
    private mutating func evict(at now: Instant) {
        guard clock.isPlaying, !hasEnded, let window = clock.seekableRange,
            clock.position(at: now) < window.lowerBound
        else { return }
        outputs.append(.interruptReader)
        if playout.isSynchronized || overview?.isLowLatency == true && (followsLiveEdge || edgeCatchUp.isActive) {
            // At the beginning of the window playback would remain late, and leave the window at the next stall.
            return evict(to: livePosition(in: window, at: now), at: now)
        }
        let margin = min(Self.evictionMargin, (window.upperBound - window.lowerBound) / 8)
        evict(to: window.lowerBound + margin, at: now)
    }

    // MARK: Playback

    /// Displays at most one frame that is due, and drops late ones.
    private mutating func showFrame(at now: Instant) {
        while let first = videoQueue.first, let due = clock.instant(of: first.position), due <= now {
            let next = videoQueue.second.flatMap { clock.instant(of: $0.position) }
            if let next, next <= now, now - due > Self.tolerance {
                statistics.framesDropped += 1
                _ = videoQueue.removeFirst()
                continue
            }
            if next != nil, clock.playbackRate > 1, let lastDue, due - lastDue < Self.minimumInterval {
                statistics.framesThinned += 1
                _ = videoQueue.removeFirst()
                continue
            }
            lastDue = due
            show(videoQueue.removeFirst())
            statistics.framesShown += 1
            statistics.worstLateness = max(statistics.worstLateness, now - due)
            clock.show(first.position, of: clock.epoch, available: available, at: now)
            notify(.position(first.position))
            lastReport = now
            isChanged = true
            return
        }
    }

    /// Displays the last frame that was due at a pause, so that the position belongs to the displayed frame.
    private mutating func showPausedFrame(at now: Instant) {
        guard !clock.isPlaying, !clock.isBuffering else { return }
        let position = clock.position(at: now)
        while let second = videoQueue.second, second.position <= position {
            statistics.framesDropped += 1
            _ = videoQueue.removeFirst()
        }
        guard let first = videoQueue.first, first.position <= position else { return }
        show(videoQueue.removeFirst())
        notify(.position(first.position))
        statistics.framesShown += 1
    }

    /// Reports subtitles and metadata that are due.
    private mutating func reportText(at now: Instant) {
        let position = clock.position(at: now) + Self.rounding
        let text = subtitles.text(at: position)
        if text != subtitle {
            subtitle = text
            notify(.subtitle(text))
        }
        while let next = metadata.take(upTo: position) { notify(.metadata(next)) }
    }

    /// Reports the position if no frame did so for an interval.
    private mutating func reportPosition(at now: Instant) {
        guard clock.isMoving, let lastReport, now - lastReport >= Self.positionReportInterval else { return }
        notify(.position(clock.position(at: now)))
        self.lastReport = now
    }

    /// Sends audio that is due soon.
    private mutating func sendDueAudio(at now: Instant) {
        let position = clock.position(at: now)
        audioQueue.discard(before: position)
        guard clock.isMoving else { return }
        while let next = audioQueue.next, let due = clock.instant(of: next.position),
            due - now <= audioOutputLatency + Self.audioAhead * (awaited.contains(.video) ? 1 : 4)
        {
            _ = audioQueue.takeNext()
            let early = position - next.position
            let frame = next.frame.dropping(early)
            if clock.playbackRate == 1 {
                emit(frame, at: max(next.position, position))
            } else {
                stretch(frame, at: max(next.position, position))
            }
        }
        guard isReadToEnd, audioQueue.next == nil, !hasSentEnd, let end = audioQueue.end else { return }
        hasSentEnd = true
        finishStretching()
        emit(Self.trail, at: end)
    }

    /// Sends audio for a position.
    private mutating func emit(_ frame: AudioFrame, at position: TimeSpan) {
        guard frame.sampleCount > 0, let due = clock.instant(of: position) else { return }
        outputs.append(.play(frame, at: due))
    }

    /// Sends audio at another rate, with unchanged pitch.
    private mutating func stretch(_ frame: AudioFrame, at position: TimeSpan) {
        if let stretcherEnd, (position - stretcherEnd).magnitude > .milliseconds(10) { finishStretching() }
        if stretcherEnd == nil {
            stretcher = TimeStretcher(channels: frame.channels, rate: clock.playbackRate)
            stretcherOrigin = position
        }
        stretcher?.append(frame)
        stretcherEnd = position + frame.length
        sendStretchedAudio()
    }

    /// Ends the stretching and sends its remaining audio.
    private mutating func finishStretching() {
        stretcher?.finish()
        sendStretchedAudio()
        (stretcher, stretcherEnd) = (nil, nil)
    }

    /// Sends stretched audio.
    private mutating func sendStretchedAudio() {
        while let (frame, offset) = stretcher?.read() { emit(frame, at: stretcherOrigin + offset) }
    }

    // MARK: Stalls and the end

    /// Begins to buffer if no media is left.
    private mutating func stall(at now: Instant) {
        guard clock.isMoving, !isReadToEnd, let available, let out = clock.instant(of: available), out <= now else {
            return
        }
        // A waiting frame is due before the end of the available media.
        guard videoQueue.first.flatMap({ clock.instant(of: $0.position) }).map({ $0 > now }) ?? true else { return }
        stalledAt = now
        statistics.stalls += 1
        endCatchUp(at: now)
        playout.noteStall(at: now)
        setBuffering(true, at: now)
        discardAudio(at: now)
    }

    /// Reports the end or the failure after all frames were displayed.
    private mutating func finish(at now: Instant) {
        guard phase != .failed else { return }
        let isOver = videoQueue.isEmpty && (clock.instant(of: end).map { $0 <= now } ?? false)
        if let failure {
            guard phase != .showing || !clock.isMoving || isOver else { return }
            phase = .failed
            clock.pause(at: now)
            discardAudio(at: now)
            notify(.failed(failure))
        } else if phase == .showing, isReadToEnd, isOver, !hasEnded {
            hasEnded = true
            clock.pause(at: now)
            notify(.position(end))
            notify(.ended)
        }
    }
}
