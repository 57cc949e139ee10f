import PCastMedia
import PCastRecords

/// What a platform that was killed left behind, of which its clients may go on with each.
struct InterruptedStreams: Sendable {
    var streams: [StreamRecord] = []
    /// Of those streams, and in a session.
    var viewings: [ViewingRecord] = []
    /// When that platform was last known to run.
    let lastSeen: WallTime

    /// The streams and viewings of each session.
    var bySession: [SessionID: Set<StreamID>] {
        var found: [SessionID: Set<StreamID>] = [:]
        for stream in streams { if let session = stream.session { found[session, default: []].insert(stream.id) } }
        for viewing in viewings { if let session = viewing.session { found[session, default: []].insert(viewing.id) } }
        return found
    }
}
