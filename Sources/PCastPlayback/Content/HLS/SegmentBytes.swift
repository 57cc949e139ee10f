internal import PCastCodecs
internal import Synchronization

/// The bytes of a segment while it is loaded. All are kept, so that it can be read again.
final class SegmentBytes: Sendable {
    private struct State {
        var chunks: [[UInt8]] = []
        var count = 0
        var isComplete = false
    }

    private let state = Mutex(State())
    private let wait: ReaderWait

    /// Creates an empty segment.
    init(_ wait: ReaderWait) { self.wait = wait }

    /// Adds bytes and wakes the reader.
    func append(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        state.withLock { state in
            state.chunks.append(bytes)
            state.count += bytes.count
        }
        wait.raise()
    }

    /// Records that no more bytes follow, because the segment is complete or has failed.
    func finish() {
        state.withLock { $0.isComplete = true }
        wait.raise()
    }

    /// The number of bytes.
    var count: Int { state.withLock { $0.count } }

    /// Whether no more bytes follow.
    var isComplete: Bool { state.withLock { $0.isComplete } }

    /// All bytes so far.
    var all: [UInt8] { state.withLock { Array($0.chunks.joined()) } }

    /// Returns the first bytes, at most `limit`; nil if there are fewer and more may follow.
    func prefix(_ limit: Int) -> [UInt8]? {
        state.withLock { state in
            guard state.count >= limit || state.isComplete else { return nil }
            var bytes: [UInt8] = []
            for chunk in state.chunks where bytes.count < limit { bytes += chunk.prefix(limit - bytes.count) }
            return bytes
        }
    }

    /// Copies bytes and advances the place. Returns the number of bytes; nil if none are available yet, and 0 at the
    /// end.
    fileprivate func copy(_ cursor: inout (chunk: Int, offset: Int), into target: UnsafeMutableRawBufferPointer) -> Int?
    {
        state.withLock { state in
            while cursor.chunk < state.chunks.count, cursor.offset >= state.chunks[cursor.chunk].count {
                cursor = (cursor.chunk + 1, 0)
            }
            guard cursor.chunk < state.chunks.count else { return state.isComplete ? 0 : nil }
            let offset = cursor.offset
            let count = state.chunks[cursor.chunk].withUnsafeBytes { bytes in
                let count = min(target.count, bytes.count - offset)
                target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + count)]))
                return count
            }
            cursor.offset += count
            return count
        }
    }
}

/// Reads a segment after its initialization section, and waits for bytes that have not arrived.
final class SegmentCursor: MediaBytes, @unchecked Sendable {  // read by one thread at a time
    private var head: ArraySlice<UInt8>
    private let segment: SegmentBytes
    private let wait: ReaderWait
    private var cursor = (chunk: 0, offset: 0)
    /// The number of bytes that remain to be skipped.
    private var rest: Int
    /// Whether all bytes were read.
    private(set) var isAtEnd = false

    /// Creates a cursor. `skipped` is the number of bytes to skip at the beginning of the segment.
    init(_ segment: SegmentBytes, behind initialization: [UInt8], skipping skipped: Int = 0, _ wait: ReaderWait) {
        (head, self.segment, self.wait) = (initialization[...], segment, wait)
        rest = skipped
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        if !head.isEmpty {
            let count = min(buffer.count, head.count)
            buffer.copyBytes(from: head.prefix(count))
            head = head.dropFirst(count)
            return count
        }
        while rest > 0 {
            let unwanted = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(rest, buffer.count)])
            guard let count = wait.wait(for: { segment.copy(&cursor, into: unwanted) }) else { return nil }
            guard count > 0 else { break }
            rest -= count
        }
        let count = wait.wait { segment.copy(&cursor, into: buffer) }
        if count == 0 { isAtEnd = true }
        return count
    }
}
