import PCastCore
import PCastSFU

/// The end of a participation whose media connection is closed before its client says why: Phenix's Web SDK closes the
/// peer connection, and sends `DestroyStream` afterwards.
extension StreamDirectory {
    /// Records the end of a peer at the SFU: at once if its reason is known, otherwise when the reason arrives or its
    /// timeout expires.
    func noteClosed(_ peer: PeerID, _ reason: StreamEndedReason) async {
        guard reason == .ended, awaitsReason(peer) else { return await noteEnd(peer, reason) }
        participants[peer]?.isClosed = true
        let timeout = Duration.nanoseconds(reasonTimeout.nanoseconds)
        Task { [weak self] in
            try? await Task.sleep(for: timeout)
            await self?.noteEnd(peer, reason)
        }
    }

    /// Records the end of a stream and of its viewers after a reason arrived for the closed media connections.
    func noteClosed(of id: StreamID) async {
        let closed = participants.filter { $0.value.isClosed && ($0.value.streamID == id || $0.value.origin == id) }
        for peer in closed.keys.sorted(by: { $0.value < $1.value }) { await noteEnd(peer, .ended) }
    }

    /// Whether the media connection of a stream's publisher is closed.
    func isClosed(_ stream: LiveStream) -> Bool { participants[stream.peer]?.isClosed ?? false }

    /// Whether the reason of an end is awaited. The SFU ends viewers together with their publisher, whose session may
    /// give the reason of all these ends.
    private func awaitsReason(_ peer: PeerID) -> Bool {
        guard let participant = participants[peer], participant.ending == nil else { return false }
        let publisher = streams[participant.origin].flatMap { participants[$0.peer] }
        return participant.hasSession || publisher?.hasSession ?? false
    }
}

extension Principal {
    /// Whether a client's session owns the stream. The platform's own jobs give the reason of an end before they close
    /// the stream.
    func hasSession(_ clientContext: ClientContext) -> Bool { work == nil && clientContext.sessionID != nil }
}
