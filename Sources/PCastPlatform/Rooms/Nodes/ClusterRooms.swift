import Logging
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastSignaling
import PCastWeb

/// The rooms of a node of a cluster. Requests for a room whose home is another node are sent there, and its events and
/// responses arrive in one order for all members of this node. Requests for other rooms are answered here.
///
/// If the home is lost, a node with members claims the room, and the others announce their members to it.
actor ClusterRooms: RoomRequests {
    /// A room whose home is another node.
    struct Entry {
        /// The room; nil before its home has answered for the first time.
        var replica: RoomReplica?
        var connections: [SessionID: RoomConnection] = [:]
        var subscribers: Set<SessionID> = []
        /// The link to the home; nil while there is none.
        var link: RoomLink?
        /// Whether the home has answered on the link.
        var isAttached = false
        /// The number of requests in progress.
        var requests = 0
        /// The time since which nobody uses the room.
        var unusedSince: Instant
        /// The presenter whose stream viewers of the channel's name receive, if it is available.
        var presenter: SessionID?
    }

    /// A request that the home has not answered.
    struct Call {
        let key: RoomKey
        let link: RoomLink
        let request: SignalingRequest
        let client: RoomClient
        let continuation: CheckedContinuation<Outcome, Never>
    }

    enum Outcome {
        case response(SignalingResponse)
        /// The link is lost, so it is unknown whether the request was processed.
        case lost
        /// The node is not the home. The request was not processed.
        case absent
        /// Too many messages wait for the home.
        case full
    }

    /// The place of a room.
    private enum Place {
        case here
        case other(uri: String)
        /// Another node may become the home.
        case unknown
    }

    let local: RoomService
    let homes: RoomHomes
    let directory: StreamDirectory
    private let registry: SessionRegistry
    private let signer: NodeSignature
    private let silence: TimeSpan
    /// The time for which a request waits for the home.
    private let timeout: TimeSpan
    let logger: Logger

    var entries: [RoomKey: Entry] = [:]
    /// The rooms by their identifiers.
    var keys: [String: RoomKey] = [:]
    var calls: [Int: Call] = [:]
    private var nextCall = 0
    /// The links by the addresses of the nodes.
    private var links: [String: RoomLink] = [:]
    private var tasks: [Int: Task<Void, Never>] = [:]
    /// The rooms that are moved between this node and another one.
    private var moving: Set<RoomKey> = []
    /// The rooms that this node has claimed for requests, and the times since which they are claimed.
    private var claims: [RoomKey: Instant] = [:]
    private var isStopping = false

    /// The interval in which homes are compared with the directory.
    private static let interval = Duration.milliseconds(250)
    private static let shortInterval = Duration.milliseconds(20)
    /// The time after which a room that nobody uses is left.
    private static let unusedTime = TimeSpan.seconds(10)
    /// The maximum number of requests that wait for homes.
    private static let maximumCalls = 4_096

    init(
        local: RoomService, homes: RoomHomes, directory: StreamDirectory, registry: SessionRegistry,
        signer: NodeSignature, silence: TimeSpan, timeout: TimeSpan, logger: Logger
    ) {
        self.local = local
        self.homes = homes
        self.directory = directory
        self.registry = registry
        self.signer = signer
        self.silence = silence
        self.timeout = timeout
        self.logger = logger
    }

    // MARK: Time

    /// Follows the homes of the rooms until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            await follow()
            try? await Task.sleep(for: Self.interval)
        }
        isStopping = true
        for link in links.values { link.queue.close() }
        for task in tasks.values { task.cancel() }
    }

    private func follow() async {
        for key in await local.foreignRooms() { await surrender(key) }
        await releaseUnusedClaims()
        let now = MonotonicClock.now()
        for (key, entry) in entries where !moving.contains(key) {
            if let other = homes.other(key) {
                if entry.link?.uri != other.uri || entry.link?.queue.isClosed == true { attach(key, to: other.uri) }
            } else if homes.isClaimed(key) {
                await adopt(key)
                continue
            } else if !entry.connections.isEmpty, let room = entry.replica?.description {
                // The home is lost.
                homes.claim(key, room: room.id)
            }
            guard entry.connections.isEmpty, entry.requests <= 0 else {
                entries[key]?.unusedSince = now
                continue
            }
            if now - entry.unusedSince >= Self.unusedTime {
                let isLocal = await local.find(key) != nil
                guard let entry = entries[key], entry.connections.isEmpty, entry.requests <= 0 else { continue }
                remove(key, keepsClaim: isLocal)
                // A request may have claimed the room before another node became the home.
                await releaseUnused(key)
            }
        }
    }

    /// Leaves a room that nobody uses. The claim of a permanent room of this node remains.
    private func remove(_ key: RoomKey, keepsClaim: Bool) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        entry.link?.queue.append(.close(key))
        guard let room = entry.replica?.description else { return }
        keys[room.id] = nil
        // Viewers may wait for the first presenter of a room of this node.
        guard !keepsClaim else { return directory.available.setChannel(of: room, []) }
        homes.release(key, room: room.id)
        directory.available.removeChannel(room.id, of: room.application)
    }

    /// Makes a room of this node one of another node.
    private func surrender(_ key: RoomKey) async {
        guard let other = homes.other(key), moving.insert(key).inserted else { return }
        defer { moving.remove(key) }
        guard let room = await local.surrender(key, to: other.room) else { return }
        var entry = entries[key] ?? Entry(unusedSince: MonotonicClock.now())
        var replica = room.replica
        for (session, connection) in room.connections {
            if connection.isClosed { replica.removeOwn(session) } else { entry.connections[session] = connection }
        }
        // Clients may have entered the room at the other node meanwhile.
        for member in entry.replica?.own.values ?? [:].values { replica.setOwn(member) }
        entry.replica = replica
        entry.subscribers.formUnion(room.subscribers)
        // All members are announced.
        (entry.link, entry.isAttached) = (nil, false)
        entries[key] = entry
        keys[replica.description.id] = key
        if !entry.connections.isEmpty { homes.claim(key, room: room.replica.description.id) }
    }

    /// Makes a room of a lost home one of this node.
    private func adopt(_ key: RoomKey) async {
        guard moving.insert(key).inserted else { return }
        defer { moving.remove(key) }
        guard let entry = entries.removeValue(forKey: key) else { return }
        finish(calls.filter { $0.value.key == key }.map(\.key), .lost)
        guard let replica = entry.replica else {
            // The home is lost before it has answered. Requests that wait may create the room.
            claims[key] = MonotonicClock.now()
            return
        }
        keys[replica.description.id] = nil
        await local.adopt(
            RoomService.Surrendered(
                replica: replica, connections: entry.connections, subscribers: entry.subscribers))
    }

    // MARK: Requests

    func respond(to request: SignalingRequest, _ client: RoomClient) async -> SignalingResponse {
        guard let key = await key(of: request, client) else { return await local.respond(to: request, client) }
        let deadline = MonotonicClock.now() + timeout
        var client = client
        do throws(RoomRefusal) {
            client.isCounted = try await local.count(request, client)
        } catch {
            return request.roomResponse(error.wire)
        }
        while true {
            switch await place(of: key, request, client) {
            case .here:
                let response = await local.respond(to: request, client)
                if response.statusText != "ok" { await releaseUnused(key) }
                return response
            case .other(let uri):
                switch await forward(request, key, to: uri, client, until: deadline) {
                case .response(let response): return response
                case .lost: return lost(request, key, client)
                case .full: return request.roomResponse(RoomRefusal.capacity.wire)
                case .absent: break
                }
            case .unknown: break
            }
            if MonotonicClock.now() < deadline, !isStopping, (try? await Task.sleep(for: Self.shortInterval)) != nil {
                continue
            }
            // The directory does not accept the claim. It may later.
            if homes.other(key) == nil, entries[key] == nil { return await local.respond(to: request, client) }
            return lost(request, key, client)
        }
    }

    /// Returns the response to a request whose result is unknown. A client that leaves is not announced any more.
    private func lost(_ request: SignalingRequest, _ key: RoomKey, _ client: RoomClient) -> SignalingResponse {
        guard case .leaveRoom = request else { return request.response(.timeout) }
        removeMember(client.session, client.connection, key)
        return request.response(.ok)
    }

    /// Removes a member of this node, unless it has another connection.
    func removeMember(_ session: SessionID, _ connection: RoomConnection, _ key: RoomKey) {
        guard entries[key]?.connections[session] === connection else { return }
        entries[key]?.connections[session] = nil
        entries[key]?.subscribers.remove(session)
        entries[key]?.replica?.removeOwn(session)
    }

    /// Returns the room that a request names; nil if no node has it, or if it is one of a session that is in one room only.
    private func key(of request: SignalingRequest, _ client: RoomClient) async -> RoomKey? {
        guard let names = request.roomNames else { return nil }
        let application = client.access.application
        let byID = RoomKey(application, id: names.id)
        let byAlias = RoomText.isAlias(names.alias) ? RoomKey(application, alias: names.alias) : nil
        if names.id.isEmpty, names.alias.isEmpty {
            let own = entries.filter { $0.value.connections[client.session] != nil }.map(\.key)
            return own.count == 1 ? own.first : nil
        }
        if let byID, await isKnown(byID) { return byID }
        return byAlias ?? byID
    }

    private func isKnown(_ key: RoomKey) async -> Bool {
        if homes.other(key) != nil || entries[key] != nil { return true }
        return await local.find(key) != nil
    }

    private func place(of key: RoomKey, _ request: SignalingRequest, _ client: RoomClient) async -> Place {
        guard !moving.contains(key) else { return .unknown }
        if let other = homes.other(key) { return .other(uri: other.uri) }
        if let entry = entries[key], entry.replica != nil || !entry.connections.isEmpty { return .unknown }
        guard homes.isConnected, !homes.isClaimed(key), await local.find(key) == nil else { return .here }
        // A room that the client cannot create is not claimed.
        let mayCreate =
            switch request {
            case .joinRoom: await local.mayCreate(key.alias, client.access, byJoining: true)
            case .createRoom: await local.mayCreate(key.alias, client.access, byJoining: false)
            default: false
            }
        guard mayCreate, claims.count < Self.maximumCalls else { return .here }
        claims[key] = MonotonicClock.now()
        homes.claim(key, room: homes.roomID(client.access.application, key.alias))
        return .unknown
    }

    /// Withdraws the claim of a room that was not created.
    private func releaseUnused(_ key: RoomKey) async {
        guard entries[key] == nil, !moving.contains(key) else { return }
        await local.releaseUnused(key)
    }

    /// Withdraws the claims of requests that have ended without a room. Other nodes would find no room at this one.
    private func releaseUnusedClaims() async {
        let now = MonotonicClock.now()
        for (key, since) in claims where now - since > timeout + Self.unusedTime {
            claims[key] = nil
            await releaseUnused(key)
        }
    }

    private func forward(
        _ request: SignalingRequest, _ key: RoomKey, to uri: String, _ client: RoomClient, until deadline: Instant
    ) async -> Outcome {
        if entries[key] == nil { entries[key] = Entry(unusedSince: MonotonicClock.now()) }
        entries[key]?.requests += 1
        defer { entries[key]?.requests -= 1 }
        if entries[key]?.link?.uri != uri || entries[key]?.link?.queue.isClosed == true { attach(key, to: uri) }
        let streams = await streams(of: request, client)
        while entries[key]?.isAttached != true {
            guard MonotonicClock.now() < deadline, homes.other(key)?.uri == uri, entries[key] != nil,
                (try? await Task.sleep(for: Self.shortInterval)) != nil
            else { return .absent }
        }
        guard let link = entries[key]?.link, calls.count < Self.maximumCalls else { return .full }
        if case .leaveRoom = request, entries[key]?.connections[client.session] === client.connection {
            // It is not announced again if the link is lost.
            entries[key]?.replica?.removeOwn(client.session)
        }
        nextCall += 1
        let number = nextCall
        let outcome = await withCheckedContinuation { continuation in
            calls[number] = Call(key: key, link: link, request: request, client: client, continuation: continuation)
            let call = RoomLinkCall(
                number: number, room: key, session: client.session.description, access: client.access,
                streams: streams, message: RoomLinkMessage(request))
            if !link.queue.append(.call(call)) { finish([number], .full) }
        }
        await followStreams(of: request, streams, client.session, link)
        return outcome
    }

    func finish(_ numbers: [Int], _ outcome: Outcome) {
        for number in numbers { calls.removeValue(forKey: number)?.continuation.resume(returning: outcome) }
    }

    /// Returns the live streams that a request announces, which only the node of their publisher knows.
    private func streams(of request: SignalingRequest, _ client: RoomClient) async -> [RoomLinkStream] {
        let (announced, other) = request.announcedStreams
        let session = other.isEmpty ? client.session : SessionID(other)
        var streams: [RoomLinkStream] = []
        for stream in (try? RoomStream.list(announced)) ?? [] {
            guard let id = stream.streamID,
                let live = await directory.live(id, of: client.access.application)?.stream
            else { continue }
            streams.append(
                RoomLinkStream(
                    stream: id.description, isOwned: await registry.owns(id, session), tags: live.authorizingTags))
        }
        return streams
    }

    /// Reports the ends of streams that happened while they were announced.
    private func followStreams(
        of request: SignalingRequest, _ streams: [RoomLinkStream], _ session: SessionID, _ link: RoomLink
    ) async {
        for stream in streams where stream.isOwned {
            guard await !registry.owns(StreamID(stream.stream), session) else { continue }
            link.queue.append(.streamEnded(stream.stream, session: session.description))
        }
    }

    /// Reports the ends of the streams of members.
    func followStreams(of members: [RoomMember], _ link: RoomLink) async {
        for member in members {
            for stream in member.streams.compactMap(\.streamID) where await !registry.owns(stream, member.session) {
                link.queue.append(.streamEnded(stream.description, session: member.session.description))
            }
        }
    }

    // MARK: Connections

    func connectionLost(_ session: SessionID, _ connection: RoomConnection) async {
        disconnect(session, connection, leaves: false)
        await local.connectionLost(session, connection)
    }

    func leaveAll(_ session: SessionID, _ connection: RoomConnection) async {
        disconnect(session, connection, leaves: true)
        await local.leaveAll(session, connection)
    }

    private func disconnect(_ session: SessionID, _ connection: RoomConnection, leaves: Bool) {
        for (key, entry) in entries where entry.connections[session] === connection {
            removeMember(session, connection, key)
            // A session that enters again on another connection stays.
            let isReturning = calls.values.contains { call in
                guard call.key == key, call.client.session == session, call.client.connection !== connection else {
                    return false
                }
                if case .joinRoom = call.request { return true }
                return false
            }
            if !isReturning { entry.link?.queue.append(.lost([key], session: session.description, leaves: leaves)) }
        }
    }

    func streamEnded(_ stream: StreamID, of session: SessionID) async {
        for entry in entries.values where entry.connections[session] != nil {
            entry.link?.queue.append(.streamEnded(stream.description, session: session.description))
        }
        await local.streamEnded(stream, of: session)
    }

    func permit(_ tags: [String], to principal: Principal) async -> Principal {
        guard let name = principal.roomName(of: tags) else { return principal }
        let key = RoomKey(principal.application, id: name) ?? RoomKey(principal.application, alias: name)
        guard let room = entries[key]?.replica?.description else { return await local.permit(tags, to: principal) }
        return principal.permitting(tags, of: room)
    }

    // MARK: Links

    /// Announces the members of a room to its home.
    private func attach(_ key: RoomKey, to uri: String) {
        guard !isStopping else { return }
        if let room = entries[key]?.replica?.description, let other = homes.other(key), other.room != room.id {
            // Another room has the alias. The members may enter it.
            endLocally(key)
        }
        let link = link(to: uri)
        entries[key]?.link = link
        entries[key]?.isAttached = false
        let replica = entries[key]?.replica
        let own = replica.map { RoomLinkMessage($0.description, Array($0.own.values)) }
        let listed = replica.map { RoomLinkMessage($0.description, $0.listed) }
        link.queue.append(.announce(key, own: own, listed: listed))
    }

    private func link(to uri: String) -> RoomLink {
        if let link = links[uri], !link.queue.isClosed { return link }
        let link = RoomLink(uri: uri)
        links[uri] = link
        let transport = RoomLinkTransport(
            silence: silence, signer: signer, sends: .roomRequests, receives: .roomEvents)
        tasks[link.number] = Task { [weak self, logger] in
            do {
                try await link.run(transport) { [weak self] event in await self?.receive(event, link) }
            } catch {
                logger.debug("no link to the home of rooms", metadata: ["node": "\(uri)", "error": "\(error)"])
            }
            link.queue.close()
            await self?.ended(link)
        }
        return link
    }

    /// Lets the rooms of a link wait for another one.
    private func ended(_ link: RoomLink) {
        tasks[link.number] = nil
        if links[link.uri] === link { links[link.uri] = nil }
        for (key, entry) in entries where entry.link === link {
            entries[key]?.link = nil
            entries[key]?.isAttached = false
        }
        finish(calls.filter { $0.value.link === link }.map(\.key), .lost)
    }
}
