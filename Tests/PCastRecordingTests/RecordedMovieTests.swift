import Foundation
import PCastCore
import PCastDatabase
import PCastPackaging
import Testing

@testable import PCastRecording

@Suite("A recording is one MP4 file")
struct RecordedMovieTests {
    /// A recording of audio on the disk, with an absence of the publisher in its middle.
    private struct Recorded {
        let folder: RecordingFolder
        let presentation: RecordingPresentation
        /// The parts that have media.
        let parts: [PublishedPart]

        init(in root: String) throws {
            var audio = RecordedAudio()
            var limits = RecordingLimits()
            limits.fileDuration = .seconds(4 as Int64)
            var parts = audio.parts(9)
            audio.skip(60)
            parts += audio.parts(8) + audio.finish()
            let writer = try RecordingWriter(RecordedAudio.identity, in: root, limits)
            for part in parts { try writer.append(part) }
            let changes = try writer.finish()
            let renditions = changes.compactMap { change -> RecordedRendition? in
                if case .rendition(let rendition) = change { rendition } else { nil }
            }
            folder = RecordingFolder(root: root, stream: RecordedAudio.stream)
            presentation = RecordingPresentation([try #require(renditions.last)], changes.added, isComplete: true)
            self.parts = parts.filter { !$0.part.isGap }
        }

        func movie(from start: TimeSpan = .zero, to end: TimeSpan? = nil) throws -> RecordedMovie {
            guard case .movie(let movie) = try presentation.movie(in: RecordingFiles(folder), from: start, to: end)
            else {
                throw MissingMovie()
            }
            return movie
        }
    }

    private struct MissingMovie: Error {}

    private static func read(_ movie: RecordedMovie, _ range: Range<Int64>) throws -> [UInt8] {
        let reader = RecordedMovieReader(movie)
        var bytes: [UInt8] = []
        while range.lowerBound + Int64(bytes.count) < range.upperBound {
            let piece = try reader.read(from: range.lowerBound + Int64(bytes.count), to: range.upperBound)
            guard !piece.isEmpty else { throw MissingMovie() }
            bytes += piece
        }
        return bytes
    }

    /// Returns the media of parts without their descriptions.
    private static func media(_ parts: [PublishedPart]) throws -> [UInt8] {
        try parts.flatMap { part in
            let bytes = part.part.bytes
            return bytes[try #require(CMAFFragmentDescription(bytes, size: bytes.count)).dataOffset...]
        }
    }

    @Test("the media of all files follow the description, in their order")
    func whole() async throws {
        try await withFolder { root in
            let recorded = try Recorded(in: root)
            #expect(try recorded.folder.files().count > 3)
            let movie = try recorded.movie()
            let media = try Self.media(recorded.parts)
            let file = try Self.read(movie, 0..<movie.size)
            #expect(file.count == Int(movie.size))
            #expect(file.suffix(media.count) == media[...])
            #expect(file[4..<8] == Array("ftyp".utf8)[...])
            let description = file[..<(file.count - media.count)]
            #expect(description.suffix(16).dropFirst(4).prefix(4) == Array("mdat".utf8)[...])
            #expect(!movie.hasVideo)
        }
    }

    @Test("any range of bytes is that of the whole file")
    func bytes() async throws {
        try await withFolder { root in
            let movie = try Recorded(in: root).movie()
            let file = try Self.read(movie, 0..<movie.size)
            var generator = SystemRandomNumberGenerator()
            for _ in 0..<200 {
                let first = Int64.random(in: 0..<movie.size, using: &generator)
                let end = Int64.random(in: first + 1...movie.size, using: &generator)
                #expect(try Self.read(movie, first..<end) == Array(file[Int(first)..<Int(end)]), "\(first)..<\(end)")
            }
        }
    }

    @Test("a range of time has the parts in it and a little before it, also across an absence of the publisher")
    func times() async throws {
        try await withFolder { root in
            let recorded = try Recorded(in: root)
            let duration = recorded.presentation.duration
            #expect((16...18).contains(duration.seconds))
            for (start, end) in [(0.0, 3.0), (2.5, 4.0), (5.0, 12.0), (8.0, 9.5), (12.0, 60.0)] {
                let movie = try recorded.movie(from: TimeSpan(seconds: start), to: TimeSpan(seconds: end))
                let shown = min(end, duration.seconds) - start
                let packets = Double(movie.size - Int64(movie.head.count)) / 60
                // A packet has 60 bytes and 20 ms. A part, of which the end may be absent, has less than 0.3 s.
                #expect((shown - 0.35...shown + 1).contains(packets / 50), "\(start)–\(end): \(packets) packets")
            }
            let whole = try recorded.movie()
            let part = try recorded.movie(from: .seconds(1 as Int64))
            #expect(whole.entityTag == (try recorded.movie()).entityTag && whole.entityTag != part.entityTag)
        }
    }

    @Test("a capture time has a position, which is that of the next media while the publisher was absent")
    func captureTimes() async throws {
        try await withFolder { root in
            let presentation = try Recorded(in: root).presentation
            let start = RecordedAudio.start
            #expect(presentation.position(of: start - .seconds(9 as Int64)) == .zero)
            let second = presentation.position(of: start + .seconds(1 as Int64))
            #expect((second - .seconds(1 as Int64)).magnitude <= .milliseconds(20))
            let absent = presentation.position(of: start + .seconds(40 as Int64))
            #expect((8.5...9.5).contains(absent.seconds))
            #expect(presentation.position(of: start + .seconds(1_000 as Int64)) == presentation.duration)
        }
    }

    @Test("a range without media, and one with too many samples, have no file")
    func limits() async throws {
        try await withFolder { root in
            let recorded = try Recorded(in: root)
            for (start, end) in [(20.0, 30.0), (5.0, 5.0)] {
                let result = try recorded.presentation.movie(
                    in: RecordingFiles(recorded.folder), from: TimeSpan(seconds: start), to: TimeSpan(seconds: end))
                guard case .nothing = result else {
                    Issue.record("\(start)–\(end) has media")
                    continue
                }
            }
            let result = try recorded.presentation.movie(
                in: RecordingFiles(recorded.folder), maximumSampleCount: 100)
            guard case .tooLong = result else {
                Issue.record("there is no limit of samples")
                return
            }
        }
    }

    @Test("a damaged part is an error when it is read, and other parts are not affected")
    func damage() async throws {
        try await withFolder { root in
            let recorded = try Recorded(in: root)
            let movie = try recorded.movie()
            let path = recorded.folder.path(of: movie.names[0])
            var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
            let chunk = movie.chunks[1]
            bytes[Int(chunk.part) + PartHeader.size + Int(chunk.dataOffset) + 3] ^= 1
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            let start = Int64(movie.head.count)
            #expect(try !Self.read(movie, 0..<start + chunk.offset).isEmpty)
            #expect(throws: RecordingError.corrupt(path: path)) {
                try Self.read(movie, start + chunk.offset..<start + chunk.offset + 1)
            }
            let next = start + movie.chunks[2].offset
            #expect(try Self.read(movie, next..<movie.size).count == Int(movie.size - next))
        }
    }
}
