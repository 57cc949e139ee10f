internal import PCastCodecs
internal import PCastCore
internal import PCastHLS
internal import PCastIO
internal import Synchronization

/// Loads the segments of one rendition in order, within its limits. The rendition has video with or without audio, only
/// audio, or subtitles.
final class RenditionLoader: Sendable {
    /// The state of the loader.
    struct State {
        var segments: [LoadedSegment] = []
        /// The number of seeks. Segments of an earlier one are discarded.
        var generation = 0
        /// The position of the next segment; nil before the first seek.
        var position: TimeSpan?
        /// The number of the next segment; nil to find it by position.
        var number: Int64?
        /// The epoch of the timeline to which the number belongs.
        var numberEpoch = 0
        /// The position of the reader.
        var reached = TimeSpan.zero
        /// Whether no segment was loaded since the last seek.
        var isAfterSeek = true
        var isAtEnd = false
        var failure: LoadFailure?
        var rung = 0
        var follower: PlaylistFollower?
        /// The playlist of a variant that replaces the current one as soon as it is loaded; nil for none.
        var candidate: (rung: Int, follower: PlaylistFollower)?
        var fetching: Task<SegmentLoad.End, Never>?
        /// The number of pathways that failed since the last loaded segment.
        var leftPathways = 0
        var failedAddresses = FailedAddresses()
        /// The failure because of which the current address is replaced; nil for none.
        var variantFailure: LoadFailure?
    }

    /// The variants of the playlist.
    private let listed: RenditionVariants
    /// The variants of the rendition, with the pathways that the steering server has cloned.
    var variants: RenditionVariants { steering.map { listed.adding($0.clones) } ?? listed }
    private let fetcher: HLSFetcher
    let bounds: LoaderBounds
    private let usesParts: Bool
    /// The wait of the reader.
    let wait: ReaderWait
    let state = Mutex(State())
    /// The selection of a variant; nil if there is only one.
    let choice: Mutex<VariantChoice?>
    let changes = ChangeSignal()
    private let hints: PartHints
    /// The content steering, which the loaders of a presentation share; nil if there is none.
    let steering: SteeringFollower?
    private let task = Mutex<Task<Void, Never>?>(nil)
    let aligned: PlaylistTimeline?
    /// The wall-clock time of the live edge, from the playlists of all variants.
    private let liveEdge = Mutex(LiveEdgeClock())

    /// The time for which a segment is retried: twice the timeout of a request.
    private let timeout: TimeSpan
    /// The maximum difference of the positions of equal segments in two variants.
    static let tolerance = TimeSpan.milliseconds(250)
    /// The difference between media and playlist from which on the timeline is corrected.
    private static let positionTolerance = TimeSpan.milliseconds(100)

    /// Creates a loader, which begins to load the playlist. `first` is the playlist of the lowest variant if it was
    /// loaded already. `aligned` is the timeline on which this one is placed. `steering` is the content steering; nil
    /// if there is none.
    init(
        _ variants: RenditionVariants, fetcher: HLSFetcher, bounds: LoaderBounds, usesParts: Bool, wait: ReaderWait,
        alignedWith aligned: PlaylistTimeline? = nil, first: (MediaPlaylist, base: String)? = nil,
        steering: SteeringFollower? = nil
    ) {
        (listed, self.fetcher, self.bounds, self.usesParts, self.wait) = (
            variants, fetcher, bounds, usesParts, wait
        )
        self.aligned = aligned
        choice = Mutex(variants.choice)
        timeout = TimeSpan(fetcher.timeout) * 2
        hints = PartHints(fetcher)
        self.steering = steering
        steering?.follow(changes)
        let now = MonotonicClock.now()
        let rung = choice.withLock { $0?.choose(buffered: .zero, goal: bounds.ahead, at: now) } ?? 0
        let follower = follower(of: rung, alignedWith: aligned, first: first)
        state.withLock { state in (state.rung, state.follower) = (rung, follower) }
        let running = Task { await self.run() }
        task.withLock { $0 = running }
    }

    /// Creates a follower for the playlist of a variant.
    func follower(
        of rung: Int, alignedWith aligned: PlaylistTimeline?, first: (MediaPlaylist, base: String)? = nil
    ) -> PlaylistFollower {
        PlaylistFollower(
            uris(of: rung), fetcher: fetcher, variables: variants.variables, alignedWith: aligned, first: first,
            failed: { [steering, listed] uri in
                guard let steering, let pathway = listed.adding(steering.clones).pathway(of: uri) else { return }
                _ = steering.failed(pathway)
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

    /// Returns the addresses of a variant that have not failed, or all if there are none.
    func uris(of rung: Int) -> [String] {
        let all = variants.uris(of: rung, in: steering?.order ?? [])
        let (failed, now) = (state.withLock { $0.failedAddresses }, MonotonicClock.now())
        let good = all.filter { !failed.isAvoided($0, at: now) }
        let possible = good.isEmpty ? all.filter { !failed.isUnrecoverable($0, at: now) } : good
        return possible.isEmpty ? all : possible
    }

    /// Ends all transfers.
    func stop() {
        task.withLock { $0?.cancel() }
        steering?.unfollow(changes)
        state.withLock { state in
            state.fetching?.cancel()
            state.follower?.stop()
            state.candidate?.follower.stop()
            hints.stop()
            state.segments.removeAll()
        }
    }

    // MARK: Reader

    /// The timeline of the playlist; nil before it is loaded.
    var timeline: PlaylistTimeline? { state.withLock { $0.follower }?.timeline }

    /// The clock of the encoder, compared with that of the server; nil before the playlist is loaded.
    var encoderClock: EncoderClock? { state.withLock { $0.follower }?.current.encoderClock }

    /// The anchors of wall-clock time from the live edge; empty for content that was never live.
    var edgeAnchors: [TimecodeAnchor] { liveEdge.withLock { $0.anchors } }

    /// The number of changes of the playlist.
    var version: Int { state.withLock { $0.follower }?.current.version ?? 0 }

    /// The failure after the loaded segments; nil for none.
    var failure: LoadFailure? { state.withLock { $0.failure } }

    /// The end of the loaded media without gaps; nil if there is none.
    var loadedEnd: TimeSpan? {
        state.withLock { $0.segments.last { $0.bytes.isComplete }?.end }
    }

    /// The next step of the reader.
    enum Next {
        /// Read this segment.
        case segment(LoadedSegment)
        /// The rendition has ended.
        case end
        /// Loading has failed.
        case failed(LoadFailure)
    }

    /// Returns the segment after another one; nil if it is not available yet.
    func next(after segment: LoadedSegment?) -> Next? {
        let next: Next? = state.withLock { state in
            if let segment, segment.isLeft {
                // A segment of another variant replaces it. Of one that is still produced, little may be known yet.
                let other = state.segments.first {
                    $0.start >= segment.start - Self.tolerance || $0.end > segment.start + Self.tolerance
                }
                if let other { return .segment(other) }
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

    /// Records the position of the reader, and removes segments that lie far behind it.
    func read(to position: TimeSpan) {
        state.withLock { state in
            state.reached = position
            while state.segments.count > 1, state.segments[0].end + bounds.behind < position {
                state.segments.removeFirst()
            }
        }
        changes.raise()
    }

    /// Seeks to a position, and loads from there if necessary. Returns the segment of the position if it is loaded; nil
    /// otherwise.
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
            (state.position, state.number, state.isAtEnd, state.isAfterSeek) = (position, nil, false, true)
            return (nil, state.fetching)
        }
        fetching?.cancel()
        changes.raise()
        return found
    }

    /// Moves a segment to the position of its media, with all later segments.
    func reposition(_ segment: LoadedSegment, at start: TimeSpan) {
        let isMoved = state.withLock { state in
            let before = segment.start
            let distance = start - before
            guard distance.magnitude > Self.positionTolerance,
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

    /// Records the end of a segment's media. For the last segment of a complete presentation, it is the end of the
    /// timeline.
    func end(_ segment: LoadedSegment, at position: TimeSpan) {
        guard let follower, let timeline = follower.timeline, !timeline.playlist.isLive,
            let last = timeline.segments.last,
            last.number == segment.number, (last.end - position).magnitude > Self.positionTolerance
        else { return }
        segment.setEnd(position)
        follower.end(at: position)
    }

    // MARK: Loading

    /// Loads segments until the task is cancelled.
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

    /// Whether the limits permit another segment.
    private var wantsMore: Bool {
        state.withLock { state in
            guard state.position != nil, state.failure == nil, !state.isAtEnd else { return false }
            guard let last = state.segments.last else { return true }
            let bytes = state.segments.reduce(0) { $0 + $1.bytes.count }
            return last.end - state.reached < bounds.ahead && bytes < bounds.bytes
        }
    }

    /// Returns the next segment to load; nil if there is none yet.
    private func nextLoad() -> SegmentLoad? {
        guard wantsMore else { return nil }
        let load: SegmentLoad? = state.withLock { state in
            guard let follower = state.follower, let position = state.position else { return nil }
            let current = follower.current
            guard state.variantFailure == nil, let timeline = current.timeline else { return nil }
            // A presentation that has begun again has other numbers. Its positions continue.
            if state.numberEpoch != timeline.epoch { state.number = nil }
            guard
                let next = NextSegment(
                    state.number, at: position, in: timeline, usingParts: usesParts, isAfterSeek: state.isAfterSeek)
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

    /// Handles the end of a segment's transfer.
    private func finish(_ load: SegmentLoad, _ end: SegmentLoad.End) {
        state.withLock { state in
            state.fetching = nil
            guard state.generation == load.generation else { return }
            switch end {
            case .complete, .gone:
                if case .complete = end, let uri = state.follower?.current.uri { state.failedAddresses.succeed(uri) }
                // The segment may have been moved meanwhile.
                let segment = state.segments.last { $0.number == load.next.placed.number }
                (state.position, state.number) = (segment?.end ?? load.next.placed.end, load.next.placed.number + 1)
                state.numberEpoch = load.epoch
                (state.isAfterSeek, state.leftPathways) = (false, 0)
            case .failed(let failure): state.failure = failure
            case .abandoned: break
            }
        }
        wait.raise()
    }
}

/// The addresses of playlists that failed, or whose segments failed. Others are preferred for a time that increases
/// with each failure, because a live presentation may recover.
struct FailedAddresses {
    private struct Entry {
        /// The number of consecutive failures.
        var count = 0
        /// The end of the time in which others are preferred; nil for never.
        var end: Instant?
        /// Whether it failed after the last segment of any address was loaded.
        var isRecent = true
    }

    private var entries: [String: Entry] = [:]

    /// The time after the first failure in which other addresses are preferred.
    private static let firstPause = TimeSpan.seconds(15 as Int64)
    /// The maximum of that time.
    private static let longestPause = TimeSpan.seconds(120 as Int64)

    /// Records that addresses failed. `isFinal` is true if a retry is useless.
    mutating func add(_ uris: [String], isFinal: Bool, at now: Instant) {
        for uri in uris {
            var entry = entries[uri] ?? Entry()
            if isAvoided(uri, at: now) {
                // The failure is known already.
                entries[uri]?.isRecent = true
                if isFinal { entries[uri]?.end = nil }
                continue
            }
            let pause = min(Self.firstPause * (1 << Int64(min(entry.count, 8))), Self.longestPause)
            entry.count += 1
            entry.end = isFinal ? nil : now + pause
            entry.isRecent = true
            entries[uri] = entry
        }
    }

    /// Records that a segment of an address was loaded.
    mutating func succeed(_ uri: String) {
        entries[uri] = nil
        for key in entries.keys { entries[key]?.isRecent = false }
    }

    /// Whether other addresses are preferred.
    func isAvoided(_ uri: String, at now: Instant) -> Bool {
        guard let entry = entries[uri] else { return false }
        return entry.end.map { now < $0 } ?? true
    }

    /// Whether the address is not used even if there is no other: it failed after the last segment was loaded, or
    /// permanently.
    func isUnrecoverable(_ uri: String, at now: Instant) -> Bool {
        guard let entry = entries[uri], isAvoided(uri, at: now) else { return false }
        return entry.isRecent || entry.end == nil
    }
}
