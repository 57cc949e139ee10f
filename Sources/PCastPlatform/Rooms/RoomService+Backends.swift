import PCastCore
import PCastDatabase
import PCastIO

/// The functions for the backends of applications.
extension RoomService {
    /// Restores the rooms that backends have created.
    func restore() async {
        do throws(RecordsError) {
            for record in try await records.rooms() {
                guard let description = RoomDescription(record) else { continue }
                let stored = try await newestMessages(of: record.id)
                try? add(description, isPermanent: true, stored: stored)
            }
            if !storesConversations, try await records.hasRoomMessages() {
                logger.notice("the stored messages of rooms are deleted, because conversations are not kept")
                writeQueue.note(.roomMessagesExpired(before: nil))
            }
        } catch {
            logger.error("rooms were not restored", metadata: ["error": "\(error)"])
        }
    }

    /// Creates a permanent room, unless there is one with the alias. That one becomes permanent.
    ///
    /// - Returns: The room, and whether it is new.
    /// - Throws: ``RoomRefusal``, with the kind `conflict` if only one of the two is a channel.
    func establish(_ wanted: RoomDescription) throws(RoomRefusal) -> (room: RoomDescription, isNew: Bool) {
        guard let found = find("", alias: wanted.alias, of: wanted.application),
            let existing = rooms[found]?.machine.description
        else {
            let id = homes?.roomID(wanted.application, wanted.alias) ?? wanted.id
            let room = RoomDescription(
                id: id, application: wanted.application, alias: wanted.alias, name: wanted.name, text: wanted.text,
                kind: wanted.kind, options: wanted.options)
            try add(room, isPermanent: true)
            return (room, true)
        }
        guard (existing.kind == .channel) == (wanted.kind == .channel) else { throw .conflict(lastUpdate: 0) }
        rooms[found]?.isPermanent = true
        return (existing, false)
    }

    /// Stores a room, so that it exists after a restart of the platform.
    func store(_ room: RoomDescription) async throws(RecordsError) {
        try await records.setRoom(RoomRecord(room))
        storeConversation(of: room.id)
    }

    /// Ends a room and deletes its record.
    func remove(_ id: String) async throws(RecordsError) {
        try await records.removeRoom(id)
        end(id)
    }

    /// Changes the state of the tracks that a listed member announces; nil for no change. Tracks that have ended remain.
    ///
    /// - Throws: ``RoomRefusal`` with the kind `notFound`.
    func setTracks(
        of session: SessionID, in id: String, audio: RoomStream.TrackState?, video: RoomStream.TrackState?
    ) throws(RoomRefusal) {
        guard let member = rooms[id]?.machine.member(session), member.isListed else { throw .notFound }
        let streams = member.streams.map { stream in
            var stream = stream
            if let audio, stream.audio != .ended { stream.audio = audio }
            if let video, stream.video != .ended { stream.video = video }
            return stream
        }
        guard streams != member.streams else { return }
        let change = RoomMachine.Change(streams: streams, lastUpdate: member.lastUpdate)
        _ = try rooms[id]?.machine.update(session, change, at: MonotonicClock.wallTime())
        broadcast(id)
    }

    /// Returns a room of an application by its identifier or alias, with its members; nil if there is none.
    func state(
        _ name: String, of application: ApplicationID
    ) -> (room: RoomDescription, listed: [RoomMember], audience: Int)? {
        guard let id = find(name, alias: name, of: application), let machine = rooms[id]?.machine else { return nil }
        return (machine.description, machine.listed, machine.audienceCount)
    }

    /// Returns the rooms of an application, ordered by alias.
    func states(
        of application: ApplicationID
    ) -> [(room: RoomDescription, listed: [RoomMember], audience: Int)] {
        (aliases[application] ?? [:]).sorted { $0.key < $1.key }.compactMap { state($0.value, of: application) }
    }

    /// Returns a publisher with those requested tags that its token permits, because it requires a tag of the same room.
    func permit(_ tags: [String], to principal: Principal) -> Principal {
        guard let name = principal.roomName(of: tags), let room = state(name, of: principal.application)?.room else {
            return principal
        }
        return principal.permitting(tags, of: room)
    }
}

extension Principal {
    /// Returns the identifier or alias of the room whose tags a publisher may request; nil for none.
    func roomName(of tags: [String]) -> String? {
        guard let token, token.kind == .publishing, let required = token.requiredTag,
            RoomDescription.isRoomTag(required), tags.contains(where: { RoomDescription.isRoomTag($0) })
        else { return nil }
        return String(required.drop { $0 != ":" }.dropFirst())
    }

    /// Returns the publisher with those requested tags that are of a room, if its token requires one of the same room.
    func permitting(_ tags: [String], of room: RoomDescription) -> Principal {
        guard let token, let required = token.requiredTag, room.hasTag(required) else { return self }
        var permitted = self
        permitted.roomTags = tags.filter { room.hasTag($0) && !token.applyTags.contains($0) }
        return permitted
    }
}
