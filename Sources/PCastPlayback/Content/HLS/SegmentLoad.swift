internal import PCastCore
internal import PCastHLS
internal import PCastIO
internal import Synchronization

/// One segment on its way from a server: asked for again while that may help, fetched part by part while it is made, and left
/// off when a lower variant's would be there sooner.
struct SegmentLoad {
    /// Whom it is loaded for.
    protocol Owner: AnyObject, Sendable {
        /// Of the variant that is loaded now.
        var follower: PlaylistFollower? { get }
        /// Lets the reader have its bytes from now on.
        ///
        /// - Returns: whether it is still wanted.
        func take(_ segment: LoadedSegment, of generation: Int) -> Bool
        func downloaded(_ bytes: Int64, in span: TimeSpan, isPaced: Bool)
        /// It could not be had: whether it is left, so that another pathway, address or variant is taken, and what came of it
        /// with it.
        ///
        /// - Parameter isSettled: asking again will not help, or has not.
        func leaves(_ segment: LoadedSegment?, after failure: LoadFailure, isSettled: Bool) -> Bool
        /// So much of it came: leaves it for a lower variant's, by cancelling this task, if that would be there sooner.
        func weigh(_ segment: LoadedSegment, _ arrival: SegmentArrival)
    }

    enum End {
        case complete
        /// It was cancelled, left off, or is not wanted any more.
        case leftOff
        /// It has left the window.
        case gone
        case failed(LoadFailure)
    }

    let next: NextSegment
    /// In which somebody went elsewhere last.
    let generation: Int
    let base: URIReference
    let rung: Int?
    let epoch: Int
    let usesParts: Bool

    /// So often it is asked for before an alternative is taken.
    private static let tries = 2
    private static let firstPause = TimeSpan.milliseconds(250)
    private static let longestPause = TimeSpan.seconds(4 as Int64)

    /// - Parameter patience: for so long it is asked for again.
    func run(
        for owner: any Owner, by fetcher: HLSFetcher, hints: PartHints, wait: ReaderWait, timeout: TimeSpan
    ) async -> End {
        let began = MonotonicClock.now()
        var pause = Self.firstPause
        var fetch = SegmentFetch(next.segment, from: next.firstPart, base: base, fetcher: fetcher)
        var loaded: LoadedSegment?
        var failures = 0
        defer { loaded?.bytes.finish() }
        while !Task.isCancelled {
            do throws(LoadFailure) {
                if loaded == nil { loaded = try await begin(&fetch, for: owner, wait) }
                guard let loaded else { return .leftOff }
                let end = try await fill(loaded, &fetch, for: owner, hints)
                // It may have been left with the last of its bytes; then the other is loaded all the same.
                return loaded.isLeft ? .leftOff : end
            } catch {
                guard !Task.isCancelled else { return .leftOff }
                if !isInWindow(owner) { return .gone }
                failures += 1
                let isLive = owner.follower?.timeline?.playlist.isLive ?? false
                let isFinal = isLive ? error.isFinal : error.isFinalOnDemand
                if owner.leaves(loaded, after: error, isSettled: isFinal || failures > Self.tries) { return .leftOff }
                guard !isFinal, MonotonicClock.now() - began < timeout else { return .failed(error) }
                try? await Task.sleep(for: pause.duration)
                pause = min(pause * 2, Self.longestPause)
            }
        }
        return .leftOff
    }

    private func isInWindow(_ owner: any Owner) -> Bool {
        guard let timeline = owner.follower?.timeline, timeline.playlist.isLive else { return true }
        return next.placed.number >= timeline.playlist.mediaSequence
    }

    /// Fetches what stands before the segment, and gives the reader its bytes from then on.
    private func begin(
        _ fetch: inout SegmentFetch, for owner: any Owner, _ wait: ReaderWait
    ) async throws(LoadFailure) -> LoadedSegment? {
        let initialization = try await fetch.initialization()
        let loaded = LoadedSegment(
            number: next.placed.number, rung: rung, start: next.start, duration: next.duration,
            clock: SegmentClock(epoch: epoch, discontinuity: next.placed.discontinuity),
            initialization: initialization, bytes: SegmentBytes(wait), isMeasured: next.placed.isMeasured)
        return owner.take(loaded, of: generation) ? loaded : nil
    }

    private func fill(
        _ loaded: LoadedSegment, _ fetch: inout SegmentFetch, for owner: any Owner, _ hints: PartHints
    ) async throws(LoadFailure) -> End {
        // A segment of which only parts are there is loaded by its parts, until it is whole.
        while !Task.isCancelled {
            guard let follower = owner.follower else { return .leftOff }
            let count = follower.changes.count
            let current = follower.current
            if let playlist = current.timeline?.playlist {
                let open = playlist.openSegment?.number == next.placed.number ? playlist.openSegment : nil
                fetch.segment = playlist.segment(next.placed.number) ?? open ?? fetch.segment
                if usesParts {
                    hints.follow(playlist.preloadHints.first { $0.kind == .part }, base: current.base)
                }
            }
            let watch = SlownessWatch { owner.weigh(loaded, $0) }
            let progress = try await fetch.next(
                into: loaded.bytes, hints: hints, arrived: { watch.arrived($0, of: $1) },
                measure: { owner.downloaded($0, in: $1, isPaced: $2) })
            switch progress {
            case .complete: return .complete
            case .more: continue
            case .waiting:
                guard isInWindow(owner) else { return .complete }
                if let failure = current.failure { throw failure }
                await follower.changes.wait(since: count)
            }
        }
        return .leftOff
    }
}

/// How much of a segment came, and how fast.
struct SegmentArrival {
    var received: Int64
    /// How much will come; nil where the server does not say.
    var length: Int64?
    var elapsed: TimeSpan
    /// Of the last seconds: the link may have become another since it began.
    var recent: (bytes: Int64, span: TimeSpan)
}

/// Looks, while a segment comes, whether it comes too slowly.
private final class SlownessWatch: Sendable {
    private struct Mark {
        var received: Int64
        var time: Instant
    }

    private struct State {
        var received: Int64 = 0
        /// What had come when it was looked, the earliest first.
        var marks: [Mark]
    }

    private let began: Instant
    private let weigh: @Sendable (SegmentArrival) -> Void
    private let state: Mutex<State>

    /// Not with each piece.
    private static let interval = TimeSpan.milliseconds(250)
    /// So many intervals are what came of late.
    private static let recentCount = 8

    init(_ weigh: @escaping @Sendable (SegmentArrival) -> Void) {
        self.weigh = weigh
        began = MonotonicClock.now()
        state = Mutex(State(marks: [Mark(received: 0, time: began)]))
    }

    func arrived(_ count: Int, of length: Int64?) {
        let now = MonotonicClock.now()
        let arrival: SegmentArrival? = state.withLock { state in
            state.received += Int64(count)
            guard let first = state.marks.first, let last = state.marks.last, now - last.time >= Self.interval else {
                return nil
            }
            state.marks.append(Mark(received: state.received, time: now))
            if state.marks.count > Self.recentCount { state.marks.removeFirst() }
            return SegmentArrival(
                received: state.received, length: length, elapsed: now - began,
                recent: (state.received - first.received, now - first.time))
        }
        if let arrival { weigh(arrival) }
    }
}
