import Glibc
package import PCastCore
package import PCastDatabase
package import PCastPackaging

/// The bounds of recordings.
package struct RecordingLimits: Hashable, Sendable {
    /// The bytes at which a file ends with its segment.
    package var fileSize: Int64 = 64 << 20
    /// The duration at which a file ends with its segment.
    package var fileDuration = TimeSpan.seconds(300 as Int64)
    /// The free space in bytes below which recordings end, so that the database can still be written.
    package var reserve: Int64 = 512 << 20
    /// The bytes of parts that wait to be written, of all recordings together.
    package var queueSize = 64 << 20
    /// The interval in which files are synced: the media that a power loss costs at most.
    package var syncInterval = Duration.seconds(1)

    /// Creates the default limits.
    package init() {}
}

/// Writes one epoch of a recording: parts in; rows of segments out, when the segments are on the disk.
///
/// Only one thread may use it at a time. After an error, ``finish()`` may still complete what was written before.
package final class RecordingWriter {
    private struct Track {
        var file: PartFile
        var number: Int
        var initialization: Int
        /// The capture time of the file's first segment.
        let began: WallTime
        /// The segment whose parts are being written.
        var open: SegmentRecord?
        /// The number of parts of `open`.
        var partCount = 0
        /// Complete segments that may not be on the disk yet.
        var complete: [SegmentRecord] = []
        var description: FileDescription
        var frameRate: Double?
    }

    /// The stream, the epoch and the prefix of file names.
    package let identity: RecordingIdentity
    private let folder: RecordingFolder
    private let limits: RecordingLimits
    private var tracks: [String: Track] = [:]
    /// Files that are complete and may not be on the disk yet, with their segments.
    private var finished: [(file: PartFile, name: RecordingFolder.FileName, segments: [SegmentRecord])] = []
    /// Files that are complete and on the disk.
    private var completed: [RecordedFile] = []
    private var fileCounts: [String: Int] = [:]
    /// Whether files were created since the folder was synced.
    private var hasNewFiles = true
    private var changedRenditions: [RecordedRendition] = []

    /// Creates the folder of the recording, unless it exists.
    ///
    /// - Parameters:
    ///   - identity: The epoch. Files of it must not exist.
    ///   - root: The folder of all recordings, which exists.
    ///   - limits: The bounds.
    /// - Throws: ``RecordingError``.
    package init(_ identity: RecordingIdentity, in root: String, _ limits: RecordingLimits) throws(RecordingError) {
        self.identity = identity
        self.limits = limits
        folder = RecordingFolder(root: root, stream: identity.stream)
        guard folder.isUsable else { throw .inaccessible(path: root, reason: "the ID of the stream is too long") }
        guard mkdir(folder.path, 0o700) == 0 || errno == EEXIST else { throw .system(folder.path) }
    }

    /// Appends a part. If earlier parts of its segment are missing, it is left out, because video cannot be decoded without
    /// them.
    ///
    /// - Throws: ``RecordingError``.
    package func append(_ part: PublishedPart) throws(RecordingError) {
        let name = part.rendition
        if tracks[name]?.open.map({ $0.number != part.segment }) ?? false { completeSegment(of: name) }
        let expected = tracks[name]?.open == nil ? 0 : tracks[name]?.partCount ?? 0
        guard part.index == expected else { return }
        if part.index == 0 { try prepareFile(for: part) }
        guard var track = tracks[name] else { return }
        let offset = try track.file.append(part)
        var segment =
            track.open
            ?? SegmentRecord(
                stream: identity.stream, epoch: identity.epoch, rendition: name, number: part.segment,
                file: track.number, offset: offset, length: 0, start: part.segmentStart, duration: .zero,
                initialization: part.initialization, discontinuity: part.discontinuity, isGap: true)
        segment.length = track.file.size - segment.offset
        segment.duration = segment.duration + part.part.duration
        segment.isGap = segment.isGap && part.part.isGap
        track.open = segment
        track.partCount = part.index + 1
        if let rate = part.frameRate, rate != track.frameRate {
            track.frameRate = rate
            changedRenditions.append(track.description.record(frameRate: rate))
        }
        tracks[name] = track
    }

    private func completeSegment(of name: String) {
        guard let segment = tracks[name]?.open else { return }
        tracks[name]?.open = nil
        tracks[name]?.partCount = 0
        tracks[name]?.complete.append(segment)
    }

    /// Begins another file for a segment, if it has another initialization or the file has reached its limits.
    private func prepareFile(for part: PublishedPart) throws(RecordingError) {
        if let track = tracks[part.rendition] {
            let isLong = part.segmentStart - track.began >= limits.fileDuration
            guard track.initialization != part.initialization || track.file.size >= limits.fileSize || isLong else {
                return
            }
            finished.append((track.file, fileName(part.rendition, track.number), track.complete))
            tracks[part.rendition] = nil
        }
        let number = fileCounts[part.rendition, default: 0]
        fileCounts[part.rendition] = number + 1
        let name = fileName(part.rendition, number)
        let description = FileDescription(part, of: identity)
        let file = try PartFile(folder.path(of: name), beginning: part.initializationBytes + description.box)
        hasNewFiles = true
        changedRenditions.append(description.record(frameRate: part.frameRate))
        tracks[part.rendition] = Track(
            file: file, number: number, initialization: part.initialization, began: part.segmentStart,
            description: description, frameRate: part.frameRate)
    }

    private func fileName(_ rendition: String, _ number: Int) -> RecordingFolder.FileName {
        RecordingFolder.FileName(epoch: identity.epoch, rendition: rendition, number: number)
    }

    /// Waits until everything that was appended is on the disk. A file that fails does not prevent the others.
    ///
    /// - Parameter changes: Receives the changes of the index since the last call, also if an error is thrown. Their media
    ///   are on the disk.
    /// - Throws: ``RecordingError``, the first one.
    package func sync(_ changes: inout [RecordingChange]) throws(RecordingError) {
        if hasNewFiles {
            try Directory.sync(folder.path)
            try Directory.sync(folder.root)
            hasNewFiles = false
        }
        var failure: RecordingError?
        var segments: [SegmentRecord] = []
        func syncFile(_ file: PartFile, _ complete: [SegmentRecord], name: RecordingFolder.FileName? = nil) {
            do throws(RecordingError) {
                try file.sync()
                segments += complete
                guard let name else { return }
                completed.append(
                    RecordedFile(
                        stream: identity.stream, epoch: name.epoch, rendition: name.rendition, number: name.number,
                        size: file.size))
            } catch {
                failure = failure ?? error
            }
        }
        for (file, name, segments) in finished { syncFile(file, segments, name: name) }
        finished = []
        for name in tracks.keys.sorted() {
            guard let track = tracks[name] else { continue }
            syncFile(track.file, track.complete)
            tracks[name]?.complete = []
        }
        changes += changedRenditions.map { .rendition($0) }
        changedRenditions = []
        if !segments.isEmpty { changes.append(.segments(segments)) }
        if let failure { throw failure }
    }

    /// Completes the last segments, syncs and closes the files.
    ///
    /// - Parameter changes: Receives the last changes of the index, also if an error is thrown.
    /// - Throws: ``RecordingError``, the first one.
    package func finish(_ changes: inout [RecordingChange]) throws(RecordingError) {
        for name in tracks.keys.sorted() {
            completeSegment(of: name)
            guard let track = tracks.removeValue(forKey: name) else { continue }
            finished.append((track.file, fileName(name, track.number), track.complete))
        }
        try sync(&changes)
    }

    /// Returns the files that are complete and on the disk since the last call.
    package func takeCompletedFiles() -> [RecordedFile] {
        defer { completed = [] }
        return completed
    }

    /// The bytes that were written and may not be on the disk yet.
    package var unsyncedSize: Int64 {
        let files = tracks.values.map(\.file) + finished.map { $0.file }
        return files.reduce(0) { $0 + $1.size - $1.syncedSize }
    }
}
