import Foundation
import Glibc
import PCastCore
import PCastDatabase
import PCastPackaging
import Testing

@testable import PCastRecording

@Suite("The index and the files of a recording agree after a crash")
struct ReconciliationTests {
    @Test("a file that ends at any byte keeps exactly the parts before that byte")
    func truncation() async throws {
        try await withFolder { root in
            let recording = try InterruptedRecording(in: root)
            let whole = try recording.bytes()
            let synced = try #require(recording.indexed.map { $0.offset + $0.length }.max())
            #expect(recording.indexed.count == 2 && recording.parts.count > 40)
            let boundaries = recording.parts.flatMap { [$0.end - 1, $0.end, $0.end + 1] }
            let lengths = Set(stride(from: synced, through: Int64(whole.count), by: 41)).union(boundaries)
            for length in lengths.sorted() where length >= synced && length <= Int64(whole.count) {
                try recording.write(whole.prefix(Int(length)))
                let (result, segments) = try recording.reconcile()
                let complete = recording.parts.filter { $0.end <= length }
                let duration = complete.reduce(TimeSpan.zero) { $0 + $1.header.duration }
                #expect(segments?.duration == duration, "\(length) bytes")
                #expect(try recording.bytes().count == Int(complete.last?.end ?? 0), "\(length) bytes")
                #expect(result.lostCount == 0 && result.failures.isEmpty)
                let reader = try PartFileReader(recording.path)
                for segment in segments ?? [] { #expect(try !reader.media(of: segment).isEmpty) }
            }
        }
    }

    @Test("pages that were not stored end the recording before them, also if later pages were stored")
    func reorderedPages() async throws {
        try await withFolder { root in
            let recording = try InterruptedRecording(in: root)
            let whole = try recording.bytes()
            let synced = Int(try #require(recording.indexed.map { $0.offset + $0.length }.max()))
            for page in stride(from: (synced + 511) / 512 * 512, to: whole.count, by: 512) {
                var bytes = whole
                for index in page..<min(page + 512, bytes.count) { bytes[index] = 0 }
                try recording.write(bytes)
                let (result, segments) = try recording.reconcile()
                let complete = recording.parts.filter { $0.end <= Int64(page) }
                #expect(segments?.duration == complete.reduce(.zero) { $0 + $1.header.duration }, "page \(page)")
                #expect(result.removedSize == Int64(whole.count) - (complete.last?.end ?? 0))
            }
        }
    }

    @Test("segments beyond the end of a file leave the index")
    func lostMedia() async throws {
        try await withFolder { root in
            let recording = try InterruptedRecording(in: root)
            let last = try #require(recording.indexed.last)
            try recording.write(try recording.bytes().prefix(Int(last.offset + last.length) - 1))
            let (result, segments) = try recording.reconcile()
            #expect(result.changes.lost == [last])
            // The complete parts of the segment are in the index again, as a shorter segment.
            #expect(segments?.last?.number == last.number)
            #expect(try #require(segments?.last).duration < last.duration)
            try FileManager.default.removeItem(atPath: recording.path)
            #expect(try Reconciliation.run(recording.folder, indexed: recording.indexed).changes.lost.count == 2)
            try FileManager.default.removeItem(atPath: recording.folder.path)
            #expect(try Reconciliation.run(recording.folder, indexed: recording.indexed).changes.lost.count == 2)
        }
    }

    @Test("a recording whose rows were lost is read from its files")
    func rebuilt() async throws {
        try await withFolder { root in
            let recording = try InterruptedRecording(in: root)
            let result = try Reconciliation.run(recording.folder, indexed: [])
            #expect(result.application == ApplicationID("studio") && result.epochs == 1)
            #expect(result.firstStart == recording.indexed.first?.start)
            #expect(Array(result.changes.added.prefix(2)) == recording.indexed)
            let duration = recording.parts.reduce(TimeSpan.zero) { $0 + $1.header.duration }
            #expect(result.changes.added.duration == duration)
            guard case .rendition(let rendition)? = result.changes.first else {
                Issue.record("the rendition is missing"); return
            }
            #expect(rendition.codec == "opus" && rendition.channels == 2 && rendition.instance == "i1")
        }
    }

    @Test("unrelated files are reported and not changed", arguments: ["", "no media", "\0\0\0\u{8}free"])
    func unrelated(content: String) async throws {
        try await withFolder { root in
            let recording = try InterruptedRecording(in: root)
            let other = recording.folder.path(of: .init(epoch: 0, rendition: "video0", number: 0))
            let note = recording.folder.path + "/notes.txt"
            for path in [other, note] { try Data(content.utf8).write(to: URL(fileURLWithPath: path)) }
            let result = try Reconciliation.run(recording.folder, indexed: recording.indexed)
            #expect(result.failures == [.corrupt(path: other)])
            for path in [other, note] { #expect(FileManager.default.contents(atPath: path) == Data(content.utf8)) }
            try recording.folder.remove()
            #expect(FileManager.default.fileExists(atPath: note), "only files of the recording are removed")
        }
    }

    /// The moments of a recording process at which it is killed.
    enum Moment: String, CaseIterable {
        /// Parts were written and not synced.
        case written
        /// Parts were synced and are not in the index.
        case synced
        /// The index has the segments.
        case indexed
    }

    private static let variable = "PCAST_RECORDING_TEST"

    @Test("after kill -9, everything that was written is in the index", arguments: Moment.allCases)
    func killed(at moment: Moment) async throws {
        try await withFolder { root in
            // The process of an exit test inherits the environment and nothing else.
            setenv("\(Self.variable)_\(moment.rawValue)", root, 1)
            switch moment {
            case .written:
                await #expect(processExitsWith: .signal(SIGKILL)) {
                    try await ReconciliationTests.record(until: .written)
                }
            case .synced:
                await #expect(processExitsWith: .signal(SIGKILL)) {
                    try await ReconciliationTests.record(until: .synced)
                }
            case .indexed:
                await #expect(processExitsWith: .signal(SIGKILL)) {
                    try await ReconciliationTests.record(until: .indexed)
                }
            }
            let records = try Records.open(root + "/data")
            let before = try #require(try await records.contents(ofRecording: RecordedAudio.stream)).segments
            #expect(before.count == (moment == .indexed ? 5 : 2))
            let folder = RecordingFolder(root: root, stream: RecordedAudio.stream)
            let result = try Reconciliation.run(folder, indexed: before)
            #expect(result.lostCount == 0 && result.failures.isEmpty && result.removedSize == 0)
            try await records.record(result.changes.map { .recording($0) })
            let after = try #require(try await records.contents(ofRecording: RecordedAudio.stream)).segments
            #expect(after.map(\.number) == Array(0..<Int64(after.count)))
            var audio = RecordedAudio()
            let expected = audio.parts(11).reduce(TimeSpan.zero) { $0 + $1.part.duration }
            #expect(after.duration == expected)
            #expect(try Reconciliation.run(folder, indexed: after).changes.isEmpty)
        }
    }

    /// Records eleven seconds and kills the own process at a moment of the second sync.
    private static func record(until moment: Moment) async throws {
        let root = String(cString: try #require(getenv("\(variable)_\(moment.rawValue)")))
        let records = try Records.open(root + "/data")
        try await records.record([
            .recording(
                .began(
                    RecordingRecord(
                        stream: RecordedAudio.stream, application: ApplicationID("studio"),
                        began: RecordedAudio.start)))
        ])
        var audio = RecordedAudio()
        let writer = try RecordingWriter(RecordedAudio.identity, in: root, RecordingLimits())
        for part in audio.parts(5) { try writer.append(part) }
        try await records.record(try writer.sync().map { .recording($0) })
        for part in audio.parts(6) { try writer.append(part) }
        if moment == .written { kill(getpid(), SIGKILL) }
        let changes = try writer.sync()
        if moment == .synced { kill(getpid(), SIGKILL) }
        try await records.record(changes.map { .recording($0) })
        kill(getpid(), SIGKILL)
    }
}
