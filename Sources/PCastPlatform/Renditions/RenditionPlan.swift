import PCastCore
import PCastSFU

/// The decision when a process makes renditions of a stream, on the caller's time.
///
/// A stream has at most one process. It begins when a viewer wants a rendition, encodes what viewers want, and ends some
/// time after the last of them. The number of processes is limited: a process that nobody needs gives its place to
/// another stream. If there is none, the renditions of a stream are withdrawn, so that its viewers are served as those of
/// a stream without renditions, and offered again later.
struct RenditionPlan {
    /// An action of the caller. Actions are carried out in their order.
    enum Action: Hashable {
        /// Offer the renditions of a publisher's stream to viewers, or withdraw them.
        case offer(PeerID, Bool)
        /// Start a process that makes layers, which are bits.
        case start(PeerID, layers: UInt8)
        /// Change the layers that a process makes.
        case change(PeerID, layers: UInt8)
        /// End a process.
        case stop(PeerID)
        /// Report that renditions were withdrawn, for a reason.
        case report(PeerID, Obstacle)
    }

    /// The reason why the renditions of a stream are withdrawn.
    enum Obstacle: Hashable {
        /// All processes are in use.
        case capacity
        /// The process has failed repeatedly.
        case failure
    }

    private enum Phase: Hashable {
        case idle
        case running(since: Instant)
        /// The process runs, and nobody wants a rendition.
        case lingering(since: Instant, until: Instant)
        /// The process has failed, and starts again.
        case restarting(at: Instant)
        case withdrawn(until: Instant)
    }

    private struct Stream {
        var wanted: UInt8 = 0
        var phase = Phase.idle
        var failureCount = 0

        var hasProcess: Bool {
            switch phase {
            case .running, .lingering: true
            case .idle, .restarting, .withdrawn: false
            }
        }
    }

    /// The time for which a process remains after the last viewer that wanted a rendition. It decodes meanwhile, and does
    /// not encode.
    static let linger = TimeSpan.seconds(10 as Int64)
    /// The time after which renditions that were withdrawn for lack of capacity are offered again, if there is room.
    static let retryInterval = TimeSpan.seconds(10 as Int64)
    /// The time after which a process that failed starts again.
    static let restartInterval = TimeSpan.seconds(1 as Int64)
    /// The number of failures in a row after which renditions are withdrawn for `failureInterval`.
    static let maximumFailures = 3
    static let failureInterval = TimeSpan.seconds(60 as Int64)
    /// A process that has run for this time did not fail because of its start.
    static let stableTime = TimeSpan.seconds(30 as Int64)

    /// The maximum number of processes.
    let maximumProcesses: Int
    /// The number of times that renditions were withdrawn.
    private(set) var refusalCount = 0
    /// The streams by their publishers.
    private var streams: [PeerID: Stream] = [:]

    /// Creates a plan without streams.
    init(maximumProcesses: Int) { self.maximumProcesses = maximumProcesses }

    /// The number of processes.
    var processCount: Int { streams.values.count { $0.hasProcess } }

    // MARK: Events

    /// Adds the stream of a publisher.
    mutating func begin(_ publisher: PeerID) -> [Action] {
        guard streams[publisher] == nil else { return [] }
        streams[publisher] = Stream()
        return [.offer(publisher, true)]
    }

    /// Removes the stream of a publisher that has left.
    mutating func end(_ publisher: PeerID) -> [Action] {
        guard let stream = streams.removeValue(forKey: publisher), stream.hasProcess else { return [] }
        return [.stop(publisher)]
    }

    /// Updates the renditions that viewers want, which are bits.
    mutating func want(_ layers: UInt8, of publisher: PeerID, at now: Instant) -> [Action] {
        guard let stream = streams[publisher], stream.wanted != layers else { return [] }
        streams[publisher]?.wanted = layers
        switch stream.phase {
        case .idle: return layers == 0 ? [] : start(publisher, at: now)
        case .running(let since):
            if layers == 0 { streams[publisher]?.phase = .lingering(since: since, until: now + Self.linger) }
            return [.change(publisher, layers: layers)]
        case .lingering(let since, _):
            streams[publisher]?.phase = .running(since: since)
            return [.change(publisher, layers: layers)]
        case .restarting, .withdrawn: return []
        }
    }

    /// Records that the process of a stream has ended, although it was not stopped.
    mutating func processEnded(_ publisher: PeerID, at now: Instant) -> [Action] {
        guard let stream = streams[publisher] else { return [] }
        let began: Instant
        switch stream.phase {
        case .running(let since), .lingering(let since, _): began = since
        case .idle, .restarting, .withdrawn: return []
        }
        let count = now - began >= Self.stableTime ? 1 : stream.failureCount + 1
        streams[publisher]?.failureCount = count
        if count >= Self.maximumFailures {
            streams[publisher]?.failureCount = 0
            return withdraw(publisher, .failure, until: now + Self.failureInterval)
        }
        streams[publisher]?.phase = stream.wanted == 0 ? .idle : .restarting(at: now + Self.restartInterval)
        return []
    }

    /// Performs what is due.
    mutating func advance(to now: Instant) -> [Action] {
        var actions: [Action] = []
        for publisher in streams.keys.sorted(by: { $0.value < $1.value }) {
            guard let stream = streams[publisher] else { continue }
            switch stream.phase {
            case .lingering(_, let until) where until <= now:
                streams[publisher]?.phase = .idle
                actions.append(.stop(publisher))
            case .restarting(let time) where time <= now:
                streams[publisher]?.phase = .idle
                if stream.wanted != 0 { actions += start(publisher, at: now) }
            case .withdrawn(let until) where until <= now:
                guard hasRoom else {
                    streams[publisher]?.phase = .withdrawn(until: now + Self.retryInterval)
                    continue
                }
                streams[publisher]?.phase = .idle
                actions.append(.offer(publisher, true))
                if stream.wanted != 0 { actions += start(publisher, at: now) }
            case .idle, .running, .lingering, .restarting, .withdrawn: continue
            }
        }
        return actions
    }

    // MARK: Decisions

    private var hasRoom: Bool { processCount < maximumProcesses || dispensable != nil }

    /// The stream whose process has been needed by nobody for the longest time; nil if there is none.
    private var dispensable: PeerID? {
        var oldest: (publisher: PeerID, until: Instant)?
        for (publisher, stream) in streams {
            guard case .lingering(_, let until) = stream.phase else { continue }
            if oldest.map({ until < $0.until }) ?? true { oldest = (publisher, until) }
        }
        return oldest?.publisher
    }

    private mutating func start(_ publisher: PeerID, at now: Instant) -> [Action] {
        var actions: [Action] = []
        if processCount >= maximumProcesses {
            guard let other = dispensable else {
                return withdraw(publisher, .capacity, until: now + Self.retryInterval)
            }
            streams[other]?.phase = .idle
            actions.append(.stop(other))
        }
        streams[publisher]?.phase = .running(since: now)
        actions.append(.start(publisher, layers: streams[publisher]?.wanted ?? 0))
        return actions
    }

    private mutating func withdraw(_ publisher: PeerID, _ reason: Obstacle, until time: Instant) -> [Action] {
        streams[publisher]?.phase = .withdrawn(until: time)
        refusalCount += 1
        return [.offer(publisher, false), .report(publisher, reason)]
    }
}
