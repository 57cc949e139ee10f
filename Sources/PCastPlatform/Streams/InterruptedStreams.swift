import PCastMedia
import PCastRecords

/// What a platform that was killed left behind, of which its clients may go on with each.
struct InterruptedStreams: Sendable {
    var streams: [StreamRecord] = []
    /// Of those streams, and in a session.
    var viewings: [ViewingRecord] = []
    /// When that platform was last known to run.
    let lastSeen: WallTime

    init(lastSeen: WallTime) { self.lastSeen = lastSeen }

    /// Streams of the platform's own workers, which nobody else publishes, have ended with it.
    init(_ streams: [StreamRecord], _ viewings: [ViewingRecord], lastSeen: WallTime) {
        self.streams = streams.filter { $0.publisher != nil }
        let kept = Set(self.streams.map(\.id))
        self.viewings = viewings.filter { kept.contains($0.stream) }
        self.lastSeen = lastSeen
    }

    /// The streams and viewings of each session.
    var bySession: [SessionID: Set<StreamID>] {
        var found: [SessionID: Set<StreamID>] = [:]
        for stream in streams { if let session = stream.session { found[session, default: []].insert(stream.id) } }
        for viewing in viewings { if let session = viewing.session { found[session, default: []].insert(viewing.id) } }
        return found
    }
}
