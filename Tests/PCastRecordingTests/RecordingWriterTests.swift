import Foundation
import PCastCore
import PCastDatabase
import PCastPackaging
import Synchronization
import Testing

@testable import PCastRecording

@Suite("Parts are recorded")
struct RecordingWriterTests {
    @Test("a segment is read as it was published, and its row has its times")
    func roundTrip() async throws {
        try await withFolder { root in
            var audio = RecordedAudio()
            let parts = audio.parts(9) + audio.finish()
            let writer = try RecordingWriter(RecordedAudio.identity, in: root, RecordingLimits())
            for part in parts { try writer.append(part) }
            let segments = try writer.finish().added
            let reader = try PartFileReader(
                RecordingFolder(root: root, stream: RecordedAudio.stream).path(
                    of: .init(epoch: 0, rendition: "opus", number: 0)))
            #expect(segments.map(\.number) == [0, 1, 2, 3, 4])
            for segment in segments {
                let own = parts.filter { $0.segment == segment.number }
                #expect(try reader.media(of: segment) == own.flatMap(\.part.bytes))
                #expect(segment.start == own.first?.segmentStart)
                #expect(segment.duration == own.reduce(.zero) { $0 + $1.part.duration })
                #expect(!segment.isGap)
            }
            #expect(try #require(try reader.beginning()).initialization == parts[0].initializationBytes)
        }
    }

    @Test("only segments that are on the disk are reported, each once")
    func syncing() async throws {
        try await withFolder { root in
            var audio = RecordedAudio()
            let writer = try RecordingWriter(RecordedAudio.identity, in: root, RecordingLimits())
            for part in audio.parts(3) { try writer.append(part) }
            #expect(writer.unsyncedSize > 0)
            #expect(try writer.sync().added.map(\.number) == [0])
            #expect(writer.unsyncedSize == 0)
            #expect(try writer.sync().isEmpty)
            for part in audio.parts(4) { try writer.append(part) }
            #expect(try writer.sync().added.map(\.number) == [1, 2])
            #expect(try writer.finish().added.map(\.number) == [3])
        }
    }

    @Test("a file ends with a segment when it reaches its size or its duration", arguments: [true, false])
    func rotation(bySize: Bool) async throws {
        try await withFolder { root in
            var limits = RecordingLimits()
            if bySize { limits.fileSize = 10_000 } else { limits.fileDuration = .seconds(4 as Int64) }
            var audio = RecordedAudio()
            let writer = try RecordingWriter(RecordedAudio.identity, in: root, limits)
            for part in audio.parts(21) { try writer.append(part) }
            let segments = try writer.finish().added
            let folder = RecordingFolder(root: root, stream: RecordedAudio.stream)
            let files = try folder.files()
            #expect(files.count >= 4 && files.map(\.number) == Array(0..<files.count))
            #expect(Set(segments.map(\.file)) == Set(files.map(\.number)))
            for segment in segments {
                let name = RecordingFolder.FileName(epoch: 0, rendition: "opus", number: segment.file)
                #expect(try !PartFileReader(folder.path(of: name)).media(of: segment).isEmpty)
            }
        }
    }

    @Test("a segment of which a part was dropped ends there, and the next one is recorded")
    func droppedPart() async throws {
        try await withFolder { root in
            var audio = RecordedAudio()
            let parts = audio.parts(9)
            let found = parts.firstIndex { $0.segment == 1 && $0.index == 3 }
            let dropped = try #require(found)
            let writer = try RecordingWriter(RecordedAudio.identity, in: root, RecordingLimits())
            for (index, part) in parts.enumerated() where index != dropped { try writer.append(part) }
            let segments = try writer.finish().added
            #expect(segments.map(\.number) == [0, 1, 2, 3, 4])
            let own = parts.filter { $0.segment == 1 && $0.index < 3 }
            let duration = own.reduce(TimeSpan.zero) { $0 + $1.part.duration }
            #expect(own.map(\.index) == [0, 1, 2])
            #expect(segments[1].duration == duration)
        }
    }

    @Test("a file that was removed does not prevent the segments of other files from being indexed")
    func failure() async throws {
        try await withFolder { root in
            var limits = RecordingLimits()
            limits.fileSize = 1
            var audio = RecordedAudio()
            let writer = try RecordingWriter(RecordedAudio.identity, in: root, limits)
            for part in audio.parts(5) { try writer.append(part) }
            let folder = RecordingFolder(root: root, stream: RecordedAudio.stream)
            let removed = folder.path(of: .init(epoch: 0, rendition: "opus", number: 0))
            try FileManager.default.removeItem(atPath: removed)
            var changes: [RecordingChange] = []
            #expect(throws: RecordingError.removed(path: removed)) { try writer.finish(&changes) }
            #expect(changes.added.map(\.number) == [1, 2])
        }
    }

    @Test("a damaged segment is an error, not other media")
    func damage() async throws {
        try await withFolder { root in
            let recording = try InterruptedRecording(in: root)
            let segment = try #require(recording.indexed.first)
            let whole = try recording.bytes()
            for offset in [0, 30, PartHeader.size + 5, Int(segment.length) - 1] {
                var bytes = whole
                bytes[Int(segment.offset) + offset] ^= 1
                try recording.write(bytes)
                let reader = try PartFileReader(recording.path)
                #expect(throws: RecordingError.corrupt(path: recording.path)) { try reader.media(of: segment) }
            }
            try recording.write(whole)
            let reader = try PartFileReader(recording.path)
            var other = segment
            other.number += 1
            #expect(throws: RecordingError.corrupt(path: recording.path)) { try reader.media(of: other) }
            other = segment
            other.length = .max
            #expect(throws: RecordingError.corrupt(path: recording.path)) { try reader.media(of: other) }
        }
    }

    @Test("the name of a folder is that of one stream", arguments: ["plain-1", "eu#dc.x_Y/..", ".", "ä%", "%2e"])
    func names(stream: String) throws {
        let folder = RecordingFolder(root: "/r", stream: StreamID(stream))
        #expect(!folder.name.contains("/") && !folder.name.contains(".") && !folder.name.isEmpty)
        #expect(RecordingFolder(root: "/r", name: folder.name) == folder)
        #expect(RecordingFolder(root: "/r", name: "a.b") == nil)
        #expect(RecordingFolder(root: "/r", name: "%4") == nil)
    }
}

@Suite("A failing disk ends recordings and nothing else")
struct RecordingStoreTests {
    private final class Events: Sendable {
        private let events = Mutex<[RecordingStore.Event]>([])
        func add(_ event: RecordingStore.Event) { events.withLock { $0.append(event) } }

        var changes: [RecordingChange] {
            events.withLock { $0 }.flatMap { event in
                if case .indexed(let changes) = event { changes } else { [RecordingChange]() }
            }
        }
        /// The errors of recordings that ended; nil for an end without an error.
        var ends: [RecordingError?] {
            events.withLock { $0 }.compactMap { event -> RecordingError?? in
                if case .ended(_, let error) = event { return .some(error) }
                return nil
            }
        }
        var droppedCount: Int {
            events.withLock { $0 }.count { if case .dropped = $0 { true } else { false } }
        }
    }

    private static func store(
        _ root: String, _ events: Events, _ change: (inout RecordingLimits) -> Void = { _ in }
    ) throws -> RecordingStore {
        var limits = RecordingLimits()
        limits.reserve = 0
        change(&limits)
        return try RecordingStore(root: root, limits: limits) { events.add($0) }
    }

    @Test("a stream is recorded until its end, and indexed after each sync")
    func life() async throws {
        try await withFolder { root in
            let events = Events()
            let store = try Self.store(root + "/new/folder", events)
            var audio = RecordedAudio()
            store.begin(RecordedAudio.identity)
            #expect(store.isRecording(RecordedAudio.stream))
            store.append(audio.parts(5), to: RecordedAudio.stream)
            await store.sync()
            #expect(events.changes.added.count == 2 && store.queuedSize == 0)
            store.append(audio.parts(5) + audio.finish(), to: RecordedAudio.stream)
            store.finish(RecordedAudio.stream)
            await store.sync()
            #expect(events.changes.added.map(\.number) == [0, 1, 2, 3, 4])
            #expect(events.ends == [nil] && !store.isRecording(RecordedAudio.stream))
        }
    }

    @Test("too little free space ends the recording")
    func fullDisk() async throws {
        try await withFolder { root in
            let events = Events()
            let store = try Self.store(root, events) { $0.reserve = .max }
            var audio = RecordedAudio()
            store.begin(RecordedAudio.identity)
            store.append(audio.parts(5), to: RecordedAudio.stream)
            await store.sync()
            #expect(events.ends == [.full(path: root)])
            #expect(!store.isRecording(RecordedAudio.stream))
        }
    }

    @Test("a folder that is removed ends its recording only")
    func removed() async throws {
        try await withFolder { root in
            let events = Events()
            let store = try Self.store(root, events)
            var (first, second) = (RecordedAudio(), RecordedAudio())
            var other = RecordedAudio.identity
            other.stream = StreamID("stream-2")
            store.begin(RecordedAudio.identity)
            store.begin(other)
            store.append(first.parts(3), to: RecordedAudio.stream)
            store.append(second.parts(3), to: other.stream)
            await store.sync()
            let folder = RecordingFolder(root: root, stream: RecordedAudio.stream)
            try FileManager.default.removeItem(atPath: folder.path)
            store.append(first.parts(3), to: RecordedAudio.stream)
            store.append(second.parts(3), to: other.stream)
            await store.sync()
            let path = folder.path(of: .init(epoch: 0, rendition: "opus", number: 0))
            #expect(events.ends == [.removed(path: path)])
            #expect(store.isRecording(other.stream))
            #expect(events.changes.added.filter { $0.stream == other.stream }.count == 2)
        }
    }

    @Test("without the folder of all recordings, each recording ends with one error, and later ones need it again")
    func removedRoot() async throws {
        try await withFolder { folder in
            let (root, events) = (folder + "/recordings", Events())
            let store = try Self.store(root, events)
            var audio = RecordedAudio()
            var others: [RecordingIdentity] = []
            for number in 2...4 {
                var other = RecordedAudio.identity
                other.stream = StreamID("stream-\(number)")
                others.append(other)
            }
            store.begin(RecordedAudio.identity)
            store.begin(others[0])
            store.append(audio.parts(3), to: RecordedAudio.stream)
            await store.sync()
            try FileManager.default.removeItem(atPath: root)
            store.append(audio.parts(3), to: RecordedAudio.stream)
            await store.sync()
            await store.sync()
            store.begin(others[1])
            await store.sync()
            #expect(events.ends.count == 3)
            for error in events.ends {
                guard case .inaccessible(let path, _)? = error else {
                    Issue.record("the error is \(String(describing: error))")
                    continue
                }
                #expect(path == root)
            }
            #expect(store.activeCount == 0 && store.queuedSize == 0)
            try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
            var later = RecordedAudio()
            store.begin(others[2])
            store.append(later.parts(3), to: others[2].stream)
            await store.sync()
            #expect(events.ends.count == 3 && store.isRecording(others[2].stream))
        }
    }

    @Test("parts that the disk is too slow for are dropped")
    func slowDisk() async throws {
        try await withFolder { root in
            let events = Events()
            let store = try Self.store(root, events) { $0.queueSize = 1_000 }
            var audio = RecordedAudio()
            store.begin(RecordedAudio.identity)
            store.append(audio.parts(5), to: RecordedAudio.stream)
            #expect(events.droppedCount == 1 && store.queuedSize == 0)
        }
    }

    @Test("a folder that platforms share is for one of them at a time")
    func lock() async throws {
        try await withFolder { root in
            func open() throws(RecordingError) -> RecordingStore {
                try RecordingStore(root: root, isShared: true) { _ in }
            }
            do {
                let first = try open()
                #expect(throws: RecordingError.inUse(path: root)) { try open() }
                withExtendedLifetime(first) {}
            }
            #expect(try open().root == root)
        }
    }

    @Test("a path that is not a folder, and a folder that cannot be created, are one clear error")
    func unusable() async throws {
        try await withFolder { root in
            try Data("text".utf8).write(to: URL(fileURLWithPath: root + "/file"))
            for path in [root + "/file", root + "/file/folder"] {
                do {
                    _ = try Self.store(path, Events())
                    Issue.record("\(path) was accepted")
                } catch let error as RecordingError {
                    guard case .inaccessible(_, let reason) = error else { Issue.record("\(error)"); continue }
                    #expect(!reason.isEmpty && error.description.contains(root + "/file"))
                }
            }
        }
    }
}
