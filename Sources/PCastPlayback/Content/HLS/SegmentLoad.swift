internal import PCastCore
internal import PCastHLS
internal import PCastIO
internal import Synchronization

/// The transfer of one segment. It is retried while that may help, loaded part by part while it is produced, and
/// cancelled if a segment of a lower variant would arrive sooner.
struct SegmentLoad {
    /// The loader of the segment.
    protocol Owner: AnyObject, Sendable {
        /// The follower of the current variant's playlist.
        var follower: PlaylistFollower? { get }
        /// Adds a segment that begins to load. `placed` is its place when it was selected. Returns false if a seek has
        /// made it unnecessary.
        func take(_ segment: LoadedSegment, placed: TimelineSegment, of generation: Int) -> Bool
        /// Records the throughput of a transfer.
        func downloaded(_ bytes: Int64, in span: TimeSpan, as transfer: ThroughputEstimate.Transfer)
        /// Handles the failure of a segment. `isSettled` is true if retries are useless or have failed. Returns whether
        /// another pathway, address or variant replaces it.
        func leaves(_ segment: LoadedSegment?, after failure: LoadFailure, isSettled: Bool) -> Bool
        /// Decides whether the segment arrives too slowly, and cancels the task in favor of a lower variant.
        func evaluate(_ segment: LoadedSegment, _ arrival: SegmentArrival)
        /// Decides whether a part of the segment arrives too slowly, and cancels the task in favor of a lower variant.
        func evaluate(_ segment: LoadedSegment, _ part: PartProgress, ofPart duration: TimeSpan)
        /// Decides whether another address replaces one of which nothing arrives. `segment` is nil before the segment
        /// was added.
        func evaluate(_ segment: LoadedSegment?, silentFor silence: TimeSpan, of generation: Int)
    }

    /// The result of a transfer.
    enum End {
        /// The segment is complete.
        case complete
        /// The transfer was cancelled or is not needed any more.
        case abandoned
        /// The segment has left the window.
        case gone
        /// The transfer failed.
        case failed(LoadFailure)
    }

    let next: NextSegment
    /// The number of seeks before the transfer.
    let generation: Int
    let base: URIReference
    let rung: Int?
    let epoch: Int
    let usesParts: Bool

    /// The number of attempts before an alternative is used.
    private static let tries = 2
    /// The wait before the first retry.
    private static let firstPause = TimeSpan.milliseconds(250)
    /// The maximum wait before a retry.
    private static let longestPause = TimeSpan.seconds(4 as Int64)

    /// Runs the transfer. It is retried until `timeout` has passed.
    func run(
        for owner: any Owner, by fetcher: HLSFetcher, hints: PartHints, wait: ReaderWait, timeout: TimeSpan
    ) async -> End {
        let began = MonotonicClock.now()
        var pause = Self.firstPause
        var fetch = SegmentFetch(next.segment, from: next.firstPart, base: base, fetcher: fetcher)
        var loaded: LoadedSegment?
        var failures = 0
        let silence = SilenceWatch()
        let watching = Task { [generation] in
            await silence.run { owner.evaluate($0, silentFor: $1, of: generation) }
        }
        defer {
            watching.cancel()
            loaded?.bytes.finish()
        }
        while !Task.isCancelled {
            do throws(LoadFailure) {
                if loaded == nil {
                    loaded = try await begin(&fetch, for: owner, wait)
                    silence.begin(loaded)
                }
                guard let loaded else { return .abandoned }
                let end = try await fill(loaded, &fetch, for: owner, hints, silence)
                // It may have been replaced together with its last bytes. Then the replacement is loaded.
                return loaded.isLeft ? .abandoned : end
            } catch {
                guard !Task.isCancelled else { return .abandoned }
                if !isInWindow(owner) { return .gone }
                failures += 1
                let isLive = owner.follower?.timeline?.playlist.isLive ?? false
                let isFinal = isLive ? error.isFinal : error.isFinalOnDemand
                if owner.leaves(loaded, after: error, isSettled: isFinal || failures > Self.tries) { return .abandoned }
                guard !isFinal, MonotonicClock.now() - began < timeout else { return .failed(error) }
                try? await Task.sleep(for: pause.duration)
                pause = min(pause * 2, Self.longestPause)
            }
        }
        return .abandoned
    }

    /// Whether the segment is still in the live window, and the presentation has not begun again with other numbers.
    private func isInWindow(_ owner: any Owner) -> Bool {
        guard let timeline = owner.follower?.timeline, timeline.playlist.isLive else { return true }
        return timeline.epoch == epoch && next.placed.number >= timeline.playlist.mediaSequence
    }

    /// Loads the media initialization section and the key of samples, and adds the segment to the loader.
    private func begin(
        _ fetch: inout SegmentFetch, for owner: any Owner, _ wait: ReaderWait
    ) async throws(LoadFailure) -> LoadedSegment? {
        let initialization = try await fetch.initialization()
        let decryption = try await fetch.sampleDecryption()
        let loaded = LoadedSegment(
            number: next.placed.number, rung: rung, start: next.start, duration: next.duration,
            clock: SegmentClock(epoch: epoch, discontinuity: next.placed.discontinuity),
            initialization: initialization, decryption: decryption, bytes: SegmentBytes(wait),
            isMeasured: next.placed.isMeasured)
        return owner.take(loaded, placed: next.placed, of: generation) ? loaded : nil
    }

    /// Loads the bytes of the segment.
    private func fill(
        _ loaded: LoadedSegment, _ fetch: inout SegmentFetch, for owner: any Owner, _ hints: PartHints,
        _ silence: SilenceWatch
    ) async throws(LoadFailure) -> End {
        // A partial segment is loaded by its parts until the whole segment is available.
        while !Task.isCancelled {
            guard let follower = owner.follower else { return .abandoned }
            let count = follower.changes.count
            let current = follower.current
            if let playlist = current.timeline?.playlist {
                let open = playlist.openSegment?.number == next.placed.number ? playlist.openSegment : nil
                fetch.segment = playlist.segment(next.placed.number) ?? open ?? fetch.segment
                if usesParts {
                    hints.follow(playlist.preloadHints.first { $0.kind == .part }, base: current.base)
                }
            }
            let placed = current.timeline?.epoch == epoch ? current.timeline?.segment(number: loaded.number) : nil
            loaded.extend(to: placed?.end, loaded: fetch.loadedDuration)
            let watch = TransferRateMonitor { owner.evaluate(loaded, $0) }
            let progress = try await fetch.next(
                into: loaded.bytes, hints: hints,
                arrived: {
                    silence.arrived()
                    watch.arrived($0, of: $1)
                },
                watch: { progress, duration in
                    silence.arrived(progress.received, of: progress.awaited)
                    owner.evaluate(loaded, progress, ofPart: duration)
                },
                measure: { owner.downloaded($0, in: $1, as: $2) })
            silence.arrived()
            loaded.extend(to: placed?.end, loaded: fetch.loadedDuration)
            loaded.noteGap(fetch.endsInGap)
            switch progress {
            case .complete: return .complete
            case .more: continue
            case .waiting:
                // A presentation that has ended without the rest of the segment does not continue it.
                guard current.timeline?.playlist.isLive == true, isInWindow(owner) else { return .complete }
                if let failure = current.failure { throw failure }
                silence.isExpected = true
                await follower.changes.wait(since: count)
                silence.isExpected = false
            }
        }
        return .abandoned
    }
}

/// The progress of a segment's transfer.
struct SegmentArrival {
    var received: Int64
    /// The total number of bytes; nil if the server does not report it.
    var length: Int64?
    var elapsed: TimeSpan
    /// The bytes and the duration of the last seconds, because the available bandwidth may have changed.
    var recent: (bytes: Int64, span: TimeSpan)
}

/// Measures the progress of a transfer at intervals.
private final class TransferRateMonitor: Sendable {
    private struct Checkpoint {
        var received: Int64
        var time: Instant
    }

    private struct State {
        var received: Int64 = 0
        /// The recent measurements in order.
        var marks: [Checkpoint]
    }

    private let began: Instant
    private let evaluate: @Sendable (SegmentArrival) -> Void
    private let state: Mutex<State>

    /// The minimum interval between two measurements.
    private static let interval = TimeSpan.milliseconds(250)
    /// The number of measurements that count as recent.
    private static let recentCount = 8

    /// Creates a measurement.
    init(_ evaluate: @escaping @Sendable (SegmentArrival) -> Void) {
        self.evaluate = evaluate
        began = MonotonicClock.now()
        state = Mutex(State(marks: [Checkpoint(received: 0, time: began)]))
    }

    /// Records bytes that arrived, with the total size if it is known.
    func arrived(_ count: Int, of length: Int64?) {
        let now = MonotonicClock.now()
        let arrival: SegmentArrival? = state.withLock { state in
            state.received += Int64(count)
            guard let first = state.marks.first, let last = state.marks.last, now - last.time >= Self.interval else {
                return nil
            }
            state.marks.append(Checkpoint(received: state.received, time: now))
            if state.marks.count > Self.recentCount { state.marks.removeFirst() }
            return SegmentArrival(
                received: state.received, length: length, elapsed: now - began,
                recent: (state.received - first.received, now - first.time))
        }
        if let arrival { evaluate(arrival) }
    }
}

/// Measures the time in which nothing of a transfer arrives.
private final class SilenceWatch: Sendable {
    private struct State {
        var segment: LoadedSegment?
        /// The time of the last bytes.
        var last = MonotonicClock.now()
        /// The time from which the current part was awaited, and the number of its bytes.
        var part: Instant?
        var count: Int64 = 0
        var isExpected = false
    }

    private let state = Mutex(State())

    /// The interval between two measurements.
    private static let interval = TimeSpan.milliseconds(500)

    /// Sets the segment, which was added to the loader.
    func begin(_ segment: LoadedSegment?) {
        state.withLock { state in (state.segment, state.last) = (segment, MonotonicClock.now()) }
    }

    /// Records that bytes arrived.
    func arrived() { state.withLock { $0.last = MonotonicClock.now() } }

    /// Records the number of bytes of a part so far, which was awaited from a time.
    func arrived(_ count: Int64, of awaited: Instant) {
        state.withLock { state in
            guard state.part != awaited || state.count != count else { return }
            (state.part, state.count, state.last) = (awaited, count, MonotonicClock.now())
        }
    }

    /// Whether nothing was requested, because the next part does not exist yet.
    var isExpected: Bool {
        get { state.withLock { $0.isExpected } }
        set { state.withLock { state in (state.isExpected, state.last) = (newValue, MonotonicClock.now()) } }
    }

    /// Reports each measurement, until the task is cancelled.
    func run(_ report: (LoadedSegment?, TimeSpan) -> Void) async {
        while (try? await Task.sleep(for: Self.interval.duration)) != nil {
            let now = state.withLock { $0 }
            if !now.isExpected { report(now.segment, MonotonicClock.now() - now.last) }
        }
    }
}

/// The next segment for a loader, or its remaining parts.
struct NextSegment: Sendable {
    var placed: TimelineSegment
    var segment: MediaSegment
    /// The index of the first part to load, which is greater than zero after a seek into a partial segment.
    var firstPart = 0
    /// The position of the segment, or of its first part to load.
    var start: TimeSpan

    /// The duration from `start` to the end of the segment.
    var duration: TimeSpan { placed.end - start }

    /// Finds the segment by its number, or by the position if there is no number; nil if there is none. Segments that
    /// left the window and gaps are skipped. `isAfterSeek` is true after a seek to the position, so media before it is
    /// not needed.
    init?(
        _ number: Int64?, at position: TimeSpan, in timeline: PlaylistTimeline, usingParts usesParts: Bool,
        isAfterSeek: Bool
    ) {
        let playlist = timeline.playlist
        func media(_ placed: TimelineSegment) -> MediaSegment? {
            if let segment = playlist.segment(placed.number) { return segment.isGap ? nil : segment }
            // A segment that begins with a gap has no media yet, and may never have any.
            guard usesParts, let open = playlist.openSegment, open.number == placed.number else { return nil }
            return open.parts.contains { !$0.isGap } ? open : nil
        }
        let first = timeline.segments.first { placed in
            if let number, number >= playlist.mediaSequence {
                guard placed.number >= number else { return false }
            } else {
                guard placed.end > position else { return false }
            }
            return media(placed) != nil
        }
        guard let first, let segment = media(first) else { return nil }
        (placed, self.segment, start) = (first, segment, first.start)
        // Parts of transport streams may lack the program tables. With an initialization section, loading can begin at
        // each part with a key frame.
        guard usesParts, isAfterSeek, segment.initialization != nil,
            let part = timeline.independentPart(for: position), part.segment == first.number, part.index > 0
        else { return }
        (firstPart, start) = (part.index, part.start)
    }
}
