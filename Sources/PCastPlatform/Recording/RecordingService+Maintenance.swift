import Foundation
import Logging
import PCastCore
import PCastDatabase
import PCastIO
import PCastRecording

/// Reconciliation at the start, retention and deletion.
extension RecordingService {
    /// The result of a deletion.
    enum Deletion: Sendable {
        case deleted
        /// The stream is still recorded.
        case notEnded
        /// It was deleted before.
        case alreadyDeleted
        /// The application has no such recording.
        case unknown
    }

    private static let retentionInterval = Duration.seconds(60)

    /// Reconciles all recordings with their files after the platform has ended or was killed. Call it before streams are
    /// published. `interrupted` are the streams that may resume.
    func reconcile(interrupted: Set<StreamID>) async {
        guard let store else { return }
        do {
            var known = try await records.recordedStreams()
            let names = try FileManager.default.contentsOfDirectory(atPath: store.root)
            for name in names.sorted() where !name.hasPrefix(".") {
                guard let folder = RecordingFolder(root: store.root, name: name), folder.isDirectory else {
                    logger.warning("not a recording: \(store.root)/\(name) is left as it is")
                    continue
                }
                await reconcile(folder, known.removeValue(forKey: folder.stream))
            }
            // Recordings without a folder lose their segments.
            for (stream, state) in known where state != .deleted {
                await reconcile(RecordingFolder(root: store.root, stream: stream), .open)
            }
            if let objects {
                let count = try await records.addMissingUploads(at: MonotonicClock.wallTime()) {
                    objects.upload(of: $0)
                }
                if count > 0 { logger.notice("files of earlier recordings will be uploaded: \(count)") }
            }
            for stream in try await records.openRecordings() {
                if interrupted.contains(stream) {
                    noteInterrupted(stream)
                } else {
                    try await records.record([
                        .recording(
                            .ended(
                                stream, at: MonotonicClock.wallTime(), failure: nil, playlist: Self.path(of: stream)))
                    ])
                }
            }
        } catch {
            logger.error("recordings could not be reconciled with their files: \(error)")
        }
    }

    /// Reconciles one recording. `state` is nil if the index does not have it. All segments of an ended recording are in
    /// the index.
    private func reconcile(_ folder: RecordingFolder, _ state: RecordingState?) async {
        if state == .ended { return }
        do {
            if state == .deleted { return try folder.remove() }
            let contents = try await records.contents(ofRecording: folder.stream)
            let indexed = try await segmentsOnDisk(contents?.segments ?? [], in: folder)
            let result = try Reconciliation.run(folder, indexed: indexed)
            for failure in result.failures { logger.warning("a file of a recording is left as it is: \(failure)") }
            var changes = result.changes.map { RecordChange.recording($0) }
            let epochs = max(result.epochs, contents?.recording.epochs ?? 0)
            if contents == nil || epochs > contents?.recording.epochs ?? 0 {
                guard let application = contents?.recording.application ?? result.application else { return }
                let began = result.firstStart ?? MonotonicClock.wallTime()
                changes.insert(
                    .recording(
                        .began(
                            RecordingRecord(
                                stream: folder.stream, application: application, began: began, epochs: epochs))),
                    at: 0)
            }
            guard !changes.isEmpty else { return }
            try await records.record(changes)
            logger.notice(
                "recording reconciled with its files",
                metadata: [
                    "stream": "\(folder.stream)", "added": "\(result.addedCount)", "lost": "\(result.lostCount)",
                    "removedBytes": "\(result.removedSize)",
                ])
        } catch {
            logger.error(
                "a recording could not be reconciled with its files: \(error)",
                metadata: ["stream": "\(folder.stream)"])
        }
    }

    /// Returns the segments except those of files that were uploaded and deleted from the disk.
    private func segmentsOnDisk(
        _ segments: [SegmentRecord], in folder: RecordingFolder
    ) async throws(RecordsError) -> [SegmentRecord] {
        let uploads = try await records.uploads(of: folder.stream)
        let remote = Set(
            uploads.filter { $0.state == .uploaded }.map { RecordingFolder.FileName($0.file) }
                .filter { !folder.contains($0) })
        return segments.filter {
            !remote.contains(.init(epoch: $0.epoch, rendition: $0.rendition, number: $0.file))
        }
    }

    // MARK: Deletion

    /// Deletes the recording of an application's stream.
    ///
    /// - Throws: `RecordsError`.
    func delete(_ stream: StreamID, of application: ApplicationID) async throws(RecordsError) -> Deletion {
        guard let recording = try await records.recording(of: stream), recording.application == application else {
            return .unknown
        }
        guard recording.deleted == nil else { return .alreadyDeleted }
        guard recording.ended != nil, store?.isRecording(stream) != true else { return .notEnded }
        try await remove(stream)
        logger.info("recording deleted", metadata: ["stream": "\(stream)"])
        return .deleted
    }

    /// Deletes a recording in the index and then its files. If the platform is killed in between, the files are removed at
    /// the next start. Its objects are deleted by the outbox of uploads.
    private func remove(_ stream: StreamID) async throws(RecordsError) {
        try await records.record([.recording(.deleted(stream, at: MonotonicClock.wallTime()))])
        discardCache(of: stream)
        guard let store else { return }
        do throws(RecordingError) {
            try RecordingFolder(root: store.root, stream: stream).remove()
        } catch {
            logger.error("files of a deleted recording remain: \(error)", metadata: ["stream": "\(stream)"])
        }
    }

    /// Uploads recordings, and deletes those that are too old or exceed the size of their application, until the task is
    /// cancelled.
    func run() async {
        async let retention: Void = applyRetentionRepeatedly()
        if let store, let objects {
            await RecordingUploader(records, objects: objects, root: store.root, logger: logger) { [weak self] stream in
                self?.discardCache(of: stream)
            }.run()
        }
        await retention
    }

    private func applyRetentionRepeatedly() async {
        repeat { await applyRetention() } while (try? await Task.sleep(for: Self.retentionInterval)) != nil
    }

    /// Deletes the recordings that are too old, or exceed the size of their application.
    func applyRetention() async {
        guard store != nil else { return }
        let oldest = configuration.retention.map { MonotonicClock.wallTime() - TimeSpan($0) }
        do {
            let expired = try await records.expiredRecordings(
                before: oldest ?? WallTime(nanosecondsSinceEpoch: .min), maximumSize: configuration.maximumSize ?? .max)
            for stream in expired where store?.isRecording(stream) != true {
                try await remove(stream)
                logger.info("recording deleted by retention", metadata: ["stream": "\(stream)"])
            }
        } catch {
            logger.error("old recordings could not be deleted: \(error)")
        }
    }
}
