import Foundation
import PCastPackaging
import PCastRecording
import Synchronization
import Testing

@Suite("Rewind windows are stored in files that leave nothing behind")
struct WindowStorageTests {
    private final class Messages: Sendable {
        let texts = Mutex<[String]>([])

        func add(_ event: WindowStorage.Event) {
            switch event {
            case .failed(let error): texts.withLock { $0.append(error.cause) }
            case .recovered: texts.withLock { $0.append("recovered") }
            }
        }
    }

    private final class Results: Sendable {
        private struct Contents {
            var stored: [(UnstoredSegment, StoredMedia)] = []
            var rest: [UnstoredSegment] = []
        }

        private let contents = Mutex(Contents())

        func add(_ stored: [(UnstoredSegment, StoredMedia)], _ rest: [UnstoredSegment]) {
            contents.withLock { contents in
                contents.stored += stored
                contents.rest += rest
            }
        }

        /// Removes the results so far.
        func take() -> (stored: [(UnstoredSegment, StoredMedia)], rest: [UnstoredSegment]) {
            contents.withLock { contents in
                defer { contents = Contents() }
                return (contents.stored, contents.rest)
            }
        }
    }

    private static func segment(_ number: Int64, size: Int = 1_000) -> UnstoredSegment {
        UnstoredSegment(
            rendition: "video0", number: number,
            fragments: [[UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size), [], [1, 2, 3]])
    }

    private static func bytes(_ segment: UnstoredSegment) -> [UInt8] { segment.fragments.flatMap { $0 } }

    @Test("segments are read as they were stored, and the space of those that nobody has any more is free")
    func roundTrip() async throws {
        try await withFolder { root in
            let storage = try WindowStorage(folder: root + "/rewind", reserve: 0) { _ in }
            let results = Results()
            let files = WindowFiles(window: .zero, maximumSize: 3_000)
            for number in Int64(0)..<20 {
                storage.store([Self.segment(number)], in: files) { results.add($0, $1) }
            }
            await storage.flush()
            var outcome = results.take()
            #expect(outcome.rest.isEmpty && outcome.stored.count == 20)
            for (segment, media) in outcome.stored {
                #expect(media.size == 1_003 && media.belongsToWindow)
                #expect(try media.read() == Self.bytes(segment))
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: root + "/rewind") == [], "files have no names")
            #expect(storage.size == 20 * 1_003)
            outcome.stored.removeFirst(10)
            #expect(storage.size <= 12 * 1_003, "files end after three segments, and a whole file is released")
            let remaining = try outcome.stored.filter { try $0.1.read() == Self.bytes($0.0) }.map(\.0.number)
            #expect(remaining == Array(10..<20))
            outcome.stored = []
            #expect(storage.size <= 3 * 1_003, "only the current file remains")
        }
    }

    @Test("files that a killed platform left are removed, and others are not")
    func leftovers() async throws {
        try await withFolder { root in
            for name in ["window-7", "notes.txt"] {
                try Data([1]).write(to: URL(fileURLWithPath: "\(root)/\(name)"))
            }
            _ = try WindowStorage(folder: root, reserve: 0) { _ in }
            #expect(try FileManager.default.contentsOfDirectory(atPath: root) == ["notes.txt"])
        }
    }

    @Test("a full disk, and a folder that was removed, are one message each until segments are stored again")
    func failures() async throws {
        try await withFolder { root in
            let (messages, results) = (Messages(), Results())
            let full = try WindowStorage(folder: root + "/full", reserve: .max, retryInterval: .zero) {
                messages.add($0)
            }
            let segments = [Self.segment(0), Self.segment(1)]
            for _ in 0..<3 { full.store(segments, in: WindowFiles(window: .zero)) { results.add($0, $1) } }
            await full.flush()
            let outcome = results.take()
            #expect(outcome.stored.isEmpty && outcome.rest.map(\.number) == [0, 1, 0, 1, 0, 1])
            #expect(messages.texts.withLock { $0 } == ["the disk of \(root)/full is full: free some space"])

            messages.texts.withLock { $0 = [] }
            let folder = root + "/removed"
            let removed = try WindowStorage(folder: folder, reserve: 0, retryInterval: .zero) { messages.add($0) }
            try FileManager.default.removeItem(atPath: folder)
            let files = WindowFiles(window: .zero)
            for _ in 0..<2 { removed.store(segments, in: files) { results.add($0, $1) } }
            await removed.flush()
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            removed.store(segments, in: files) { results.add($0, $1) }
            await removed.flush()
            let second = results.take()
            #expect(second.stored.count == 2 && second.rest.count == 4)
            for (segment, media) in second.stored { #expect(try media.read() == Self.bytes(segment)) }
            let texts = messages.texts.withLock { $0 }
            #expect(texts.count == 2 && texts.last == "recovered" && texts.first?.hasPrefix(folder) == true)
        }
    }

    @Test("after a failure nothing is stored until the time of the next attempt")
    func waiting() async throws {
        try await withFolder { root in
            let storage = try WindowStorage(folder: root, reserve: .max, retryInterval: .seconds(3_600)) { _ in }
            #expect(storage.isReady)
            storage.store([Self.segment(0)], in: WindowFiles(window: .zero)) { _, _ in }
            await storage.flush()
            #expect(!storage.isReady)
        }
    }
}
