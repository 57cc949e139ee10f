import Foundation
import Glibc
package import PCastCore
package import PCastDatabase

/// Compares the files of recordings with the index after a crash, so that both agree.
///
/// Media are synced before they are indexed, so files have at least what the index names, unless somebody changed them.
package enum Reconciliation {
    /// The result for one recording.
    package struct Result: Sendable {
        /// The changes that the index needs.
        package var changes: [RecordingChange] = []
        /// The number of bytes that were removed after the last complete part of files.
        package var removedSize: Int64 = 0
        /// The files that could not be read or that have no complete beginning, with their reasons. They are not changed.
        package var failures: [RecordingError] = []
        /// The application that the files name; nil if there is no file with a complete beginning.
        package var application: ApplicationID?
        /// The number of epochs that have files.
        package var epochs = 0
        /// The capture time of the first segment that was not in the index; nil if there is none.
        package var firstStart: WallTime?

        /// The number of segments that were added to the index.
        package var addedCount: Int {
            changes.reduce(0) { count, change in
                if case .segments(let added) = change { count + added.count } else { count }
            }
        }
        /// The number of segments that were removed from the index.
        package var lostCount: Int {
            changes.reduce(0) { count, change in
                if case .lost(let lost) = change { count + lost.count } else { count }
            }
        }
    }

    /// Reconciles a recording, which must not be written meanwhile.
    ///
    /// - Parameters:
    ///   - folder: The folder of the recording.
    ///   - indexed: All segments of the recording in the index.
    /// - Returns: The changes that the index needs. The files are truncated already.
    /// - Throws: ``RecordingError`` if the folder cannot be read.
    package static func run(_ folder: RecordingFolder, indexed: [SegmentRecord]) throws(RecordingError) -> Result {
        var result = Result()
        var files: [RecordingFolder.FileName] = []
        if access(folder.path, F_OK) == 0 { files = try folder.files() }
        var rest = Dictionary(grouping: indexed) {
            RecordingFolder.FileName(epoch: $0.epoch, rendition: $0.rendition, number: $0.file)
        }
        for name in files {
            result.epochs = max(result.epochs, name.epoch + 1)
            let segments = (rest.removeValue(forKey: name) ?? []).sorted { $0.offset < $1.offset }
            do throws(RecordingError) {
                try reconcile(name, in: folder, segments, &result)
            } catch {
                result.failures.append(error)
            }
        }
        let lost = rest.values.flatMap { $0 }
        if !lost.isEmpty { result.changes.append(.lost(lost)) }
        return result
    }

    private static func reconcile(
        _ name: RecordingFolder.FileName, in folder: RecordingFolder, _ indexed: [SegmentRecord], _ result: inout Result
    ) throws(RecordingError) {
        let path = folder.path(of: name)
        let reader = try PartFileReader(path, isWritten: true)
        let size = try reader.size()
        guard let beginning = try reader.beginning(), beginning.description.stream == folder.stream.description,
            beginning.description.epoch == name.epoch, beginning.description.rendition == name.rendition
        else {
            // Nothing was synced, because the beginning is written first. It is not removed: it may be anything.
            if !indexed.isEmpty { result.changes.append(.lost(indexed)) }
            throw .corrupt(path: path)
        }
        result.application = ApplicationID(beginning.description.application)
        let lost = indexed.filter { $0.offset < beginning.end || $0.length <= 0 || $0.length > size - $0.offset }
        let present = indexed.filter { !lost.contains($0) }
        if !lost.isEmpty { result.changes.append(.lost(lost)) }

        let start = present.last.map { $0.offset + $0.length } ?? beginning.end
        var added: [SegmentRecord] = []
        let end = try reader.readParts(from: start) { part, _ in
            let header = part.header
            if added.last?.number != header.segment {
                guard header.index == 0 else { return }
                added.append(
                    SegmentRecord(
                        stream: folder.stream, epoch: name.epoch, rendition: name.rendition, number: header.segment,
                        file: name.number, offset: part.offset, length: 0, start: header.segmentStart, duration: .zero,
                        initialization: beginning.description.initialization, discontinuity: header.discontinuity,
                        isGap: true))
            }
            let last = added.count - 1
            added[last].length = part.end - added[last].offset
            added[last].duration = added[last].duration + header.duration
            added[last].isGap = added[last].isGap && header.length == 0
        }
        if end < size {
            try reader.truncate(to: end)
            result.removedSize += size - end
        }
        guard !added.isEmpty else { return }
        result.firstStart = [result.firstStart, added.first?.start].compactMap { $0 }.min()
        result.changes.append(.rendition(beginning.description.record()))
        result.changes.append(.segments(added))
    }
}
