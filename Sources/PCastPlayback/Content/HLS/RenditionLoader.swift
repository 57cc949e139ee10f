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
        var isAtEnd = false
        var failure: LoadFailure?
        var rung = 0
        var follower: PlaylistFollower?
        var fetching: Task<Void, Never>?
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
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// A segment that cannot be had is asked for again for so long: twice what is waited for an answer.
    private let patience: TimeSpan
    private static let firstPause = TimeSpan.milliseconds(250)
    private static let longestPause = TimeSpan.seconds(4 as Int64)
    /// Places of the same moment in two variants differ by less.
    private static let tolerance = TimeSpan.milliseconds(250)

    /// - Parameters:
    ///   - first: the playlist of the least variant, where it was loaded already.
    ///   - aligned: the timeline that this one is placed on.
    init(
        _ variants: RenditionVariants, fetcher: HLSFetcher, bounds: LoaderBounds, usesParts: Bool, wait: ReaderWait,
        alignedWith aligned: PlaylistTimeline? = nil, first: (MediaPlaylist, base: String)? = nil
    ) {
        (self.variants, self.fetcher, self.bounds, self.usesParts, self.wait) = (
            variants, fetcher, bounds, usesParts, wait
        )
        choice = Mutex(variants.choice)
        patience = TimeSpan(fetcher.patience) * 2
        hints = PartHints(fetcher)
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
            variants.uris[rung], fetcher: fetcher, variables: variants.variables, alignedWith: aligned, first: first
        ) { [changes, wait] in
            changes.raise()
            wait.raise()
        }
    }

    func stop() {
        task.withLock { $0?.cancel() }
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
            if let segment {
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
        let (found, fetching): (LoadedSegment?, Task<Void, Never>?) = state.withLock { state in
            state.reached = position
            state.failure = nil
            if let index = state.segments.firstIndex(where: { $0.start <= position && position < $0.end }) {
                return (state.segments[index], nil)
            }
            state.generation += 1
            state.segments.removeAll()
            (state.position, state.number, state.isAtEnd) = (position, nil, false)
            return (nil, state.fetching)
        }
        fetching?.cancel()
        changes.raise()
        return found
    }

    // MARK: Loading

    private struct Piece {
        var generation: Int
        var placed: PlacedSegment
        var segment: MediaSegment
        var base: URIReference
        var rung: Int
        var epoch: Int
    }

    private func run() async {
        while !Task.isCancelled {
            let count = changes.count
            if wantsMore { await chooseRung() }
            guard let piece = nextPiece() else {
                await changes.wait(since: count)
                continue
            }
            let loading = Task { await self.load(piece) }
            state.withLock { state in
                state.fetching = loading
                if state.generation != piece.generation { loading.cancel() }
            }
            await withTaskCancellationHandler {
                await loading.value
            } onCancel: {
                loading.cancel()
            }
            state.withLock { $0.fetching = nil }
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

    private func nextPiece() -> Piece? {
        guard wantsMore else { return nil }
        let piece: Piece? = state.withLock { state in
            guard let follower = state.follower, let position = state.position else { return nil }
            let current = follower.current
            guard let timeline = current.timeline else {
                if let failure = current.failure { state.failure = failure }
                return nil
            }
            guard let segment = Self.segment(state.number, position, timeline, usesParts) else {
                if !timeline.playlist.isLive {
                    state.isAtEnd = true
                } else if let failure = current.failure {
                    state.failure = failure
                }
                return nil
            }
            return Piece(
                generation: state.generation, placed: segment.0, segment: segment.1, base: current.base,
                rung: state.rung,
                epoch: timeline.epoch)
        }
        wait.raise()
        return piece
    }

    /// The segment to load: by its number, or by the position. What has left the window is passed over, as are gaps.
    private static func segment(
        _ number: Int64?, _ position: TimeSpan, _ timeline: PlaylistTimeline, _ usesParts: Bool
    ) -> (PlacedSegment, MediaSegment)? {
        let playlist = timeline.playlist
        func media(_ placed: PlacedSegment) -> MediaSegment? {
            if let segment = playlist.segment(placed.number) { return segment.isGap ? nil : segment }
            return usesParts && playlist.openSegment?.number == placed.number ? playlist.openSegment : nil
        }
        let first = timeline.segments.first { placed in
            if let number, number >= playlist.mediaSequence {
                guard placed.number >= number else { return false }
            } else {
                guard placed.end > position else { return false }
            }
            return media(placed) != nil
        }
        return first.flatMap { placed in media(placed).map { (placed, $0) } }
    }

    /// Goes over to another variant between two segments.
    private func chooseRung() async {
        let (current, follower, end, reached) = state.withLock { state in
            (state.rung, state.follower, state.segments.last?.end, state.reached)
        }
        guard let follower, let timeline = follower.timeline else { return }
        let buffered = end.map { max($0 - reached, .zero) } ?? .zero
        let chosen = choice.withLock {
            $0?.choose(buffered: buffered, goal: bounds.ahead, at: MonotonicClock.now())
        }
        guard let chosen, chosen != current else { return }
        let other = self.follower(of: chosen, alignedWith: timeline)
        await loaded(other)
        guard other.timeline != nil else {
            // It is not to be had: stay.
            other.stop()
            choice.withLock { $0?.pinned = current }
            return
        }
        follower.stop()
        state.withLock { state in
            (state.rung, state.follower, state.number) = (chosen, other, nil)
            if let end = state.segments.last?.end { state.position = end + Self.tolerance }
        }
    }

    /// Waits until a playlist came, or will not.
    private func loaded(_ follower: PlaylistFollower) async {
        while !Task.isCancelled {
            let count = follower.changes.count
            if follower.timeline != nil || follower.current.failure != nil { return }
            await follower.changes.wait(since: count)
        }
    }

    private func load(_ piece: Piece) async {
        let began = MonotonicClock.now()
        var pause = Self.firstPause
        var fetch = SegmentFetch(piece.segment, base: piece.base, fetcher: fetcher)
        var loaded: LoadedSegment?
        while !Task.isCancelled {
            do throws(LoadFailure) {
                if loaded == nil {
                    loaded = try await begin(piece, &fetch)
                    guard loaded != nil else { return }
                }
                guard let loaded else { return }
                try await fill(loaded, piece, &fetch)
                finish(loaded, piece)
                return
            } catch {
                guard !Task.isCancelled else { break }
                let isGone = !isInWindow(piece)
                guard isGone || error.isFinal || MonotonicClock.now() - began >= patience else {
                    try? await Task.sleep(for: pause.duration)
                    pause = min(pause * 2, Self.longestPause)
                    continue
                }
                loaded?.bytes.finish()
                giveUp(piece, error, isGone: isGone)
                return
            }
        }
        loaded?.bytes.finish()
    }

    private func isInWindow(_ piece: Piece) -> Bool {
        guard let timeline, timeline.playlist.isLive else { return true }
        return piece.placed.number >= timeline.playlist.mediaSequence
    }

    private func giveUp(_ piece: Piece, _ failure: LoadFailure, isGone: Bool) {
        state.withLock { state in
            guard state.generation == piece.generation else { return }
            if isGone {
                (state.position, state.number) = (piece.placed.end, piece.placed.number + 1)
            } else {
                state.failure = failure
            }
        }
        wait.raise()
    }

    /// Fetches what stands before the segment, and gives the reader its bytes from then on.
    private func begin(_ piece: Piece, _ fetch: inout SegmentFetch) async throws(LoadFailure) -> LoadedSegment? {
        let initialization = try await fetch.initialization()
        let bytes = SegmentBytes(wait)
        let loaded = LoadedSegment(
            number: piece.placed.number, rung: variants.choice == nil ? nil : piece.rung, start: piece.placed.start,
            duration: piece.placed.duration,
            clock: SegmentClock(epoch: piece.epoch, discontinuity: piece.placed.discontinuity),
            initialization: initialization, bytes: bytes)
        let isTaken = state.withLock { state in
            guard state.generation == piece.generation else { return false }
            state.segments.append(loaded)
            return true
        }
        wait.raise()
        return isTaken ? loaded : nil
    }

    private func fill(
        _ loaded: LoadedSegment, _ piece: Piece, _ fetch: inout SegmentFetch
    ) async throws(LoadFailure) {
        // A segment of which only parts are there is loaded by its parts, until it is whole.
        while !Task.isCancelled {
            guard let follower = state.withLock({ $0.follower }) else { return }
            let count = follower.changes.count
            let current = follower.current
            if let playlist = current.timeline?.playlist {
                let open = playlist.openSegment?.number == piece.placed.number ? playlist.openSegment : nil
                fetch.segment = playlist.segment(piece.placed.number) ?? open ?? fetch.segment
                if usesParts {
                    hints.follow(playlist.preloadHints.first { $0.kind == .part }, base: current.base)
                }
            }
            let progress = try await fetch.next(into: loaded.bytes, hints: hints) { bytes, span, isPaced in
                self.choice.withLock { $0?.downloaded(bytes: bytes, in: span, isPaced: isPaced) }
            }
            switch progress {
            case .complete: return
            case .more: continue
            case .waiting:
                guard isInWindow(piece) else { return }
                if let failure = current.failure { throw failure }
                await follower.changes.wait(since: count)
            }
        }
    }

    private func finish(_ loaded: LoadedSegment, _ piece: Piece) {
        loaded.bytes.finish()
        state.withLock { state in
            guard state.generation == piece.generation else { return }
            (state.position, state.number) = (piece.placed.end, piece.placed.number + 1)
        }
        wait.raise()
    }
}
