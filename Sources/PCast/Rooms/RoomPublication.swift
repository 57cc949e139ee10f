import PCastCore
import Synchronization

/// A stream that is published in a room and announced to its members (Phenix: `publishToRoom`). It lasts while it is held,
/// until it is stopped or its end is final.
public final class RoomPublication: Sendable {
    /// The published stream, which is published again after a failure.
    public let publisher: RecoveringStream<Publisher>

    private struct State {
        var audio = RoomStream.TrackState.enabled
        var video = RoomStream.TrackState.enabled
        /// The stream that the room knows.
        var announced: StreamID?
        var isStopped = false
        var following: Task<Void, Never>?
    }

    private let room: Room
    private let mediaStream: MediaStream
    private let kind: RoomStream.Kind
    private let role: MemberRole
    private let formerRole: MemberRole
    private let state = Mutex(State())

    init(
        _ publisher: RecoveringStream<Publisher>, of mediaStream: MediaStream, in room: Room, _ kind: RoomStream.Kind,
        as role: MemberRole, formerRole: MemberRole
    ) {
        self.publisher = publisher
        self.mediaStream = mediaStream
        self.room = room
        self.kind = kind
        self.role = role
        self.formerRole = formerRole
    }

    deinit {
        let (following, announced) = state.withLock { ($0.following, $0.isStopped ? nil : $0.announced) }
        following?.cancel()
        publisher.stop()
        guard let announced else { return }
        Task { [room, formerRole] in try? await room.withdraw(announced, formerRole) }
    }

    /// Mutes or unmutes the stream. A muted track passes no frames on, and the members receive the change.
    ///
    /// - Parameters:
    ///   - audio: Whether the audio is muted; nil for no change.
    ///   - video: Whether the video is muted; nil for no change.
    /// - Throws: ``PCastError``; see ``Room/update(_:screenName:role:state:streams:)``.
    public func setMuted(audio: Bool? = nil, video: Bool? = nil) async throws(PCastError) {
        if let audio {
            for track in mediaStream.audioTracks { track.setEnabled(!audio) }
            state.withLock { $0.audio = audio ? .disabled : .enabled }
        }
        if let video {
            for track in mediaStream.videoTracks { track.setEnabled(!video) }
            state.withLock { $0.video = video ? .disabled : .enabled }
        }
        try await announce(publisher.current.value?.streamID)
    }

    /// Ends the announcement and then the stream. The client remains in the room with its former role. It has no effect
    /// when it is called again.
    public func stop() async {
        let (following, announced) = state.withLock { state in
            defer { state.isStopped = true }
            return (state.following, state.isStopped ? nil : state.announced)
        }
        following?.cancel()
        if let announced { try? await room.withdraw(announced, formerRole) }
        publisher.stop()
    }

    /// Announces the stream, and later those that replace it.
    ///
    /// - Throws: ``PCastError``.
    func begin() async throws(PCastError) {
        try await announce(publisher.current.value?.streamID)
        let publishers = publisher.current.values
        let task = Task { [weak self, room] in
            for await publisher in publishers {
                guard let stream = publisher?.streamID else { continue }
                while !Task.isCancelled {
                    do throws(PCastError) {
                        guard self?.isAnnounced(stream) == false else { break }
                        try await self?.announce(stream)
                    } catch {
                        // The room is entered again when the client is online.
                        guard error.status == .notReady || error.cause == .connection else { break }
                        try? await Task.sleep(for: Self.retryInterval)
                        for await status in room.status.values where status != .reconnecting { break }
                    }
                }
            }
        }
        state.withLock { $0.following = task }
    }

    /// The time before another attempt to announce a stream while the connection is lost.
    private static let retryInterval = Duration.milliseconds(500)

    private func isAnnounced(_ stream: StreamID) -> Bool {
        state.withLock { $0.announced == stream || $0.isStopped }
    }

    private func announce(_ id: StreamID?) async throws(PCastError) {
        guard let id else { return }
        let (stream, former) = state.withLock {
            (RoomStream(id, kind: kind, audio: $0.audio, video: $0.video), $0.announced)
        }
        // A moderator may have given another role meanwhile.
        try await room.announce(stream, replacing: former, former == nil ? role : nil)
        state.withLock { $0.announced = id }
    }
}

extension Room {
    /// Publishes a stream and announces it to the members. If the client is no member, it enters the room first.
    ///
    /// - Parameters:
    ///   - mediaStream: The media.
    ///   - role: The role of this client while it publishes; nil for a presenter of a channel, and a participant of
    ///     another room.
    ///   - kind: The purpose of the stream; nil for the one of the role.
    ///   - screenName: The name of a client that is no member yet.
    ///   - tags: Further tags of the stream. Those of the room are added.
    ///   - options: The encoding of the stream.
    ///   - policy: The actions after the end of the stream.
    ///   - streamToken: The source of tokens. A platform on loopback needs none.
    /// - Returns: The publication.
    /// - Throws: ``PCastError``; see ``PCast/publish(streamToken:mediaStream:tags:options:)`` and
    ///   ``update(_:screenName:role:state:streams:)``.
    public func publish(
        _ mediaStream: MediaStream, as role: MemberRole? = nil, kind: RoomStream.Kind? = nil,
        screenName: String = "guest", tags: [String] = [], options: PublishOptions = PublishOptions(),
        recovering policy: RecoveryPolicy = RecoveryPolicy(),
        streamToken: @escaping PCast.TokenSource = { () throws(PCastError) in "" }
    ) async throws(PCastError) -> RoomPublication {
        let info = try await join(as: .audience, screenName: screenName)
        let formerRole = own.value?.role ?? .audience
        let role = role ?? (info.type == .channel ? .presenter : .participant)
        let publisher = try await pcast.publish(
            recovering: policy, mediaStream: mediaStream, tags: info.streamTags + tags, options: options,
            streamToken: streamToken)
        let publication = RoomPublication(
            publisher, of: mediaStream, in: self, kind ?? (role == .presenter ? .presentation : .user), as: role,
            formerRole: formerRole)
        try await publication.begin()
        return publication
    }

    /// Announces a stream besides the others of this client.
    func announce(_ stream: RoomStream, replacing former: StreamID?, _ role: MemberRole?) async throws(PCastError) {
        let others = (own.value?.streams ?? []).filter { $0.streamID != former && $0.streamID != stream.streamID }
        try await update(role: role, streams: [stream] + others)
    }

    /// Ends the announcement of a stream. The role changes with the last one.
    func withdraw(_ stream: StreamID, _ role: MemberRole) async throws(PCastError) {
        let others = (own.value?.streams ?? []).filter { $0.streamID != stream }
        try await update(role: others.isEmpty ? role : nil, streams: others)
    }
}
