import Logging
import PCastCore
import PCastIO
import PCastSFU

/// The streams that viewers of channels' names receive by WHEP, by HLS and in place of a stream's identifier. Each has the
/// media of the channel's presenter, and continues when another presenter takes over.
///
/// It drives a ``ChannelStreamMachine`` for each channel whose name is viewed. Other channels cost no time.
actor ChannelStreamService {
    /// A channel whose name is viewed.
    private struct Entry {
        let application: ApplicationID
        var machine = ChannelStreamMachine()
        /// The stream that viewers receive; nil while there is none.
        var stream: StreamID?
        /// The tracks of the stream.
        var media: IngestMedia?
        /// The presenters that send all their tracks, with the time since which they do.
        var watched: [StreamID: (publisher: MediaRouter.WatchedPublisher, since: Instant)] = [:]
        /// The presenter whose media are forwarded.
        var source: StreamID?
        /// The requests that wait for the stream.
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        /// Those of them that want the stream before there is a presenter.
        var awaiting: Set<Int> = []
        /// Whether outputs are performed.
        var isPerforming = false
    }

    private let router: MediaRouter
    private let directory: StreamDirectory
    private let available: AvailableStreams
    /// Records when streams were requested by HLS; nil for none.
    private let packaging: PackagingService?
    private let logger: Logger
    /// The channels by their identifiers.
    private var entries: [String: Entry] = [:]
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    private var nextRequest = 0
    private var isStopping = false

    /// The maximum number of channels that are viewed by their names. Viewers of others receive a presenter's stream.
    static let maximumCount = 1_000
    /// The maximum number of presenters of a channel that send all their tracks because they may be selected.
    static let maximumWatched = 4
    /// The time for which a request waits for a stream. It is below the timeout of requests.
    private static let waitingTime = Duration.seconds(8)
    /// The maximum number of requests that wait for a stream.
    private static let maximumWaiting = 10_000
    /// The interval in which presenters and viewers are read.
    private static let interval = Duration.milliseconds(50)
    /// A player of HLS that does not wait for parts requests a playlist within this time.
    private static let requestInterval = TimeSpan.seconds(10)

    init(
        router: MediaRouter, directory: StreamDirectory, packaging: PackagingService?, logger: Logger
    ) {
        self.router = router
        self.directory = directory
        available = directory.available
        self.packaging = packaging
        self.logger = logger
        (wakes, wake) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: Requests

    /// Waits until the stream of a channel exists. It returns without one if it cannot be created in time.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - isAwaited: Whether the stream is also created without a presenter. Its viewers then wait for one.
    func open(_ channel: PresentedChannel, isAwaited: Bool = false) async {
        let id = channel.id
        if entries[id] == nil {
            guard !isStopping, entries.count < Self.maximumCount else { return }
            entries[id] = Entry(application: channel.application)
        }
        guard let entry = entries[id], !isStopping, entry.waiting.count < Self.maximumWaiting else { return }
        nextRequest += 1
        let request = nextRequest
        let limit = Task {
            try await Task.sleep(for: Self.waitingTime)
            resume(request, of: id)
        }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            entries[id]?.waiting[request] = continuation
            if isAwaited { entries[id]?.awaiting.insert(request) }
            wake.yield()
        }
        limit.cancel()
    }

    private func resume(_ request: Int, of id: String) {
        entries[id]?.awaiting.remove(request)
        entries[id]?.waiting.removeValue(forKey: request)?.resume()
    }

    private func resumeAll(of id: String) {
        for request in entries[id]?.waiting.keys.sorted() ?? [] { resume(request, of: id) }
    }

    /// Records the end of the stream of a channel, for example by an operator.
    func closed(_ stream: StreamID, _ id: String) {
        guard entries[id]?.stream == stream else { return }
        clearStream(of: id)
        entries[id]?.machine.closed(at: MonotonicClock.now())
        wake.yield()
    }

    /// Creates no more streams.
    func stop() {
        isStopping = true
        for id in Array(entries.keys) { resumeAll(of: id) }
        wake.yield()
    }

    // MARK: Time

    /// Drives all channels that are viewed until the task is cancelled.
    func run() async {
        var iterator = wakes.makeAsyncIterator()
        while !Task.isCancelled {
            await advance()
            if entries.isEmpty {
                guard await iterator.next() != nil else { break }
            } else {
                try? await Task.sleep(for: Self.interval)
            }
        }
        stop()
    }

    /// Reads the presenters and viewers of all channels, and lets them decide.
    private func advance() async {
        guard !isStopping else { return }
        let idle = entries.filter { !$0.value.isPerforming }
        guard !idle.isEmpty else { return }
        var channels: [String: PresentedChannel] = [:]
        for (id, entry) in idle { channels[id] = available.presentedChannel(id, of: entry.application) }
        let presenters = await directory.presenters(of: channels)
        let viewers = await directory.viewers(of: idle.values.compactMap(\.stream))
        let arrivals = await router.arrivals(of: presenters.values.flatMap { $0.map(\.stream) })
        let now = MonotonicClock.now()
        for id in idle.keys {
            guard let entry = entries[id], !entry.isPerforming, !isStopping else { continue }
            guard let channel = channels[id] else {
                entries[id]?.machine.end()
                resumeAll(of: id)
                perform(id, presenters: [])
                continue
            }
            var observations = ChannelStreamMachine.Observations()
            observations.keepsPresenter = channel.keepsPresenter
            observations.presenters = (presenters[id] ?? []).map { presenter in
                var presenter = presenter
                presenter.isDecodable = isDecodable(presenter, arrivals[presenter.stream], in: entry)
                return presenter
            }
            observations.isViewed = isViewed(entry, viewers, at: now)
            observations.isAwaited = !entry.awaiting.isEmpty
            entries[id]?.machine.advance(to: now, observations)
            // The stream can be viewed, or nothing can be expected.
            if channel.stream != nil || entries[id]?.machine.isOpen == false { resumeAll(of: id) }
            perform(id, presenters: observations.presenters)
        }
    }

    private func isViewed(_ entry: Entry, _ viewers: [StreamID: Int], at now: Instant) -> Bool {
        guard entry.waiting.isEmpty, let stream = entry.stream else { return !entry.waiting.isEmpty }
        if let count = viewers[stream], count > 0 { return true }
        // Players of HLS that do not wait for parts have no connection.
        return packaging?.stream(stream)?.lastRequest.map { now - $0 < Self.requestInterval } ?? false
    }

    /// Whether media of a presenter arrive, also since it sends all its tracks.
    private func isDecodable(
        _ presenter: ChannelStreamMachine.Presenter, _ arrivals: SFU.StreamArrivals?, in entry: Entry
    ) -> Bool {
        guard let arrivals, arrivals.isDecodable, let last = arrivals.last else { return false }
        guard entry.stream != nil else { return true }
        guard let watched = entry.watched[presenter.stream], watched.publisher.peer == presenter.publisher else {
            return false
        }
        return last >= watched.since
    }

    // MARK: Outputs

    /// Performs the outputs of a channel one after another, and removes its entry if it is not viewed any more.
    private func perform(_ id: String, presenters: [ChannelStreamMachine.Presenter]) {
        guard let outputs = entries[id]?.machine.takeOutputs(), let entry = entries[id] else { return }
        // After a failure, the entry remains for a moment, so that not every request tries again.
        if outputs.isEmpty, entry.stream == nil, entry.waiting.isEmpty,
            entry.machine.isIdle(at: MonotonicClock.now())
        {
            entries[id] = nil
            return
        }
        guard !outputs.isEmpty || !isWatching(watchable(presenters, in: entry), in: entry) else { return }
        entries[id]?.isPerforming = true
        Task {
            for output in outputs { await perform(output, of: id) }
            await watch(presenters, of: id)
            entries[id]?.isPerforming = false
            wake.yield()
        }
    }

    private func perform(_ output: ChannelStreamMachine.Output, of id: String) async {
        switch output {
        case .open(let presenter): await open(id, like: presenter)
        case .select(let presenter): await select(presenter, of: id)
        case .deselect: await deselect(id)
        case .close: await close(id)
        }
    }

    private func open(_ id: String, like presenter: ChannelStreamMachine.Presenter?) async {
        guard let application = entries[id]?.application,
            let channel = available.presentedChannel(id, of: application)
        else { return failed(id, "the channel has ended") }
        var media = IngestMedia.ofAnyPublisher
        if let presenter {
            guard let own = await router.media(of: presenter.stream) else {
                return failed(id, "its presenter has left")
            }
            media = entries[id]?.awaiting.isEmpty == false ? own.withAllTracks : own
        }
        do throws(APIError) {
            let stream = try await directory.openStream(of: channel, like: media, beside: presenter?.stream)
            entries[id]?.stream = stream
            entries[id]?.media = media
            guard presenter == nil else { return }
            // Viewers may join at once. Otherwise they wait until a presenter is selected.
            available.setStream(stream, ofChannel: id, application: application)
            resumeAll(of: id)
        } catch {
            failed(id, error.detail)
        }
    }

    /// Records that a stream could not be created. The viewers who wait receive a presenter's stream.
    private func failed(_ id: String, _ reason: String) {
        logger.warning("stream of a channel not opened", metadata: ["channel": "\(id)", "error": "\(reason)"])
        entries[id]?.machine.closed(at: MonotonicClock.now())
        resumeAll(of: id)
    }

    private func select(_ presenter: ChannelStreamMachine.Presenter, of id: String) async {
        guard let entry = entries[id], let stream = entry.stream else { return }
        guard let media = await router.media(of: presenter.stream) else { return selectionFailed(of: id) }
        guard entry.media?.fits(media) == true else {
            logger.info(
                "stream of a channel ends, because its presenter has other tracks", metadata: ["channel": "\(id)"])
            await close(id)
            entries[id]?.machine.reopens()
            return
        }
        await watch(presenter, of: id, stream)
        do throws(SFUError) {
            try await router.splice(presenter.stream, into: stream)
        } catch {
            logger.warning("presenter not selected", metadata: ["channel": "\(id)", "error": "\(error)"])
            // The stream may have ended before its identifier was known here.
            if await router.media(of: stream) == nil { return closed(stream, id) }
            return selectionFailed(of: id)
        }
        guard entries[id]?.stream == stream else { return }
        await directory.setSource(presenter.stream, after: entry.source, of: stream)
        entries[id]?.source = presenter.stream
        available.setStream(stream, ofChannel: id, application: entry.application)
        resumeAll(of: id)
        logger.info(
            "presenter selected",
            metadata: ["channel": "\(id)", "stream": "\(stream)", "presenter": "\(presenter.stream)"])
    }

    /// Lets the presenter be selected again if it is still there.
    private func selectionFailed(of id: String) {
        entries[id]?.machine.selectionFailed(at: MonotonicClock.now())
    }

    private func deselect(_ id: String) async {
        guard let entry = entries[id], let stream = entry.stream else { return }
        await router.unsplice(stream)
        await directory.setSource(nil, after: entry.source, of: stream)
        guard entries[id]?.stream == stream else { return }
        entries[id]?.source = nil
        logger.info("no presenter selected", metadata: ["channel": "\(id)", "stream": "\(stream)"])
    }

    private func close(_ id: String) async {
        guard let stream = entries[id]?.stream else { return }
        clearStream(of: id)
        await directory.end(stream, reason: .ended, description: "")
    }

    /// Forgets the stream of a channel, which has ended or is about to.
    private func clearStream(of id: String) {
        guard let entry = entries[id], entry.stream != nil else { return }
        available.setStream(nil, ofChannel: id, application: entry.application)
        for watched in entry.watched.values { router.unwatch(watched.publisher) }
        entries[id]?.watched = [:]
        entries[id]?.stream = nil
        entries[id]?.media = nil
        entries[id]?.source = nil
    }

    // MARK: Presenters

    /// Returns the presenters that should send all their tracks, because they may be selected soon.
    private func watchable(
        _ presenters: [ChannelStreamMachine.Presenter], in entry: Entry
    ) -> [ChannelStreamMachine.Presenter] {
        guard entry.stream != nil else { return [] }
        let first = presenters.prefix(Self.maximumWatched)
        // The selected one is not always preferred.
        return first + presenters.dropFirst(Self.maximumWatched).filter { $0.isSame(as: entry.machine.selected) }
    }

    /// Whether exactly these presenters send all their tracks.
    private func isWatching(_ presenters: [ChannelStreamMachine.Presenter], in entry: Entry) -> Bool {
        presenters.count == entry.watched.count
            && presenters.allSatisfy { entry.watched[$0.stream]?.publisher.peer == $0.publisher }
    }

    /// Lets the presenters that may be selected send all their tracks, and lets others pause what nobody views.
    private func watch(_ presenters: [ChannelStreamMachine.Presenter], of id: String) async {
        guard let entry = entries[id], let stream = entry.stream else { return }
        let wanted = watchable(presenters, in: entry)
        for (source, watched) in entry.watched
        where !wanted.contains(where: { $0.stream == source && $0.publisher == watched.publisher.peer }) {
            router.unwatch(watched.publisher)
            entries[id]?.watched[source] = nil
        }
        for presenter in wanted { await watch(presenter, of: id, stream) }
    }

    /// Lets a presenter send all its tracks, unless it does already.
    private func watch(_ presenter: ChannelStreamMachine.Presenter, of id: String, _ stream: StreamID) async {
        if let former = entries[id]?.watched[presenter.stream] {
            guard former.publisher.peer != presenter.publisher else { return }
            router.unwatch(former.publisher)
            entries[id]?.watched[presenter.stream] = nil
        }
        let since = MonotonicClock.now()
        guard let publisher = await router.watch(presenter.stream, for: stream) else { return }
        guard entries[id]?.stream == stream else { return router.unwatch(publisher) }
        entries[id]?.watched[presenter.stream] = (publisher, since)
    }
}

extension IngestMedia {
    /// The media with audio and video, for viewers who follow any presenter.
    fileprivate var withAllTracks: IngestMedia {
        var media = self
        media.video = video ?? Self.ofAnyPublisher.video
        media.hasAudio = true
        return media
    }

    /// Whether viewers of a stream with these tracks receive all tracks of another publisher. Its video may have another
    /// codec.
    fileprivate func fits(_ other: IngestMedia) -> Bool {
        (other.video == nil || video != nil) && (hasAudio || !other.hasAudio)
    }
}
