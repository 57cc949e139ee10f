import PCastCore

/// A message of a room's conversation.
struct RoomMessage: Hashable, Sendable {
    /// The identifier. Clients compare identifiers as text, so later ones are greater.
    let id: String
    let time: WallTime
    /// The session of the author; nil for a message of the application's backend.
    let session: SessionID?
    let screenName: String
    let role: RoomMember.Role
    /// The number of the author's last change.
    let lastUpdate: UInt64
    let text: String

    /// The maximum size of the text in bytes.
    static let maximumSize = 1_024
}

/// The newest messages of a room, oldest first.
struct RoomConversation {
    /// The maximum number of messages in memory, and in one answer.
    static let capacity = 128

    /// The time at which the conversation began, so that identifiers grow also after a restart of the platform.
    private let epoch: WallTime
    private var count: UInt64 = 0
    private(set) var messages: [RoomMessage] = []

    init(began epoch: WallTime) { self.epoch = epoch }

    /// Adds a message. The oldest one is dropped if there are more than ``capacity``.
    mutating func append(
        _ text: String, by author: RoomMember, isBackend: Bool = false, at time: WallTime
    ) -> RoomMessage {
        count += 1
        let message = RoomMessage(
            id: "pcast|\(Self.padded(UInt64(max(epoch.millisecondsSinceEpoch, 0)), 16))|\(Self.padded(count, 10))",
            time: time, session: isBackend ? nil : author.session, screenName: author.screenName, role: author.role,
            lastUpdate: author.lastUpdate, text: text)
        if messages.count == Self.capacity { messages.removeFirst() }
        messages.append(message)
        return message
    }

    /// Returns messages between two identifiers, both excluded, oldest first.
    ///
    /// If there is no lower bound, they are the newest ones, otherwise the oldest ones, so that a client that pages in
    /// either direction gets no gap. With both bounds, `limit` may be 0 for all.
    func page(after: String?, before: String?, limit: Int) -> ArraySlice<RoomMessage> {
        let start = after.map { bound in messages.firstIndex { $0.id > bound } ?? messages.endIndex } ?? 0
        let end = before.flatMap { bound in messages.firstIndex { $0.id >= bound } } ?? messages.endIndex
        guard start < end else { return [] }
        let found = messages[start..<end]
        let limit = limit == 0 && after != nil && before != nil ? Self.capacity : min(limit, Self.capacity)
        return after == nil ? found.suffix(limit) : found.prefix(limit)
    }

    private static func padded(_ number: UInt64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(width - digits.count, 0)) + digits
    }
}
