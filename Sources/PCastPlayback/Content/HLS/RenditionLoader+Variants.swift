internal import PCastCore
internal import PCastHLS
internal import PCastIO
internal import Synchronization

/// The selection of a variant and of its address.
extension RenditionLoader {
    /// The time for which the playlist of a lower variant is waited for before the current variant continues.
    private static let lowerWait = TimeSpan.seconds(1 as Int64)
    /// The time for which an alternative is waited for while there is another one, or the current one continues.
    private static let alternativeWait = TimeSpan.seconds(4 as Int64)

    /// Selects another variant, another pathway, or again the preferred address, between two segments. The current
    /// variant is played until the playlist of the other one is loaded.
    func chooseRung() async {
        let (current, follower) = state.withLock { ($0.rung, $0.follower) }
        guard let follower, let timeline = follower.timeline else { return }
        let excluded = excluded()
        let (buffered, goal) = (buffered, goal(timeline))
        let chosen = choice.withLock { choice in
            choice?.excluded = excluded
            return choice?.choose(buffered: buffered, goal: goal, at: MonotonicClock.now())
        }
        // Without a selection, the first variant is preferred, and others replace it only while it is unavailable.
        let first = buffered * 2 >= goal ? variants.uris.indices.first { !excluded.contains($0) } : nil
        let rung = chosen ?? first ?? current
        guard rung != current || steering != nil && uris(of: rung).first != follower.uris.first else {
            return dropCandidate()
        }
        let other = candidate(of: rung, alignedWith: timeline)
        // Another segment of a variant that exceeds the throughput takes longer than the playlist of a lower one. A
        // pathway is replaced because it failed, or because the server asks for it.
        let wait = rung == current ? Self.alternativeWait : chosen != nil && rung < current ? Self.lowerWait : .zero
        if wait > .zero { _ = await comes(other, until: MonotonicClock.now() + wait) }
        if other.timeline != nil {
            other.align(with: follower.timeline ?? timeline)
            take(other, of: rung)
        } else if other.current.failure != nil {
            dropCandidate()
            if rung != current { fail(other, isLive: timeline.playlist.isLive) }
        }
    }

    /// Returns the follower of a variant's playlist, which is loaded while the current variant is played.
    private func candidate(of rung: Int, alignedWith timeline: PlaylistTimeline) -> PlaylistFollower {
        let uris = uris(of: rung)
        if let known = state.withLock({ $0.candidate }), known.rung == rung, known.follower.uris == uris {
            return known.follower
        }
        dropCandidate()
        let follower = follower(of: rung, alignedWith: timeline)
        state.withLock { $0.candidate = (rung, follower) }
        return follower
    }

    /// Stops the load of another variant's playlist.
    private func dropCandidate() {
        let candidate = state.withLock { state in
            defer { state.candidate = nil }
            return state.candidate
        }
        candidate?.follower.stop()
    }

    /// The duration of the media that waits to be played.
    private var buffered: TimeSpan {
        state.withLock { state in state.segments.last.map { max($0.loadedEnd - state.reached, .zero) } ?? .zero }
    }

    /// Returns the duration of media that should wait to be played before a better variant is selected. Of live media,
    /// no more can be loaded than there is before the next segment or part.
    private func goal(_ timeline: PlaylistTimeline) -> TimeSpan {
        let playlist = timeline.playlist
        guard playlist.isLive else { return bounds.ahead }
        let reached = state.withLock { $0.reached }
        let unit = playlist.partTargetDuration ?? playlist.targetDuration
        return min(bounds.ahead, max(timeline.end - reached - unit, unit))
    }

    /// Waits for the first playlist of a follower until an instant; nil for no limit. Returns false if it fails, comes
    /// too late or is not needed any more.
    private func comes(
        _ follower: PlaylistFollower, until end: Instant? = nil, while isNeeded: () -> Bool = { true }
    ) async -> Bool {
        let alarm = end.map { end in
            Task { [changes] in
                let pause = max(end - MonotonicClock.now(), .zero)
                if (try? await Task.sleep(for: pause.duration)) != nil { changes.raise() }
            }
        }
        defer { alarm?.cancel() }
        while !Task.isCancelled {
            let count = changes.count
            if follower.timeline != nil { return true }
            if follower.current.failure != nil || !isNeeded() { return false }
            if let end, MonotonicClock.now() >= end { return false }
            await changes.wait(since: count)
        }
        return false
    }

    /// Records that all addresses of a playlist failed.
    private func fail(_ follower: PlaylistFollower, isLive: Bool) {
        let failure = follower.current.failure
        let isFinal = isLive ? failure?.isFinal : failure?.isFinalOnDemand
        state.withLock {
            $0.failedAddresses.add(follower.uris, isFinal: isFinal ?? false, at: MonotonicClock.now())
        }
    }

    /// Changes to another follower.
    private func take(_ other: PlaylistFollower, of rung: Int) {
        let (former, candidate) = state.withLock { state in
            let former = (state.follower, state.candidate?.follower)
            state.candidate = nil
            (state.rung, state.follower, state.number, state.variantFailure) = (rung, other, nil, nil)
            if let end = state.segments.last?.end { state.position = end + Self.tolerance }
            return former
        }
        former?.stop()
        if candidate !== other { candidate?.stop() }
        changes.raise()
        wait.raise()
    }

    /// Returns the variants of which all addresses are avoided. `unwanted` are further addresses to avoid. If
    /// `lastResort` is true, failed addresses are avoided only if they are unrecoverable.
    private func excluded(without unwanted: [String] = [], lastResort: Bool = false) -> Set<Int> {
        let (failed, now) = (state.withLock { $0.failedAddresses }, MonotonicClock.now())
        func isExcluded(_ uri: String) -> Bool {
            unwanted.contains(uri)
                || (lastResort ? failed.isUnrecoverable(uri, at: now) : failed.isAvoided(uri, at: now))
        }
        return Set(variants.uris.indices.filter { variants.uris[$0].allSatisfy(isExcluded) })
    }

    /// Replaces an address or a variant that failed (RFC 8216, section 6.3.4). If there is no alternative, it reports
    /// the first failure.
    func replaceFailed() async {
        while !Task.isCancelled {
            let (current, follower, variantFailure) = state.withLock { ($0.rung, $0.follower, $0.variantFailure) }
            guard let follower else { return }
            let state = follower.current
            let isOver = variantFailure != nil || state.failure != nil
            guard let failure = variantFailure ?? state.failure ?? state.reloadFailure else { return }
            let isLive = state.timeline?.playlist.isLive ?? false
            if variantFailure == nil, isOver { fail(follower, isLive: isLive) }
            guard let rung = alternative(to: current, without: isOver ? [] : follower.uris) else {
                self.state.withLock { now in
                    // The segments of a live playlist are loaded to its end, and failing reloads are retried.
                    guard isOver, variantFailure != nil || state.timeline == nil else { return }
                    (now.failure, now.variantFailure) = (now.failure ?? failure, nil)
                }
                wait.raise()
                return
            }
            let other = self.follower(of: rung, alignedWith: state.timeline ?? aligned)
            // Where a third address is left, one that does not answer is not waited for until it has failed.
            let end = hasOtherAddress(than: other.uris) ? MonotonicClock.now() + Self.alternativeWait : nil
            guard await comes(other, until: end, while: { isOver || follower.current.reloadFailure != nil }) else {
                other.stop()
                if !isOver, follower.current.reloadFailure == nil { return }
                fail(other, isLive: isLive)
                if isOver { self.state.withLock { $0.variantFailure = $0.variantFailure ?? failure } }
                continue
            }
            if !isOver { fail(follower, isLive: isLive) }
            take(other, of: rung)
        }
    }

    /// Returns whether an address other than these has not failed since the last segment was loaded.
    private func hasOtherAddress(than uris: [String]) -> Bool {
        let (failed, now) = (state.withLock { $0.failedAddresses }, MonotonicClock.now())
        return variants.uris.joined().contains { !uris.contains($0) && !failed.isUnrecoverable($0, at: now) }
    }

    /// Returns a variant with an address that has not failed, preferably the current one; nil if there is none.
    /// `unwanted` are addresses to avoid.
    private func alternative(to current: Int, without unwanted: [String]) -> Int? {
        let all = Set(variants.uris.indices)
        var excluded = excluded(without: unwanted)
        if excluded == all { excluded = self.excluded(without: unwanted, lastResort: true) }
        if !excluded.contains(current) { return current }
        guard excluded != all else { return nil }
        let chosen = choice.withLock { choice in
            choice?.excluded = excluded
            return choice?.choose(buffered: .zero, goal: bounds.ahead, at: MonotonicClock.now())
        }
        return chosen ?? variants.uris.indices.first { !excluded.contains($0) }
    }
}
