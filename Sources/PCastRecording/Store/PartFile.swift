import Glibc
import PCastCore
import PCastPackaging

/// Bytes at offsets of open files.
enum FileBytes {
    /// Writes pieces one after the other, and returns the offset after them. Errors name the path.
    ///
    /// - Throws: ``RecordingError``. The file then ends at the offset.
    static func append(
        _ pieces: [[UInt8]], to descriptor: Int32, at offset: Int64, _ path: String
    ) throws(RecordingError) -> Int64 {
        var end = offset
        for piece in pieces {
            guard write(piece, to: descriptor, at: end) else {
                let error = RecordingError.system(path)
                ftruncate(descriptor, off_t(offset))
                throw error
            }
            end += Int64(piece.count)
        }
        return end
    }

    /// Writes bytes. Returns false if it fails, with the reason in `errno`.
    private static func write(_ bytes: [UInt8], to descriptor: Int32, at offset: Int64) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var done = 0
            while done < buffer.count {
                let count = pwrite(
                    descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(offset) + off_t(done))
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                done += count
            }
            return true
        }
    }

    /// Reads bytes, fewer at the end of the file. Errors name the path.
    ///
    /// - Throws: ``RecordingError``.
    static func read(
        _ count: Int, from descriptor: Int32, at offset: Int64, _ path: String
    ) throws(RecordingError) -> [UInt8] {
        var failure: RecordingError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
            while done < buffer.count {
                let read = pread(
                    descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(offset) + off_t(done))
                if read < 0, errno == EINTR { continue }
                if read < 0 { failure = .system(path) }
                guard read > 0 else { break }
                done += read
            }
        }
        if let failure { throw failure }
        return bytes
    }
}

/// A file of parts that is being written.
final class PartFile {
    /// The path of the file.
    let path: String
    /// The bytes that were written completely.
    private(set) var size: Int64 = 0
    /// The bytes that are on the disk.
    private(set) var syncedSize: Int64 = 0
    private let descriptor: Int32

    /// Creates a file, which must not exist, with its first bytes.
    ///
    /// - Throws: ``RecordingError``.
    init(_ path: String, beginning: [UInt8]) throws(RecordingError) {
        self.path = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .system(path) }
        try append(beginning)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Appends a part with its header. Returns the offset of the header. If it fails, the file is as before.
    ///
    /// - Throws: ``RecordingError``.
    func append(_ part: PublishedPart) throws(RecordingError) -> Int64 {
        let offset = size
        try append(PartHeader(part).bytes, part.part.bytes)
        return offset
    }

    private func append(_ pieces: [UInt8]...) throws(RecordingError) {
        size = try FileBytes.append(pieces, to: descriptor, at: size, path)
    }

    /// Waits until everything that was written is on the disk.
    ///
    /// - Throws: ``RecordingError``, with ``RecordingError/removed(path:)`` if the file has no name any more.
    func sync() throws(RecordingError) {
        guard syncedSize < size else { return }
        guard fdatasync(descriptor) == 0 else { throw .system(path) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system(path) }
        guard status.st_nlink > 0 else { throw .removed(path: path) }
        syncedSize = size
    }
}
