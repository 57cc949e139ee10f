import PCastCore
import PCastDatabase

/// The streams and viewings of a killed platform process that their clients may resume.
struct InterruptedStreams: Sendable {
    var streams: [StreamRecord] = []
    /// The viewings of those streams that belong to a session.
    var viewings: [ViewingRecord] = []
    /// The time at which that process was last known to be running.
    let lastSeen: WallTime

    init(lastSeen: WallTime) { self.lastSeen = lastSeen }

    /// Creates the value from the open streams and viewings. Streams of ingest jobs are left out, because these ended
    /// with the process.
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
