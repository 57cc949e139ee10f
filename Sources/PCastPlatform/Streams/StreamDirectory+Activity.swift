import Logging
import PCastCore
import PCastIO
import PCastSFU

/// Reports to viewers about the publication of their stream.
extension StreamDirectory {
    /// Whether a stream has a publisher whose end is not known.
    func isPublished(_ stream: StreamID) -> Bool {
        registry.streams[stream].map { registry.isAvailable($0) && !$0.isEndRecorded } ?? false
    }

    /// Whether packets of a stream arrive from its publisher, as far as is known.
    func isActive(_ stream: StreamID) -> Bool {
        guard isPublished(stream), let publisher = registry.streams[stream]?.peer else { return false }
        return registry.participants[publisher]?.isAway == false
    }

    /// Reports to the viewers of a publisher whether its packets arrive. It has no effect for the number of a viewer.
    func reportActivity(of peer: PeerID, _ isActive: Bool) {
        guard let participant = registry.participants[peer], participant.isPublisher else { return }
        for viewer in registry.subscribers[participant.streamID] ?? [] {
            guard let listeners = registry.participants[viewer]?.listeners else { continue }
            for listener in listeners.values { listener.yield(.activity(isActive)) }
        }
    }

    /// Requests viewers to connect to another node, because this one drains. It ends those that are still here after a
    /// while, because their clients connect again at the end of the viewing. Only viewers whose clients receive the request
    /// are moved.
    ///
    /// - Parameters:
    ///   - start: The start of draining. Requests before it do not count.
    ///   - limit: The maximum number of requests.
    ///   - wait: The time between the request and the end.
    func moveViewers(since start: Instant, atMost limit: Int, endingAfter wait: TimeSpan) async {
        let now = MonotonicClock.now()
        var (requested, due): ([PeerID], [StreamID]) = ([], [])
        for (peer, participant) in registry.participants where participant.isViewer {
            if let since = participant.movedSince, since >= start {
                if now - since >= wait { due.append(participant.streamID) }
            } else if participant.receivesReconnect, !participant.listeners.isEmpty, requested.count < limit {
                requested.append(peer)
            }
        }
        for peer in requested {
            registry.update(peer) { $0.movedSince = now }
            guard let listeners = registry.participants[peer]?.listeners else { continue }
            for listener in listeners.values { listener.yield(.reconnect) }
        }
        if !requested.isEmpty { logger.info("viewers are moved", metadata: ["count": "\(requested.count)"]) }
        for viewing in due { await end(viewing, reason: .maintenance, description: "") }
    }

    /// Ends the sessions, streams and viewings that began with a token which is revoked. `key` is that of the revocation.
    func endAccess(by key: String, sessions: SessionRegistry) async {
        let ofSessions = await sessions.close(by: key)
        let own = registry.participants.values.filter { $0.revocationKey == key }.map(\.streamID)
        for stream in ofSessions.union(own) {
            await end(stream, reason: .custom, description: "access revoked")
        }
    }

    /// Requests all viewers to connect again, because the platform ends their sessions.
    func requestReconnects() {
        for participant in registry.participants.values where !participant.isPublisher {
            for listener in participant.listeners.values { listener.yield(.reconnect) }
        }
    }
}
