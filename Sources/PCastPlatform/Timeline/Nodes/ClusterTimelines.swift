import Logging
import PCastCluster
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastTimeline

/// The timelines of a node of a cluster. One node is the home of a game: it adds the revisions in order. The others send the
/// requests of their producers there, and have copies of the revisions for their consumers.
///
/// A home begins with the revisions of all nodes. If no home can be reached, a node adds revisions of its own, and the next
/// home merges them.
actor ClusterTimelines {
    /// A node that is connected to this one as the home of a game.
    struct Follower {
        let link: TimelineLink<TimelineLinkEvent>
        let node: String
        let follows: Bool
        let lineage: TimelineLineage
        let newest: SequenceNumber
        /// The revisions of the node that this one does not have, until all are received.
        var received: [TimelineRevision] = []
        var receivedBytes = 0
        /// Whether the revisions of the node are merged.
        var isComplete = false
        /// The lineage that was sent last; nil for none.
        var sentLineage: TimelineLineage?
        var sent = SequenceNumber.none
        /// The number of the newest revision that the node has stored.
        var stored = 0
    }

    /// A request that waits until another node has stored its revision.
    struct Waiter {
        let number: Int
        let deadline: Instant
        let continuation: CheckedContinuation<Void, Never>
    }

    struct Game {
        /// The time of the last request.
        var usedAt: Instant?
        /// Whether this node is the home, or waits to become it.
        var isClaimed = false

        // As one of the other nodes:
        /// The link to the home; nil while there is none.
        var link: TimelineLink<TimelineLinkRequest>?
        var attemptedAt: Instant?
        /// Whether this node receives new revisions.
        var follows = false
        /// The number of the newest revision when the node attached.
        var attachedNewest = 0
        /// The number of the newest revision of the home when it answered; nil before that.
        var goal: Int?
        /// Whether this node has the revisions of the home.
        var isAttached = false
        /// Whether this node has added revisions because it could not reach the home.
        var isLocal = false
        /// The time until which consumers receive what this node has, because the home was not reached.
        var readsOwnUntil: Instant?

        // As the home:
        /// The time since which this node is the home; nil if it is not.
        var homeSince: Instant?
        /// The nodes whose revisions are merged.
        var answered: Set<String> = []
        var followers: [Int: Follower] = [:]
        var waiters: [Waiter] = []
    }

    /// A request that the home has not answered.
    private struct Call {
        let link: TimelineLink<TimelineLinkRequest>
        let deadline: Instant
        let continuation: CheckedContinuation<Outcome, Never>
    }

    private enum Outcome {
        case recorded(Int?)
        case rejected
        /// The node is not the home, or the link is lost.
        case lost
    }

    let service: TimelineService
    private let cluster: Cluster
    private let signer: NodeSignature
    private let silence: TimeSpan
    /// The time for which a request waits for the home.
    private let timeout: TimeSpan
    let logger: Logger

    var games: [TimelineKey: Game] = [:]
    private var links: [String: TimelineLink<TimelineLinkRequest>] = [:]
    private var tasks: [Int: Task<Void, Never>] = [:]
    private var lastLink = 0
    private var calls: [Int: Call] = [:]
    private var lastCall = 0
    private var isStopping = false

    /// The interval in which homes are compared with the directory.
    private static let interval = Duration.milliseconds(250)
    private static let shortInterval = Duration.milliseconds(20)
    /// The time after which a node attempts again to attach.
    private static let attemptTime = TimeSpan.milliseconds(250)
    /// The time after the last request in which a game without consumers keeps its home.
    private static let unusedTime = TimeSpan.seconds(60 as Int64)
    /// The maximum time in which a home waits for the revisions of the other nodes, and in which consumers wait for a home.
    private static let gatherTime = TimeSpan.seconds(2 as Int64)
    private static let readTime = TimeSpan.seconds(3 as Int64)
    /// The time in which consumers do not wait again for a home that was not reached.
    private static let ownReadTime = TimeSpan.seconds(10 as Int64)
    /// The maximum time in which an accepted request waits until a second node has stored its revision.
    private static let storeTime = TimeSpan.seconds(1 as Int64)
    /// The maximum number of requests that wait for homes.
    private static let maximumCalls = 4_096
    /// The name of the publication in the directory.
    private static let publication = "timeline"

    init(
        service: TimelineService, cluster: Cluster, signer: NodeSignature, silence: TimeSpan, timeout: TimeSpan,
        logger: Logger
    ) {
        self.service = service
        self.cluster = cluster
        self.signer = signer
        self.silence = silence
        self.timeout = timeout
        self.logger = logger
    }

    // MARK: Time

    /// Follows the homes of the games until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            await follow()
            try? await Task.sleep(for: Self.interval)
        }
        isStopping = true
        for link in links.values { link.queue.close() }
        for task in tasks.values { task.cancel() }
        finish(Array(calls.keys), .lost)
        for key in games.keys { releaseWaiters(key) }
        service.nodes.value = nil
    }

    private func follow() async {
        var keys = Set(games.keys)
        for (stream, address) in cluster.remoteTimelines where !address.isEmpty {
            guard let names = stream.timelineGame,
                let game = try? TimelineGame(league: names.league, game: names.game)
            else { continue }
            keys.insert(TimelineKey(application: ApplicationID(stream.application), game: game))
        }
        for key in keys {
            await step(key)
            releaseWaiters(key)
        }
        let now = MonotonicClock.now()
        finish(calls.filter { $0.value.deadline < now }.map(\.key), .lost)
    }

    /// Compares the home of a game with the directory.
    private func step(_ key: TimelineKey) async {
        guard !isStopping else { return }
        let isConsumed = await service.isConsumed(key)
        let hasLog = await service.hasLog(key)
        let now = MonotonicClock.now()
        let isUsed = isConsumed || games[key]?.usedAt.map { now - $0 < Self.unusedTime } ?? false
        if let other = home(of: key) {
            var game = games[key] ?? Game()
            if game.homeSince != nil {
                loseHome(key, &game)
                logger.notice(
                    "a timeline has another home", metadata: ["game": "\(key.game)", "node": "\(other.node)"])
            }
            games[key] = game
            // A node with consumers or producers continues the timeline when the home is lost.
            if isUsed { claim(key) } else { release(key) }
            let follows = isUsed || hasLog || isSecond(key, after: other.node)
            let isLinked = game.link?.uri == other.address && game.link?.queue.isClosed == false
            if !isLinked || follows && !game.follows {
                guard game.attemptedAt.map({ now - $0 >= Self.attemptTime }) ?? true else { return }
                // Another task may step meanwhile.
                games[key]?.attemptedAt = now
                await attach(key, to: other.address, follows: follows)
            }
            return
        }
        guard var game = games[key] else { return }
        if game.link != nil { (game.link, game.isAttached, game.attemptedAt) = (nil, false, nil) }
        if cluster.claimedEpoch(of: StreamID(Self.name(of: key))) != nil {
            if game.homeSince == nil { (game.homeSince, game.answered, game.isLocal) = (now, [], false) }
        } else if game.homeSince != nil {
            loseHome(key, &game)
        }
        games[key] = game
        if isUsed {
            claim(key)
        } else if game.waiters.isEmpty {
            release(key)
            games[key] = nil
        }
    }

    private func loseHome(_ key: TimelineKey, _ game: inout Game) {
        for follower in game.followers.values {
            follower.link.queue.append(.absent(TimelineLinkGame(key), request: nil))
        }
        for waiter in game.waiters { waiter.continuation.resume() }
        (game.homeSince, game.answered, game.followers, game.waiters) = (nil, [], [:], [])
    }

    // MARK: Homes

    private static func name(of key: TimelineKey) -> String {
        ClusterStream.timelineHomeName(
            application: key.application.description, league: key.game.league, game: key.game.game)
    }

    private func home(of key: TimelineKey) -> (node: String, address: String)? {
        guard let origin = cluster.origin(of: StreamID(Self.name(of: key))), !origin.address.isEmpty else { return nil }
        return (origin.node, origin.address)
    }

    private func claim(_ key: TimelineKey) {
        guard games[key]?.isClaimed == false else { return }
        games[key]?.isClaimed = true
        cluster.publish(
            ClusterStream(
                name: Self.name(of: key), stream: Self.publication, application: key.application.description),
            .standby)
    }

    private func release(_ key: TimelineKey) {
        guard games[key]?.isClaimed == true else { return }
        games[key]?.isClaimed = false
        cluster.end(Self.name(of: key), stream: Self.publication)
    }

    /// Whether this node is the home of a game.
    func isHome(of key: TimelineKey) -> Bool {
        games[key]?.homeSince != nil && cluster.claimedEpoch(of: StreamID(Self.name(of: key))) != nil
    }

    /// Whether this node is the home of a game, and has the revisions of the other nodes.
    private func isComplete(_ key: TimelineKey) -> Bool {
        guard isHome(of: key), let game = games[key], let since = game.homeSince else { return false }
        let own = cluster.node.name
        return cluster.nodes.allSatisfy { $0.name == own || game.answered.contains($0.name) }
            || MonotonicClock.now() - since >= Self.gatherTime
    }

    /// Whether this node keeps a copy of a game although it does not use the game. All nodes select the same one.
    private func isSecond(_ key: TimelineKey, after home: String) -> Bool {
        let others = cluster.nodes.map(\.name).filter { $0 != home }
        return others.max { Self.hash(key, $0) < Self.hash(key, $1) } == cluster.node.name
    }

    private static func hash(_ key: TimelineKey, _ node: String) -> UInt64 {
        // FNV-1a of 64 bits.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in "\(key.application)#\(key.game)#\(node)".utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
        }
        return hash
    }

    // MARK: Requests

    /// Notes the use of a game. Returns false if too many are used; the game is then one of this node only.
    private func use(_ key: TimelineKey) -> Bool {
        if games[key] == nil {
            guard games.values.count(where: \.isClaimed) < TimelineConsumerLimits.games else { return false }
            games[key] = Game()
        }
        games[key]?.usedAt = MonotonicClock.now()
        return true
    }

    /// Waits until this node has the revisions of a game, for a limited time.
    func prepare(_ key: TimelineKey) async {
        guard use(key) else { return }
        let deadline = MonotonicClock.now() + min(timeout, Self.readTime)
        while !isStopping {
            await step(key)
            let isReady =
                if let other = home(of: key) {
                    games[key]?.isAttached == true && games[key]?.link?.uri == other.address
                } else {
                    isComplete(key) || !cluster.isConnected
                }
            let now = MonotonicClock.now()
            guard !isReady, games[key]?.readsOwnUntil.map({ $0 < now }) ?? true else { return }
            guard now < deadline else {
                games[key]?.readsOwnUntil = now + Self.ownReadTime
                return
            }
            guard (try? await Task.sleep(for: Self.shortInterval)) != nil else { return }
        }
    }

    /// Records the change that a producer requests at this node. Returns when the revision is stored at this node.
    ///
    /// - Throws: ``TimelineFailure``.
    func record(
        _ request: TimelineRequest, in key: TimelineKey
    ) async throws(TimelineFailure) -> (channel: TimelineChannel, revision: TimelineRevision?) {
        let origin = RandomIdentifier.make()
        guard use(key) else { return try await recordHere(request, key, origin) }
        let started = MonotonicClock.now()
        let deadline = started + timeout
        while !isStopping {
            await step(key)
            if home(of: key) != nil {
                if let game = games[key], let link = game.link, game.isAttached, !link.queue.isClosed {
                    let recorded = try await forward(request, key, origin, link, until: deadline)
                    if let recorded { return recorded }
                } else if games[key]?.isLocal == true, MonotonicClock.now() - started >= Self.attemptTime {
                    // A node that continues alone waits only this long for a home. A new revision ends an attachment, so
                    // that without the time, requests in quick succession would prevent all of them.
                    break
                }
            } else if isComplete(key) {
                let recorded = try await recordHere(request, key, origin)
                if let number = recorded.revision?.number.value { await stored(number, key) }
                return recorded
            } else if !cluster.isConnected {
                break
            }
            let isInTime = MonotonicClock.now() < deadline
            guard isInTime, (try? await Task.sleep(for: Self.shortInterval)) != nil else { break }
        }
        // A home that can be reached later merges the revision.
        if games[key]?.homeSince == nil {
            if games[key]?.isLocal == false {
                logger.warning(
                    "a timeline is continued at this node, because its home is not reached",
                    metadata: ["game": "\(key.game)"])
            }
            detach(key)
            games[key]?.isLocal = true
        }
        return try await recordHere(request, key, origin)
    }

    /// Adds the revision of a request at this node, and sends it to the nodes that follow the game.
    ///
    /// - Throws: ``TimelineFailure``.
    func recordHere(
        _ request: TimelineRequest, _ key: TimelineKey, _ origin: String
    ) async throws(TimelineFailure) -> (channel: TimelineChannel, revision: TimelineRevision?) {
        guard let channel = try await service.channel(of: key, creates: true) else { throw .capacity }
        let log = TimelineLogID(RandomIdentifier.make())
        let revision = try await channel.record(request, origin: origin, beginning: log)
        if let revision {
            await service.note([revision], of: key, channel)
            feed(key, channel)
        }
        return (channel, revision)
    }

    /// Sends a request to the home. Returns nil if it is to be attempted again.
    private func forward(
        _ request: TimelineRequest, _ key: TimelineKey, _ origin: String, _ link: TimelineLink<TimelineLinkRequest>,
        until deadline: Instant
    ) async throws(TimelineFailure) -> (channel: TimelineChannel, revision: TimelineRevision?)? {
        guard calls.count < Self.maximumCalls else { throw .capacity }
        lastCall += 1
        let number = lastCall
        let outcome = await withCheckedContinuation { continuation in
            calls[number] = Call(link: link, deadline: deadline, continuation: continuation)
            let record = TimelineLinkRecord(request, origin: origin, number: number, game: TimelineLinkGame(key))
            if !link.queue.append(.record(record)) { finish([number], .lost) }
        }
        guard case .lost = outcome else {
            guard let channel = try await service.channel(of: key, creates: true) else { throw .capacity }
            if case .recorded(let number) = outcome {
                return (channel, number.flatMap { channel.log[SequenceNumber($0)] })
            }
            // This node has the same revisions, so that the reason is the same.
            do throws(TimelineError) {
                _ = try channel.log.revision(for: request, at: MonotonicClock.wallTime())
            } catch {
                throw .request(error)
            }
            throw .capacity
        }
        return nil
    }

    private func finish(_ numbers: [Int], _ outcome: Outcome) {
        for number in numbers { calls.removeValue(forKey: number)?.continuation.resume(returning: outcome) }
    }

    /// Waits until another node has stored a revision, for a limited time, if one receives it.
    private func stored(_ number: Int, _ key: TimelineKey) async {
        let deadline = MonotonicClock.now() + Self.storeTime
        await withCheckedContinuation { continuation in
            guard games[key] != nil else { return continuation.resume() }
            games[key]?.waiters.append(Waiter(number: number, deadline: deadline, continuation: continuation))
            releaseWaiters(key)
        }
    }

    func releaseWaiters(_ key: TimelineKey) {
        guard let game = games[key], !game.waiters.isEmpty else { return }
        let followers = game.followers.values.filter { $0.isComplete && $0.follows }
        let stored = followers.map(\.stored).max() ?? .max
        let now = MonotonicClock.now()
        let isReleased = { (waiter: Waiter) in
            waiter.number <= stored || waiter.deadline <= now || self.isStopping
        }
        games[key]?.waiters.removeAll(where: isReleased)
        for waiter in game.waiters where isReleased(waiter) { waiter.continuation.resume() }
    }

    // MARK: Links to homes

    /// Compares the revisions of this node with those of the home.
    private func attach(_ key: TimelineKey, to uri: String, follows: Bool) async {
        let replica = (try? await service.channel(of: key, creates: false))?.replica
        guard !isStopping, games[key] != nil else { return }
        let newest = replica?.newest.value ?? 0
        let lineage = replica.map { newest > 0 ? $0.lineage : TimelineLineage() } ?? TimelineLineage()
        let link = link(to: uri)
        games[key]?.link = link
        games[key]?.attemptedAt = MonotonicClock.now()
        games[key]?.follows = follows
        games[key]?.attachedNewest = newest
        games[key]?.isAttached = false
        games[key]?.goal = nil
        link.queue.append(
            .attach(
                TimelineLinkGame(key), node: cluster.node.name, TimelineLinkLineage(lineage), newest: newest,
                follows: follows))
    }

    private func link(to uri: String) -> TimelineLink<TimelineLinkRequest> {
        if let link = links[uri], !link.queue.isClosed { return link }
        lastLink += 1
        let link = TimelineLink<TimelineLinkRequest>(number: lastLink, uri: uri)
        links[uri] = link
        let transport = RoomLinkTransport(
            silence: silence, signer: signer, sends: .timelineRequests, receives: .timelineEvents)
        tasks[link.number] = Task { [weak self, logger] in
            do {
                try await link.run(transport) { [weak self] event in await self?.receive(event, link) }
            } catch {
                logger.debug("no link to the home of timelines", metadata: ["node": "\(uri)", "error": "\(error)"])
            }
            link.queue.close()
            await self?.lost(link)
        }
        return link
    }

    private func lost(_ link: TimelineLink<TimelineLinkRequest>) {
        tasks[link.number] = nil
        if links[link.uri] === link { links[link.uri] = nil }
        for (key, game) in games where game.link === link { detach(key) }
        finish(calls.filter { $0.value.link === link }.map(\.key), .lost)
    }

    private func detach(_ key: TimelineKey) {
        games[key]?.link = nil
        games[key]?.isAttached = false
    }

    /// Processes a message of the home. Calls for a link are in order.
    private func receive(_ event: TimelineLinkEvent, _ link: TimelineLink<TimelineLinkRequest>) async {
        switch event {
        case .want(let game, let after):
            guard let key = game.key, games[key]?.link === link else { return }
            await send(key, game, after: after, link)
        case .reset(let game, let lineage, let after, let newest):
            guard let key = game.key, games[key]?.link === link, let lineage = lineage.value,
                TimelineLinkLimits.numbers.contains(after), TimelineLinkLimits.numbers.contains(newest)
            else { return }
            do throws(TimelineFailure) {
                try await reset(key, lineage, after: after, newest: newest, link)
            } catch {
                fail(key, error)
            }
        case .revisions(let game, let texts):
            guard let key = game.key, games[key]?.link === link else { return }
            do throws(TimelineFailure) {
                try await append(texts, key, game, link)
            } catch {
                fail(key, error)
            }
        case .recorded(let number, let revision):
            let isValid = revision.map { TimelineLinkLimits.numbers.contains($0) } ?? true
            finish([number], isValid ? .recorded(revision) : .lost)
        case .rejected(let number): finish([number], .rejected)
        case .absent(let game, let number):
            if let number { return finish([number], .lost) }
            if let key = game.key, games[key]?.link === link { detach(key) }
        }
    }

    private func fail(_ key: TimelineKey, _ error: TimelineFailure) {
        logger.error(
            "revisions of another node cannot be stored", metadata: ["game": "\(key.game)", "error": "\(error)"])
        detach(key)
    }

    /// Sends the revisions to the home that it does not have.
    private func send(
        _ key: TimelineKey, _ game: TimelineLinkGame, after: Int, _ link: TimelineLink<TimelineLinkRequest>
    ) async {
        let log = (try? await service.channel(of: key, creates: false))?.log
        let newest = games[key]?.attachedNewest ?? 0
        let revisions = log?.changes(since: SequenceNumber(after)).filter { $0.number.value <= newest } ?? []
        for piece in TimelineRevision.pieces(revisions) {
            link.queue.append(.revisions(game, piece, isLast: false))
        }
        link.queue.append(.revisions(game, [], isLast: true))
    }

    private func reset(
        _ key: TimelineKey, _ lineage: TimelineLineage, after: Int, newest: Int,
        _ link: TimelineLink<TimelineLinkRequest>
    ) async throws(TimelineFailure) {
        let game = key.game
        if !lineage.forks.isEmpty {
            guard let channel = try await service.channel(of: key, creates: true) else { throw .capacity }
            let own = channel.newest.value
            // This node may have added revisions since it attached. They are not removed before the home has them.
            let isRemoving = after < own
            guard after <= own, !isRemoving || games[key]?.goal == nil && own == games[key]?.attachedNewest else {
                return detach(key)
            }
            if isRemoving {
                logger.notice(
                    "the home of a timeline has merged revisions of this node",
                    metadata: ["game": "\(game)", "revisions": "\(own - after)"])
            }
            let isReset = try await channel.reset(
                lineage, after: SequenceNumber(after), newest: SequenceNumber(own), of: game)
            guard isReset else { return detach(key) }
            link.queue.append(.stored(TimelineLinkGame(key), after))
        }
        guard games[key]?.link === link else { return }
        games[key]?.goal = newest
        await noteAttached(key)
    }

    private func append(
        _ texts: [String], _ key: TimelineKey, _ game: TimelineLinkGame, _ link: TimelineLink<TimelineLinkRequest>
    ) async throws(TimelineFailure) {
        // The home sends them again after its answer to the attachment.
        guard games[key]?.goal != nil else { return }
        guard let revisions = TimelineRevision.list(texts),
            let channel = try await service.channel(of: key, creates: true),
            let new = try await channel.append(revisions)
        else { return detach(key) }
        await service.note(new, of: key, channel)
        link.queue.append(.stored(game, channel.newest.value))
        await noteAttached(key)
    }

    private func noteAttached(_ key: TimelineKey) async {
        let newest = (try? await service.channel(of: key, creates: false))?.newest.value ?? 0
        guard let game = games[key], game.link != nil, let goal = game.goal, newest >= goal else { return }
        games[key]?.isAttached = true
        games[key]?.isLocal = false
    }
}
