import PCastCore
import PCastSignaling
import Synchronization

/// A room, in which this client may be a member (Phenix: `RoomService` of `RoomExpress`).
///
///     let room = pcast.room("meeting")
///     try await room.join(as: .participant, screenName: "Ann")
///     try await room.send("Hello")
///     for await members in room.members.values { … }
///
/// A lost connection is restored with the session, and the client enters the room again as it was. The client leaves the
/// room when this object is released.
public final class Room: Sendable {
    /// The relation of the client to the room.
    public enum Status: Hashable, Sendable {
        /// The client is no member.
        case left
        /// The client is a member.
        case joined
        /// The connection is lost. The client enters the room again when it is restored.
        case reconnecting
        /// The room has ended.
        case ended
    }

    /// The relation of the client to the room.
    public let status = ObservableValue<Status>(.left)
    /// The description of the room; nil before it was joined.
    public let info = ObservableValue<RoomInfo?>(nil)
    /// The members outside the audience, in the order in which they appeared. It is empty unless the client is a member.
    public let members = ObservableValue<[RoomMember]>([])
    /// This client as a member; nil unless it is one.
    public let own = ObservableValue<RoomMember?>(nil)

    private struct State {
        var replica: RoomReplica?
        /// The number of joins and leaves, so that the response to an earlier one has no effect.
        var epoch = 0
        /// The last change. The next one waits for it.
        var lastChange: Task<PCastError?, Never>?
        var readers: [Int: AsyncStream<RoomMessage>.Continuation] = [:]
        var lastReader = 0
        /// The identifier of the last message that the readers have received.
        var lastMessage = ""
    }

    /// The client whose session is in the room.
    package let pcast: PCast
    private let alias: String
    private let id: String
    private let state = Mutex(State())

    /// The number of messages that are queued for a slow reader. Beyond that, the oldest are dropped.
    private static let messageBacklog = 256
    /// The maximum number of attempts of a change that conflicts with others.
    private static let maximumAttempts = 5

    init(alias: String, id: String, of pcast: PCast) {
        self.alias = alias
        self.id = id
        self.pcast = pcast
    }

    deinit {
        let state = state.withLock { ($0.replica, Array($0.readers.values)) }
        for reader in state.1 { reader.finish() }
        if let replica = state.0 { pcast.session.request(Self.leaving(replica)) }
    }

    private static func leaving(_ replica: RoomReplica) -> SignalingRequest {
        var message = ChatLeaveRoom()
        message.roomID = replica.info.id
        return .leaveRoom(message)
    }

    // MARK: Membership

    /// Enters the room. It has no effect if the client is a member.
    ///
    /// - Parameters:
    ///   - role: The role.
    ///   - screenName: The name for people, of 1 to 256 characters.
    /// - Returns: The description of the room.
    /// - Throws: ``PCastError`` with the status `gone` for an unknown room, and `unauthorized` if the token of the session
    ///   does not permit it.
    @discardableResult
    public func join(
        as role: MemberRole = .participant, screenName: String = "guest"
    ) async throws(PCastError) -> RoomInfo {
        let refusal = await serially { [weak self] in
            guard let self, state.withLock({ $0.replica }) == nil else { return nil }
            pcast.session.add(self)
            // The platform knows the session of the request.
            let member = RoomMember(session: SessionID(""), screenName: screenName, role: role)
            return await enter(member, isAgain: false)
        }
        if let refusal { throw refusal }
        guard let info = state.withLock({ $0.replica?.info }) else { throw notJoined }
        return info
    }

    /// Leaves the room. It has no effect if the client is no member.
    public func leave() async {
        _ = await serially { [weak self] in
            guard let self, let replica = reset(to: .left) else { return nil }
            _ = await pcast.session.perform(Self.leaving(replica))
            return nil
        }
    }

    /// Changes this client's member, or another one.
    ///
    /// - Parameters:
    ///   - session: The session of the member; nil for this client. The change of another member needs the role
    ///     ``MemberRole/moderator``.
    ///   - screenName: The name; nil for no change.
    ///   - role: The role; nil for no change.
    ///   - state: The state; nil for no change.
    ///   - streams: The streams that the member announces; nil for no change. They must be published by its session.
    /// - Throws: ``PCastError`` with the status `conflict` if others change the member too often, and `unauthorized`.
    public func update(
        _ session: SessionID? = nil, screenName: String? = nil, role: MemberRole? = nil, state: MemberState? = nil,
        streams: [RoomStream]? = nil
    ) async throws(PCastError) {
        let change = MemberChange(screenName: screenName, role: role, state: state, streams: streams)
        let refusal = await serially { [weak self] in await self?.perform(change, of: session) }
        if let refusal { throw refusal }
    }

    /// Mutes or unmutes the streams of a member. A moderator may do so for others; their media are not changed.
    ///
    /// - Parameters:
    ///   - session: The session of the member; nil for this client.
    ///   - audio: Whether the audio is muted; nil for no change.
    ///   - video: Whether the video is muted; nil for no change.
    /// - Throws: ``PCastError``; see ``update(_:screenName:role:state:streams:)``.
    public func setMuted(
        _ session: SessionID? = nil, audio: Bool? = nil, video: Bool? = nil
    ) async throws(PCastError) {
        guard let replica = state.withLock({ $0.replica }) else { throw notJoined }
        guard let member = replica.member(session ?? replica.own.sessionID) else {
            throw PCastError(.gone, .usage, "the member is not in the room")
        }
        let streams = member.streams.map { stream in
            var stream = stream
            if let audio, stream.audio != .ended { stream.audio = audio ? .disabled : .enabled }
            if let video, stream.video != .ended { stream.video = video ? .disabled : .enabled }
            return stream
        }
        try await update(session, streams: streams)
    }

    /// Returns the number of members of the audience.
    ///
    /// - Throws: ``PCastError``.
    public func audienceCount() async throws(PCastError) -> Int {
        guard let replica = state.withLock({ $0.replica }) else { throw notJoined }
        var message = ChatGetRoomInfo()
        message.roomID = replica.info.id
        let request = SignalingRequest.getRoomInfo(message)
        guard case .getRoomInfo(let response) = try await pcast.session.perform(request).get() else {
            throw PCastError(.malformedResponse, during: request.typeName)
        }
        guard response.status == "ok" else { throw PCastError(refusal: response.status, of: "GetRoomInfo") }
        let prefix = "audience="
        let text = response.options.first { $0.hasPrefix(prefix) }?.dropFirst(prefix.count)
        guard let text, let count = Int(text), count >= 0 else {
            throw PCastError(.failed, .platform, "the platform does not count the audience")
        }
        return count
    }

    // MARK: Conversation

    /// Returns the messages from now on, beginning with the newest earlier ones. The stream ends when the client leaves.
    ///
    /// - Parameter history: The number of earlier messages, at most 128.
    /// - Returns: The messages, the oldest first.
    /// - Throws: ``PCastError``.
    public func messages(history: Int = 0) async throws(PCastError) -> AsyncStream<RoomMessage> {
        let (stream, reader) = AsyncStream.makeStream(
            of: RoomMessage.self, bufferingPolicy: .bufferingNewest(Self.messageBacklog))
        _ = try await fetch(limit: history, subscribes: true) { state, found in
            state.lastReader += 1
            let number = state.lastReader
            state.readers[number] = reader
            for message in found { reader.yield(message) }
            if let last = found.last, last.id > state.lastMessage { state.lastMessage = last.id }
        }
        return stream
    }

    /// Returns earlier messages of the conversation.
    ///
    /// - Parameters:
    ///   - id: The message before which the others are; nil for the newest ones.
    ///   - limit: The maximum number of messages, at most 128.
    /// - Returns: The messages, the oldest first.
    /// - Throws: ``PCastError``.
    public func history(before id: String? = nil, limit: Int = 128) async throws(PCastError) -> [RoomMessage] {
        try await fetch(before: id, limit: limit)
    }

    /// Sends a message to the conversation. The client receives it, too.
    ///
    /// - Parameter text: The text, of at most 1,024 bytes.
    /// - Throws: ``PCastError`` with the status `rateLimited` for a larger text and for too many messages.
    public func send(_ text: String) async throws(PCastError) {
        guard let replica = state.withLock({ $0.replica }) else { throw notJoined }
        var message = ChatSendMessageToRoom()
        message.roomID = replica.info.id
        message.chatMessage.message = text
        message.chatMessage.from.screenName = replica.own.screenName
        message.chatMessage.from.role = ChatMemberRole(rawValue: replica.own.role.rawValue) ?? .audience
        try Self.check(await pcast.session.perform(.sendMessageToRoom(message)), "SendMessageToRoom")
    }

    /// Requests messages. `received` runs before later messages are delivered.
    private func fetch(
        after: String? = nil, before: String? = nil, limit: Int, subscribes: Bool = false,
        _ received: (@Sendable (inout State, [RoomMessage]) -> Void)? = nil
    ) async throws(PCastError) -> [RoomMessage] {
        guard let replica = state.withLock({ $0.replica }) else { throw notJoined }
        var message = ChatFetchRoomConversation()
        message.roomID = replica.info.id
        message.limit = UInt32(clamping: limit)
        if let after { message.afterMessageID = after }
        if let before { message.beforeMessageID = before }
        if subscribes { message.options = [.subscribe] }
        let request = SignalingRequest.fetchRoomConversation(message)
        let result = await withCheckedContinuation { continuation in
            pcast.session.request(request) { [weak self] result in
                if case .success(.fetchRoomConversation(let response)) = result, response.status == "ok" {
                    let found = response.chatMessages.compactMap { RoomMessage($0) }
                    self?.state.withLock { received?(&$0, found) }
                    return continuation.resume(returning: Result<[RoomMessage], PCastError>.success(found))
                }
                do throws(PCastError) {
                    try Self.check(result, "FetchRoomConversation")
                    continuation.resume(returning: .failure(PCastError(.malformedResponse, during: request.typeName)))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }

    // MARK: Requests

    private var notJoined: PCastError {
        PCastError(.notReady, .usage, "the client is no member of the room: call join")
    }

    /// Throws an error unless a response has the status `ok`.
    private static func check(
        _ result: Result<SignalingResponse, PCastError>, _ operation: String
    ) throws(PCastError) {
        let response = try result.get()
        guard response.status == .ok else { throw PCastError(refusal: response.statusText, of: operation) }
    }

    /// Runs a change after the earlier ones, so that each knows the result of the one before.
    private func serially(_ body: @escaping @Sendable () async -> PCastError?) async -> PCastError? {
        let task = state.withLock { state in
            let task = Task { [last = state.lastChange] in
                _ = await last?.value
                return await body()
            }
            state.lastChange = task
            return task
        }
        return await task.value
    }

    /// Sends `JoinRoom`. The response takes effect before the events that follow it.
    private func enter(_ member: RoomMember, isAgain: Bool) async -> PCastError? {
        var message = ChatJoinRoom()
        let known = state.withLock { $0.replica?.info }
        if !id.isEmpty || known != nil { message.roomID = known?.id ?? id }
        if !alias.isEmpty || known != nil { message.alias = known?.alias ?? alias }
        message.member = member.message
        if isAgain { message.options = ["reenter"] }
        let epoch = state.withLock { $0.epoch }
        return await withCheckedContinuation { continuation in
            pcast.session.request(.joinRoom(message)) { [weak self] result in
                continuation.resume(returning: self?.entered(result, epoch: epoch))
            }
        }
    }

    private func entered(_ result: Result<SignalingResponse, PCastError>, epoch: Int) -> PCastError? {
        do throws(PCastError) {
            try Self.check(result, "JoinRoom")
            guard case .success(.joinRoom(let response)) = result, response.hasRoom, response.hasSelf_p else {
                throw PCastError(.malformedResponse, during: "JoinRoom")
            }
            state.withLock { state in
                guard state.epoch == epoch else { return }
                state.replica = RoomReplica(response)
                publish(state, .joined)
            }
            return nil
        } catch {
            return error
        }
    }

    /// Makes a change. If the platform knows a later one, the change is repeated with its number.
    private func perform(_ change: MemberChange, of session: SessionID?) async -> PCastError? {
        var last: PCastError?
        for _ in 0..<Self.maximumAttempts {
            guard let replica = state.withLock({ $0.replica }) else { return notJoined }
            let session = session ?? replica.own.sessionID
            guard let member = replica.member(session) else {
                return PCastError(.gone, .usage, "the member is not in the room")
            }
            let request = change.request(of: session, in: replica.info.id, lastUpdate: member.lastUpdate)
            switch await pcast.session.perform(request) {
            case .failure(let error): return error
            case .success(.updateMember(let response)) where response.status == "ok":
                state.withLock { state in
                    guard session == state.replica?.own.sessionID else { return }
                    state.replica?.accepted(change, lastUpdate: response.lastUpdate)
                    publish(state, nil)
                }
                return nil
            case .success(let response):
                last = PCastError(refusal: response.statusText, of: "UpdateMember")
                guard case .updateMember(let answer) = response, answer.status == "conflict", answer.hasLastUpdate
                else { return last }
                state.withLock { $0.replica?.adopt(answer.lastUpdate, of: session) }
            }
        }
        return last
    }

    // MARK: State

    /// Sets the observable values. `status` is nil for the present one.
    private func publish(_ state: borrowing State, _ status: Status?) {
        if let replica = state.replica { info.set(replica.info) }
        members.set(state.replica?.members ?? [])
        own.set(state.replica?.own)
        if let status { self.status.set(status) }
    }

    /// Forgets the membership. Returns the former state; nil if there was none.
    @discardableResult
    private func reset(to status: Status) -> RoomReplica? {
        let (former, readers) = state.withLock { state in
            let former = state.replica.take()
            state.epoch += 1
            let readers = Array(state.readers.values)
            state.readers = [:]
            state.lastMessage = ""
            if former != nil { publish(state, status) }
            return (former, readers)
        }
        for reader in readers { reader.finish() }
        return former
    }
}

extension Room: RoomListener {
    func roomChanged(_ event: ChatRoomEvent) {
        let hasEnded = state.withLock { state in
            guard state.replica?.apply(event) == true else { return false }
            publish(state, nil)
            return state.replica?.hasEnded == true
        }
        if hasEnded { reset(to: .ended) }
    }

    func messagesArrived(_ event: ChatRoomConversationEvent) {
        state.withLock { state in
            guard let replica = state.replica, event.roomID == replica.info.id, event.eventType == .message else {
                return
            }
            deliver(event.chatMessages.compactMap { RoomMessage($0) }, &state)
        }
    }

    /// Sends messages to the readers, except those that they have.
    private func deliver(_ messages: [RoomMessage], _ state: inout State) {
        for message in messages where message.id > state.lastMessage {
            state.lastMessage = message.id
            for (number, reader) in state.readers {
                if case .terminated = reader.yield(message) { state.readers[number] = nil }
            }
        }
    }

    func sessionChanged(_ change: RoomSessionChange) {
        switch change {
        case .ended: reset(to: .left)
        case .offline: if state.withLock({ $0.replica != nil }) { status.set(.reconnecting) }
        case .online:
            guard state.withLock({ $0.replica != nil }), status.value == .reconnecting else { return }
            Task { [weak self] in _ = await self?.serially { [weak self] in await self?.enterAgain() } }
        }
    }

    /// Enters the room again as before. Another attempt follows when the client is online the next time.
    private func enterAgain() async -> PCastError? {
        for attempt in 0... {
            guard var member = state.withLock({ $0.replica?.own }), status.value == .reconnecting else { return nil }
            // The streams of another session have ended. Their publications announce the next ones.
            if member.sessionID != pcast.sessionID { member.streams = [] }
            guard let refusal = await enter(member, isAgain: true) else { break }
            switch refusal.status {
            case .gone:
                reset(to: .ended)
                return refusal
            case .unauthorized, .badRequest:
                reset(to: .left)
                return refusal
            case .notReady, .notStarted, .failed: return refusal
            default: try? await Task.sleep(for: RecoveryPolicy.delay(before: attempt + 1))
            }
        }
        let last = state.withLock { $0.readers.isEmpty ? nil : $0.lastMessage }
        guard let last else { return nil }
        _ = try? await fetch(after: last.isEmpty ? nil : last, limit: last.isEmpty ? 0 : 128, subscribes: true) {
            [weak self] state, found in self?.deliver(found, &state)
        }
        return nil
    }
}

extension PCast {
    /// Returns a room by its alias. The client enters it with ``Room/join(as:screenName:)``.
    public func room(_ alias: String) -> Room { Room(alias: alias, id: "", of: self) }

    /// Returns a room by its identifier.
    public func room(id: String) -> Room { Room(alias: "", id: id, of: self) }

    /// Creates a room that exists until it is empty for an hour. Backends create permanent rooms.
    ///
    /// - Parameters:
    ///   - alias: The alias; nil for one that the platform selects.
    ///   - name: The name for people; nil for the alias.
    ///   - description: The description for people.
    ///   - type: The type.
    /// - Returns: The new room, or the one with this alias.
    /// - Throws: ``PCastError`` with the status `unauthorized` if the token of the session does not permit it.
    @discardableResult
    public func createRoom(
        _ alias: String? = nil, name: String? = nil, description: String = "", type: RoomType = .multiPartyChat
    ) async throws(PCastError) -> RoomInfo {
        var message = ChatCreateRoom()
        message.room.alias = alias ?? ""
        message.room.name = name ?? alias ?? "room"
        message.room.description_p = description
        message.room.type = ChatRoomType(rawValue: type.rawValue) ?? .multiPartyChat
        let response = try await session.perform(.createRoom(message)).get()
        guard case .createRoom(let answer) = response, answer.hasRoom,
            answer.status == "ok" || answer.status == "already-exists"
        else { throw PCastError(refusal: response.statusText, of: "CreateRoom") }
        return RoomInfo(answer.room)
    }
}
