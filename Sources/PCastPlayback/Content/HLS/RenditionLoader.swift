internal import PCastCodecs
internal import PCastCore
internal import PCastHLS
internal import PCastIO
internal import Synchronization

/// Loads one rendition's segments in order, as much as its bounds allow: what is pictures and sound in one, a language's
/// sound, or subtitles.
final class RenditionLoader: Sendable {
    struct State {
        var segments: [LoadedSegment] = []
        /// Rises with each seek; what belongs to an earlier one is not taken.
        var generation = 0
        /// What comes next, and of which timeline.
        var position: TimeSpan?
        var number: Int64?
        var reached = TimeSpan.zero
        /// Somebody has gone there, and nothing of it was loaded yet.
        var isLanding = true
        var isAtEnd = false
        var failure: LoadFailure?
        var rung = 0
        var follower: PlaylistFollower?
        var fetching: Task<SegmentLoad.End, Never>?
        /// So many pathways were left since a segment came.
        var leftPathways = 0
        var failedAddresses = FailedAddresses()
        /// Why the present address is to be left for another.
        var leaving: LoadFailure?
    }

    let variants: RenditionVariants
    private let fetcher: HLSFetcher
    private let bounds: LoaderBounds
    private let usesParts: Bool
    let wait: ReaderWait
    let state = Mutex(State())
    let choice: Mutex<VariantChoice?>
    private let changes = ChangeSignal()
    private let hints: PartHints
    let steering: SteeringFollower?
    private let task = Mutex<Task<Void, Never>?>(nil)
    private let aligned: PlaylistTimeline?
    /// Of all variants, as their playlists come.
    private let liveEdge = Mutex(LiveEdgeClock())

    /// A segment that cannot be had is asked for again for so long: twice what is waited for an answer.
    private let timeout: TimeSpan
    /// Places of the same moment in two variants differ by less.
    private static let tolerance = TimeSpan.milliseconds(250)
    /// Media lie elsewhere than a playlist says when they are off by more.
    private static let placeTolerance = TimeSpan.milliseconds(100)

    /// - Parameters:
    ///   - first: the playlist of the least variant, where it was loaded already.
    ///   - aligned: the timeline that this one is placed on.
    ///   - steering: who says which pathway to take; nil where there is one.
    init(
        _ variants: RenditionVariants, fetcher: HLSFetcher, bounds: LoaderBounds, usesParts: Bool, wait: ReaderWait,
        alignedWith aligned: PlaylistTimeline? = nil, first: (MediaPlaylist, base: String)? = nil,
        steering: HLSPresentation.Steering? = nil
    ) {
        (self.variants, self.fetcher, self.bounds, self.usesParts, self.wait) = (
            variants, fetcher, bounds, usesParts, wait
        )
        self.aligned = aligned
        choice = Mutex(variants.choice)
        timeout = TimeSpan(fetcher.timeout) * 2
        hints = PartHints(fetcher)
        self.steering = steering.map { [changes] in SteeringFollower($0, fetcher: fetcher) { changes.raise() } }
        let now = MonotonicClock.now()
        let rung = choice.withLock { $0?.choose(buffered: .zero, goal: bounds.ahead, at: now) } ?? 0
        let follower = follower(of: rung, alignedWith: aligned, first: first)
        state.withLock { state in (state.rung, state.follower) = (rung, follower) }
        let running = Task { await self.run() }
        task.withLock { $0 = running }
    }

    private func follower(
        of rung: Int, alignedWith aligned: PlaylistTimeline?, first: (MediaPlaylist, base: String)? = nil
    ) -> PlaylistFollower {
        PlaylistFollower(
            uris(of: rung), fetcher: fetcher, variables: variants.variables, alignedWith: aligned, first: first,
            failed: { [steering, variants] uri in
                if let pathway = variants.pathway(of: uri) { _ = steering?.failed(pathway) }
            },
            advanced: { [weak self] timeline in
                guard timeline.playlist.isLive else { return }
                let now = MonotonicClock.wallTime()
                self?.liveEdge.withLock { $0.note(timeline.end, at: now) }
            },
            changed: { [changes, wait] in
                changes.raise()
                wait.raise()
            })
    }

    /// The addresses of a rung that are worth asking; all where none is.
    private func uris(of rung: Int) -> [String] {
        let all = variants.uris(of: rung, in: steering?.order ?? [])
        let (failed, now) = (state.withLock { $0.failedAddresses }, MonotonicClock.now())
        let good = all.filter { !failed.isAvoided($0, at: now) }
        let possible = good.isEmpty ? all.filter { !failed.isUnrecoverable($0, at: now) } : good
        return possible.isEmpty ? all : possible
    }

    func stop() {
        task.withLock { $0?.cancel() }
        steering?.stop()
        state.withLock { state in
            state.fetching?.cancel()
            state.follower?.stop()
            hints.stop()
            state.segments.removeAll()
        }
    }

    // MARK: For the reader

    /// nil until the playlist came.
    var timeline: PlaylistTimeline? { state.withLock { $0.follower }?.timeline }

    /// What the live edge tells of wall time; empty for what never was live.
    var edgeAnchors: [TimecodeAnchor] { liveEdge.withLock { $0.anchors } }

    /// Rises with each change of the playlist.
    var version: Int { state.withLock { $0.follower }?.current.version ?? 0 }

    var currentRung: Int { state.withLock { $0.rung } }

    /// Why nothing more will come; what is loaded can be read.
    var failure: LoadFailure? { state.withLock { $0.failure } }

    /// The end of what was loaded without a hole.
    var loadedEnd: TimeSpan? {
        state.withLock { $0.segments.last { $0.bytes.isComplete }?.end }
    }

    enum Next {
        case segment(LoadedSegment)
        case end
        case failed(LoadFailure)
    }

    /// The segment behind another; nil while it is not there.
    func next(after segment: LoadedSegment?) -> Next? {
        let next: Next? = state.withLock { state in
            if let segment, segment.isLeft {
                // Another variant's takes its place.
                if let other = state.segments.first(where: { $0.end > segment.start + Self.tolerance }) {
                    return .segment(other)
                }
            } else if let segment {
                if let index = state.segments.firstIndex(where: { $0 === segment }) {
                    if index + 1 < state.segments.count { return .segment(state.segments[index + 1]) }
                } else if let later = state.segments.first(where: { $0.start >= segment.end - Self.tolerance }) {
                    return .segment(later)
                }
            } else if let first = state.segments.first {
                return .segment(first)
            }
            if state.isAtEnd { return .end }
            return state.failure.map { .failed($0) }
        }
        if case .segment(let segment)? = next { segment.isBegun.store(true, ordering: .relaxed) }
        return next ?? failure.map { .failed($0) }
    }

    /// What was read up to here is needed no more, but for what is kept behind.
    func read(to position: TimeSpan) {
        state.withLock { state in
            state.reached = position
            while state.segments.count > 1, state.segments[0].end + bounds.behind < position {
                state.segments.removeFirst()
            }
        }
        changes.raise()
    }

    /// Goes elsewhere: loads from there, where it is not loaded.
    ///
    /// - Returns: the segment from which to read, if it is there.
    func seek(to position: TimeSpan) -> LoadedSegment? {
        let (found, fetching): (LoadedSegment?, Task<SegmentLoad.End, Never>?) = state.withLock { state in
            state.reached = position
            state.failure = nil
            if let index = state.segments.firstIndex(where: { $0.start <= position && position < $0.end }) {
                state.segments[index].isBegun.store(true, ordering: .relaxed)
                return (state.segments[index], nil)
            }
            state.generation += 1
            state.segments.removeAll()
            (state.position, state.number, state.isAtEnd, state.isLanding) = (position, nil, false, true)
            return (nil, state.fetching)
        }
        fetching?.cancel()
        changes.raise()
        return found
    }

    /// A segment's media begin there, and not where its playlist said: those behind it follow.
    func place(_ segment: LoadedSegment, at start: TimeSpan) {
        let isMoved = state.withLock { state in
            let before = segment.start
            let distance = start - before
            guard distance.magnitude > Self.placeTolerance,
                let index = state.segments.firstIndex(where: { $0 === segment })
            else { return false }
            for later in state.segments[index...] { later.move(by: distance) }
            if index > 0 { state.segments[index - 1].setEnd(start) }
            state.position = state.position.map { $0 + distance }
            state.follower?.move(from: before, by: distance)
            return true
        }
        if isMoved { changes.raise() }
    }

    /// The media of a segment were read, and end there: of the last one that is where everything ends.
    func end(_ segment: LoadedSegment, at position: TimeSpan) {
        guard let follower, let timeline = follower.timeline, !timeline.playlist.isLive,
            let last = timeline.segments.last,
            last.number == segment.number, (last.end - position).magnitude > Self.placeTolerance
        else { return }
        segment.setEnd(position)
        follower.end(at: position)
    }

    // MARK: Loading

    private func run() async {
        while !Task.isCancelled {
            let count = changes.count
            await replaceFailed()
            if wantsMore { await chooseRung() }
            guard let load = nextLoad() else {
                await changes.wait(since: count)
                continue
            }
            let loading = Task { [fetcher, hints, wait, timeout] in
                await load.run(for: self, by: fetcher, hints: hints, wait: wait, timeout: timeout)
            }
            state.withLock { state in
                state.fetching = loading
                if state.generation != load.generation { loading.cancel() }
            }
            let end = await withTaskCancellationHandler {
                await loading.value
            } onCancel: {
                loading.cancel()
            }
            finish(load, end)
        }
    }

    /// Whether there is room.
    private var wantsMore: Bool {
        state.withLock { state in
            guard state.position != nil, state.failure == nil, !state.isAtEnd else { return false }
            guard let last = state.segments.last else { return true }
            let bytes = state.segments.reduce(0) { $0 + $1.bytes.count }
            return last.end - state.reached < bounds.ahead && bytes < bounds.bytes
        }
    }

    private func nextLoad() -> SegmentLoad? {
        guard wantsMore else { return nil }
        let load: SegmentLoad? = state.withLock { state in
            guard let follower = state.follower, let position = state.position else { return nil }
            let current = follower.current
            guard state.leaving == nil, let timeline = current.timeline else { return nil }
            guard
                let next = NextSegment(
                    state.number, at: position, in: timeline, usingParts: usesParts, isLanding: state.isLanding)
            else {
                if !timeline.playlist.isLive {
                    state.isAtEnd = true
                } else if let failure = current.failure {
                    state.failure = failure
                }
                return nil
            }
            return SegmentLoad(
                next: next, generation: state.generation, base: current.base,
                rung: variants.choice == nil ? nil : state.rung, epoch: timeline.epoch, usesParts: usesParts)
        }
        wait.raise()
        return load
    }

    private func finish(_ load: SegmentLoad, _ end: SegmentLoad.End) {
        state.withLock { state in
            state.fetching = nil
            guard state.generation == load.generation else { return }
            switch end {
            case .complete, .gone:
                if case .complete = end, let uri = state.follower?.current.uri { state.failedAddresses.succeed(uri) }
                // It may have been moved while it came.
                let segment = state.segments.last { $0.number == load.next.placed.number }
                (state.position, state.number) = (segment?.end ?? load.next.placed.end, load.next.placed.number + 1)
                (state.isLanding, state.leftPathways) = (false, 0)
            case .failed(let failure): state.failure = failure
            case .leftOff: break
            }
        }
        wait.raise()
    }

    // MARK: Variants

    /// Goes over to another variant, to another pathway, or back to the address that stands first, between two segments.
    private func chooseRung() async {
        let (current, follower) = state.withLock { ($0.rung, $0.follower) }
        guard let follower, let timeline = follower.timeline else { return }
        let excluded = excluded()
        let (buffered, goal) = (buffered, goal(timeline))
        let chosen = choice.withLock { choice in
            choice?.excluded = excluded
            return choice?.choose(buffered: buffered, goal: goal, at: MonotonicClock.now())
        }
        // Without a choice the first is the one that is meant, and others take its place while it cannot be had.
        let first = buffered * 2 >= goal ? variants.uris.indices.first { !excluded.contains($0) } : nil
        let rung = chosen ?? first ?? current
        guard rung != current || steering != nil && uris(of: rung).first != follower.uris.first else { return }
        let other = self.follower(of: rung, alignedWith: timeline)
        // A better variant is optional: after a second it is waited for only while enough is buffered.
        let isOptional = rung != current && (rung > current || chosen == nil)
        let graceEnd = MonotonicClock.now() + .seconds(1)
        guard await comes(other, while: { !isOptional || self.buffered * 4 >= goal || MonotonicClock.now() < graceEnd })
        else {
            other.stop()
            if rung != current { fail(other, isLive: timeline.playlist.isLive) }
            return
        }
        take(other, of: rung)
    }

    /// How much waits to be played.
    private var buffered: TimeSpan {
        state.withLock { state in state.segments.last.map { max($0.end - state.reached, .zero) } ?? .zero }
    }

    /// How much can wait to be played: what is live has no more than there is up to its edge.
    private func goal(_ timeline: PlaylistTimeline) -> TimeSpan {
        guard timeline.playlist.isLive else { return bounds.ahead }
        let reached = state.withLock { $0.reached }
        return min(bounds.ahead, max(timeline.end - reached, timeline.playlist.targetDuration))
    }

    /// Waits until a playlist came.
    ///
    /// - Returns: false where it does not come, or is not needed any more.
    private func comes(_ follower: PlaylistFollower, while isNeeded: () -> Bool) async -> Bool {
        while !Task.isCancelled {
            let count = changes.count
            if follower.timeline != nil { return true }
            if follower.current.failure != nil || !isNeeded() { return false }
            await changes.wait(since: count)
        }
        return false
    }

    /// None of a playlist's addresses is to be had.
    private func fail(_ follower: PlaylistFollower, isLive: Bool) {
        let failure = follower.current.failure
        let isFinal = isLive ? failure?.isFinal : failure?.isFinalOnDemand
        state.withLock {
            $0.failedAddresses.add(follower.uris, isFinal: isFinal ?? false, at: MonotonicClock.now())
        }
    }

    private func take(_ other: PlaylistFollower, of rung: Int) {
        let former = state.withLock { state in
            let former = state.follower
            (state.rung, state.follower, state.number, state.leaving) = (rung, other, nil, nil)
            if let end = state.segments.last?.end { state.position = end + Self.tolerance }
            return former
        }
        former?.stop()
        changes.raise()
        wait.raise()
    }

    /// The rungs of which no address is worth asking.
    ///
    /// - Parameters:
    ///   - unwanted: addresses that are not taken.
    ///   - lastResort: nothing else is left.
    private func excluded(without unwanted: [String] = [], lastResort: Bool = false) -> Set<Int> {
        let (failed, now) = (state.withLock { $0.failedAddresses }, MonotonicClock.now())
        func isExcluded(_ uri: String) -> Bool {
            unwanted.contains(uri)
                || (lastResort ? failed.isUnrecoverable(uri, at: now) : failed.isAvoided(uri, at: now))
        }
        return Set(variants.uris.indices.filter { variants.uris[$0].allSatisfy(isExcluded) })
    }

    /// Takes another address, or another variant, where the present one cannot be had (RFC 8216, section 6.3.4). Where none is
    /// left, the first failure is the one that is told.
    private func replaceFailed() async {
        while !Task.isCancelled {
            let (current, follower, leaving) = state.withLock { ($0.rung, $0.follower, $0.leaving) }
            guard let follower else { return }
            let state = follower.current
            let isOver = leaving != nil || state.failure != nil
            guard let failure = leaving ?? state.failure ?? state.trouble else { return }
            let isLive = state.timeline?.playlist.isLive ?? false
            if leaving == nil, isOver { fail(follower, isLive: isLive) }
            guard let rung = alternative(to: current, without: isOver ? [] : follower.uris) else {
                self.state.withLock { now in
                    // What a live playlist told is loaded until its end, and what is in trouble is asked for again.
                    guard isOver, leaving != nil || state.timeline == nil else { return }
                    (now.failure, now.leaving) = (now.failure ?? failure, nil)
                }
                wait.raise()
                return
            }
            let other = self.follower(of: rung, alignedWith: state.timeline ?? aligned)
            guard await comes(other, while: { isOver || follower.current.trouble != nil }) else {
                other.stop()
                if !isOver, follower.current.trouble == nil { return }
                fail(other, isLive: isLive)
                if isOver { self.state.withLock { $0.leaving = $0.leaving ?? failure } }
                continue
            }
            if !isOver { fail(follower, isLive: isLive) }
            take(other, of: rung)
        }
    }

    /// The rung of which an address is left; the present one first. nil where there is none.
    ///
    /// - Parameter unwanted: addresses that are not taken.
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
