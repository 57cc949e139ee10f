import Glibc
package import PCastDatabase
package import PCastPackaging

/// Reads a file of parts. What a crash or another program left in it is checked before it is used.
package final class PartFileReader {
    /// A part that was written completely.
    package struct Part: Hashable, Sendable {
        /// The header.
        package let header: PartHeader
        /// The offset of the header.
        package let offset: Int64

        /// The offset after the fragment.
        package var end: Int64 { offset + Int64(PartHeader.size + header.length) }
    }

    /// The path of the file, or the name of its object in an object store.
    package let path: String
    private let descriptor: Int32
    /// The object; nil for a file on the disk.
    private let object: RemoteFile?
    /// The bytes of the object that were read last, and their offset.
    private var window: (offset: Int64, bytes: [UInt8]) = (0, [])

    /// The maximum size of the boxes before the description: file type and movie.
    private static let maximumBeginning = 1 << 20

    /// Opens a file, for writing if it may be truncated.
    ///
    /// - Throws: ``RecordingError``.
    package init(_ path: String, isWritten: Bool = false) throws(RecordingError) {
        self.path = path
        object = nil
        descriptor = open(path, (isWritten ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { throw .system(path) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system(path) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .inaccessible(path: path, reason: "it is not a file") }
    }

    /// Reads a file that was uploaded to an object store.
    package init(_ object: RemoteFile) {
        path = object.name
        descriptor = -1
        self.object = object
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The size of the file in bytes.
    ///
    /// - Throws: ``RecordingError``.
    package func size() throws(RecordingError) -> Int64 {
        if let object { return object.size }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system(path) }
        return Int64(status.st_size)
    }

    /// Removes everything after an offset, and waits until this is on the disk.
    ///
    /// - Throws: ``RecordingError``.
    package func truncate(to offset: Int64) throws(RecordingError) {
        guard ftruncate(descriptor, off_t(offset)) == 0, fsync(descriptor) == 0 else { throw .system(path) }
    }

    /// The beginning of the file: its initialization segment and its description.
    package struct Beginning: Sendable {
        /// The initialization segment.
        package let initialization: [UInt8]
        /// The description.
        package let description: FileDescription
        /// The offset of the first part.
        package let end: Int64
    }

    /// Reads the beginning. Returns nil if it was not written completely.
    ///
    /// - Throws: ``RecordingError``.
    package func beginning() throws(RecordingError) -> Beginning? {
        var offset: Int64 = 0
        while offset <= Self.maximumBeginning {
            let head = try read(from: offset, count: 8)
            guard head.count == 8 else { return nil }
            let size = head[..<4].reduce(0) { $0 << 8 | Int($1) }
            guard size >= 8, size <= Self.maximumBeginning else { return nil }
            if Array(head[4...]) == Array("uuid".utf8) {
                let box = try read(from: offset, count: size)
                guard box.count == size, let description = FileDescription(box: box) else { return nil }
                return Beginning(
                    initialization: try read(from: 0, count: Int(offset)), description: description,
                    end: offset + Int64(size))
            }
            offset += Int64(size)
        }
        return nil
    }

    /// Reads the parts from the offset of a header to the end of the file, or to the first part that was not written
    /// completely.
    ///
    /// - Parameters:
    ///   - offset: The offset of the first header.
    ///   - end: The offset at which reading ends; nil for the end of the file.
    ///   - body: Receives each part and its fragment.
    /// - Returns: The offset after the last part.
    /// - Throws: ``RecordingError``.
    @discardableResult
    package func readParts(
        from offset: Int64, to end: Int64? = nil, _ body: (Part, [UInt8]) -> Void
    ) throws(RecordingError) -> Int64 {
        var offset = offset
        while end.map({ offset < $0 }) ?? true {
            guard let header = PartHeader(try read(from: offset, count: PartHeader.size)) else { break }
            let bytes = try read(from: offset + Int64(PartHeader.size), count: header.length)
            guard bytes.count == header.length, Checksum.of(bytes) == header.checksum else { break }
            let part = Part(header: header, offset: offset)
            body(part, bytes)
            offset = part.end
        }
        return offset
    }

    /// Returns the media of a segment.
    ///
    /// - Throws: ``RecordingError``, with ``RecordingError/corrupt(path:)`` if the file does not contain the segment.
    package func media(of segment: SegmentRecord) throws(RecordingError) -> [UInt8] {
        var media: [UInt8] = []
        var isOther = false
        let (end, overflows) = segment.offset.addingReportingOverflow(segment.length)
        guard segment.offset >= 0, segment.length > 0, !overflows else { throw .corrupt(path: path) }
        try load(segment.offset..<end)
        let reached = try readParts(from: segment.offset, to: end) { part, bytes in
            isOther = isOther || part.header.segment != segment.number
            media += bytes
        }
        guard reached == end, !isOther else { throw .corrupt(path: path) }
        return media
    }

    /// Returns the bytes of a range, all of them.
    ///
    /// - Throws: ``RecordingError``, with ``RecordingError/corrupt(path:)`` if the file is shorter.
    package func bytes(_ range: Range<Int64>) throws(RecordingError) -> [UInt8] {
        let bytes = try read(from: range.lowerBound, count: range.count)
        guard bytes.count == range.count else { throw .corrupt(path: path) }
        return bytes
    }

    /// Returns the fragment of the part whose header is at an offset.
    ///
    /// - Throws: ``RecordingError``, with ``RecordingError/corrupt(path:)`` if there is no such part.
    package func fragment(at offset: Int64) throws(RecordingError) -> [UInt8] {
        var fragment: [UInt8]?
        try readParts(from: offset, to: offset + 1) { _, bytes in fragment = bytes }
        guard let fragment else { throw .corrupt(path: path) }
        return fragment
    }

    /// The bytes that are read of a part at first, which mostly contain the description of its fragment.
    private static let usualHead = 4 << 10

    /// Reads the descriptions of the fragments of a segment, without their media, whose checksums are not verified.
    ///
    /// - Parameters:
    ///   - segment: The segment.
    ///   - body: Receives each part, and the description of its fragment; nil for a gap.
    /// - Throws: ``RecordingError``, with ``RecordingError/corrupt(path:)`` if the file does not contain the segment.
    package func readDescriptions(
        of segment: SegmentRecord, _ body: (Part, CMAFFragmentDescription?) -> Void
    ) throws(RecordingError) {
        let (end, overflows) = segment.offset.addingReportingOverflow(segment.length)
        guard segment.offset >= 0, segment.length > 0, !overflows else { throw .corrupt(path: path) }
        var offset = segment.offset
        while offset < end {
            let bytes = try read(from: offset, count: PartHeader.size + Self.usualHead)
            guard let header = PartHeader(bytes), header.segment == segment.number else { throw .corrupt(path: path) }
            let part = Part(header: header, offset: offset)
            guard part.end <= end else { throw .corrupt(path: path) }
            body(part, try description(of: part, beginning: bytes))
            offset = part.end
        }
    }

    private func description(
        of part: Part, beginning: [UInt8]
    ) throws(RecordingError) -> CMAFFragmentDescription? {
        guard part.header.length > 0 else { return nil }
        var head = Array(beginning.dropFirst(PartHeader.size).prefix(part.header.length))
        guard let size = CMAFFragmentDescription.headSize(head), size <= part.header.length else {
            throw .corrupt(path: path)
        }
        if size > head.count { head = try read(from: part.offset + Int64(PartHeader.size), count: size) }
        guard let description = CMAFFragmentDescription(head, size: part.header.length) else {
            throw .corrupt(path: path)
        }
        return description
    }

    /// The bytes of an object that are requested at once, so that the parts of a segment need few requests.
    private static let readAhead: Int64 = 1 << 20

    /// Requests bytes of an object that will be read next. It does nothing for a file on the disk.
    private func load(_ range: Range<Int64>) throws(RecordingError) {
        guard let object, range.lowerBound < object.size else { return }
        let existing = range.clamped(to: 0..<object.size)
        // A row of the index that is wrong must not need more memory than the largest fragment.
        guard existing.count <= PartHeader.maximumLength else { throw .corrupt(path: path) }
        let bytes = try object.read(existing)
        guard bytes.count == existing.count else { throw .corrupt(path: path) }
        window = (existing.lowerBound, bytes)
    }

    /// Returns bytes, fewer at the end of the file.
    private func read(from offset: Int64, count: Int) throws(RecordingError) -> [UInt8] {
        guard count > 0, offset >= 0 else { return [] }
        // The length in a header may be wrong, and memory is needed only for bytes that exist.
        let available = Int(clamping: max(0, try size() - offset))
        if object != nil {
            guard available > 0 else { return [] }
            let end = offset + Int64(min(count, available))
            if offset < window.offset || end > window.offset + Int64(window.bytes.count) {
                try load(offset..<max(end, offset + Self.readAhead))
            }
            let first = Int(offset - window.offset)
            return Array(window.bytes[first..<first + min(count, available)])
        }
        return try FileBytes.read(min(count, available), from: descriptor, at: offset, path)
    }
}
