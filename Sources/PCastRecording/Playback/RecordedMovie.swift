import PCastCore

/// A recording, or a range of it, as one MP4 file that plays before it is loaded completely. The media stay in the files
/// of the recording, and are read when they are sent.
package struct RecordedMovie: Sendable {
    /// The samples of a part.
    struct Chunk: Sendable {
        /// The index of the file in ``RecordedMovie/names``.
        let file: Int32
        /// The offset of the samples in their fragment.
        let dataOffset: Int32
        /// The number of bytes.
        let length: Int32
        /// The offset of the part in its file.
        let part: Int64
        /// The offset of the samples in the media data of the movie.
        let offset: Int64
    }

    /// The result of creating a movie.
    package enum Result: Sendable {
        case movie(RecordedMovie)
        /// The recording has no media in the range.
        case nothing
        /// The range has more samples than are permitted.
        case tooLong
    }

    /// The maximum number of samples, which limits the memory of a movie. 12 hours of 30 frames per second with audio
    /// have fewer.
    package static let maximumSampleCount = 4_000_000

    /// The bytes before the media data.
    let head: [UInt8]
    /// The media data, in the order of the file.
    let chunks: [Chunk]
    /// The files of the recording.
    let files: RecordingFiles
    /// The names of those that have media of the movie.
    let names: [RecordingFolder.FileName]
    /// Whether the movie has video.
    package let hasVideo: Bool

    /// The size of the file in bytes.
    package var size: Int64 { Int64(head.count) + (chunks.last.map { $0.offset + Int64($0.length) } ?? 0) }

    /// The entity tag (RFC 9110, section 8.8.3), which differs for other contents.
    package var entityTag: String { "\"\(String(size, radix: 16))-\(String(Checksum.of(head), radix: 16))\"" }

    /// The bytes that the movie occupies in memory.
    package var memorySize: Int { head.count + chunks.count * MemoryLayout<Chunk>.stride }
}

/// Reads the bytes of a movie. Only one thread may use it at a time.
package final class RecordedMovieReader: @unchecked Sendable {  // its owner waits for each read
    private let movie: RecordedMovie
    /// The open files: those of video and audio that are read alternately, and a few of before.
    private var files: [Int32: PartFileReader] = [:]

    private static let maximumFileCount = 4
    private static let pieceSize = 256 << 10

    /// Creates a reader.
    package init(_ movie: RecordedMovie) { self.movie = movie }

    /// Reads bytes from an offset on.
    ///
    /// - Parameters:
    ///   - offset: The offset of the first byte, less than `end`.
    ///   - end: The offset after the last byte, at most the size of the movie.
    /// - Returns: At least one byte, and none beyond `end`.
    /// - Throws: ``RecordingError``, with ``RecordingError/corrupt(path:)`` if a file does not contain what was recorded.
    package func read(from offset: Int64, to end: Int64) throws(RecordingError) -> [UInt8] {
        let headSize = Int64(movie.head.count)
        guard offset >= headSize else {
            return Array(movie.head[Int(offset)..<Int(min(end, headSize, offset + Int64(Self.pieceSize)))])
        }
        let position = offset - headSize
        let chunk = movie.chunks[index(at: position)]
        if files[chunk.file] == nil {
            if files.count >= Self.maximumFileCount { files = [:] }
            files[chunk.file] = try movie.files.open(movie.names[Int(chunk.file)])
        }
        guard let fragment = try files[chunk.file]?.fragment(at: chunk.part),
            fragment.count == Int(chunk.dataOffset) + Int(chunk.length)
        else { throw .corrupt(path: movie.files.folder.path(of: movie.names[Int(chunk.file)])) }
        let first = Int(chunk.dataOffset) + Int(position - chunk.offset)
        return Array(fragment[first..<min(fragment.count, first + Int(clamping: end - offset))])
    }

    /// Returns the index of the last chunk that begins at a position of the media data or before it.
    private func index(at position: Int64) -> Int {
        var (low, high) = (0, movie.chunks.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if movie.chunks[middle].offset <= position { low = middle } else { high = middle }
        }
        return low
    }
}
