import Glibc
import PCastCore
import PCastPackaging

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
        var end = size
        for piece in pieces {
            guard let reached = write(piece, at: end) else {
                let error = RecordingError.system(path)
                ftruncate(descriptor, off_t(size))
                throw error
            }
            end = reached
        }
        size = end
    }

    /// Writes bytes. Returns the offset after them; nil if it fails, with the reason in `errno`.
    private func write(_ bytes: [UInt8], at offset: Int64) -> Int64? {
        bytes.withUnsafeBytes { buffer -> Int64? in
            var done = 0
            while done < buffer.count {
                let count = pwrite(
                    descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(offset) + off_t(done))
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return nil }
                done += count
            }
            return offset + Int64(done)
        }
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
