import Foundation
import PCastCore
import PCastDatabase
import Synchronization
import Testing

@testable import PCastRecording

/// Files that are complete, and files that an object store has.
struct RecordingFilesTests {
    /// An object store in memory, with the files of a folder.
    private final class Objects: Sendable {
        let contents: [RecordingFolder.FileName: [UInt8]]
        let requests = Mutex<[Range<Int64>]>([])
        /// The bytes that each response lacks.
        let missing: Int

        init(_ folder: RecordingFolder, missing: Int = 0) throws {
            contents = try Dictionary(
                uniqueKeysWithValues: folder.files().map {
                    ($0, Array(try Data(contentsOf: URL(fileURLWithPath: folder.path(of: $0)))))
                })
            self.missing = missing
        }

        func files(of folder: RecordingFolder) -> RecordingFiles {
            RecordingFiles(folder) { [self] name throws(RecordingError) in
                guard let bytes = contents[name] else { return nil }
                return RemoteFile(name: name.text, size: Int64(bytes.count)) { [self] range throws(RecordingError) in
                    requests.withLock { $0.append(range) }
                    guard range.upperBound <= bytes.count else {
                        throw .unavailable(object: name.text, reason: "the range is too long")
                    }
                    return Array(bytes[Int(range.lowerBound)..<Int(range.upperBound) - missing])
                }
            }
        }
    }

    /// Records twenty seconds in files of four seconds. Returns the segments, and the files that were reported.
    private static func record(in root: String) throws -> (segments: [SegmentRecord], files: [RecordedFile]) {
        var limits = RecordingLimits()
        limits.fileDuration = .seconds(4 as Int64)
        var audio = RecordedAudio()
        let writer = try RecordingWriter(RecordedAudio.identity, in: root, limits)
        for part in audio.parts(9) { try writer.append(part) }
        var segments = try writer.sync().added
        let early = writer.takeCompletedFiles()
        #expect(early.map(\.number) == [0, 1])
        for part in audio.parts(11) { try writer.append(part) }
        segments += try writer.finish().added
        let late = writer.takeCompletedFiles()
        #expect(writer.takeCompletedFiles().isEmpty)
        return (segments, early + late)
    }

    @Test("each file is reported once, with its size, when it is complete and on the disk")
    func completion() async throws {
        try await withFolder { root in
            let (segments, files) = try Self.record(in: root)
            let folder = RecordingFolder(root: root, stream: RecordedAudio.stream)
            #expect(files.map(\.number) == Array(0..<files.count) && files.count == 5)
            #expect(try folder.files().map(\.number) == files.map(\.number))
            for file in files {
                let path = folder.path(of: .init(epoch: file.epoch, rendition: file.rendition, number: file.number))
                #expect(try PartFileReader(path).size() == file.size)
                #expect(segments.filter { $0.file == file.number }.map { $0.offset + $0.length }.max() == file.size)
            }
        }
    }

    @Test("files of an object store have the same segments and the same movie as files on the disk")
    func objects() async throws {
        try await withFolder { root in
            let (segments, _) = try Self.record(in: root)
            let folder = RecordingFolder(root: root, stream: RecordedAudio.stream)
            let rendition = RecordedRendition(
                stream: RecordedAudio.stream, epoch: 0, name: "opus", instance: "i1", codec: "opus", channels: 2)
            let presentation = RecordingPresentation([rendition], segments, isComplete: true)
            func movie(_ files: RecordingFiles) throws -> [UInt8] {
                guard case .movie(let movie) = try presentation.movie(in: files) else { return [] }
                let reader = RecordedMovieReader(movie)
                var bytes: [UInt8] = []
                while bytes.count < movie.size { bytes += try reader.read(from: Int64(bytes.count), to: movie.size) }
                return bytes
            }
            func media(_ files: RecordingFiles) throws -> [[UInt8]] {
                try segments.map { segment in
                    let name = RecordingFolder.FileName(
                        epoch: segment.epoch, rendition: segment.rendition, number: segment.file)
                    return try files.open(name).media(of: segment)
                }
            }
            let store = try Objects(folder)
            let local = RecordingFiles(folder)
            let (expectedMovie, expectedMedia) = (try movie(local), try media(local))
            let remote = store.files(of: folder)
            #expect(try media(remote) == expectedMedia)
            #expect(store.requests.withLock { $0.isEmpty })

            try folder.remove()
            #expect(try media(remote) == expectedMedia)
            // One request for each segment, for exactly its bytes.
            #expect(
                store.requests.withLock { $0 } == segments.map { $0.offset..<$0.offset + $0.length })
            store.requests.withLock { $0 = [] }
            #expect(try movie(remote) == expectedMovie && !expectedMovie.isEmpty)
            // Each file is smaller than what is requested at once: it is read for its tables, and again for its media.
            #expect(store.requests.withLock { $0.count } <= 2 * store.contents.count + 2)
            #expect(throws: RecordingError.self) { try media(local) }
        }
    }

    @Test("an object that is too short, or that cannot be read, is an error")
    func failures() async throws {
        try await withFolder { root in
            let (segments, _) = try Self.record(in: root)
            let folder = RecordingFolder(root: root, stream: RecordedAudio.stream)
            let short = try Objects(folder, missing: 1).files(of: folder)
            let unreadable = RecordingFiles(folder) { name throws(RecordingError) in
                throw .unavailable(object: name.text, reason: "503")
            }
            let missing = RecordingFiles(folder) { _ throws(RecordingError) in nil }
            try folder.remove()
            let name = RecordingFolder.FileName(epoch: 0, rendition: "opus", number: 0)
            #expect(throws: RecordingError.corrupt(path: name.text)) { try short.open(name).media(of: segments[0]) }
            #expect(throws: RecordingError.unavailable(object: name.text, reason: "503")) { try unreadable.open(name) }
            #expect(throws: RecordingError.self) { try missing.open(name) }
            // A row of the index that is wrong does not cause a large request.
            var wrong = segments[0]
            wrong.offset = 1 << 40
            #expect(throws: RecordingError.self) { try short.open(name).media(of: wrong) }
        }
    }
}
