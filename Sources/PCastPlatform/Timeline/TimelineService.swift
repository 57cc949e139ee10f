import Glibc
import Logging
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastTimeline

/// All timelines of the platform. A game is loaded when it is requested, and unloaded when it is unused.
actor TimelineService {
    private enum Entry {
        case loading(Int, Task<TimelineChannel?, any Error>)
        case loaded(TimelineChannel)
    }

    struct Counts: Sendable {
        var games = 0
        var consumers = 0
        var revisions = 0
        /// The number of games whose producer's clock is off.
        var producersOff = 0
    }

    private let files: TimelineFiles?
    private let logger: Logger
    /// See `PlatformConfiguration.consumerTimeout`.
    private let consumerTimeout: TimeSpan
    private var games: [TimelineKey: Entry] = [:]
    private var recorded = 0
    private var lastLoad = 0
    /// The functions that receive the revisions of each game, by the object that follows it.
    private var followers: [TimelineKey: [ObjectIdentifier: RevisionAction]] = [:]
    /// The timelines of all nodes; nil if the platform belongs to no cluster.
    nonisolated let nodes = Setting<ClusterTimelines?>(nil)

    /// Receives revisions of a game with their gates. It must not wait.
    typealias RevisionAction = @Sendable ([(revision: TimelineRevision, gate: WallTime)]) -> Void

    /// Creates a service. `directory` contains the logs; if it is nil, they remain in memory while the platform runs.
    init(directory: String?, consumerTimeout: TimeSpan = TimelineConsumerLimits.timeout, logger: Logger) {
        self.consumerTimeout = consumerTimeout
        files = directory.map { TimelineFiles(directory: $0 + "/timelines") }
        self.logger = logger
    }

    /// Returns the timeline of a game; nil if it has none.
    ///
    /// - Throws: ``TimelineFailure``.
    func channel(of key: TimelineKey) async throws(TimelineFailure) -> TimelineChannel? {
        if let nodes = nodes.value { await nodes.prepare(key) }
        return try await channel(of: key, creates: false)
    }

    /// Records the change that a producer requests. Returns the timeline and the new revision, which is nil if nothing
    /// changed.
    ///
    /// - Throws: ``TimelineFailure``.
    func record(
        _ request: TimelineRequest, in key: TimelineKey
    ) async throws(TimelineFailure) -> (channel: TimelineChannel, revision: TimelineRevision?) {
        if let nodes = nodes.value { return try await nodes.record(request, in: key) }
        guard let channel = try await channel(of: key, creates: true) else { throw .capacity }
        // A node that was one of a cluster does not continue the log of another one, which may do so, too.
        let isShared = channel.log.revisions.last?.origin != nil
        let revision = try await channel.record(
            request, beginning: isShared ? TimelineLogID(RandomIdentifier.make()) : nil)
        if let revision { note([revision], of: key, channel) }
        return (channel, revision)
    }

    /// Reports new revisions of this node to those that follow the game.
    func note(_ revisions: [TimelineRevision], of key: TimelineKey, _ channel: TimelineChannel) {
        recorded += revisions.count
        guard let actions = followers[key], !revisions.isEmpty else { return }
        let log = channel.log
        let gated = revisions.compactMap { revision in log.gate(of: revision.number).map { (revision, $0) } }
        for action in actions.values { action(gated) }
    }

    /// Whether this node has consumers of a game.
    func isConsumed(_ key: TimelineKey) -> Bool {
        if followers[key] != nil { return true }
        guard case .loaded(let channel) = games[key] else { return false }
        return channel.consumerCount > 0
    }

    /// Whether this node has the log of a game, in memory or on the disk.
    func hasLog(_ key: TimelineKey) -> Bool { games[key] != nil || files?.hasLog(of: key) == true }

    /// Calls a function with the revisions of a game whose gates are not before a time, and with each later revision, until
    /// ``unfollow(_:for:)``. A revision may be reported twice. The game need not exist yet.
    func follow(
        _ key: TimelineKey, for follower: ObjectIdentifier, since start: WallTime, _ action: @escaping RevisionAction
    ) async {
        followers[key, default: [:]][follower] = action
        let channel: TimelineChannel?
        do throws(TimelineFailure) { channel = try await self.channel(of: key) } catch {
            // The failure of a log is logged where it is loaded.
            return logger.warning("timeline is not followed", metadata: ["game": "\(key.game)", "error": "\(error)"])
        }
        guard let log = channel?.log else { return }
        action(
            log.revisions.compactMap { revision in
                log.gate(of: revision.number).flatMap { $0 >= start ? (revision, $0) : nil }
            })
    }

    /// Ends the calls of ``follow(_:for:since:_:)``.
    func unfollow(_ key: TimelineKey, for follower: ObjectIdentifier) {
        followers[key]?[follower] = nil
        if followers[key]?.isEmpty == true { followers[key] = nil }
    }

    /// Returns the timeline of a game at this node. If it has none, the result is nil, or a new one is created.
    ///
    /// - Throws: ``TimelineFailure``.
    func channel(of key: TimelineKey, creates: Bool) async throws(TimelineFailure) -> TimelineChannel? {
        while true {
            switch games[key] {
            case .loaded(let channel):
                channel.touch()
                return channel
            case .loading(let number, let task):
                if let channel = try await Self.result(of: task) { return channel }
                storeLoaded(key, number, nil)
                // The earlier request found no log and did not create one.
                guard creates else { return nil }
            case nil: return try await load(key, creates: creates)
            }
        }
    }

    private func load(_ key: TimelineKey, creates: Bool) async throws(TimelineFailure) -> TimelineChannel? {
        try makeSpace()
        let (files, logger) = (files, logger)
        let task = Task.detached { try Self.open(key, creates: creates, files, logger) }
        lastLoad += 1
        let number = lastLoad
        games[key] = .loading(number, task)
        do throws(TimelineFailure) {
            let channel = try await Self.result(of: task)
            storeLoaded(key, number, channel)
            return channel
        } catch {
            storeLoaded(key, number, nil)
            if case .log(let path, let reason) = error {
                logger.error("timeline cannot be read", metadata: ["log": "\(path)", "error": "\(reason)"])
            }
            throw error
        }
    }

    /// Stores the result of loading, unless the game is being loaded again.
    private func storeLoaded(_ key: TimelineKey, _ number: Int, _ channel: TimelineChannel?) {
        guard case .loading(number, _) = games[key] else { return }
        games[key] = channel.map { .loaded($0) }
    }

    private static func result(
        of task: Task<TimelineChannel?, any Error>
    ) async throws(TimelineFailure) -> TimelineChannel? {
        do {
            return try await task.value
        } catch {
            throw error as? TimelineFailure ?? .log(path: "", reason: "\(error)")
        }
    }

    private static func open(
        _ key: TimelineKey, creates: Bool, _ files: TimelineFiles?, _ logger: Logger
    ) throws(TimelineFailure) -> TimelineChannel? {
        let fresh = TimelineLogID(RandomIdentifier.make())
        guard let files else { return creates ? TimelineChannel(fresh) : nil }
        let path = files.path(of: key)
        if let found = try TimelineFile.open(path, logger: logger) {
            return TimelineChannel(TimelineReplica(found.log, found.lineage, isOwn: false), in: found.file)
        }
        guard creates else { return nil }
        let made = try TimelineFile.create(path, fresh, of: key.game)
        return TimelineChannel(TimelineReplica(made.log, made.lineage, isOwn: true), in: made.file)
    }

    /// Unloads the game that has been unused for the longest time if the limit is reached. Games without a file are
    /// never unloaded.
    ///
    /// - Throws: ``TimelineFailure/capacity`` if there is none to unload.
    private func makeSpace() throws(TimelineFailure) {
        guard games.count >= TimelineConsumerLimits.games else { return }
        guard files != nil else { throw .capacity }
        let idle = games.compactMap { key, entry -> (TimelineKey, Instant)? in
            guard case .loaded(let channel) = entry, let since = channel.idleSince else { return nil }
            return (key, since)
        }
        // A recently used game may be about to get a consumer or a change.
        let now = MonotonicClock.now()
        guard let (key, since) = idle.min(by: { $0.1 < $1.1 }), now - since > TimelineConsumerLimits.timeout else {
            throw .capacity
        }
        games[key] = nil
    }

    // MARK: Periodic work

    /// Checks consumers until the task is cancelled.
    func run() async {
        var round = 0
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            round += 1
            let now = MonotonicClock.now()
            for channel in channels {
                channel.checkConsumers(round, timeout: consumerTimeout, at: now)
                if let since = channel.idleSince, now - since > TimelineConsumerLimits.timeout {
                    channel.dropDocument()
                }
            }
        }
    }

    private var channels: [TimelineChannel] {
        games.values.compactMap { if case .loaded(let channel) = $0 { channel } else { nil } }
    }

    var counts: Counts {
        let channels = channels
        return Counts(
            games: channels.count, consumers: channels.reduce(0) { $0 + $1.consumerCount }, revisions: recorded,
            producersOff: channels.count { $0.isProducerOff })
    }
}

/// The key of a game's timeline, which belongs to an application.
struct TimelineKey: Hashable, Sendable {
    let application: ApplicationID
    let game: TimelineGame

    /// The beginning of the tag that names a game: of the streams that show it, and of the tokens that permit its timeline.
    static let tagPrefix = "timeline:"

    init(application: ApplicationID, game: TimelineGame) { (self.application, self.game) = (application, game) }

    /// Creates the key of the game that a stream shows, by its tag `timeline:LEAGUE/GAME`. Only a tag counts that the
    /// publisher's token applies. Returns nil if there is none.
    init?(of stream: LiveStream) {
        for tag in stream.authorizingTags where tag.hasPrefix(Self.tagPrefix) {
            let names = tag.dropFirst(Self.tagPrefix.count).split(
                separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard names.count == 2, let game = try? TimelineGame(league: String(names[0]), game: String(names[1]))
            else { continue }
            self.init(application: stream.application, game: game)
            return
        }
        return nil
    }
}

/// The reason why a timeline cannot be written or read.
enum TimelineFailure: Error, Sendable {
    /// The request is invalid.
    case request(TimelineError)
    /// The log at this path cannot be read or written. The reason is for the log; a producer may retry.
    case log(path: String, reason: String)
    /// The maximum number of games is in use.
    case capacity
}

extension TimelineFailure: CustomStringConvertible {
    /// The failure with its reason, for the log.
    var description: String {
        switch self {
        case .request(let error): "\(error)"
        case .log(let path, let reason): "the log “\(path)” cannot be read or written: \(reason)"
        case .capacity: "the maximum number of games is in use"
        }
    }
}

/// The paths of the logs of games: a folder for each application, with a folder for each league.
struct TimelineFiles: Sendable {
    let directory: String

    /// Whether there is a log of a game.
    func hasLog(of key: TimelineKey) -> Bool { access(path(of: key), F_OK) == 0 }

    /// The maximum size of a file name in bytes.
    private static let longestName = 200

    func path(of key: TimelineKey) -> String {
        [
            directory, Self.name(key.application.description), Self.name(key.game.league),
            Self.name(key.game.game) + ".jsonl",
        ].joined(separator: "/")
    }

    /// Returns a unique file name without path separators. Letters, digits, dashes and underscores do not change, and
    /// other bytes are percent-encoded. A long name is replaced by its fingerprint with a prefix that other names
    /// cannot have.
    static func name(_ text: String) -> String {
        var name = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                name.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                name += "%" + (digits.count < 2 ? "0" : "") + digits
            }
        }
        return name.utf8.count <= longestName ? name : "=" + DigestTokens.fingerprint(of: text)
    }
}

/// The authorization of producers and consumers of a game's timeline.
///
/// A producer has the application's credentials (HTTP Basic), or a token for publishing with the capability
/// `timeline-producer`, or `timeline-producer=LEAGUE/GAME` for one game. A consumer has a token for subscribing. If
/// that requires a tag, the tag must be `timeline:LEAGUE` or `timeline:LEAGUE/GAME`.
struct TimelineAccess: Sendable {
    static let capability = "timeline-producer"

    let authenticator: TokenAuthenticator
    let credentials: CredentialCheck

    /// Authorizes a producer by the application's credentials or, if `basic` is nil, by its token. Returns the key of
    /// the timeline.
    ///
    /// - Throws: ``APIError``.
    func produce(
        _ game: TimelineGame, basic: (id: String, secret: String)?, token: String?, clientContext: ClientContext
    ) async throws(APIError) -> TimelineKey {
        if let basic {
            try credentials.check(basic.id, secret: basic.secret, from: clientContext.address)
            return TimelineKey(application: ApplicationID(basic.id), game: game)
        }
        let principal = try await authenticator.identifyClient(token, from: clientContext)
        try authenticator.authorize(principal, for: .publish, clientContext: clientContext)
        if principal.token != nil || principal.job != nil {
            let sufficientCapabilities = [Self.capability, "\(Self.capability)=\(game)"]
            guard principal.job == nil, sufficientCapabilities.contains(where: { principal.capabilities.contains($0) })
            else {
                throw .token("the token lacks the capability \(Self.capability)")
            }
        }
        try await authenticator.checkHook(
            .writeTimeline(league: game.league, game: game.game), principal, clientContext)
        return TimelineKey(application: principal.application, game: game)
    }

    func follow(
        _ game: TimelineGame, token: String?, clientContext: ClientContext
    ) async throws(APIError) -> TimelineKey {
        let principal = try await authenticator.identifyClient(token, from: clientContext)
        let purpose = TokenRequest.Purpose.subscribe(
            originStreamID: TimelineKey.tagPrefix + "\(game)",
            tags: [TimelineKey.tagPrefix + game.league, TimelineKey.tagPrefix + "\(game)"])
        try authenticator.authorize(principal, for: purpose, clientContext: clientContext)
        try await authenticator.checkHook(
            .readTimeline(league: game.league, game: game.game), principal, clientContext)
        return TimelineKey(application: principal.application, game: game)
    }
}
