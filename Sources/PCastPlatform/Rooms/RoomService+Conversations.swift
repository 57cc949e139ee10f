import Logging
import PCastCore
import PCastDatabase
import PCastIO
import PCastSignaling

/// The conversations of rooms, which are in the database if the room is and retention is configured.
extension RoomService {
    /// The time of the oldest messages that are kept; nil if only memory limits them.
    var oldestMessage: WallTime? {
        configuration.conversationRetention.map { MonotonicClock.wallTime() - TimeSpan($0) }
    }

    // MARK: Requests

    func send(_ message: ChatSendMessageToRoom, _ client: RoomClient) -> ChatSendMessageToRoomResponse {
        var response = ChatSendMessageToRoomResponse()
        do throws(RoomRefusal) {
            let text = message.chatMessage.message
            guard let author = rooms[message.roomID]?.machine.member(client.session) else { throw .notFound }
            guard !text.isEmpty else { throw .badRequest }
            guard text.utf8.count <= RoomMessage.maximumSize else { throw .rateLimited }
            try takeMessage(client.session, in: message.roomID)
            append(text, by: author, in: message.roomID)
            response.status = "ok"
        } catch {
            response.status = error.wire
        }
        return response
    }

    /// Sends a message of a backend to the conversation of a room.
    ///
    /// - Throws: ``RoomRefusal`` if there are too many.
    func post(_ text: String, by author: RoomMember, in id: String) throws(RoomRefusal) {
        try takeMessage(nil, in: id)
        append(text, by: author, isBackend: true, in: id)
    }

    /// Returns messages. If the client subscribes, later ones wait for `release()` of the connection.
    func fetch(
        _ message: ChatFetchRoomConversation, _ client: RoomClient
    ) async -> ChatFetchRoomConversationResponse {
        var response = ChatFetchRoomConversationResponse()
        do throws(RoomRefusal) {
            try checkSession(message.sessionID, client)
            let id = message.roomID
            guard rooms[id]?.machine.member(client.session) != nil else { throw .notFound }
            let after = message.afterMessageID.isEmpty ? nil : message.afterMessageID
            let before = message.beforeMessageID.isEmpty ? nil : message.beforeMessageID
            let limit = Int(message.limit)
            discardOldMessages(of: id)
            let earlier = await earlierMessages(of: id, after: after, before: before, limit: limit)
            // The member may have left meanwhile.
            guard rooms[id]?.machine.member(client.session) != nil else { throw .notFound }
            if message.options.contains(.subscribe) { rooms[id]?.subscribers.insert(client.session) }
            let page = rooms[id]?.conversation.page(after: after, before: before, limit: limit, earlier: earlier)
            response.status = "ok"
            response.chatMessages = page?.map { ChatChatMessage($0) } ?? []
            client.holdEvents(after: .fetchRoomConversation(response))
        } catch {
            response.status = error.wire
        }
        return response
    }

    /// Appends a message to a conversation, and sends it to the subscribers.
    private func append(_ text: String, by author: RoomMember, isBackend: Bool = false, in id: String) {
        discardOldMessages(of: id)
        guard let description = rooms[id]?.machine.description,
            let message = rooms[id]?.conversation.append(
                text, by: author, isBackend: isBackend, at: MonotonicClock.wallTime())
        else { return }
        let event = SharedSignalingEvent(.roomConversation(ChatRoomConversationEvent(message, in: description)))
        for session in rooms[id]?.subscribers ?? [] {
            guard let connection = rooms[id]?.connections[session], !connection.isOfNode else { continue }
            connection.append(event)
        }
        for node in rooms[id]?.nodes.values ?? [:].values { node.append(event) }
        if storesConversations, rooms[id]?.isStored == true {
            writeQueue.noteMinor(.roomMessage(RoomMessageRecord(message, in: id)))
        }
    }

    private func discardOldMessages(of id: String) {
        if let oldestMessage { rooms[id]?.conversation.discard(before: oldestMessage) }
    }

    // MARK: Database

    /// Returns the newest messages of a stored room, one more than are in memory.
    ///
    /// - Throws: `RecordsError`.
    func newestMessages(of id: String) async throws(RecordsError) -> [RoomMessage] {
        guard storesConversations else { return [] }
        return try await records.roomMessages(of: id, limit: RoomConversation.capacity + 1)
            .compactMap { RoomMessage($0) }
    }

    /// Records that a room is in the database, and stores the messages that it has so far.
    func storeConversation(of id: String) {
        guard rooms[id]?.isStored == false else { return }
        rooms[id]?.isStored = true
        guard storesConversations else { return }
        for message in rooms[id]?.conversation.messages ?? [] {
            writeQueue.noteMinor(.roomMessage(RoomMessageRecord(message, in: id)))
        }
    }

    /// Returns the messages of a page that are in the database only. A page has only those in memory if the database cannot
    /// be read.
    private func earlierMessages(
        of id: String, after: String?, before: String?, limit: Int
    ) async -> [RoomMessage] {
        guard storesConversations, rooms[id]?.isStored == true,
            let end = rooms[id]?.conversation.needsEarlier(after: after, before: before, limit: limit)
        else { return [] }
        do throws(RecordsError) {
            let oldest = oldestMessage
            return try await records.roomMessages(
                of: id, after: after, before: end, limit: RoomConversation.capacity
            ).compactMap { RoomMessage($0) }.filter { message in oldest.map { message.time >= $0 } ?? true }
        } catch {
            logger.error("messages of a room cannot be read", metadata: ["room": "\(id)", "error": "\(error)"])
            return []
        }
    }
}
