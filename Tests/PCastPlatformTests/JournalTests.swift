import GRDB
import Logging
import PCastMedia
import Synchronization
import Testing

@testable import PCastPlatform
@testable import PCastRecords

/// What writes the records.
@Suite struct JournalTests {
    private let application = ApplicationID("studio")

    private func starting(_ number: Int) -> RecordChange {
        .streamStarting(
            StreamRecord(
                id: StreamID("s\(number)"), application: application, session: nil, tags: [], capabilities: [],
                starting: WallTime(millisecondsSinceEpoch: Int64(number))))
    }

    private func withJournal(_ body: (Journal, Records, LogRecord) async throws -> Void) async throws {
        let records = try Records.inMemory()
        let log = LogRecord()
        // However busy the machine is, what is committed is waited for.
        let journal = Journal(records, logger: log.logger, patience: .seconds(600)) {}
        let task = Task { await journal.run() }
        try await body(journal, records, log)
        journal.finish()
        await task.value
    }

    private func count(_ records: Records) async throws -> Int {
        try await records.streams(.init(application), limit: 100_000).elements.count
    }

    @Test("What is committed is in the records when it returns, and all that came before it") func commits()
        async throws
    {
        try await withJournal { journal, records, _ async throws in
            for number in 0..<100 { journal.note(starting(number)) }
            await journal.commit(starting(100))
            #expect(try await count(records) == 101)
            #expect(journal.counts.waiting == 0)
        }
    }

    @Test("What was noted is written before the end") func end() async throws {
        let records = try Records.inMemory()
        let journal = Journal(records, logger: Logger(label: "test")) {}
        for number in 0..<5_000 { journal.note(starting(number)) }
        journal.finish()
        await journal.run()
        #expect(try await count(records) == 5_000)
    }

    @Test("A full disk holds nobody up, is counted and told once, and nothing is lost when there is room again")
    func fullDisk() async throws {
        try await withJournal { journal, records, log async throws in
            await journal.commit(starting(0))
            try await records.database.writeWithoutTransaction { db in
                let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                try db.execute(sql: "PRAGMA max_page_count = \(pages)")
            }
            for number in 1...500 {
                await journal.commit(starting(number))
                if number % 100 == 0 { journal.note(starting(1_000 + number)) }
            }
            #expect(journal.counts.failures > 0)
            #expect(journal.counts.waiting > 0)
            try await records.database.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA max_page_count = 1000000")
            }
            await journal.commit(starting(2_000))
            #expect(try await eventually { journal.counts.waiting == 0 })
            #expect(try await count(records) == 507)
            #expect(journal.counts.dropped == 0)
            #expect(log.lines.count { $0.contains("records cannot be written") } == 1)
            #expect(log.lines.contains { $0.contains("records are written again") })
        }
    }

    @Test("A change that the records refuse is given up alone") func refused() async throws {
        try await withJournal { journal, records, _ async throws in
            try await records.database.write { db in
                try db.execute(
                    sql: """
                        CREATE TRIGGER refuse BEFORE INSERT ON stream WHEN NEW.id = 's7'
                        BEGIN SELECT RAISE(ABORT, 'no sevens'); END
                        """)
            }
            for number in 0..<20 { journal.note(starting(number)) }
            await journal.commit(starting(20))
            #expect(try await count(records) == 20)
            #expect(journal.counts.dropped == 1)
        }
    }
}
