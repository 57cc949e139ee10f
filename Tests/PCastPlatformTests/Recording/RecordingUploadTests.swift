import Foundation
import NIOCore
import PCastCore
import PCastDatabase
import PCastHLS
import PCastIO
import PCastRecording
import PCastWeb
import Testing

@testable import PCastPlatform

/// Uploads of recordings to a real object store, with outages and restarts.
@Suite("Recordings are uploaded to an object store", .enabled(if: ObjectStore.isInstalled), .timeLimit(.minutes(5)))
struct RecordingUploadTests {
    private static let stream = StreamID("stream-1")

    /// A database in a folder with the file of an ended recording. `uploader` may be called several times, as after a
    /// restart.
    private struct Ended {
        let folder: String
        let records: Records
        let file: RecordedFile
        let path: String

        init(in folder: String, size: Int) async throws {
            self.folder = folder
            records = try Records.open(folder + "/data")
            let name = RecordingFolder.FileName(epoch: 0, rendition: "video0", number: 0)
            let recording = RecordingFolder(root: folder, stream: RecordingUploadTests.stream)
            path = recording.path(of: name)
            try FileManager.default.createDirectory(atPath: recording.path, withIntermediateDirectories: true)
            var random = SystemRandomNumberGenerator()
            let seed = UInt64.random(in: 0...UInt64.max, using: &random)
            let bytes = (0..<size).map { UInt8(truncatingIfNeeded: (UInt64($0) &* 0x9E37_79B9 &+ seed) >> 7) }
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            file = RecordedFile(
                stream: RecordingUploadTests.stream, epoch: 0, rendition: "video0", number: 0, size: Int64(size))
            let now = MonotonicClock.wallTime()
            try await records.record([
                .recording(
                    .began(
                        RecordingRecord(stream: file.stream, application: TestPlatform.application.id, began: now))),
                .recording(.ended(file.stream, at: now, failure: nil, playlist: "/p")),
            ])
        }

        func enqueue(_ objects: RecordingObjects) async throws {
            try await records.record([
                .recording(.upload(objects.upload(of: file), at: MonotonicClock.wallTime()))
            ])
        }

        /// Runs an uploader until `condition` holds.
        func upload(
            to objects: RecordingObjects, until condition: nonisolated(nonsending) () async throws -> Bool
        ) async throws -> Bool {
            let uploader = RecordingUploader(
                records, objects: objects, root: folder, schedule: RetrySchedule(waits: [.milliseconds(50)]),
                logger: RecordingSetup.logger
            ) { _ in }
            let running = Task { await uploader.run() }
            let holds = try await eventually(condition)
            running.cancel()
            await running.value
            return holds
        }

        func state() async throws -> UploadRecord.State? {
            try await records.uploads(of: file.stream).first?.state
        }
    }

    @Test("a multipart upload continues after an outage and a restart with the parts that are missing")
    func resume() async throws {
        try await ObjectStore.run { store in
            try await withTemporaryDirectory { folder in
                let ended = try await Ended(in: folder, size: 20 << 20)
                let objects = try RecordingObjects(
                    store.configuration, records: ended.records, environment: store.environment)
                try await ended.enqueue(objects)
                try await store.change("parts/1")
                let isInterrupted = try await ended.upload(to: objects) {
                    let upload = try await ended.records.uploads(of: ended.file.stream).first
                    return upload?.parts.count == 1 && (upload?.attempts ?? 0) >= 2
                }
                #expect(isInterrupted)
                #expect(try await store.contents().uploads == 1)
                #expect(try await store.contents().objects.isEmpty)

                try await store.change("normal")
                let begun = try await store.requests().count
                let isUploaded = try await ended.upload(to: objects) { try await ended.state() == .uploaded }
                #expect(isUploaded)
                let later = try await store.requests().dropFirst(begun)
                let parts = later.filter { $0.query.contains("partNumber=") && $0.status == 200 }
                #expect(parts.map { $0.query.prefix { $0 != "&" } } == ["partNumber=2", "partNumber=3"])
                #expect(later.contains { $0.method == "HEAD" })
                let contents = try await store.contents()
                let object = try #require(contents.objects.first)
                #expect(contents.objects.count == 1 && contents.uploads == 0)
                #expect(object.key == "live/stream-1/video0.0-0.mp4" && object.size == 20 << 20)
                let local = Array(try Data(contentsOf: URL(fileURLWithPath: ended.path)))
                let middle = try await store.client().get(
                    S3Object(bucket: ObjectStore.bucket, key: object.key), 8_388_600..<8_388_620)
                #expect(middle == Array(local[8_388_600..<8_388_620]))
                #expect(FileManager.default.fileExists(atPath: ended.path))
            }
        }
    }

    @Test("a file is deleted from the disk after its upload was confirmed, and not before")
    func localDeletion() async throws {
        try await ObjectStore.run { store in
            try await withTemporaryDirectory { folder in
                let ended = try await Ended(in: folder, size: 100_000)
                var configuration = store.configuration
                configuration.deletesLocalFiles = true
                let objects = try RecordingObjects(
                    configuration, records: ended.records, environment: store.environment)
                try await ended.enqueue(objects)
                try await store.change("outage")
                let isRetried = try await ended.upload(to: objects) {
                    (try await ended.records.uploads(of: ended.file.stream).first?.attempts ?? 0) >= 2
                }
                #expect(isRetried && FileManager.default.fileExists(atPath: ended.path))
                try await store.change("normal")
                let isDeleted = try await ended.upload(to: objects) {
                    try await ended.records.uploads(of: ended.file.stream).first?.isLocal == false
                }
                #expect(isDeleted && !FileManager.default.fileExists(atPath: ended.path))
                #expect(try await store.contents().objects.map(\.size) == [100_000])
            }
        }
    }

    @Test("objects of a deleted recording are deleted when the object store responds again")
    func deletion() async throws {
        try await ObjectStore.run { store in
            try await withTemporaryDirectory { folder in
                let ended = try await Ended(in: folder, size: 20 << 20)
                let objects = try RecordingObjects(
                    store.configuration, records: ended.records, environment: store.environment)
                try await ended.enqueue(objects)
                try await store.change("parts/2")
                // The object store fails from the third part on, so this part must have been sent.
                let isInterrupted = try await ended.upload(to: objects) {
                    let upload = try await ended.records.uploads(of: ended.file.stream).first
                    return upload?.parts.count == 2 && (upload?.attempts ?? 0) >= 1
                }
                #expect(isInterrupted)
                try await ended.records.record([
                    .recording(.deleted(ended.file.stream, at: MonotonicClock.wallTime()))
                ])
                let attempts = try await ended.records.uploads(of: ended.file.stream).first?.attempts ?? 0
                let isRetried = try await ended.upload(to: objects) {
                    (try await ended.records.uploads(of: ended.file.stream).first?.attempts ?? 0) >= attempts + 2
                }
                #expect(isRetried)
                #expect(try await store.contents().uploads == 1)
                try await store.change("normal")
                let isDeleted = try await ended.upload(to: objects) { try await ended.state() == nil }
                #expect(isDeleted)
                let contents = try await store.contents()
                #expect(contents.objects.isEmpty && contents.uploads == 0)
            }
        }
    }

    @Test("a file that is not on the disk is given up, and wrong credentials are retried")
    func failures() async throws {
        try await ObjectStore.run { store in
            try await withTemporaryDirectory { folder in
                let ended = try await Ended(in: folder, size: 1_000)
                let wrong = [
                    "AWS_ACCESS_KEY_ID": store.credentials.accessKeyID, "AWS_SECRET_ACCESS_KEY": "another-secret",
                ]
                let refused = try RecordingObjects(store.configuration, records: ended.records, environment: wrong)
                try await ended.enqueue(refused)
                let isRetried = try await ended.upload(to: refused) {
                    (try await ended.records.uploads(of: ended.file.stream).first?.attempts ?? 0) >= 2
                }
                #expect(isRetried)
                #expect(try await store.requests().allSatisfy { $0.status == 403 })
                let object = S3Object(bucket: ObjectStore.bucket, key: "none")
                let other = try #require(
                    S3Credentials(accessKeyID: store.credentials.accessKeyID, secretAccessKey: "another-secret"))
                await #expect(throws: S3Error.self) { try await store.client(other).put(object, [1]) }
                let client = try store.client()
                do throws(S3Error) {
                    _ = try await client.get(object, 0..<9)
                    Issue.record("an object that does not exist was returned")
                } catch {
                    #expect(error.isMissing, "\(error)")
                }

                try FileManager.default.removeItem(atPath: ended.path)
                let objects = try RecordingObjects(
                    store.configuration, records: ended.records, environment: store.environment)
                let isGivenUp = try await ended.upload(to: objects) { try await ended.state() == .failed }
                #expect(isGivenUp)
            }
        }
    }

    @Test("a recording that is only in the object store is played with the same bytes, also after a restart")
    func playback() async throws {
        try await ObjectStore.run { store in
            let credentials = NSTemporaryDirectory() + "pcast-s3-\(UUID().uuidString)"
            try """
            [default]
            aws_access_key_id = \(store.credentials.accessKeyID)
            aws_secret_access_key = \(store.credentials.secretAccessKey)
            """.write(toFile: credentials, atomically: true, encoding: .utf8)
            defer { try? FileManager.default.removeItem(atPath: credentials) }
            var upload = store.configuration
            upload.credentials = .file(credentials)
            upload.deletesLocalFiles = true
            let configuration = upload
            try await RecordingSetup.run({ $0.upload = configuration }) { setup in
                _ = try await setup.record(500)
                let local = try #require(try await setup.service.recording(of: PackagedRun.id))
                let expected = try await Self.media(of: local)
                #expect(expected.count > 10)

                let running = Task { await setup.service.run() }
                let folder = RecordingFolder(root: setup.folder + "/recordings", stream: PackagedRun.id)
                let isUploaded = try await eventually {
                    let uploads = try await setup.records.uploads(of: PackagedRun.id)
                    return uploads.count == 3 && uploads.allSatisfy { !$0.isLocal }
                }
                #expect(isUploaded)
                #expect(try folder.files().isEmpty)
                // The cache was discarded with the files.
                let remote = try #require(try await setup.service.recording(of: PackagedRun.id))
                #expect(try await Self.media(of: remote) == expected)
                running.cancel()
                await running.value

                // The reconciliation of the next start does not take the files for lost.
                let restarted = try setup.restarted()
                await restarted.reconcile(interrupted: [])
                let again = try #require(try await restarted.recording(of: PackagedRun.id))
                #expect(try await Self.media(of: again) == expected)
                let movie = try await restarted.movies.movie(of: again, MovieRange(start: .zero))
                #expect(movie.size > 10_000 && movie.hasVideo)
                #expect(try await restarted.delete(PackagedRun.id, of: TestPlatform.application.id) == .deleted)
                let deleting = Task { await restarted.run() }
                let isDeleted = try await eventually { try await store.contents().objects.isEmpty }
                #expect(isDeleted)
                deleting.cancel()
                await deleting.value
            }
        }
    }

    /// Returns the bytes of all media files that the playlists of a recording name.
    private static func media(of recorded: RecordedStream) async throws -> [String: [UInt8]] {
        var media: [String: [UInt8]] = [:]
        let multivariant = try #require(recorded.presentation.multivariantPlaylist)
        for uri in Set(multivariant.variants.map(\.uri) + multivariant.renditions.compactMap(\.uri)) {
            let playlist = try #require(recorded.presentation.mediaPlaylist(String(uri.dropLast(".m3u8".count))))
            for segment in playlist.segments where !segment.isGap {
                for name in [segment.initialization?.uri, segment.uri].compactMap({ $0 }) where media[name] == nil {
                    let fields = name.split(separator: "/").map { String($0) }
                    let file = try #require(recorded.presentation.file(fields[1], of: fields[0]))
                    media[name] = Array(try await recorded.read(file).readableBytesView)
                }
            }
        }
        return media
    }

    @Test("settings that cannot be used are an error that says what to do")
    func settings() async throws {
        let records = try Records.inMemory()
        var configuration = RecordingConfiguration.UploadConfiguration(bucket: "recordings")
        let keys = ["AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"]
        #expect(throws: Never.self) {
            try RecordingObjects(configuration, records: records, environment: keys)
        }
        #expect(throws: PlatformError.self) {
            try RecordingObjects(configuration, records: records, environment: [:])
        }
        configuration.credentials = .file("/nowhere/s3")
        #expect(throws: PlatformError.self) {
            try RecordingObjects(configuration, records: records, environment: keys)
        }
        configuration.credentials = .environment
        configuration.endpoint = "s3.example.com"
        #expect(throws: PlatformError.self) {
            try RecordingObjects(configuration, records: records, environment: keys)
        }
    }
}
