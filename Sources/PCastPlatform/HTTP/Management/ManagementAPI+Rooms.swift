import HTTPTypes
import Hummingbird
import PCastCore
import PCastDatabase

/// The requests for rooms and channels. A room is named by its identifier or its alias.
extension ManagementAPI {
    private struct RoomSetting: Decodable {
        let alias: String
        let name: String?
        let description: String?
        let type: String?
        let options: [String]?

        /// Returns the description of a new room.
        ///
        /// - Throws: ``ApplicationFailure``.
        func room(of application: ApplicationID, _ kind: RoomDescription.Kind) throws(ApplicationFailure)
            -> RoomDescription
        {
            guard RoomText.isAlias(alias) else {
                throw .badRequest(
                    "“alias” is invalid: send 1 to \(RoomText.maximumLength) characters without control characters.")
            }
            let name = name ?? alias
            guard RoomText.isAlias(name) else {
                throw .badRequest(
                    "“name” is invalid: send 1 to \(RoomText.maximumLength) characters without control characters.")
            }
            let text = description ?? ""
            guard RoomText.has(0...RoomText.maximumDescription, text), !text.unicodeScalars.contains("\0") else {
                throw .badRequest(
                    "“description” is invalid: send at most \(RoomText.maximumDescription) characters other than 0.")
            }
            do throws(APIError) {
                try ClientTextLimits.check(options: options ?? [])
            } catch {
                throw .badRequest(error.message)
            }
            return RoomService.describe(
                alias, of: application, name: name, text: text, kind: kind, options: options ?? [])
        }
    }

    private struct ChannelRequest: Decodable {
        let channel: RoomSetting
    }

    private struct RoomRequest: Decodable {
        let room: RoomSetting
    }

    private struct MessageRequest: Decodable {
        struct Message: Decodable {
            struct Author: Decodable {
                let screenName: String
                let role: String?
            }

            let from: Author
            let message: String
        }

        let message: Message
    }

    private struct MemberRequest: Decodable {
        struct Member: Decodable {
            let audioState: String?
            let videoState: String?
        }

        let member: Member
    }

    private struct RoomState: Encodable {
        let roomId: String
        let alias: String
        let name: String
        let description: String
        let type: String
        let options: [String]
        /// The number of members outside the audience.
        let members: Int
        /// The number of members of the audience.
        let audience: Int

        init(_ room: RoomDescription, members: Int = 0, audience: Int = 0) {
            roomId = room.id
            alias = room.alias
            name = room.name
            description = room.text
            type = room.kind.name
            options = room.options
            self.members = members
            self.audience = audience
        }

        init(_ state: (room: RoomDescription, listed: [RoomMember], audience: Int)) {
            self.init(state.room, members: state.listed.count, audience: state.audience)
        }
    }

    private struct ChannelSet: Encodable {
        let status: String
        let channelId: String
        let channel: RoomState
    }

    private struct RoomSet: Encodable {
        let status: String
        let room: RoomState
    }

    private struct RoomList: Encodable {
        let status = "ok"
        let rooms: [RoomState]
    }

    private struct MemberState: Encodable {
        struct Stream: Encodable {
            let streamId: String?
            let type: String
            let audioState: String
            let videoState: String
        }

        let sessionId: String
        let screenName: String
        let role: String
        let state: String
        let streams: [Stream]
        let lastUpdate: UInt64

        init(_ member: RoomMember) {
            sessionId = member.session.description
            screenName = member.screenName
            role = member.role.name
            state = member.state.name
            // The query of a URI has tokens for viewers.
            streams = member.streams.map {
                Stream(
                    streamId: $0.streamID?.description, type: $0.kind.name, audioState: $0.audio.name,
                    videoState: $0.video.name)
            }
            lastUpdate = member.lastUpdate
        }
    }

    private struct MemberList: Encodable {
        let status = "ok"
        let members: [MemberState]
        let audience: Int
    }

    private struct PublisherCount: Encodable {
        let status = "ok"
        let count: Int
    }

    /// Creates a channel, unless there is one with the alias.
    ///
    /// - Throws: ``ApplicationFailure``.
    func putChannel(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let wanted = try request.decoded(ChannelRequest.self).channel.room(of: request.application, .channel)
        let (room, isNew) = try await establish(wanted)
        return ApplicationAnswer.json(
            ChannelSet(status: isNew ? "ok" : "already-exists", channelId: room.id, channel: RoomState(room)))
    }

    /// Creates a room, unless there is one with the alias.
    ///
    /// - Throws: ``ApplicationFailure``.
    func putRoom(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let setting = try request.decoded(RoomRequest.self).room
        guard let kind = setting.type.map({ RoomDescription.Kind(name: $0) }) ?? .multiPartyChat else {
            let names = RoomDescription.Kind.allCases.map(\.name).joined(separator: ", ")
            throw .badRequest("“type” is invalid: send one of \(names).")
        }
        let (room, isNew) = try await establish(try setting.room(of: request.application, kind))
        return ApplicationAnswer.json(RoomSet(status: isNew ? "ok" : "already-exists", room: RoomState(room)))
    }

    private func establish(
        _ wanted: RoomDescription
    ) async throws(ApplicationFailure) -> (room: RoomDescription, isNew: Bool) {
        if let node = await rooms.otherHome(of: RoomKey(wanted)) {
            throw ApplicationFailure(
                .conflict, "conflict", "The room belongs to another node: send the request to \(node).")
        }
        let established: (room: RoomDescription, isNew: Bool)
        do throws(RoomRefusal) {
            established = try await rooms.establish(wanted)
        } catch {
            if case .conflict = error {
                throw ApplicationFailure(
                    .conflict, "conflict",
                    "The alias belongs to a \(wanted.kind == .channel ? "room" : "channel"): select another one.")
            }
            throw ApplicationFailure(
                .conflict, error.wire, "The platform has the maximum number of rooms: delete one first.")
        }
        do throws(ApplicationFailure) {
            try await query { () throws(RecordsError) in try await rooms.store(established.room) }
        } catch {
            if established.isNew { await rooms.end(established.room.id) }
            throw error
        }
        return established
    }

    /// Returns a room.
    ///
    /// - Throws: ``ApplicationFailure``.
    func inspectRoom(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        ApplicationAnswer.json(RoomSet(status: "ok", room: RoomState(try await state(request))))
    }

    /// Ends a room and removes it.
    ///
    /// - Throws: ``ApplicationFailure``.
    func removeRoom(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let id = try await state(request).room.id
        try await query { () throws(RecordsError) in try await rooms.remove(id) }
        return ApplicationAnswer.done
    }

    /// Returns the members of a room outside its audience, whose number is beside.
    ///
    /// - Throws: ``ApplicationFailure``.
    func listMembers(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let state = try await state(request)
        return ApplicationAnswer.json(
            MemberList(members: state.listed.map { MemberState($0) }, audience: state.audience))
    }

    /// Announces that the streams of a member are muted, or not any more.
    ///
    /// - Throws: ``ApplicationFailure``.
    func muteMember(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let session = SessionID(try request.part("session"))
        let member = try request.decoded(MemberRequest.self).member
        func state(_ name: String?) throws(ApplicationFailure) -> RoomStream.TrackState? {
            guard let name else { return nil }
            guard let state = RoomStream.TrackState.allCases.first(where: { $0.name == name }), state != .ended else {
                throw .badRequest("The state of a track is invalid: send TrackEnabled or TrackDisabled.")
            }
            return state
        }
        let (audio, video) = (try state(member.audioState), try state(member.videoState))
        let id = try await self.state(request).room.id
        do throws(RoomRefusal) {
            try await rooms.setTracks(of: session, in: id, audio: audio, video: video)
        } catch {
            throw .notFound
        }
        return ApplicationAnswer.done
    }

    /// Returns the number of presenters with a stream.
    ///
    /// - Throws: ``ApplicationFailure``.
    func countPublishers(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let publishers = try await state(request).listed.filter(\.isPublishing)
        return ApplicationAnswer.json(PublisherCount(count: publishers.count))
    }

    /// Returns the rooms and channels of the application, ordered by alias.
    ///
    /// - Throws: ``ApplicationFailure``.
    func listRooms(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let states = await rooms.states(of: request.application)
        return ApplicationAnswer.json(RoomList(rooms: states.map { RoomState($0) }))
    }

    /// Sends a message to the conversation of a room.
    ///
    /// - Throws: ``ApplicationFailure``.
    func sendMessage(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let message = try request.decoded(MessageRequest.self).message
        guard RoomText.isScreenName(message.from.screenName) else {
            throw .badRequest("“screenName” is invalid: send 1 to \(RoomText.maximumLength) characters.")
        }
        guard let role = message.from.role.map({ RoomMember.Role(name: $0) }) ?? .moderator else {
            let names = RoomMember.Role.allCases.map(\.name).joined(separator: ", ")
            throw .badRequest("“role” is invalid: send one of \(names).")
        }
        guard !message.message.isEmpty, message.message.unicodeScalars.count <= RoomMessage.maximumSize else {
            throw .badRequest("“message” is invalid: send 1 to \(RoomMessage.maximumSize) characters.")
        }
        let id = try await state(request).room.id
        guard message.message.utf8.count <= RoomMessage.maximumSize else {
            throw ApplicationFailure(
                .conflict, "conflict", "The message has more than \(RoomMessage.maximumSize) bytes: shorten it.")
        }
        let author = RoomMember(
            session: SessionID(""), screenName: message.from.screenName, role: role, state: .active, streams: [])
        do throws(RoomRefusal) {
            try await rooms.post(message.message, by: author, in: id)
        } catch {
            var failure = ApplicationFailure(
                .tooManyRequests, error.wire, "The room receives too many messages: retry later.")
            failure.retryAfter = "1"
            throw failure
        }
        return ApplicationAnswer.done
    }

    private func state(
        _ request: ApplicationRequest
    ) async throws(ApplicationFailure) -> (room: RoomDescription, listed: [RoomMember], audience: Int) {
        let name = try request.part("room")
        guard let state = await rooms.state(name, of: request.application) else { throw .notFound }
        return state
    }
}

// The names of the management API are those of the protocol's enumerations.

extension RoomMember.Role {
    fileprivate var name: String {
        switch self {
        case .participant: "Participant"
        case .moderator: "Moderator"
        case .presenter: "Presenter"
        case .audience: "Audience"
        }
    }

    fileprivate init?(name: String) {
        guard let role = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = role
    }
}

extension RoomMember.State {
    fileprivate var name: String {
        switch self {
        case .active: "Active"
        case .passive: "Passive"
        case .handRaised: "HandRaised"
        case .inactive: "Inactive"
        case .offline: "Offline"
        }
    }
}

extension RoomStream.Kind {
    fileprivate var name: String {
        switch self {
        case .user: "User"
        case .presentation: "Presentation"
        case .audio: "Audio"
        }
    }
}

extension RoomStream.TrackState {
    fileprivate var name: String {
        switch self {
        case .enabled: "TrackEnabled"
        case .disabled: "TrackDisabled"
        case .ended: "TrackEnded"
        }
    }
}
