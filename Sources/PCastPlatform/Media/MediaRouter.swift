import PCastCore
import PCastIO
import PCastRTP
import PCastSFU
import PCastWebRTC
import Synchronization

/// The interface between the control plane and the SFU, which runs on its own threads. It makes calls and returns
/// events, but no packets.
final class MediaRouter: Sendable {
    /// The event loops, one for each shard of the SFU.
    let loops: [EventLoop<SFU>]
    let capacity: Mutex<SFUCapacity>
    /// The sockets of the streams that are pulled from other nodes.
    private let pullSockets = Mutex<[PeerID: (shard: Int, port: UInt16)]>([:])

    /// The events of the SFU until it is stopped, for one reader.
    let events: AsyncStream<SFUEvent>
    private let eventContinuation: AsyncStream<SFUEvent>.Continuation
    /// The units of packaged streams, one feed for each shard.
    let feeds: [PublishedUnitFeed]
    /// The units of streams with SRT viewers, one feed for each shard.
    let transportStreamFeeds: [PublishedUnitFeed]
    /// The processes that receive the units that are read for renditions.
    let renditionSources = RenditionSources()

    /// The addresses in answers that are reachable from a network or over loopback, as they were at the start.
    let advertised: [TransportAddress]
    private let addresses: Mutex<AdvertisedAddresses>
    private let current: Mutex<[TransportAddress]>
    /// Yields when an interface or address of this host changes.
    private let interfaceChanges: AsyncStream<Void>

    /// Opens the media port and starts the threads. `maximumPeers` is the limit of all shards together. `shards` is the
    /// number of threads among which peers are distributed, at most `Shard.maximumCount`. `setupTimeout` is the time in
    /// which a peer must connect.
    ///
    /// - Throws: `IOError` if the port cannot be opened.
    init(
        listen: [TransportAddress], addresses: AdvertisedAddresses, certificate: DTLSCertificate, maximumPeers: Int,
        shards: Int, setupTimeout: TimeSpan = .seconds(30)
    ) throws(IOError) {
        let (events, eventContinuation) = AsyncStream<SFUEvent>.makeStream()
        self.events = events
        self.eventContinuation = eventContinuation
        let renditionSources = renditionSources
        let transportStreamFeeds = (0..<max(shards, 1)).map { _ in PublishedUnitFeed() }
        let feeds = transportStreamFeeds.map {
            PublishedUnitFeed(renditions: renditionSources, transportStreams: $0)
        }
        self.feeds = feeds
        self.transportStreamFeeds = transportStreamFeeds
        let (interfaceChanges, changed) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.interfaceChanges = interfaceChanges
        var configuration = SFUConfiguration(
            certificate: certificate, advertised: [], offersTCP: true, clock: MonotonicClock.reference(),
            maximumPeers: maximumPeers, setupTimeout: setupTimeout)
        let exchange = ShardExchange(count: shards)
        let first = try EventLoop(
            name: "pcast-relay", listen: listen, localOnly: addresses.localOnly, tcpListen: true, loops: shards,
            deferred: DeferredReceive(DatagramPattern.reports),
            makeMachine: { _ in
                configuration.shard = Shard(0, of: shards)
                return SFU(configuration: configuration, generator: SystemRandomNumberGenerator())
            }, beforeSending: Self.beforeSending(of: 0, exchange),
            afterIteration: Self.afterIteration(of: 0, exchange, eventContinuation, feeds[0]),
            onAddressChange: { _, _, _ in changed.yield() },
            onPeerShard: { connection, shard in exchange.transfer(connection, to: shard) },
            isPeer: { sfu, path in sfu.isPeer(path) })
        var loops = [first]
        for number in 1..<max(shards, 1) {
            configuration.shard = Shard(number, of: shards)
            let loop = try EventLoop(
                name: "pcast-relay-\(number)", beside: first,
                makeMachine: { _ in
                    SFU(configuration: configuration, generator: SystemRandomNumberGenerator())
                }, beforeSending: Self.beforeSending(of: number, exchange),
                afterIteration: Self.afterIteration(of: number, exchange, eventContinuation, feeds[number]),
                isPeer: { sfu, path in sfu.isPeer(path) })
            loops.append(loop)
        }
        exchange.open(to: loops)
        self.loops = loops
        self.addresses = Mutex(addresses)
        advertised = addresses.addresses(
            port: first.boundAddresses.first?.port ?? 0, interfaces: (try? LocalAddress.all()) ?? [],
            families: Self.families(first.boundAddresses))
        current = Mutex([])
        capacity = Mutex(SFUCapacity(shards: shards, maximumPeers: maximumPeers))
        advertise()
    }

    /// Sets the addresses for later answers to the current addresses of this host. Returns the addresses; nil if they
    /// have not changed.
    @discardableResult
    private func advertise() -> [TransportAddress]? {
        let families = Self.families(loops[0].boundAddresses + loops[0].localOnlyAddresses)
        // The lock also keeps the order of two changes.
        return current.withLock { current in
            let named = addresses.withLock { $0 }.addresses(
                port: rtcPort, interfaces: (try? LocalAddress.all()) ?? [], families: families)
            guard current != named else { return nil }
            current = named
            for loop in loops { try? loop.submit { sfu, _ in sfu.advertise(named) } }
            return named
        }
    }

    /// Returns the IP versions in which media listens at all addresses.
    private static func families(_ bound: [TransportAddress]) -> [IPAddress.Family] {
        bound.filter(\.ip.isUnspecified).map(\.ip.family)
    }

    /// Updates the addresses in answers when the interfaces of this host change, until the task is cancelled. `report`
    /// is called with the addresses after each change.
    func followInterfaces(_ report: @Sendable ([TransportAddress]) -> Void) async {
        for await _ in interfaceChanges {
            if let named = advertise() { report(named) }
        }
    }

    /// Requests the public address of STUN servers from time to time, and updates the addresses in answers when it
    /// changes, until the task is cancelled. `report` is called with the addresses after each change.
    ///
    /// The media port belongs to the SFU then, so the requests are sent from another port: only the IP address of a
    /// response is used, with the port that the NAT had assigned to the media port.
    func followPublicAddress(
        _ servers: [TransportAddress], family: IPAddress.Family, every interval: TimeSpan,
        _ report: @Sendable ([TransportAddress]) -> Void
    ) async {
        guard !servers.isEmpty else { return }
        var schedule = PublicAddressSchedule(interval: interval)
        var known = addresses.withLock { $0.discovered }
        while (try? await Task.sleep(for: schedule.next(isKnown: !known.isEmpty).duration)) != nil {
            let answers = await AddressDiscovery.run(servers: servers, port: 0, family: family)
            schedule.queried(isAnswered: !answers.isEmpty)
            let discovered = AddressDiscovery.update(known, answers: answers.map(\.ip), rtcPort: rtcPort)
            guard discovered != known else { continue }
            known = discovered
            addresses.withLock { $0.discovered = discovered }
            if let named = advertise() { report(named) }
        }
    }

    /// The reasons why programs of this host cannot reach media at the interfaces' addresses, one sentence each.
    var localOnlyWarnings: [String] { loops[0].localOnlyWarnings }

    /// Returns the function that exchanges messages with the other shards. It is called before sending, so that other
    /// shards do not wait until this one has sent everything to its own subscribers.
    private static func beforeSending(
        of shard: Int, _ exchange: ShardExchange
    ) -> @Sendable (inout SFU, Instant) -> Void {
        { sfu, now in exchange.exchange(&sfu, shard: shard, at: now) }
    }

    private static func afterIteration(
        of shard: Int, _ exchange: ShardExchange, _ eventContinuation: AsyncStream<SFUEvent>.Continuation,
        _ feed: PublishedUnitFeed
    ) -> @Sendable (inout SFU, Instant) -> Void {
        { sfu, now in
            exchange.forwardMessages(&sfu, from: shard)
            feed.deliver(from: &sfu, at: now)
            while let event = sfu.pollEvent() {
                // Each loop numbers its connections itself.
                if case .closeConnection(let path) = event {
                    exchange.close(path, at: shard)
                } else {
                    eventContinuation.yield(event)
                }
            }
        }
    }

    var rtcPort: UInt16 { loops[0].boundAddresses.first?.port ?? 0 }

    /// Adds a publisher. Returns the answer to `offer`. If `offer` is nil, returns an offer of the SFU. The peer's
    /// answer to it must be passed to `accept`. Publishers of a group are on the same shard.
    ///
    /// - Throws: `SFUError`.
    func publish(
        _ peer: PeerID, stream: StreamID, offer: SessionDescription?, terms: PeerOptions, group: String? = nil
    ) async throws(SFUError) -> SessionDescription {
        let shard = try assign(peer) { capacity throws(SFUError) in
            try capacity.enter(peer, publishing: stream, group: group)
        }
        let description = try await admit(peer, at: shard) { sfu, now throws(SFUError) in
            guard let offer else { return try sfu.offerToPublisher(peer, of: stream, terms: terms, at: now) }
            return try sfu.publish(peer, stream: stream, offer: offer, terms: terms, at: now)
        }
        capacity.withLock { $0.noteStream(of: peer) }
        return description
    }

    /// Adds a publisher in this process. Returns the feed for its frames. `neighbor` is a stream on whose shard the new one
    /// is, and publishers of a group are on the same shard.
    ///
    /// - Throws: `SFUError`.
    func publish(
        _ peer: PeerID, stream: StreamID, ingesting media: IngestMedia, terms: PeerOptions,
        beside neighbor: StreamID? = nil, group: String? = nil
    ) async throws(SFUError) -> IngestFeed {
        let shard = try assign(peer) { capacity throws(SFUError) in
            try capacity.enter(peer, publishing: stream, beside: neighbor, group: group)
        }
        try await admit(peer, at: shard) { sfu, now throws(SFUError) in
            try sfu.publish(peer, stream: stream, ingesting: media, terms: terms, at: now)
        }
        capacity.withLock { $0.noteStream(of: peer) }
        return IngestFeed(peer, loops[shard])
    }

    /// Adds another node as the publisher of a stream, and connects to it. Returns the answer to its offer. `neighbor` is a
    /// stream on whose shard the new one must be; nil for any.
    ///
    /// - Throws: `SFUError`.
    func pull(
        _ peer: PeerID, stream: StreamID, offer: SessionDescription, terms: PeerOptions,
        beside neighbor: StreamID? = nil
    ) async throws(SFUError) -> SessionDescription {
        let shard = try assign(peer) { capacity throws(SFUError) in
            try capacity.enter(peer, publishing: stream, beside: neighbor)
        }
        let candidates = offer.media.flatMap(\.candidates).compactMap { ICECandidate($0)?.transportAddress }
        let bound = loops[0].boundAddresses.map(\.ip)
        guard let ip = bound.first(where: { ip in candidates.contains { $0.ip.family == ip.family } }) ?? bound.first
        else { preconditionFailure("an event loop has an address") }
        let address: TransportAddress
        do {
            address = try await loops[shard].openSocket(TransportAddress(ip: ip, port: 0))
        } catch {
            discard(peer)
            throw .full
        }
        pullSockets.withLock { $0[peer] = (shard, address.port) }
        let description = try await admit(peer, at: shard) { sfu, now throws(SFUError) in
            try sfu.pull(peer, stream: stream, offer: offer, from: address, terms: terms, at: now)
        }
        capacity.withLock { $0.noteStream(of: peer) }
        return description
    }

    // MARK: Renditions

    /// Offers the renditions of a publisher's video to its viewers, or withdraws them; see `SFU.offerRenditions`.
    func offerRenditions(_ isOffered: Bool, of publisher: PeerID) {
        try? loop(of: publisher)?.submit { sfu, now in sfu.offerRenditions(isOffered, of: publisher, at: now) }
    }

    /// Returns the feed for the frames of renditions; nil if the publisher has left.
    func renditionFeed(of publisher: PeerID) -> IngestFeed? {
        loop(of: publisher).map { IngestFeed(publisher, $0, isOfRenditions: true) }
    }

    /// Returns the codec of a stream's video; nil if the publisher has left or sends none.
    func videoCodec(of stream: StreamID, publisher: PeerID) async -> Codec? {
        (try? await loop(of: publisher)?.call { sfu, _ in sfu.videoCodec(of: stream) }) ?? nil
    }

    /// Returns the codec of a stream's renditions; nil if the publisher has left or the stream has none.
    func renditionCodec(of stream: StreamID, publisher: PeerID) async -> Codec? {
        (try? await loop(of: publisher)?.call { sfu, _ in sfu.renditionCodec(of: stream) }) ?? nil
    }

    /// Begins to deliver the video of a stream to `renditionSources`; see `SFU.beginReadingForRenditions`.
    func beginReadingForRenditions(_ stream: StreamID, of publisher: PeerID) async {
        _ = try? await loop(of: publisher)?.call { sfu, now in sfu.beginReadingForRenditions(stream, at: now) }
    }

    /// Ends what `beginReadingForRenditions` began.
    func endReadingForRenditions(_ stream: StreamID, of publisher: PeerID) {
        try? loop(of: publisher)?.submit { sfu, now in sfu.endReadingForRenditions(stream, at: now) }
    }

    /// Adds candidates for programs of this host, which may not be able to reach the advertised addresses.
    func addOwnCandidates(to answer: inout SessionDescription) {
        for bound in loops[0].boundAddresses {
            let loopback: IPAddress = bound.ip.family == .v4 ? .loopbackV4 : IPAddress(v6: 0, 1)
            let own = TransportAddress(ip: bound.ip.isUnspecified ? loopback : bound.ip, port: bound.port)
            let candidate = ICECandidate.host(own, transport: .udp).description
            for index in answer.media.indices where !answer.media[index].candidates.contains(candidate) {
                answer.media[index].candidates.append(candidate)
            }
        }
    }

    /// Adds a subscriber. Returns the answer to `offer`. If `offer` is nil, returns an offer of the SFU. The peer's
    /// answer to it must be passed to `accept`.
    ///
    /// - Throws: `SFUError`.
    func view(
        _ peer: PeerID, stream: StreamID, offer: SessionDescription?, terms: PeerOptions
    ) async throws(SFUError) -> SessionDescription {
        let (shard, publisherShard) = try assign(peer) { capacity throws(SFUError) in
            try capacity.enter(peer, viewing: stream)
        }
        if shard != publisherShard {
            do throws(SFUError) {
                try await replicate(stream, from: publisherShard, to: shard)
            } catch {
                discard(peer)
                throw error
            }
        }
        return try await admit(peer, at: shard) { sfu, now throws(SFUError) in
            guard let offer else { return try sfu.offerToViewer(peer, of: stream, terms: terms, at: now) }
            return try sfu.view(peer, stream: stream, offer: offer, terms: terms, at: now)
        }
    }

    /// Creates a replica of a stream on a shard if it has none.
    ///
    /// The publisher's shard is queried again afterwards. If the stream ended meanwhile, that shard could not notify the
    /// replica.
    ///
    /// - Throws: `SFUError`.
    func replicate(_ stream: StreamID, from publisherShard: Int, to shard: Int) async throws(SFUError) {
        let snapshot = try await perform(loops[publisherShard]) { sfu, now throws(SFUError) in
            try sfu.replicate(stream, to: shard, at: now)
        }
        try await perform(loops[shard]) { sfu, now in sfu.enterReplica(snapshot, of: publisherShard, at: now) }
        guard try await perform(loops[publisherShard], { sfu, _ in sfu.continuesHere(snapshot) }) else {
            try await perform(loops[shard]) { sfu, now in sfu.endReplica(snapshot, reason: .ended, at: now) }
            throw .unknownStream(stream)
        }
    }

    /// Completes the negotiation of a peer that answers an offer of the SFU.
    ///
    /// - Throws: `SFUError`.
    func accept(_ answer: SessionDescription, from peer: PeerID) async throws(SFUError) -> NegotiatedSession {
        try await perform(at: peer) { sfu, now throws(SFUError) in try sfu.accept(answer, from: peer, at: now) }
    }

    func restart(_ peer: PeerID, remote: ICECredentials) async throws(SFUError) -> TrickleFragment {
        try await perform(at: peer) { sfu, now throws(SFUError) in try sfu.restart(peer, remote: remote, at: now) }
    }

    /// Returns the layers that a subscriber can receive, and the sent one; nil if the peer has left or has no video.
    func layers(viewedBy peer: PeerID) async -> ViewedLayers? {
        (try? await loop(of: peer)?.call { sfu, _ in sfu.layers(viewedBy: peer) }) ?? nil
    }

    /// Returns the clock of the video that a subscriber receives; see `SFU.videoClock`.
    func videoClock(viewedBy peer: PeerID) async -> CaptureClock? {
        (try? await loop(of: peer)?.call { sfu, now in sfu.videoClock(viewedBy: peer, at: now) }) ?? nil
    }

    /// Selects the best layer to send to a subscriber. A nil layer removes the selection.
    ///
    /// - Throws: `SFUError`.
    func pin(_ peer: PeerID, layer: String?) async throws(SFUError) {
        try await perform(at: peer) { sfu, now throws(SFUError) in try sfu.pin(peer, layer: layer, at: now) }
    }

    /// Returns the duration to add to a publisher's capture times; see `SFU.captureClockOffset`.
    func captureClockOffset(of peer: PeerID) async -> TimeSpan? {
        (try? await loop(of: peer)?.call { sfu, _ in sfu.captureClockOffset(of: peer) }) ?? nil
    }

    /// Limits the bit rate of a publisher; see `SFU.limit`.
    func limit(_ peer: PeerID, to bitrate: Bitrate?) {
        try? loop(of: peer)?.submit { sfu, _ in sfu.limit(peer, to: bitrate) }
    }

    /// Begins to deliver the units of a publisher's stream to the feed of its shard; see `SFU.beginReading`.
    func beginReading(_ stream: StreamID, codecs: Set<Codec>, of publisher: PeerID) async -> [Int?: Codec] {
        (try? await loop(of: publisher)?.call { sfu, now in
            sfu.beginReading(stream, codecs: codecs, at: now)
        }) ?? [:]
    }

    /// Begins to deliver the units of a publisher's stream to `transportStreamFeeds`, again if it had begun before.
    func beginReadingForTransportStream(
        _ stream: StreamID, codecs: Set<Codec>, of publisher: PeerID
    ) async -> [Int?: Codec] {
        (try? await loop(of: publisher)?.call { sfu, now in
            sfu.endReading(stream, for: .transportStream, at: now)
            return sfu.beginReading(stream, codecs: codecs, for: .transportStream, at: now)
        }) ?? [:]
    }

    /// Ends what `beginReadingForTransportStream` began.
    func endReadingForTransportStream(_ stream: StreamID, of publisher: PeerID) {
        try? loop(of: publisher)?.submit { sfu, now in sfu.endReading(stream, for: .transportStream, at: now) }
    }

    /// Ends what `beginReading` began.
    func endReading(_ stream: StreamID, of publisher: PeerID) {
        try? loop(of: publisher)?.submit { sfu, now in sfu.endReading(stream, at: now) }
    }

    /// Returns whether a publisher sends a key frame for each request; see `SFU.answersKeyFrameRequests`.
    func answersKeyFrameRequests(_ stream: StreamID, of publisher: PeerID) async -> Bool {
        (try? await loop(of: publisher)?.call { sfu, now in sfu.answersKeyFrameRequests(stream, at: now) }) ?? false
    }

    /// Returns whether a publisher has sent video; see `SFU.receivesVideo`. It is true if the publisher has left.
    func receivesVideo(_ stream: StreamID, of publisher: PeerID) async -> Bool {
        (try? await loop(of: publisher)?.call { sfu, _ in sfu.receivesVideo(stream) }) ?? true
    }

    /// Requests key frames of layers of a stream that is read for an output.
    func requestKeyFrames(
        of stream: StreamID, layers: [Int], from publisher: PeerID, for use: PublishedUnit.Use = .packaging
    ) {
        guard !layers.isEmpty else { return }
        try? loop(of: publisher)?.submit { sfu, _ in
            for layer in layers { sfu.requestKeyFrame(of: stream, layer: layer, for: use) }
        }
    }

    // MARK: Calling the loops

    func loop(of stream: StreamID) -> EventLoop<SFU>? {
        capacity.withLock { $0.shard(of: stream) }.map { loops[$0] }
    }

    /// Returns the feed with the units of a publisher's stream for the packager; nil if the publisher has left.
    func packagingFeed(of publisher: PeerID) -> PublishedUnitFeed? {
        capacity.withLock { $0.shard(of: publisher) }.map { feeds[$0] }
    }

    private func loop(of peer: PeerID) -> EventLoop<SFU>? {
        capacity.withLock { $0.shard(of: peer) }.map { loops[$0] }
    }

    private func assign<Place: Sendable>(
        _ peer: PeerID, by choice: (inout SFUCapacity) throws(SFUError) -> Place
    ) throws(SFUError) -> Place {
        // Mutex rethrows untyped errors only, so the result is returned.
        let result: Result<Place, SFUError> = capacity.withLock { capacity in
            do throws(SFUError) {
                return .success(try choice(&capacity))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Runs a request that adds a peer to a shard. Removes the reserved place if it fails.
    private func admit<Answer: Sendable>(
        _ peer: PeerID, at shard: Int,
        by operation: @escaping @Sendable (inout SFU, Instant) throws(SFUError) -> Answer
    ) async throws(SFUError) -> Answer {
        do throws(SFUError) {
            return try await perform(loops[shard], operation)
        } catch {
            discard(peer)
            throw error
        }
    }

    private func perform<Answer: Sendable>(
        at peer: PeerID, _ operation: @escaping @Sendable (inout SFU, Instant) throws(SFUError) -> Answer
    ) async throws(SFUError) -> Answer {
        guard let loop = loop(of: peer) else { throw .unknownPeer }
        return try await perform(loop, operation)
    }

    /// Runs a request on a loop. If the SFU is overloaded or stopping, it throws `SFUError.full`.
    func perform<Answer: Sendable>(
        _ loop: EventLoop<SFU>,
        _ operation: @escaping @Sendable (inout SFU, Instant) throws(SFUError) -> Answer
    ) async throws(SFUError) -> Answer {
        let result: Result<Answer, SFUError>
        do {
            result = try await loop.call { sfu, now in
                do throws(SFUError) {
                    return .success(try operation(&sfu, now))
                } catch {
                    return .failure(error)
                }
            }
        } catch {
            throw .full
        }
        return try result.get()
    }

    func end(_ peer: PeerID, reason: StreamEndedReason) async {
        _ = try? await loop(of: peer)?.call { sfu, now in sfu.end(peer, reason: reason, at: now) }
    }

    /// Removes a peer whose end the SFU has reported.
    func discard(_ peer: PeerID) {
        capacity.withLock { $0.leave(peer) }
        guard let socket = pullSockets.withLock({ $0.removeValue(forKey: peer) }) else { return }
        loops[socket.shard].closeSocket(port: socket.port)
    }

    func statistics(of peer: PeerID) async -> PeerStatistics? {
        (try? await loop(of: peer)?.call { sfu, _ in sfu.statistics(of: peer) }) ?? nil
    }

    /// Returns the number of packets that were sent to subscribers since the start.
    func packetsForwarded() async -> Int { await performOnAll { sfu in sfu.packetsForwarded }.reduce(0, +) }

    /// The number of peers of each shard.
    var peersOfShards: [Int] { capacity.withLock { $0.loads } }

    /// Returns the number of messages between shards that were dropped since the start.
    func shardMessagesLost() async -> Int { await performOnAll { sfu in sfu.shardMessagesLost }.reduce(0, +) }

    /// Returns the number of connectivity checks from unknown paths that were not forwarded between shards since the
    /// start.
    func shardChecksLost() async -> Int { await performOnAll { sfu in sfu.shardChecksLost }.reduce(0, +) }

    /// Returns the statistics of all streams.
    func streamMetrics() async -> [StreamMetrics] {
        StreamMetrics.merged(await performOnAll { sfu in sfu.figures }.flatMap { $0 })
    }

    /// Returns the statistics of all streams without those of each subscriber.
    func samples() async -> [StreamMetrics] {
        StreamMetrics.merged(await performOnAll { sfu in sfu.figures(ofViewers: false) }.flatMap { $0 })
    }

    /// Whether all threads respond. It waits for those that do not. False if the queue of a thread is full, or the SFU
    /// was stopped.
    var isResponsive: Bool { get async { await performOnAll { _ in true }.count == loops.count } }

    private func performOnAll<Answer: Sendable>(
        _ operation: @escaping @Sendable (borrowing SFU) -> Answer
    ) async -> [Answer] {
        var answers: [Answer] = []
        for loop in loops {
            if let answer = try? await loop.call({ sfu, _ in operation(sfu) }) { answers.append(answer) }
        }
        return answers
    }

    deinit { stop() }

    /// Stops the SFU after its last packets were sent. Further calls have no effect.
    func stop() {
        for loop in loops { loop.stop() }
        eventContinuation.finish()
        for feed in feeds + transportStreamFeeds { feed.finish() }
    }
}
