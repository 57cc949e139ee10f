import GRDB
import Logging
import PCastCore
import Synchronization
import Testing

@testable import PCastDatabase
@testable import PCastPlatform

/// The writing of the database.
@Suite struct JournalTests {
    private let application = ApplicationID("studio")

    private func starting(_ number: Int) -> RecordChange {
        .streamStarting(
            StreamRecord(
                id: StreamID("s\(number)"), application: application, session: nil, tags: [], capabilities: [],
                starting: WallTime(millisecondsSinceEpoch: Int64(number))))
    }

    private func withJournal(_ body: (DatabaseWriteQueue, Records, LogRecord) async throws -> Void) async throws {
        let records = try Records.inMemory()
        let log = LogRecord()
        // The timeout exceeds any delay of a busy machine.
        let writeQueue = DatabaseWriteQueue(records, logger: log.logger, timeout: .seconds(600)) {}
        let task = Task { await writeQueue.run() }
        try await body(writeQueue, records, log)
        writeQueue.finish()
        await task.value
    }

    private func count(_ records: Records) async throws -> Int {
        try await records.streams(.init(application), limit: 100_000).elements.count
    }

    @Test("a committed change and all earlier ones are in the database when the call returns") func commits()
        async throws
    {
        try await withJournal { writeQueue, records, _ async throws in
            for number in 0..<100 { writeQueue.note(starting(number)) }
            await writeQueue.commit(starting(100))
            #expect(try await count(records) == 101)
            #expect(writeQueue.counts.waiting == 0)
        }
    }

    @Test("pending changes are written before the end") func end() async throws {
        let records = try Records.inMemory()
        let writeQueue = DatabaseWriteQueue(records, logger: Logger(label: "test")) {}
        for number in 0..<5_000 { writeQueue.note(starting(number)) }
        writeQueue.finish()
        await writeQueue.run()
        #expect(try await count(records) == 5_000)
    }

    @Test("changes that may be lost leave half of the queue to others") func minor() async throws {
        let records = try Records.inMemory()
        let writeQueue = DatabaseWriteQueue(records, logger: Logger(label: "test")) {}
        let change = RecordChange.roomMessagesExpired(before: WallTime(millisecondsSinceEpoch: 0))
        for _ in 0..<50_001 { writeQueue.noteMinor(change) }
        #expect(writeQueue.counts.waiting == 50_000)
        #expect(writeQueue.counts.dropped == 1)
        writeQueue.note(change)
        #expect(writeQueue.counts.waiting == 50_001)
    }

    @Test("a full disk causes no delay, is counted and reported once, and loses nothing")
    func fullDisk() async throws {
        try await withJournal { writeQueue, records, log async throws in
            await writeQueue.commit(starting(0))
            try await records.database.writeWithoutTransaction { db in
                let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                try db.execute(sql: "PRAGMA max_page_count = \(pages)")
            }
            for number in 1...500 {
                await writeQueue.commit(starting(number))
                if number % 100 == 0 { writeQueue.note(starting(1_000 + number)) }
            }
            #expect(writeQueue.counts.failures > 0)
            #expect(writeQueue.counts.waiting > 0)
            try await records.database.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA max_page_count = 1000000")
            }
            await writeQueue.commit(starting(2_000))
            #expect(try await eventually { writeQueue.counts.waiting == 0 })
            #expect(try await count(records) == 507)
            #expect(writeQueue.counts.dropped == 0)
            #expect(log.lines.count { $0.contains("the database cannot be written") } == 1)
            // The message follows the end of the wait.
            #expect(try await eventually { log.lines.contains { $0.contains("the database is writable again") } })
        }
    }

    @Test("a change that the database rejects is dropped alone") func refused() async throws {
        try await withJournal { writeQueue, records, _ async throws in
            try await records.database.write { db in
                try db.execute(
                    sql: """
                        CREATE TRIGGER refuse BEFORE INSERT ON stream WHEN NEW.id = 's7'
                        BEGIN SELECT RAISE(ABORT, 'no sevens'); END
                        """)
            }
            for number in 0..<20 { writeQueue.note(starting(number)) }
            await writeQueue.commit(starting(20))
            #expect(try await count(records) == 20)
            #expect(writeQueue.counts.dropped == 1)
        }
    }
}
