import Foundation
import PCastCore
import PCastDatabase
import PCastPackaging

@testable import PCastRecording

/// A publisher of audio whose parts a test records. The content of each packet follows from its number.
struct RecordedAudio {
    static let start = WallTime(millisecondsSinceEpoch: 1_795_000_000_000)
    static let stream = StreamID("stream-1")
    static let identity = RecordingIdentity(
        stream: stream, application: ApplicationID("studio"), epoch: 0, instance: "i1")

    private var packager = StreamPackager(
        PackagerConfiguration(instance: "i1"),
        renditions: [RenditionDescription(name: "opus", source: .opus(channels: 2), bitrate: .kilobits(96))])
    private var count: Int64 = 0

    /// Returns the parts of the next seconds.
    mutating func parts(_ seconds: Int64) -> [PublishedPart] {
        for _ in 0..<seconds * 50 {
            let number = count
            count += 1
            packager.append(
                AccessUnit(
                    bytes: (0..<60).map { UInt8(truncatingIfNeeded: Int64($0) &* 7 &+ number) },
                    timestamp: number * 960, captureTime: Self.start + .milliseconds(20 * number)), to: "opus")
        }
        return packager.takeParts()
    }

    /// Leaves out packets, so that the publisher is absent for a time.
    mutating func skip(_ seconds: Int64) { count += seconds * 50 }

    /// Ends the stream. Returns the last parts.
    mutating func finish() -> [PublishedPart] {
        packager.finish()
        return packager.takeParts()
    }
}

/// Runs `body` with the path of a folder that is removed afterwards.
func withFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let path = NSTemporaryDirectory() + "pcast-recordings-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try await body(path)
}

extension [RecordingChange] {
    /// The segments that the changes add.
    var added: [SegmentRecord] {
        flatMap { change -> [SegmentRecord] in if case .segments(let segments) = change { segments } else { [] } }
    }

    /// The segments that the changes remove.
    var lost: [SegmentRecord] {
        flatMap { change -> [SegmentRecord] in if case .lost(let segments) = change { segments } else { [] } }
    }
}

extension [SegmentRecord] {
    /// The sum of the durations.
    var duration: TimeSpan { reduce(.zero) { $0 + $1.duration } }
}

/// A recording on the disk of which some segments are in the index, and some media were written after that.
struct InterruptedRecording {
    let folder: RecordingFolder
    let indexed: [SegmentRecord]
    /// The path of the only file.
    let path: String
    /// All parts of the file.
    let parts: [PartFileReader.Part]

    /// Records audio in a folder: four seconds that are synced, and five that are not.
    init(in root: String) throws {
        var audio = RecordedAudio()
        let writer = try RecordingWriter(RecordedAudio.identity, in: root, RecordingLimits())
        for part in audio.parts(5) { try writer.append(part) }
        indexed = try writer.sync().added
        for part in audio.parts(5) { try writer.append(part) }
        folder = RecordingFolder(root: root, stream: RecordedAudio.stream)
        path = folder.path(of: .init(epoch: 0, rendition: "opus", number: 0))
        let reader = try PartFileReader(path)
        var parts: [PartFileReader.Part] = []
        try reader.readParts(from: reader.beginning()?.end ?? 0) { part, _ in parts.append(part) }
        self.parts = parts
    }

    /// The bytes of the file.
    func bytes() throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }

    /// Replaces the bytes of the file.
    func write(_ bytes: some Sequence<UInt8>) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }

    /// Reconciles the recording twice. Returns the first result and the segments that the index has afterwards; nil in
    /// place of them if the second run finds a difference.
    func reconcile() throws -> (result: Reconciliation.Result, segments: [SegmentRecord]?) {
        let result = try Reconciliation.run(folder, indexed: indexed)
        let lost = Set(result.changes.lost)
        let segments = indexed.filter { !lost.contains($0) } + result.changes.added
        let second = try Reconciliation.run(folder, indexed: segments)
        return (result, second.changes.isEmpty && second.removedSize == 0 ? segments : nil)
    }
}

extension RecordingWriter {
    /// Syncs all files. Returns the changes of the index.
    func sync() throws -> [RecordingChange] {
        var changes: [RecordingChange] = []
        try sync(&changes)
        return changes
    }

    /// Ends the recording. Returns the last changes of the index.
    func finish() throws -> [RecordingChange] {
        var changes: [RecordingChange] = []
        try finish(&changes)
        return changes
    }
}
