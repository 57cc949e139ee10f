internal import PCastCodecs
internal import PCastHLS
internal import PCastIO
internal import PCastMedia
internal import Synchronization

/// Loads one rendition's segments in order, as much as its bounds allow: what is pictures and sound in one, a language's
/// sound, or subtitles.
final class RenditionLoader: Sendable {
    private struct State {
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
    }

    let variants: RenditionVariants
    private let fetcher: HLSFetcher
    private let bounds: LoaderBounds
    private let usesParts: Bool
    private let wait: ReaderWait
    private let state = Mutex(State())
    private let choice: Mutex<VariantChoice?>
    private let changes = ChangeSignal()
    private let hints: PartHints
    private let steering: SteeringFollower?
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// A segment that cannot be had is asked for again for so long: twice what is waited for an answer.
    private let patience: TimeSpan
    /// Places of the same moment in two variants differ by less.
    private static let tolerance = TimeSpan.milliseconds(250)

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
        choice = Mutex(variants.choice)
        patience = TimeSpan(fetcher.patience) * 2
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
            changed: { [changes, wait] in
                changes.raise()
                wait.raise()
            })
    }

    private func uris(of rung: Int) -> [String] { variants.uris(of: rung, in: steering?.order ?? []) }

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

    /// Rises with each change of the playlist.
    var version: Int { state.withLock { $0.follower }?.current.version ?? 0 }

    var currentRung: Int { state.withLock { $0.rung } }

    /// Why nothing more will come; what is loaded can be read.
    var failure: LoadFailure? {
        state.withLock { state in
            state.failure ?? (state.follower?.timeline == nil ? state.follower?.current.failure : nil)
        }
    }

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

    // MARK: Loading

    private func run() async {
        while !Task.isCancelled {
            let count = changes.count
            if wantsMore { await chooseRung() }
            guard let load = nextLoad() else {
                await changes.wait(since: count)
                continue
            }
            let loading = Task { [fetcher, hints, wait, patience] in
                await load.run(for: self, by: fetcher, hints: hints, wait: wait, patience: patience)
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
            guard let timeline = current.timeline else {
                if let failure = current.failure { state.failure = failure }
                return nil
            }
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
                (state.position, state.number) = (load.next.placed.end, load.next.placed.number + 1)
                (state.isLanding, state.leftPathways) = (false, 0)
            case .failed(let failure): state.failure = failure
            case .leftOff: break
            }
        }
        wait.raise()
    }

    // MARK: Variants

    /// Goes over to another variant, or to another pathway, between two segments.
    private func chooseRung() async {
        let (current, follower, end, reached) = state.withLock { state in
            (state.rung, state.follower, state.segments.last?.end, state.reached)
        }
        guard let follower, let timeline = follower.timeline else { return }
        let buffered = end.map { max($0 - reached, .zero) } ?? .zero
        let chosen = choice.withLock {
            $0?.choose(buffered: buffered, goal: bounds.ahead, at: MonotonicClock.now())
        }
        let rung = chosen ?? current
        guard rung != current || steering != nil && uris(of: rung).first != follower.uris.first else { return }
        let other = self.follower(of: rung, alignedWith: timeline)
        await other.loaded()
        guard other.timeline != nil else {
            // It is not to be had: stay.
            other.stop()
            if rung != current { choice.withLock { $0?.pinned = current } }
            return
        }
        follower.stop()
        state.withLock { state in
            (state.rung, state.follower, state.number) = (rung, other, nil)
            if let end = state.segments.last?.end { state.position = end + Self.tolerance }
        }
    }
}

extension RenditionLoader: SegmentLoad.Owner {
    var follower: PlaylistFollower? { state.withLock { $0.follower } }

    func take(_ segment: LoadedSegment, of generation: Int) -> Bool {
        let isTaken = state.withLock { state in
            guard state.generation == generation else { return false }
            state.segments.append(segment)
            return true
        }
        wait.raise()
        return isTaken
    }

    func downloaded(_ bytes: Int64, in span: TimeSpan, isPaced: Bool) {
        let rate = choice.withLock { choice in
            choice?.downloaded(bytes: bytes, in: span, isPaced: isPaced)
            return choice?.throughput.bitrate
        }
        if let rate { steering?.measured(rate) }
    }

    func leaves(_ segment: LoadedSegment?) -> Bool {
        guard let steering, let uri = follower?.current.uri, let pathway = variants.pathway(of: uri) else {
            return false
        }
        let isAnother = steering.failed(pathway)
        return state.withLock { state in
            guard isAnother, state.leftPathways + 1 < steering.order.count else { return false }
            state.leftPathways += 1
            if let segment, state.segments.last === segment {
                segment.leave()
                state.segments.removeLast()
            }
            return true
        }
    }

    func weigh(_ segment: LoadedSegment, _ arrival: SegmentArrival) {
        let abandoned = state.withLock { state -> Task<SegmentLoad.End, Never>? in
            guard state.segments.last === segment else { return nil }
            // One that is read already is played while it comes. It is late when its end is.
            let isBegun = segment.isBegun.load(ordering: .relaxed)
            let buffered = max((isBegun ? segment.end : segment.start) - state.reached, .zero)
            let measured: (bytes: Int64, span: TimeSpan) =
                isBegun ? arrival.recent : (arrival.received, arrival.elapsed)
            let isTooSlow = choice.withLock { choice in
                guard
                    choice?.abandons(
                        received: arrival.received, in: arrival.elapsed, ofSegment: segment.duration,
                        length: arrival.length, recent: measured, buffered: buffered) == true
                else { return false }
                choice?.abandoned(bytes: measured.bytes, in: measured.span)
                return true
            }
            guard isTooSlow else { return nil }
            segment.leave()
            state.segments.removeLast()
            return state.fetching
        }
        abandoned?.cancel()
    }
}
