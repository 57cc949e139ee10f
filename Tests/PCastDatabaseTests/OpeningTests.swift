import Foundation
import GRDB
import PCastCore
import Testing

@testable import PCastDatabase

@Suite struct OpeningTests {
    private let application = ApplicationRecord(id: Sample.application, secret: "not-so-secret-after-all")

    private func error(_ path: String, key: String? = nil) async -> RecordsError? {
        do {
            _ = try Records.open(path, keyFile: key)
            return nil
        } catch {
            return error
        }
    }

    @Test("applications persist, their secrets are encrypted, and only named ones are valid") func applications()
        async throws
    {
        try await withDirectory { path in
            do {
                let records = try Records.open(path)
                try await records.setApplications(
                    [application, .init(id: ApplicationID("b"), secret: "x")], at: Sample.time)
                try await records.setApplications([application], at: Sample.time)
            }
            let records = try Records.open(path)
            #expect(try await records.applications() == [application])
            for name in try FileManager.default.contentsOfDirectory(atPath: path) {
                let data = try #require(FileManager.default.contents(atPath: path + "/" + name))
                #expect(data.range(of: Data(application.secret.utf8)) == nil, "\(name)")
                let mode =
                    try FileManager.default.attributesOfItem(atPath: path + "/" + name)[.posixPermissions] as? Int
                #expect(mode == 0o600, "\(name)")
            }
        }
    }

    @Test("a change is on the disk before it is reported as written, so that it survives a loss of power")
    func synchronous() async throws {
        try await withDirectory { path in
            let records = try Records.open(path)
            let (mode, journal) = try await records.database.write { db in
                (try Int.fetchOne(db, sql: "PRAGMA synchronous"), try String.fetchOne(db, sql: "PRAGMA journal_mode"))
            }
            // 2 is FULL: the journal is synced at the end of each transaction.
            #expect(mode == 2 && journal == "wal")
        }
    }

    @Test("a missing, damaged or wrong key is reported at the start") func keys() async throws {
        try await withDirectory { path in
            do {
                let records = try Records.open(path)
                try await records.setApplications([application], at: Sample.time)
            }
            let key = path + "/records.key"
            let kept = try Data(contentsOf: URL(fileURLWithPath: key))
            try FileManager.default.removeItem(atPath: key)
            guard case .key? = await error(path) else {
                Issue.record("a new key was created although secrets are sealed with another one"); return
            }
            try Data("nonsense".utf8).write(to: URL(fileURLWithPath: key))
            guard case .key? = await error(path) else { Issue.record("an invalid key was accepted"); return }
            try Data(Base64.encode([UInt8](repeating: 7, count: 32)).utf8).write(to: URL(fileURLWithPath: key))
            guard case .key? = await error(path) else { Issue.record("another key decrypted the secrets"); return }
            let elsewhere = path + "/elsewhere"
            try kept.write(to: URL(fileURLWithPath: elsewhere))
            #expect(await error(path, key: elsewhere) == nil)
        }
    }

    @Test("a released directory belongs to the next platform, also while the former one is still known")
    func released() async throws {
        try await withDirectory { path in
            let former = try Records.open(path)
            try await former.setApplications([application], at: Sample.time)
            former.release()
            await #expect(throws: RecordsError.self) { try await former.setApplications([], at: Sample.time) }
            let next = try Records.open(path)
            #expect(try await next.applications() == [application])
            former.release()
            #expect(await error(path) == .inUse(path: path))
        }
    }

    @Test("a directory is for one platform only") func lock() async throws {
        try await withDirectory { path in
            do {
                let records = try Records.open(path)
                #expect(await error(path) == .inUse(path: path))
                #expect(try await records.applications().isEmpty)
            }
            #expect(await error(path) == nil)
        }
    }

    @Test("a lock ends with its platform, even if a starting child process has a copy of the descriptor")
    func copiedDescriptor() async throws {
        try await withDirectory { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            var copy: Int32 = -1
            do {
                let lock = try DirectoryLock(path)
                let folder = "/proc/self/fd"
                let descriptor = try FileManager.default.contentsOfDirectory(atPath: folder).first {
                    (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) == path + "/lock"
                }
                copy = dup(try #require(descriptor.flatMap { Int32($0) }))
                #expect(throws: RecordsError.inUse(path: path)) { _ = try DirectoryLock(path) }
                withExtendedLifetime(lock) {}
            }
            #expect(copy >= 0)
            _ = try DirectoryLock(path)
            close(copy)
        }
    }

    @Test("opening a directory in use closes nothing of its platform") func refused() async throws {
        try await withDirectory { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            let lock = try DirectoryLock(path)
            await withTaskGroup(of: Int.self) { group in
                group.addTask {
                    var lost = 0
                    while !Task.isCancelled {
                        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
                        if close(descriptor) != 0 { lost += 1 }
                    }
                    return lost
                }
                for _ in 0..<2_000 {
                    #expect(throws: RecordsError.inUse(path: path)) { _ = try DirectoryLock(path) }
                }
                group.cancelAll()
                #expect(await group.next() == 0)
            }
            withExtendedLifetime(lock) {}
        }
    }

    @Test("a file that is damaged or no database is a clear error", arguments: [0, 1, 2])
    func corrupt(kind: Int) async throws {
        try await withDirectory { path in
            let file = path + "/records.sqlite"
            do {
                let records = try Records.open(path)
                for number in 0..<200 { try await records.record(Sample.life("s\(number)")) }
                try await records.database.writeWithoutTransaction { db in
                    _ = try db.checkpoint(.truncate)
                }
            }
            var data = try Data(contentsOf: URL(fileURLWithPath: file))
            switch kind {
            case 0: data = Data("this is no database, whatever its name says".utf8)
            case 1: data = data.prefix(data.count / 2)
            default:
                data.replaceSubrange(
                    8_192..<(data.count - 4_096), with: Data(repeating: 0xA5, count: data.count - 12_288))
            }
            try data.write(to: URL(fileURLWithPath: file))
            guard case .corrupt(file, _)? = await error(path) else {
                Issue.record("opened: \(String(describing: await error(path)))")
                return
            }
        }
    }

    @Test("an inaccessible directory is a clear error") func inaccessible() async throws {
        try await withDirectory { path in
            try Data().write(to: URL(fileURLWithPath: path))
            guard case .inaccessible? = await error(path + "/below") else {
                Issue.record("a file was accepted as a directory"); return
            }
        }
    }

    @Test("data of a later version is unchanged") func newer() async throws {
        try await withDirectory { path in
            do {
                let records = try Records.open(path)
                try await records.database.write { db in
                    try db.execute(sql: "INSERT INTO grdb_migrations VALUES ('99: something of the future')")
                }
            }
            #expect(await error(path) == .newer(path: path + "/records.sqlite"))
        }
    }

    @Test("a full disk fails only the write, and later writes work when there is space") func full()
        async throws
    {
        try await withDirectory { path in
            let records = try Records.open(path)
            let pages = try await records.database.write { db -> Int in
                let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                try db.execute(sql: "PRAGMA max_page_count = \(pages + 1)")
                return pages
            }
            #expect(pages > 0)
            var written = 0
            let failure = await #expect(throws: RecordsError.self) {
                for number in 0..<1_000 {
                    try await records.record(Sample.life("s\(number)"))
                    written += 1
                }
            }
            #expect(failure == .full(path: records.path))
            #expect(failure?.isOfTheDisk == true)
            // A transaction that failed left no data.
            let kept = try await records.streams(.init(Sample.application), limit: 1_000).elements
            #expect(kept.count == written)
            #expect(kept.allSatisfy { $0.ended != nil })
            try await records.database.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA max_page_count = 1000000")
            }
            try await records.record(Sample.life("s\(written)"))
        }
    }
}
