import PCastMedia
import PCastRecords

/// Streams and viewings without a media connection, whose publishers and viewers are to come back before long. It is told
/// the time.
struct AwaitedStreams {
    typealias EndAction = @Sendable (StreamEnd) async -> Void
    typealias InterruptionAction = @Sendable (StreamID) async -> Void

    /// A stream whose publisher is to come back.
    struct Stream: Sendable {
        /// As it was; its peer is gone.
        var live: LiveStream
        let onEnd: EndAction
        /// When it was last known to be published.
        let lastSeen: WallTime
        let deadline: Instant
        /// Its place, kept while it is awaited; nil for one of the platform before.
        var seat: Seat?
    }

    /// A viewer that is to come back.
    struct Viewing: Sendable {
        let id: StreamID
        let origin: StreamID
        let application: ApplicationID
        /// Who alone may go on with it.
        let session: SessionID
        let onEnd: EndAction
        let lastSeen: WallTime
        let deadline: Instant
        /// Its place, kept while it is awaited; nil for one of the platform before.
        var seat: Seat?
    }

    /// Everything whose time is over.
    struct Overdue: Sendable {
        var streams: [Stream] = []
        var viewings: [Viewing] = []
    }

    private(set) var streams: [StreamID: Stream] = [:]
    private(set) var viewings: [StreamID: Viewing] = [:]

    var isEmpty: Bool { streams.isEmpty && viewings.isEmpty }

    mutating func add(_ stream: Stream) { streams[stream.live.id] = stream }

    mutating func add(_ viewing: Viewing) { viewings[viewing.id] = viewing }

    mutating func take(stream id: StreamID) -> Stream? { streams.removeValue(forKey: id) }

    mutating func take(viewing id: StreamID) -> Viewing? { viewings.removeValue(forKey: id) }

    /// Those who watched a stream, taken out.
    mutating func takeViewings(of origin: StreamID) -> [Viewing] {
        let found = viewings.values.filter { $0.origin == origin }
        for viewing in found { viewings[viewing.id] = nil }
        return found
    }

    /// The newest stream of an application that has the tag, or any.
    func newest(of application: ApplicationID, tag: String?) -> LiveStream? {
        streams.values.map(\.live)
            .filter { $0.application == application && (tag.map($0.authorizingTags.contains) ?? true) }
            .max { $0.ordinal < $1.ordinal }
    }

    /// Takes out what did not come back in time. Who watched a stream that did not is over with it.
    mutating func takeOverdue(at now: Instant) -> Overdue {
        var overdue = Overdue()
        for stream in streams.values where stream.deadline <= now {
            streams[stream.live.id] = nil
            overdue.streams.append(stream)
            overdue.viewings += takeViewings(of: stream.live.id)
        }
        for viewing in viewings.values where viewing.deadline <= now {
            viewings[viewing.id] = nil
            overdue.viewings.append(viewing)
        }
        return overdue
    }
}
