import Logging
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastTimeline

/// This node as the home of timelines.
extension ClusterTimelines {
    /// Processes a request of another node. Calls for a link are in order.
    func receive(_ request: TimelineLinkRequest, _ link: TimelineLink<TimelineLinkEvent>) async {
        switch request {
        case .attach(let game, let node, let lineage, let newest, let follows):
            guard let key = game.key, isHome(of: key), let lineage = lineage.value,
                TimelineLinkLimits.numbers.contains(newest), newest == 0 || !lineage.forks.isEmpty
            else {
                link.queue.append(.absent(game, request: nil))
                return
            }
            let follower = Follower(
                link: link, node: node, follows: follows, lineage: lineage, newest: SequenceNumber(newest))
            await attach(follower, key)
        case .revisions(let game, let texts, let isLast):
            guard let key = game.key, let follower = games[key]?.followers[link.number], !follower.isComplete else {
                return
            }
            await receive(texts, isLast: isLast, follower, key)
        case .record(let record):
            let game = record.game
            guard let key = game.key, isHome(of: key), games[key]?.followers[link.number]?.isComplete == true else {
                link.queue.append(.absent(game, request: record.number))
                return
            }
            await answer(record, key, link)
        case .stored(let game, let number):
            guard let key = game.key, let stored = games[key]?.followers[link.number]?.stored else { return }
            games[key]?.followers[link.number]?.stored = max(stored, number)
            releaseWaiters(key)
        }
    }

    /// Forgets a link that is lost.
    func ended(_ link: TimelineLink<TimelineLinkEvent>) {
        link.queue.close()
        for (key, game) in games where game.followers[link.number] != nil {
            games[key]?.followers[link.number] = nil
            releaseWaiters(key)
        }
    }

    private func attach(_ follower: Follower, _ key: TimelineKey) async {
        let replica = (try? await service.channel(of: key, creates: false))?.replica
        guard isHome(of: key), !follower.link.queue.isClosed else { return }
        games[key]?.followers[follower.link.number] = follower
        let shared = replica?.shared(with: follower.lineage, newest: follower.newest) ?? .none
        if follower.newest > shared {
            follower.link.queue.append(.want(TimelineLinkGame(key), after: shared.value))
        } else {
            await complete(follower, key)
        }
    }

    /// Adds revisions that only another node has. They are merged when all are received.
    private func receive(_ texts: [String], isLast: Bool, _ follower: Follower, _ key: TimelineKey) async {
        var follower = follower
        let limits = TimelineLimits.standard
        follower.receivedBytes += texts.reduce(0) { $0 + $1.utf8.count }
        guard let revisions = TimelineRevision.list(texts), follower.receivedBytes <= limits.logBytes,
            follower.received.count + revisions.count <= limits.revisions
        else {
            logger.error("revisions of another node are rejected", metadata: ["game": "\(key.game)"])
            games[key]?.followers[follower.link.number] = nil
            return
        }
        follower.received += revisions
        guard isLast else {
            games[key]?.followers[follower.link.number] = follower
            return
        }
        do throws(TimelineFailure) {
            guard let channel = try await service.channel(of: key, creates: true) else { throw .capacity }
            let merged = try await channel.merge(
                follower.received, of: follower.lineage, newest: follower.newest, game: key.game,
                beginning: TimelineLogID(RandomIdentifier.make()))
            report(merged.superseded, failed: merged.failed, of: follower, key)
            await service.note(merged.new, of: key, channel)
            await complete(follower, key)
            feed(key, channel)
        } catch {
            logger.error(
                "revisions of another node cannot be merged", metadata: ["game": "\(key.game)", "error": "\(error)"])
            games[key]?.followers[follower.link.number] = nil
        }
    }

    private func report(_ superseded: [TimelineRevision], failed: Int, of follower: Follower, _ key: TimelineKey) {
        if failed > 0 {
            logger.error(
                "revisions of another node are not added, because the timeline is full",
                metadata: ["game": "\(key.game)", "node": "\(follower.node)", "count": "\(failed)"])
        }
        for revision in superseded {
            logger.warning(
                "a change of an event is replaced by a later one of another node",
                metadata: [
                    "game": "\(key.game)", "node": "\(follower.node)",
                    "event": "\(revision.eventID?.description ?? "")", "revision": "\(revision.number)",
                ])
        }
    }

    /// Sends the revisions of this node to one whose revisions are merged.
    private func complete(_ follower: Follower, _ key: TimelineKey) async {
        let channel = try? await service.channel(of: key, creates: false)
        guard isHome(of: key), games[key]?.followers[follower.link.number]?.link === follower.link else { return }
        games[key]?.answered.insert(follower.node)
        let number = follower.link.number
        guard follower.follows else {
            games[key]?.followers[number] = nil
            return
        }
        games[key]?.followers[number]?.isComplete = true
        games[key]?.followers[number]?.received = []
        guard let channel else {
            // There is no revision yet.
            follower.link.queue.append(
                .reset(TimelineLinkGame(key), TimelineLinkLineage(TimelineLineage()), after: 0, newest: 0))
            return
        }
        games[key]?.followers[number]?.sent = channel.replica.shared(with: follower.lineage, newest: follower.newest)
        feed(key, channel)
    }

    /// Sends new revisions to the nodes that follow a game. Each node receives them in order.
    func feed(_ key: TimelineKey, _ channel: TimelineChannel) {
        guard let game = games[key], !game.followers.isEmpty else { return }
        let replica = channel.replica
        let name = TimelineLinkGame(key)
        for (number, follower) in game.followers where follower.isComplete && follower.follows {
            if follower.sentLineage != replica.lineage {
                follower.link.queue.append(
                    .reset(
                        name, TimelineLinkLineage(replica.lineage), after: follower.sent.value,
                        newest: replica.newest.value))
            }
            for piece in TimelineRevision.pieces(replica.log.changes(since: follower.sent)) {
                follower.link.queue.append(.revisions(name, piece))
            }
            games[key]?.followers[number]?.sentLineage = replica.lineage
            games[key]?.followers[number]?.sent = replica.newest
        }
    }

    private func answer(
        _ record: TimelineLinkRecord, _ key: TimelineKey, _ link: TimelineLink<TimelineLinkEvent>
    ) async {
        guard let request = record.request else {
            link.queue.append(.rejected(record.number))
            return
        }
        games[key]?.usedAt = MonotonicClock.now()
        do throws(TimelineFailure) {
            let recorded = try await recordHere(request, key, record.origin)
            link.queue.append(.recorded(record.number, revision: recorded.revision?.number.value))
        } catch {
            link.queue.append(.rejected(record.number))
        }
    }
}
