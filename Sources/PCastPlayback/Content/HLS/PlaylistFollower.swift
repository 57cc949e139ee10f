internal import PCastCore
internal import PCastHLS
internal import PCastIO
internal import Synchronization

/// Loads a media playlist and reloads it while it grows. `PlaylistReload` schedules the requests.
final class PlaylistFollower: Sendable {
    /// The state of the playlist.
    struct State {
        var timeline: PlaylistTimeline?
        /// The address from which the playlist came, for relative addresses.
        var base = URIReference("")
        /// The address that was requested.
        var uri = ""
        /// The failure after which no more requests follow; nil for none.
        var failure: LoadFailure?
        /// The failure of recent reloads, which are retried; nil after a success.
        var reloadFailure: LoadFailure?
        /// The clock of the encoder, compared with that of the server.
        var encoderClock = EncoderClock()
        /// The number of changes.
        var version = 0
    }

    private enum Event: Sendable {
        case loaded(id: Int, MediaPlaylist, base: String, date: WallTime?)
        case failed(id: Int, LoadFailure)
        case tick
    }

    /// The number of requests per address before the first playlist counts as failed.
    private static let firstTries = 3
    /// The number of reloads per address before a failure is reported.
    private static let reloadTries = 2
    /// The minimum time after which an outstanding reload is reported as trouble, although it may still succeed.
    private static let shortestSlowTime = TimeSpan.seconds(2 as Int64)

    /// The alternative addresses of the playlist.
    let uris: [String]
    private let fetcher: HLSFetcher
    private let variables: [PlaylistVariable]
    private let state = Mutex(State())
    /// The signal of changes.
    let changes = ChangeSignal()
    private let advanced: @Sendable (PlaylistTimeline) -> Void
    private let changed: @Sendable () -> Void
    private let failed: @Sendable (String) -> Void
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// Creates a follower, which begins to load. `uris` are alternative addresses of one playlist. `aligned` is the
    /// timeline of another rendition, on which this one is placed. `first` is a playlist that was loaded already, with
    /// its address. `failed` is called with an address that failed. `advanced` is called with each playlist that is not
    /// stale, before `changed`. `changed` is called after each change, from any thread.
    init(
        _ uris: [String], fetcher: HLSFetcher, variables: [PlaylistVariable], alignedWith aligned: PlaylistTimeline?,
        first: (MediaPlaylist, base: String)? = nil, failed: @escaping @Sendable (String) -> Void = { _ in },
        advanced: @escaping @Sendable (PlaylistTimeline) -> Void = { _ in },
        changed: @escaping @Sendable () -> Void
    ) {
        (self.uris, self.fetcher, self.variables) = (uris, fetcher, variables)
        (self.failed, self.advanced, self.changed) = (failed, advanced, changed)
        let following = Task { await self.follow(aligned, first) }
        task.withLock { $0 = following }
    }

    /// The current state.
    var current: State { state.withLock { $0 } }

    /// The timeline of the playlist; nil before it is loaded.
    var timeline: PlaylistTimeline? { state.withLock { $0.timeline } }

    /// Moves the timeline from a position on, because media differ from the playlist.
    func move(from position: TimeSpan, by distance: TimeSpan) {
        state.withLock { state in
            state.timeline?.move(from: position, by: distance)
            state.version += 1
        }
    }

    /// Places the timeline on that of another rendition again, which has been moved since the playlist was loaded.
    func align(with other: PlaylistTimeline) {
        state.withLock { state in
            guard let playlist = state.timeline?.playlist else { return }
            state.timeline = PlaylistTimeline(playlist, alignedWith: other)
            state.version += 1
        }
    }

    /// Sets the end of the timeline, at which the media of the last segment end.
    func end(at position: TimeSpan) {
        state.withLock { state in
            state.timeline?.end(at: position)
            state.version += 1
        }
    }

    /// Ends all requests.
    func stop() { task.withLock { $0?.cancel() } }

    /// Runs the schedule of requests until the end of the playlist, a final failure, or the stop.
    private func follow(_ aligned: PlaylistTimeline?, _ first: (MediaPlaylist, base: String)?) async {
        var machine = PlaylistReload(mirrors: uris.count, seed: .random(in: 0 ... .max), at: MonotonicClock.now())
        let (events, inbox) = AsyncStream<Event>.makeStream(bufferingPolicy: .bufferingNewest(16))
        var first = first
        var loading: (id: Int, task: Task<Void, Never>)?
        var asked = uris[0]
        var lastFailure: LoadFailure?
        var (failures, reloadFailures) = (0, 0)
        var slowAt: Instant?
        var iterator = events.makeAsyncIterator()
        defer { loading?.task.cancel() }
        while !Task.isCancelled {
            while let output = machine.poll() {
                switch output {
                case .load(let request):
                    asked = uris[request.mirror]
                    slowAt = slowTime(of: request).map { MonotonicClock.now() + $0 }
                    if let (playlist, base) = first {
                        first = nil
                        inbox.yield(.loaded(id: request.id, playlist, base: base, date: nil))
                    } else {
                        loading = (request.id, Task { inbox.yield(await self.load(request)) })
                    }
                case .abandon(let id):
                    if loading?.id == id { loading?.task.cancel() }
                    failed(asked)
                    // The request took long, so its cancellation, which follows, counts as a second failure.
                    reloadFailures += 1
                case .stale, .recovered: break
                case .ended: return
                case .gaveUp(let failure):
                    giveUp(lastFailure ?? LoadFailure(failure: failure, reason: "no address responds"))
                    return
                }
            }
            let alarm = Instant.earlier(machine.deadline, slowAt).map { deadline in
                Task {
                    let pause = max(deadline - MonotonicClock.now(), .zero)
                    if (try? await Task.sleep(for: pause.duration)) != nil { inbox.yield(.tick) }
                }
            }
            let event = await withTaskCancellationHandler {
                await iterator.next()
            } onCancel: {
                inbox.finish()
            }
            alarm?.cancel()
            switch event {
            case .loaded(let id, let playlist, let base, let date):
                (reloadFailures, slowAt) = (0, nil)
                take(playlist, base, asked, aligned, date)
                machine.handle(.loaded(id: id, playlist), at: MonotonicClock.now())
            case .failed(let id, let failure):
                (lastFailure, slowAt) = (failure, nil)
                failures += 1
                if !failure.isAboutContent || failure.isFinal { failed(asked) }
                let tries = failure.isAboutContent || failure.isFinalOnDemand ? 1 : Self.firstTries
                if timeline == nil, failures >= uris.count * tries {
                    giveUp(failure)
                    return
                }
                reloadFailures += 1
                if reloadFailures >= uris.count * Self.reloadTries { note(reloadFailure: failure) }
                machine.handle(.failed(id: id, failure.failure), at: MonotonicClock.now())
            case .tick:
                let now = MonotonicClock.now()
                if let time = slowAt, time <= now {
                    slowAt = nil
                    note(
                        reloadFailure: LoadFailure(
                            failure: .timeout, reason: "no playlist arrived in time", uri: asked))
                }
                machine.advance(to: now)
            case nil: return
            }
        }
    }

    /// Returns the time after which a reload is slow; nil before the first playlist. A target duration is left to load
    /// another variant from, because players keep three of them from the live edge (RFC 8216, section 6.3.3).
    private func slowTime(of request: PlaylistReload.Request) -> TimeSpan? {
        guard let playlist = timeline?.playlist, playlist.isLive else { return nil }
        let time = max(playlist.targetDuration, Self.shortestSlowTime)
        return request.directives.isBlocking ? time + playlist.targetDuration * 3 : time
    }

    /// Reports the failure of recent reloads.
    private func note(reloadFailure: LoadFailure) {
        guard timeline != nil else { return }
        state.withLock { $0.reloadFailure = reloadFailure }
        changes.raise()
        changed()
    }

    /// Reports a final failure.
    private func giveUp(_ failure: LoadFailure) {
        state.withLock { $0.failure = failure }
        changes.raise()
        changed()
    }

    /// Handles a playlist that was loaded. `date` is the time of the server at the response; nil if it is unknown.
    private func take(
        _ playlist: MediaPlaylist, _ base: String, _ uri: String, _ aligned: PlaylistTimeline?, _ date: WallTime?
    ) {
        state.withLock { state in
            state.reloadFailure = nil
            var isUpdated = true
            if state.timeline == nil {
                state.timeline =
                    aligned.map { PlaylistTimeline(playlist, alignedWith: $0) } ?? PlaylistTimeline(playlist)
            } else {
                let change = state.timeline?.update(to: playlist)
                if change == .stale { return }
                isUpdated = change != .unchanged
            }
            (state.base, state.uri) = (URIReference(base), uri)
            state.version += 1
            if let timeline = state.timeline {
                // The media of a stream that stalls becomes older without a fault of the encoder's clock.
                if let date, isUpdated || state.encoderClock.difference == nil {
                    state.encoderClock.observe(timeline, served: date)
                }
                advanced(timeline)
            }
        }
        changes.raise()
        changed()
    }

    /// Loads a playlist for a request.
    private func load(_ request: PlaylistReload.Request) async -> Event {
        let uri = request.directives.applied(to: uris[request.mirror])
        do throws(LoadFailure) {
            // The schedule determines the actual timeout.
            let (bytes, base, date) = try await fetcher.getDated(
                uri, limit: Int64(PlaylistLimits.textSize), timeout: .seconds(120))
            let playlist: HLSPlaylist
            do throws(PlaylistError) {
                playlist = try HLSPlaylist(bytes, from: base, importing: variables, updating: timeline?.playlist)
            } catch { throw LoadFailure(failure: .unreadable(error), reason: "\(error)", uri: uri) }
            guard case .media(let media) = playlist else {
                throw LoadFailure(
                    failure: .unreadable(.mixedKinds(line: 1)), reason: "a variant lists variants instead of segments",
                    uri: uri)
            }
            return .loaded(id: request.id, media, base: base, date: date)
        } catch { return .failed(id: request.id, error) }
    }
}
