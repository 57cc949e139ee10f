import PCastCore
import Testing

@testable import PCastDatabase

@Suite("Stored conversations of rooms")
struct RoomMessageTests {
    private static let room = RoomRecord(
        id: "r", application: ApplicationID("first"), alias: "demo", name: "Demo", description: "", type: "Channel",
        options: [])

    private static func message(_ number: Int, in room: String = "r") -> RoomMessageRecord {
        RoomMessageRecord(
            room: room, id: "m\(number)", time: WallTime(millisecondsSinceEpoch: 1_700_000_000_000 + Int64(number)),
            session: number == 0 ? nil : SessionID("s"), screenName: "A\u{0}B", role: 2, lastUpdate: 1 << 52,
            text: "\(number)\u{0}é")
    }

    @Test("messages are returned as they were, between bounds, from the newer or the older end")
    func pages() async throws {
        let records = try Records.inMemory()
        try await records.setRoom(Self.room)
        let all = (0..<10).map { Self.message($0) }
        // A change may be written twice.
        try await records.record((all + [Self.message(3)]).map { RecordChange.roomMessage($0) })
        #expect(try await records.roomMessages(of: "r", limit: 100) == all)
        #expect(try await records.roomMessages(of: "r", limit: 2) == Array(all[8...9]))
        #expect(try await records.roomMessages(of: "r", before: "m5", limit: 2) == Array(all[3...4]))
        #expect(try await records.roomMessages(of: "r", after: "m5", limit: 2) == Array(all[6...7]))
        #expect(try await records.roomMessages(of: "r", after: "m5", before: "m7", limit: 9) == [all[6]])
        #expect(try await records.roomMessages(of: "other", limit: 9).isEmpty)
    }

    @Test("only stored rooms have messages, and they are removed with the room and after their time")
    func removal() async throws {
        let records = try Records.inMemory()
        try await records.record([.roomMessage(Self.message(0))])
        #expect(try await !records.hasRoomMessages())
        try await records.setRoom(Self.room)
        try await records.record((0..<3).map { RecordChange.roomMessage(Self.message($0)) })
        #expect(try await records.hasRoomMessages())
        // A change of the room keeps them.
        try await records.setRoom(Self.room)
        try await records.record([.roomMessagesExpired(before: Self.message(2).time)])
        #expect(try await records.roomMessages(of: "r", limit: 9).map(\.id) == ["m2"])
        try await records.removeRoom("r")
        #expect(try await !records.hasRoomMessages())
        try await records.setRoom(Self.room)
        try await records.record([.roomMessage(Self.message(4)), .roomMessagesExpired(before: nil)])
        #expect(try await !records.hasRoomMessages())
    }
}
