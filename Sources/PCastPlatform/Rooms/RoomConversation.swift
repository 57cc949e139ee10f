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

    /// The time in milliseconds at which the conversation began, so that identifiers grow also after a restart of the
    /// platform.
    private let epoch: UInt64
    private var count: UInt64 = 0
    private(set) var messages: [RoomMessage] = []
    /// Whether messages before the first one were dropped, because there were more than ``capacity``.
    private(set) var hasEarlier = false

    private static let prefix = "pcast|"

    /// Creates a conversation.
    ///
    /// - Parameters:
    ///   - time: The time of its beginning.
    ///   - stored: The messages of a former run of the platform, oldest first.
    init(began time: WallTime, continuing stored: [RoomMessage] = []) {
        // The clock may have been set back since.
        let former = stored.last.flatMap { Self.epoch(of: $0.id) } ?? 0
        epoch = max(UInt64(max(time.millisecondsSinceEpoch, 0)), former + 1)
        messages = Array(stored.suffix(Self.capacity))
        hasEarlier = stored.count > Self.capacity
    }

    /// Adds a message. The oldest one is dropped if there are more than ``capacity``.
    mutating func append(
        _ text: String, by author: RoomMember, isBackend: Bool = false, at time: WallTime
    ) -> RoomMessage {
        count += 1
        let message = RoomMessage(
            id: "\(Self.prefix)\(Self.padded(epoch, 16))|\(Self.padded(count, 10))",
            time: time, session: isBackend ? nil : author.session, screenName: author.screenName, role: author.role,
            lastUpdate: author.lastUpdate, text: text)
        if messages.count == Self.capacity {
            messages.removeFirst()
            hasEarlier = true
        }
        messages.append(message)
        return message
    }

    /// Removes the messages before a time.
    mutating func discard(before time: WallTime) {
        messages.removeFirst(messages.prefix { $0.time < time }.count)
    }

    /// Returns messages between two identifiers, both excluded, oldest first.
    ///
    /// If there is no lower bound, they are the newest ones, otherwise the oldest ones, so that a client that pages in
    /// either direction gets no gap. With both bounds, `limit` may be 0 for all.
    ///
    /// - Parameters:
    ///   - after: The lower bound; nil for none.
    ///   - before: The upper bound; nil for none.
    ///   - limit: The maximum number of messages.
    ///   - earlier: The messages between the bounds that precede those in memory; see ``needsEarlier(after:before:limit:)``.
    /// - Returns: The messages.
    func page(
        after: String?, before: String?, limit: Int, earlier: [RoomMessage] = []
    ) -> ArraySlice<RoomMessage> {
        let start = after.map { bound in messages.firstIndex { $0.id > bound } ?? messages.endIndex } ?? 0
        let end = before.flatMap { bound in messages.firstIndex { $0.id >= bound } } ?? messages.endIndex
        let first = messages.first?.id
        let found =
            earlier.filter { message in first.map { message.id < $0 } ?? true } + messages[start..<max(start, end)]
        let limit = Self.limit(limit, after: after, before: before)
        return after == nil ? found.suffix(limit) : found.prefix(limit)
    }

    /// Returns the upper bound of messages that are not in memory and belong to a page; nil if there are none.
    func needsEarlier(after: String?, before: String?, limit: Int) -> String? {
        guard hasEarlier, let first = messages.first?.id, limit > 0 || after != nil && before != nil else { return nil }
        if let after {
            guard after < first, before.map({ after < $0 }) ?? true else { return nil }
        } else {
            let count = page(after: nil, before: before, limit: limit).count
            guard count < Self.limit(limit, after: nil, before: before) else { return nil }
        }
        return min(first, before ?? first)
    }

    private static func limit(_ limit: Int, after: String?, before: String?) -> Int {
        limit == 0 && after != nil && before != nil ? capacity : min(limit, capacity)
    }

    /// Returns the beginning of the conversation of a message; nil for an identifier of another form.
    private static func epoch(of id: String) -> UInt64? {
        let parts = id.split(separator: "|", omittingEmptySubsequences: false)
        return parts.count == 3 ? UInt64(parts[1]) : nil
    }

    private static func padded(_ number: UInt64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(width - digits.count, 0)) + digits
    }
}
