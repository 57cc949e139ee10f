import ArgumentParser
import PCast
import PCastCore
import PCastDevices
import PCastIO
import PCastJSON
import Synchronization

/// `pcast-bench rooms` measures how fast the audience of a channel learns of its presenter.
struct RoomsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rooms",
        abstract: "Measure the event of a presenter at the audience of a channel, and the first frame after it.",
        discussion: """
            Each member of the audience is a session of the SDK with its own connection. The platform is a separate \
            process. A presenter announces its stream, and each member records the time of the event. The first \
            --viewers members that have it watch: for each of them, a viewer with its own socket that does not decode \
            joins by WHEP with the alias of the channel at once. Its time ends with its first frame, and contains the \
            request, ICE, DTLS and the wait for a key frame. This repeats for --rounds. All times are those of this \
            machine, whose processors the clients use, too. The platform sends the whole stream to each viewer, so \
            more viewers than the fan-out of the machine measure its overload. All members watch with --all-watch. \
            --size, --frame-rate, --bitrate and --no-audio then reduce the stream. With --connected, the viewers have their \
            sessions before the presenter joins, like those of the SDK and of the page of a channel, and keep them in all \
            rounds. All of them share one socket, and each has its own address.
            """)

    @Option(help: "Number of members of the audience.")
    var members = 10_000

    @Option(help: "Number of members for which a viewer receives media.")
    var viewers = 200

    @Flag(help: "Let all members watch.")
    var allWatch = false

    @Option(help: "Size of the presenter's video.")
    var size = "1280x720"

    @Option(help: "Frame rate of the presenter's video.")
    var frameRate = 30

    @Option(help: "Bit rate of the presenter's video in kbit/s; by default that of its size.")
    var bitrate: Int?

    @Flag(inversion: .prefixedNo, help: "Publish audio, too.")
    var audio = true

    @Flag(help: "Let the viewers connect before the presenter joins.")
    var connected = false

    @Option(help: "Number of times that the presenter joins.")
    var rounds = 5

    @Option(help: "First UDP port of the viewers. Each round has another address of 127.0.0.0/8.")
    var firstPort: UInt16 = 21_000

    @OptionGroup var options: ReportOptions

    private static let alias = "bench"
    /// The limits that the platform raises, because all clients have the same address.
    private static let limits = [
        "sessions-per-address", "connections", "connections-per-address", "connections-per-second", "joins-per-second",
        "requests-per-second", "viewers-per-address", "viewers-per-application", "viewers",
    ]
    private static let targets = [
        Target("eventP99", .atMost(500)), Target("firstFrameP99", .atMost(1_000)), Target("withoutEvent", .exactly(0)),
        Target("withoutFrame", .exactly(0)),
    ]
    /// The number of members that enter at the same time, and of viewers whose requests are outstanding.
    private static let entering = 64
    private static let timeout = TimeSpan.seconds(60)

    func validate() throws {
        guard (1...19_000).contains(members), allWatch || (1...members).contains(viewers), (1...200).contains(rounds)
        else {
            throw ValidationError(
                "--members must be 1 to 19000, --viewers at least 1 and at most --members, and --rounds 1 to 200.")
        }
        guard dimensions != nil, (1...120).contains(frameRate), (50...50_000).contains(bitrate ?? 50) else {
            throw ValidationError(
                "--size must be WIDTHxHEIGHT, such as 320x180, --frame-rate 1 to 120, and --bitrate 50 to 50000.")
        }
        guard connected || Int(firstPort) + watching <= 65_535, firstPort > 0 else {
            throw ValidationError("--first-port must leave a port for each viewer.")
        }
    }

    /// The number of members that watch.
    private var watching: Int { allWatch ? members : viewers }

    private var dimensions: Dimensions? {
        let parts = size.split(separator: "x").map { Int($0) }
        guard parts.count == 2, let width = parts[0], let height = parts[1], (16...7_680).contains(width),
            (16...4_320).contains(height)
        else { return nil }
        return Dimensions(width: width, height: height)
    }

    func run() async throws {
        var report = Report(options)
        try Descriptors.allowMany()
        let limits = Self.limits.flatMap { ["--limit", "\($0)=50000"] }
        let platform = try PCastProcess(["serve", "--listen", "127.0.0.1:0", "--rtc-port", "0"] + limits)
        defer { platform.stop() }
        guard case .string(let uri)? = try await platform.next("listening")["uri"] else {
            throw BenchFailure("the platform did not report its address")
        }
        let audience = RoomAudience()
        let emptyMemory = Processor.proportionalMemory(of: platform.processID)
        try await audience.enter(Self.alias, at: uri, count: members, concurrently: Self.entering)
        let memberMemory = Processor.proportionalMemory(of: platform.processID)
        let waiting = connected ? try await WaitingViewers(watching, of: Self.alias, at: uri, platform) : nil
        defer { waiting?.load.leave() }
        let presenter = PCast(PCastOptions(uri: uri))
        _ = try await presenter.start()
        let media = try await presenter.getUserMedia(
            UserMediaOptions(
                video: SourceSpecification("synthetic"), audio: audio ? SourceSpecification("synthetic") : nil,
                dimensions: dimensions, frameRate: frameRate))
        defer { media.stop() }
        let room = presenter.room(Self.alias)
        let info = try await room.join(as: .audience, screenName: "presenter")
        let publisher = try await presenter.publish(
            streamToken: "", mediaStream: media.mediaStream, tags: ["channelAlias:\(info.alias)"],
            options: PublishOptions(videoBitrate: bitrate.map { .kilobits(Int64($0)) }))
        var (events, frames, missing, withoutFrame) = ([Double](), [Double](), 0, 0)
        for round in 0..<rounds {
            let (times, firstFrames) =
                if let waiting {
                    try await measure(waiting.load, audience, room, publisher.streamID)
                } else {
                    try await measure(round, audience, room, publisher.streamID, uri)
                }
            missing += members - times.count
            withoutFrame += watching - firstFrames.count
            events += times
            frames += firstFrames
            report.row(
                "round \(round + 1)",
                [
                    "event p50": Percentile.of(times, 0.5), "event p99": Percentile.of(times, 0.99),
                    "first frame p50": Percentile.of(firstFrames, 0.5),
                    "first frame p99": Percentile.of(firstFrames, 0.99),
                ])
        }
        let packets = await waiting?.load.packets()
        await audience.leave()
        await presenter.shutdown()
        try report.finish(
            [
                "memoryPerMember": memory(from: emptyMemory, to: memberMemory, members),
                "memoryPerViewer": waiting.flatMap { memory(from: memberMemory, to: $0.memory, watching) },
                "idleShare": waiting?.idleShare, "connectSeconds": waiting?.connecting,
                "missingPackets": packets.map { Double($0.missing) }, "endedViewers": packets.map { Double($0.ended) },
                "ownDrops": waiting.map { Double($0.load.ownDrops) },
                "members": Double(members), "viewers": Double(watching), "eventP50": Percentile.of(events, 0.5),
                "eventP99": Percentile.of(events, 0.99), "eventMax": events.max(), "withoutEvent": Double(missing),
                "firstFrameP50": Percentile.of(frames, 0.5), "firstFrameP99": Percentile.of(frames, 0.99),
                "firstFrameMax": frames.max(), "withoutFrame": Double(withoutFrame),
            ], targets: Self.targets)
    }

    /// Returns the memory of each of `count` clients in kilobytes; nil if it is not known.
    private func memory(from before: Double?, to after: Double?, _ count: Int) -> Double? {
        guard let before, let after else { return nil }
        return (after - before) / Double(count) / 1_000
    }

    /// Measures the same with viewers that are connected. Their frames may arrive before the events of their members; such a
    /// time counts as zero.
    private func measure(
        _ load: LoadViewers, _ audience: RoomAudience, _ room: Room, _ stream: StreamID
    ) async throws -> (events: [Double], firstFrames: [Double]) {
        try await load.waitUntilQuiet(for: .seconds(1), within: Self.timeout)
        await load.awaitFrames()
        let begun = MonotonicClock.now()
        _ = audience.begin(at: begun)
        try await room.update(role: .presenter, streams: [RoomStream(stream, kind: .presentation)])
        var frames = await load.firstFrames()
        while MonotonicClock.now() < begun + Self.timeout {
            if audience.times.count == members, !frames.contains(nil) { break }
            try await Task.sleep(for: .milliseconds(50))
            frames = await load.firstFrames()
        }
        let firstFrames = zip(audience.eventTimes, frames).compactMap { event, frame in
            event.flatMap { event in frame.map { max(0, ($0 - event).milliseconds) } }
        }
        let times = audience.times
        try await room.update(role: .audience, streams: [])
        try await audience.waitUntilVacant(within: Self.timeout)
        return (times, firstFrames)
    }

    /// Lets the presenter announce its stream and withdraw it. Returns the times in milliseconds until the members had the
    /// event, and those from the events to the first frames of the viewers, without those that exceed the timeout.
    private func measure(
        _ round: Int, _ audience: RoomAudience, _ room: Room, _ stream: StreamID, _ uri: String
    ) async throws -> (events: [Double], firstFrames: [Double]) {
        guard let ip = IPAddress("127.0.0.\(round + 1)") else {
            throw BenchFailure("the address of the viewers is invalid")
        }
        let load = try LightViewers(watching, from: ip, firstPort: firstPort)
        defer { load.leave() }
        let begun = MonotonicClock.now()
        let events = audience.begin(at: begun)
        let timeout = Task {
            try await Task.sleep(for: Self.timeout.duration)
            audience.finishEvents()
        }
        defer { timeout.cancel() }
        try await room.update(role: .presenter, streams: [RoomStream(stream, kind: .presentation)])
        try await load.join(
            "\(uri)/whep/\(Self.alias)", atTimesOf: events, concurrently: Self.entering, wantsAudio: audio)
        while MonotonicClock.now() < begun + Self.timeout {
            let frames = try await load.firstFrameTimes()
            if frames.count == watching, audience.times.count == members { break }
            try await Task.sleep(for: .milliseconds(20))
        }
        let frames = try await load.firstFrameTimes().map(\.milliseconds)
        let times = audience.times
        await load.deleteSessions(token: nil)
        try await room.update(role: .audience, streams: [])
        try await audience.waitUntilVacant(within: Self.timeout)
        return (times, frames)
    }
}

/// Viewers of a channel by its name that are connected before anybody presents.
private struct WaitingViewers {
    let load: LoadViewers
    /// The time in seconds in which all have connected.
    let connecting: Double
    /// The memory of the platform with all viewers.
    let memory: Double?
    /// The share of a CPU that the platform uses for the viewers while nobody presents.
    let idleShare: Double

    /// The number of joins at the same time.
    private static let joining = 16
    /// The viewers whose first frames are recorded read each header, and decrypt one of this number of packets.
    private static let decryptsEach = 16
    private static let idleTime = TimeSpan.seconds(10)
    private static let timeout = TimeSpan.seconds(120)

    /// Connects viewers. Throws `BenchFailure` if some do not connect in time.
    init(_ count: Int, of alias: String, at uri: String, _ platform: PCastProcess) async throws {
        guard let port = uri.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw BenchFailure("the platform did not report its port")
        }
        let begun = MonotonicClock.now()
        load = try LoadViewers(decryptsEach: Self.decryptsEach)
        try await load.join(
            0..<count, to: "/whep/\(alias)?await=presenter", at: TransportAddress(ip: .loopbackV4, port: port),
            atOnce: Self.joining)
        try await load.waitUntilConnected(count, within: Self.timeout)
        connecting = (MonotonicClock.now() - begun).milliseconds / 1_000
        let before = (time: Processor.time(of: platform.processID), at: MonotonicClock.now())
        try await Task.sleep(for: Self.idleTime.duration)
        let used = Processor.time(of: platform.processID) - before.time
        idleShare = used.milliseconds / (MonotonicClock.now() - before.at).milliseconds
        memory = Processor.proportionalMemory(of: platform.processID)
    }
}

/// Members of the audience of a channel, each a client of the SDK. They record the time at which a presenter appears.
private final class RoomAudience: Sendable {
    private struct State {
        var clients: [PCast] = []
        var rooms: [Room] = []
        var following: [Task<Void, Never>] = []
        var begun = MonotonicClock.now()
        /// The times in milliseconds until the event.
        var times: [Double] = []
        /// The times of the events by the number of the member.
        var eventTimes: [Instant?] = []
        /// The number of members that see a presenter now.
        var aware = 0
        var events: AsyncStream<Instant>.Continuation?
    }

    private let state = Mutex(State())

    /// The times in milliseconds from the beginning of the round to the event.
    var times: [Double] { state.withLock { $0.times } }

    /// The times of the events of a round by the number of the member; nil for a member without one.
    var eventTimes: [Instant?] { state.withLock { $0.eventTimes } }

    /// Begins a round. Returns the times at which members have the event.
    func begin(at time: Instant) -> AsyncStream<Instant> {
        let (events, continuation) = AsyncStream.makeStream(of: Instant.self)
        state.withLock { state in
            (state.begun, state.times, state.events) = (time, [], continuation)
            state.eventTimes = Array(repeating: nil, count: state.clients.count)
        }
        return events
    }

    /// Ends the times of a round, so that nobody waits for members that have no event.
    func finishEvents() { state.withLock { $0.events?.finish() } }

    /// Lets clients enter the channel, some of them at the same time.
    func enter(_ alias: String, at uri: String, count: Int, concurrently: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                if number >= concurrently { try await group.next() }
                group.addTask {
                    let pcast = PCast(PCastOptions(uri: uri))
                    _ = try await pcast.start()
                    let room = pcast.room(alias)
                    try await room.join(as: .audience, screenName: "viewer \(number)")
                    self.add(pcast, room)
                }
            }
            try await group.waitForAll()
        }
    }

    private func add(_ pcast: PCast, _ room: Room) {
        let number = state.withLock { state in
            state.clients.append(pcast)
            state.rooms.append(room)
            return state.clients.count - 1
        }
        let task = Task { [members = room.members.values, weak self] in
            var isAware = false
            for await present in members where present.isEmpty == isAware {
                isAware = !present.isEmpty
                self?.note(isAware, number, at: MonotonicClock.now())
            }
        }
        state.withLock { $0.following.append(task) }
    }

    private func note(_ isAware: Bool, _ number: Int, at time: Instant) {
        state.withLock { state in
            state.aware += isAware ? 1 : -1
            guard isAware else { return }
            if state.eventTimes.indices.contains(number) { state.eventTimes[number] = time }
            state.times.append((time - state.begun).milliseconds)
            state.events?.yield(time)
        }
    }

    /// Waits until no member sees a presenter. Throws `BenchFailure` if one still does.
    func waitUntilVacant(within timeout: TimeSpan) async throws {
        let deadline = MonotonicClock.now() + timeout
        while state.withLock({ $0.aware }) > 0 {
            guard MonotonicClock.now() < deadline else {
                throw BenchFailure("some members still see the presenter that has left")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Ends all sessions.
    func leave() async {
        let (clients, following) = state.withLock { state in
            defer { state = State() }
            return (state.clients, state.following)
        }
        for task in following { task.cancel() }
        await withTaskGroup(of: Void.self) { group in
            for client in clients { group.addTask { await client.shutdown() } }
        }
    }
}
